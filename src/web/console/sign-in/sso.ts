import { type Content, html } from '../../../platform/html/html.ts';
import { safeAddress, wantedPage } from '../kit/browser.ts';
import { readKept } from '../../../integrations/kept-form.ts';
import { keepForm, takeForm } from '../../../organisations/users/sessions.ts';
import { hiddenField } from '../kit/form.ts';
import { name, pageHeaders } from '../kit/frame.ts';
import type { Answer, OpenVisit, ConsoleRoute, PersonVisit } from '../kit/route.ts';
import { NoSuchPage, get, formRoutes } from '../kit/route.ts';
import { formPage, messagePage } from '../kit/page.ts';
import { withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type Organisation, findOrganisation } from '../../../organisations/organisations.ts';
import { findUserInvitation } from '../../../organisations/users/invitations.ts';
import type { Provider, StoredProvider } from '../../../organisations/users/single-sign-on.ts';
import { findByIdentity, findProvider, holdProvider } from '../../../organisations/users/single-sign-on.ts';
import { auditFailure } from '../../../organisations/users/sign-in-failures.ts';
import { deviceOf } from '../../../organisations/users/devices.ts';
import { knownDevice, waitFault } from '../../../organisations/users/sign-in.ts';
import { type Subject, countAttempt, uncountAttempt } from '../../../organisations/users/throttle.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type { Claims } from '../../../integrations/identity-provider.ts';
import { comeBack, leaveFor, NoAuthTime, ProviderFailed, StaleProof } from '../../../integrations/identity-provider.ts';
import { type Purpose, type Held, type Errand, arrivals, Refused } from '../../../integrations/single-sign-on.ts';

/** Pages for sign-in at an organisation's identity provider. The session opens only this organisation. */
export const ssoRoutes: ConsoleRoute[] = [
  get('/console/sso/connect/{organisation}', 'person', connect, { own: true, proof: true }),
  ...formRoutes('/console/sso/confirm', 'person', confirm, confirm),
  ...formRoutes(
    '/console/sso/sign-in/{organisation}',
    'anyone',
    (visit) => signIn(visit, isPlain(visit)),
    (visit) => signIn(visit, true),
  ),
  ...formRoutes(
    '/console/sso/invitation/{token}',
    'anyone',
    (one) => accept(one, isPlain(one)),
    (one) => accept(one, true),
  ),
  get('/console/sso/callback', 'anyone', callback),
];

const unavailable: Answer = {
  status: 502,
  ...messagePage(
    'Your organisation’s identity provider does not answer',
    'Try again in a minute. If it still fails, tell an owner of your organisation.',
  ),
};

async function leave(visit: OpenVisit, organisationId: number, provider: Provider, purpose: Purpose): Promise<Answer> {
  const { app } = visit;
  try {
    const { to, journey } = await leaveFor(app, provider, purpose.purpose === 'confirm');
    const errand: Errand = {
      ...purpose,
      organisationId,
      issuer: provider.issuer,
      journey,
      until: app.clock.nowMs() + limits.sessionCodeMs,
      to: wantedPage(visit),
      keptIn: await keepDuring(visit),
    };
    return { to, errand: app.secrets.seal('sign-in', JSON.stringify(errand), app.random).toString('base64url') };
  } catch (error) {
    if (error instanceof ProviderFailed) return unavailable;
    throw error;
  }
}

/** Keeps the sealed form while the person is at the identity provider. @returns the session that keeps it */
async function keepDuring({ app, form }: OpenVisit): Promise<string | null> {
  const sealed = form.raw('kept');
  const id = readKept(app, sealed)?.session_id ?? null;
  if (id !== null) await withUnitOfWork(app, null, (work) => keepForm(work, id, Buffer.from(sealed, 'base64url')));
  return id;
}

/** An organisation without an identity provider gets the same 404 as an unknown organisation. */
async function providerOf({ app, params }: OpenVisit): Promise<{ organisation: Organisation; provider: Provider }> {
  const found = await findProviderOf(app, params.organisation!);
  if (found === null) throw new NoSuchPage();
  return found;
}

