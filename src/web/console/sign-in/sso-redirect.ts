import { html } from '../../../platform/html/html.ts';
import { safeAddress } from '../kit/browser.ts';
import { hiddenField, fieldsOf } from '../kit/form.ts';
import { name, pageHeaders } from '../kit/frame.ts';
import type { Answer, OpenVisit } from '../kit/route.ts';

// Browsers apply form-action to redirects too, so the form's page must allow the provider.
const leavesByForm = {
  'content-security-policy': pageHeaders['content-security-policy'].replace(
    "form-action 'self'",
    "form-action 'self' https:",
  ),
};

const isSignedIn = ({ session }: OpenVisit) => session?.stage === 'full';

/**
 * Without a question, another site could sign its reader in to a different account (docs/decisions/0026). A person who
 * came by themselves and is signed out is not asked.
 */
export const isPlain = (visit: OpenVisit): boolean => visit.unprompted && !isSignedIn(visit);

export function askFirst(visit: OpenVisit, organisation: string, { issuer }: { issuer: string }): Answer {
  const { app, session, query } = visit;
  const to = safeAddress(query.get('to') ?? '', app.settings.baseUrl);
  const says = `You go on to ${new URL(issuer).host}, the provider that this organisation has chosen. If you did not mean to sign in there, close this page.`;
  return {
    title: 'Sign in at an organisation’s provider?',
    heading: html`Sign in at ${name(organisation)}’s provider?`,
    main: html`<p>${says}</p>${
      isSignedIn(visit) &&
      html`<p>You are signed in here as ${name(session!.full_name)}. That session ends in this browser as soon as you come back from there.</p>`
    }${fieldsOf(visit).form('Sign in there', isSignedIn(visit) ? { cancel: '/console' } : {}, hiddenField('to', to))}`,
    headers: leavesByForm,
  };
}
