import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import type { KeyPair } from '../../../integrations/access-keys/keys.ts';
import { testLine } from '../../../integrations/access-keys/link-page.ts';
import { readonlyField } from '../kit/form.ts';
import type { Answer, Visit } from '../kit/route.ts';

/** @param pair null if the form was sent twice: the secret was shown the first time */
export function shownPair(
  { app, base }: Visit,
  keyId: string,
  pair: KeyPair | null,
  title: string,
  also: readonly Content[] = [],
): Answer {
  const secret =
    pair === null
      ? html`<p>It was made before, and its secret was shown then. If it is lost, revoke the key and create another one.</p>`
      : html`<p>Copy both halves now: <strong>the secret is not shown again.</strong></p>${readonlyField('id', 'Access key id', pair.access_key_id)}${readonlyField('secret', 'Secret access key', pair.secret_access_key)}<h2>Try it</h2><p>Paste this line into a terminal. It answers <code>{"status":"ok", …}</code>.</p><pre tabindex="0"><code>${testLine(app.settings.baseUrl, pair)}</code></pre>`;
  return {
    title,
    back: { to: `${base}/keys/${keyId}`, label: 'The key' },
    main: html`${also.map((sentence) => html`<p>${sentence}</p>`)}${secret}`,
  };
}