async function findProviderOf({ db, keyring }: OpenVisit['app'], id: string) {
  const organisation = isUuid(id) ? await findOrganisation(db, id) : undefined;
  const provider = organisation && (await findProvider(db, keyring, organisation.organisation_id));
  return organisation === undefined || provider === undefined ? null : { organisation, provider };
}

/** The button of the sign-in page, if the organisation of the wanted page has an identity provider. */
export async function providerForm(visit: OpenVisit, fields: Content): Promise<Content> {
  const id = visit.params.organisation ?? /^\/console\/([\w-]{36})/.exec(wantedPage(visit))?.[1] ?? '';
  if ((await findProviderOf(visit.app, id)) === null) return null;
  return html`<form method="post" action="/console/sso/sign-in/${id}">${fields}<div class="actions"><button class="second">Sign in at the identity provider</button></div></form>`;
}

async function signIn(visit: OpenVisit, isMeant: boolean): Promise<Answer> {
  const { organisation, provider } = await providerOf(visit);
  if (!isMeant) return askFirst(visit, organisation.name, provider);
  return leave(visit, organisation.organisation_id, provider, { purpose: 'sign-in' });
}

async function accept(visit: OpenVisit, isMeant: boolean): Promise<Answer> {
  const { app, params } = visit;
  const token = params.token!;
  const invitation = await findUserInvitation(app.db, token, app.clock.nowMs());
  if (invitation === undefined) throw new NoSuchPage();
  const provider = await findProvider(app.db, app.keyring, invitation.organisation_id);
  if (provider === undefined) throw new NoSuchPage();
  if (!isMeant) return askFirst(visit, invitation.organisation_name, provider);
  return leave(visit, invitation.organisation_id, provider, { purpose: 'accept', token });
}

async function connect(visit: PersonVisit): Promise<Answer> {
  const { organisation, provider } = await providerOf(visit);
  const { session } = visit;
  if (!session.memberships.some((one) => one.public_id === organisation.public_id)) throw new NoSuchPage();
  return leave(visit, organisation.organisation_id, provider, { purpose: 'connect', sessionId: session.session_id });
}

async function confirm(visit: PersonVisit): Promise<Answer> {
  const { app, session } = visit;
  const id = session.sso_organisation_id;
  const provider = id === null ? undefined : await findProvider(app.db, app.keyring, id);
  if (id === null || provider === undefined) throw new NoSuchPage();
  return leave(visit, id, provider, { purpose: 'confirm', sessionId: session.session_id });
}

const refused = (...sentences: string[]): Answer => ({
  status: 403,
  errand: null,
  ...messagePage('This sign-in did not work', ...sentences),
});

function openErrand({ app, sealed }: OpenVisit): Errand | null {
  const text = sealed === null ? null : app.secrets.open('sign-in', Buffer.from(sealed, 'base64url'));
  const errand = text === null ? null : (JSON.parse(text) as Errand);
  return errand === null || errand.until < app.clock.nowMs() ? null : errand;
}

async function callback(visit: OpenVisit): Promise<Answer> {
  const errand = openErrand(visit);
  if (errand === null) return refused('The sign-in took too long, or began in another browser. Sign in again.');
  const answer = await returned(visit, errand);
  if ('status' in answer) {
    const attempt = { ...visit, action: 'GET /console/sso/callback', email: visit.session?.email ?? null };
    await auditFailure(attempt, answer.status === 429 ? 'too_many_attempts' : 'identity_provider');
  }
  return answer;
}

