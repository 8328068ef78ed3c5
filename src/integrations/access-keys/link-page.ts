import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { App } from '../../platform/app.ts';
import { auditInside } from '../../platform/audit/audit.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import { type Content, Markup, html } from '../../platform/html/html.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { apiBase } from '../../platform/config/settings.ts';
import type { KeyPair } from './keys.ts';
import { type KeyLink, type LinkStatus, linkStatus, openLink, takeKey } from './link.ts';
import { scopeInWords } from './scope-words.ts';

const style = `
:root{color-scheme:light dark;--ink:#1b1f23;--soft:#57606a;--line:#757d86;--paper:#fff;--shade:#f6f8fa;--link:#0a58a8}
@media (prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#a3acb5;--line:#7d8690;--paper:#14171a;--shade:#1d2226;--link:#7db8f5}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:1.0625rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;overflow-wrap:anywhere}
main{max-width:42rem;margin:0 auto;padding:2rem 1rem 3rem}
h1{font-size:1.75rem;line-height:1.2;margin:0 0 1rem}
h2{font-size:1.2rem;line-height:1.3;margin:2rem 0 .5rem}
button{font:inherit;font-weight:600;padding:.6rem 1.2rem;border:2px solid var(--link);border-radius:4px;margin:.75rem 0 0;background:var(--link);color:var(--paper);cursor:pointer}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
dt{color:var(--soft);margin-top:.75rem}
dd{margin:0}
code,pre{font:.9375rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{white-space:pre-wrap;border:1px solid var(--line);border-radius:4px;background:var(--shade);padding:.75rem 1rem}
`;

const headers = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'content-type': 'text/html; charset=utf-8',
};

function page(title: string, content: Content): string {
  return html`<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${title}</title><style>${new Markup(style)}</style></head>
<body><main><h1>${title}</h1>
${content}
</main></body></html>`.text;
}

const closed: Record<Exclude<LinkStatus, 'open'>, string> = {
  used: 'A key was created with this link, which works once. If another person used the link, tell the organisation now, so that it revokes the key.',
  revoked: 'The organisation has revoked this link. Ask it for a new one.',
  expired: 'A set-up link works only for a short time. Ask the organisation for a new one.',
};

/** A curl command for the first call with a new key, to paste into a terminal. */
export const testLine = (baseUrl: string, pair: KeyPair) =>
  `curl -sS -H 'X-Access-Key-Id: ${pair.access_key_id}' -H 'X-Secret-Access-Key: ${pair.secret_access_key}' ${baseUrl}${apiBase}/health`;

async function offer(app: App, link: KeyLink): Promise<string> {
  const { organisation_id: organisationId, description } = link;
  const [organisation, visibility] = await Promise.all([
    readOrganisation(app.db, organisationId),
    scopeInWords(app.db, organisationId, description),
  ]);
  const end =
    description.expiresAt === null ? 'The key has no last day.' : `The key ends on ${iso(description.expiresAt)}.`;
  return page(
    'Set up access to assessment results',
    html`<p>${organisation.name} offers you an access key to the Assessment Results Service${description.purpose === null ? '' : html` for this purpose: <strong>${description.purpose}</strong>`}.</p>
<h2>Access of this key</h2>
<ul>${[...visibility.may, end].map((sentence) => html`<li>${sentence}</li>`)}</ul>
${visibility.groups.length === 0 ? '' : html`<h2>Groups</h2><ul>${visibility.groups.map((group) => html`<li>${group.name} (${group.type} ${group.ref})</li>`)}</ul>`}
<h2>Create key</h2>
<p>The next page shows the secret once. Have the place ready where your software stores it. This link works once, until ${iso(link.expires_at)}.</p>
<form method="post"><button>Create key</button></form>`,
  );
}

const iso = (date: Date) => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

function made(app: App, pair: KeyPair): string {
  return page(
    'Your access key',
    html`<p>Copy the ID and the secret now: <strong>the secret is not shown again</strong>, and this link no longer works.</p>
<dl><dt>Access key ID</dt><dd><code>${pair.access_key_id}</code></dd><dt>Secret access key</dt><dd><code>${pair.secret_access_key}</code></dd></dl>
<h2>Test the key</h2>
<pre>${testLine(app.settings.baseUrl, pair)}</pre>
<p>Next step: read <a href="${app.settings.baseUrl}/docs/">${app.settings.baseUrl}/docs/</a>.</p>`,
  );
}

const send = (reply: FastifyReply, status: number, body: string) => reply.code(status).headers(headers).send(body);

function sendUnknown(reply: FastifyReply): FastifyReply {
  const advice = html`<p>Check that you have opened the full link from the email or message.</p>`;
  return send(reply, 404, page('We can’t open this link', advice));
}

const sendClosed = (reply: FastifyReply, status: Exclude<LinkStatus, 'open'>) =>
  send(reply, 410, page('This link no longer works', html`<p>${closed[status]}</p>`));

/** The pages of set-up links. Only a POST makes the key, because mail programs open links in advance. */
export function registerKeyLinks(app: App, fastify: FastifyInstance): void {
  const url = '/setup/:token';
  const linkOf = (params: unknown) => openLink(app.db, app.secrets, (params as { token: string }).token);
  fastify.route({
    method: ['GET', 'HEAD'],
    url,
    handler: async (request, reply) => {
      request.action = 'GET /setup/{link}';
      const link = await linkOf(request.params);
      if (link === undefined) return sendUnknown(reply);
      const status = linkStatus(link, app.clock.nowMs());
      return status === 'open' ? send(reply, 200, await offer(app, link)) : sendClosed(reply, status);
    },
  });
  fastify.route({
    method: 'POST',
    url,
    handler: async (request, reply) => {
      request.action = 'POST /setup/{link}';
      const link = await linkOf(request.params);
      if (link === undefined) return sendUnknown(reply);
      const organisationId = link.organisation_id;
      const pair = await withUnitOfWork(app, feedQueue(organisationId), async (work) => {
        const taken = await takeKey(work, organisationId, link.link_id);
        if (taken !== null)
          await auditInside(work.tx, {
            organisationId,
            atMs: work.nowMs,
            requestId: request.id,
            actor: 'vendor',
            action: request.action,
            resource: taken.access_key_id,
            status: 200,
          });
        return taken;
      });
      if (pair !== null) return send(reply, 200, made(app, pair));
      const status = linkStatus((await linkOf(request.params)) ?? link, app.clock.nowMs());
      return sendClosed(reply, status === 'open' ? 'expired' : status);
    },
  });
}