async function returned(visit: OpenVisit, errand: Errand): Promise<Answer> {
  const { app, query } = visit;
  const provider = await findProvider(app.db, app.keyring, errand.organisationId);
  if (provider === undefined || provider.issuer !== errand.issuer) return changed;
  // Each return from a provider makes us send a request to it, so returns are throttled by IP address.
  // A browser that was signed in there has a count of its own, so that others in its network do not keep it out.
  const known = deviceOf(app, visit.device, browserAt(errand.organisationId), app.clock.nowMs());
  const subjects: Subject[] = [{ kind: 'return', value: known === undefined ? visit.address : `browser ${known}` }];
  const { seconds } = await withUnitOfWork(app, null, (work) => countAttempt(work, subjects));
  if (seconds > 0)
    return { ...refused(waitFault(seconds)), status: 429, headers: { 'retry-after': String(seconds) } } as Answer;
  let claims: Claims;
  try {
    claims = await comeBack(app, provider, errand.journey, query, errand.purpose === 'confirm');
  } catch (error) {
    if (error instanceof NoAuthTime)
      return refused(
        'Your identity provider did not say when you last entered your password, so the sign-in does not prove your identity.',
        'Ask an owner of your organisation to turn on the claim auth_time at the identity provider. If you have a password here, sign in with the password.',
      );
    if (error instanceof StaleProof)
      return refused(
        'Your identity provider says that you entered your password more than 2 minutes ago. Sign in again, and enter your password there.',
        'If you have just entered it, tell the operator: the clock of this service may be ahead.',
      );
    if (error instanceof ProviderFailed)
      return refused('Your identity provider did not confirm who you are. Sign in again.');
    throw error;
  }
  await withUnitOfWork(app, null, (work) => uncountAttempt(work, subjects));
  try {
    const answer = await arrive(visit, errand, provider, claims);
    if (typeof answer.token !== 'string') return { ...answer, errand: null };
    const id = errand.keptIn;
    const form = id === null ? null : await withUnitOfWork(app, null, (work) => takeForm(work, id));
    const kept = form?.toString('base64url');
    return { ...answer, errand: null, kept, device: knownDevice(visit, browserAt(errand.organisationId)) };
  } catch (error) {
    if (error instanceof ProviderChanged) return changed;
    if (error instanceof Refused) return refused(error.message);
    throw error;
  }
}

/** A browser's sign-in at the organisation's provider, as an entry of the device cookie. */
const browserAt = (organisationId: number) => ({ user_id: `sso ${organisationId}`, password: null });

const changed = refused('The organisation changed its identity provider during your sign-in. Sign in again.');

/** Raised if the provider's settings were changed or removed during the sign-in. */
class ProviderChanged extends Error {}

async function arrive(visit: OpenVisit, errand: Errand, provider: StoredProvider, claims: Claims): Promise<Answer> {
  const { app, client } = visit;
  const { organisationId, issuer } = errand;
  const held: Held = (inside) =>
    withUnitOfWork(app, null, async (work) => {
      if (!(await holdProvider(work, organisationId, provider))) throw new ProviderChanged();
      return inside(work);
    });
  const opened = { stage: 'full', client, provider: { organisationId, seenMs: claims.seenMs } } as const;
  const knownAs = await findByIdentity(app.db, organisationId, issuer, claims.subject);
  const arrival = { errand, claims, knownAs, opened, held };
  return arrivals[errand.purpose](visit, arrival);
}

// Browsers apply form-action to redirects too, so a page with such a form must allow the provider's URL.
export const leavesByForm = {
  'content-security-policy': pageHeaders['content-security-policy'].replace(
    "form-action 'self'",
    "form-action 'self' https:",
  ),
};

const isSignedIn = ({ session }: OpenVisit) => session?.stage === 'full';

/** If sign-in started without a question, another site could sign a reader in to a wrong account (decision 0026). */
export const isPlain = (visit: OpenVisit): boolean => visit.unprompted && !isSignedIn(visit);

export function askFirst(visit: OpenVisit, organisation: string, { issuer }: { issuer: string }): Answer {
  const { app, session, query } = visit;
  const to = safeAddress(query.get('to') ?? '', app.settings.baseUrl);
  const page = formPage(visit, {
    title: 'Sign in through an identity provider?',
    heading: html`Sign in through ${name(organisation)}’s identity provider?`,
    intro: [
      html`<p>The next page is on ${new URL(issuer).host}, the identity provider of this organisation. If you do not want to sign in there, close this page.</p>`,
      isSignedIn(visit) &&
        html`<p>You are signed in here as ${name(session!.full_name)}. This session ends when you sign in at the identity provider.</p>`,
    ],
    button: 'Sign in',
    cancel: isSignedIn(visit) ? '/console' : undefined,
    fields: () => hiddenField('to', to),
  });
  return { ...page, headers: leavesByForm };
}
