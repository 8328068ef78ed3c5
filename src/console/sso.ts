import type { Work } from '../db/work.ts';
import { inWork } from '../db/work.ts';
import { lockFeed } from '../feed/position.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { isPlainText } from '../personal-data.ts';
import type { Organisation } from '../organisations/organisations.ts';
import { findOrganisation, readOrganisation } from '../organisations/organisations.ts';
import { findUserInvitation } from '../users/invitations.ts';
import { writeOfChange } from '../users/letters.ts';
import { holdMembership } from '../users/members.ts';
import { endSession, holdSession, openSession, renewSession } from '../users/sessions.ts';
import type { Provider, StoredProvider } from '../users/single-sign-on.ts';
import {
  connectIdentity,
  dropProvider,
  findByIdentity,
  findProvider,
  holdProvider,
  setProvider,
} from '../users/single-sign-on.ts';
import type { Subject } from '../users/throttle.ts';
import { countAttempt, uncountAttempt } from '../users/throttle.ts';
import { isUuid } from '../uuid.ts';
import { checkUrl } from '../webhooks/address.ts';
import { confirmPage, facts, messagePage, notice } from './blocks.ts';
import { safeAddress } from './browser.ts';
import type { Faults } from './form.ts';
import { form, textField } from './form.ts';
import { acceptInside, nameFault } from './invitation.ts';
import type { Journey, Somebody } from './provider.ts';
import { callbackOf, comeBack, leaveFor, NoAuthTime, ProviderFailed, StaleProof } from './provider.ts';
import type { Acted, Answer, ConsoleRoute, OpenVisit, PersonVisit, Visit } from './route.ts';
import { auditAct, NoSuchPage } from './route.ts';
import { markOf, overtakenNote, seenBy, seenField } from './seen.ts';
import { waitFault } from './sign-in.ts';
import { askFirst, isPlain } from './sso-ask.ts';

/**
 * Sign-in at an organisation's own provider. Setting it up is for owners: whoever says who is who, is everybody. A session
 * that began there opens this organisation only, because another one never chose that provider.
 */
export const ssoRoutes: ConsoleRoute[] = [
  {
    for: ['owner'],
    live: true,
    proof: true,
    method: 'GET',
    path: '/sso',
    menu: 'Single sign-on',
    section: 'organisation',
    handle: settings,
  },
  { for: ['owner'], live: true, proof: true, method: 'POST', path: '/sso', handle: change },
  { for: ['owner'], live: true, proof: true, method: 'GET', path: '/sso/off', handle: showOff },
  { for: ['owner'], live: true, proof: true, method: 'POST', path: '/sso/off', handle: off },
  {
    for: 'person',
    own: true,
    proof: true,
    method: 'GET',
    path: '/console/sso/connect/{organisation}',
    handle: connect,
  },
  { for: 'person', method: 'GET', path: '/console/sso/confirm', handle: confirm },
  {
    for: 'anyone',
    method: 'GET',
    path: '/console/sso/sign-in/{organisation}',
    handle: (visit) => signIn(visit, isPlain(visit)),
  },
  {
    for: 'anyone',
    method: 'POST',
    path: '/console/sso/sign-in/{organisation}',
    handle: (visit) => signIn(visit, true),
  },
  {
    for: 'anyone',
    method: 'GET',
    path: '/console/sso/invitation/{token}',
    handle: (visit) => accept(visit, isPlain(visit)),
  },
  { for: 'anyone', method: 'POST', path: '/console/sso/invitation/{token}', handle: (visit) => accept(visit, true) },
  { for: 'anyone', method: 'GET', path: '/console/sso/callback', handle: callback },
];

/** What somebody left for, as the browser keeps it. */
type Errand = { organisationId: number; issuer: string; journey: Journey; until: number; to: string } & (
  { purpose: 'sign-in' } | { purpose: 'accept'; token: string } | { purpose: 'connect' | 'confirm'; sessionId: string }
);

type Purpose =
  { purpose: 'sign-in' } | { purpose: 'accept'; token: string } | { purpose: 'connect' | 'confirm'; sessionId: string };

/** Multi-tenant issuers name no tenant of their own. */
const shared = /^https:\/\/login\.microsoftonline\.com\/(common|organizations|consumers)\b/;
const needsTenant = /^https:\/\/(accounts\.google\.com|login\.microsoftonline\.com)\b/;

/** What was stored when the page was opened. Its secret stands on no page, and a change of it alone counts, too. */
const markOfStored = (provider: StoredProvider | undefined): string => markOf(provider?.changed_at ?? null);

/** A form that is sent twice is one: saving again would end everybody's sessions. */
const isSame = (stored: Provider, sent: Provider): boolean =>
  (['issuer', 'client_id', 'client_secret', 'tenant'] as const).every((name) => stored[name] === sent[name]);

function settingsPage(
  visit: Visit,
  provider: Provider | undefined,
  { seen, faults = {}, overtaken = null }: { seen: string; faults?: Faults; overtaken?: Content },
): Answer {
  const { app, base, organisation, form: sent, query } = visit;
  const isFaulty = Object.keys(faults).length > 0;
  const value = (name: keyof Provider) => (isFaulty || overtaken !== null ? sent.text(name) : (provider?.[name] ?? ''));
  const { baseUrl } = app.settings;
  return {
    status: overtaken !== null ? 409 : isFaulty ? 422 : 200,
    page: {
      title: 'Single sign-on',
      main: html`${notice(query, { changed: 'It is set. Try it in another browser before you rely on it.', off: 'Single sign-on is off. Sessions that began there have ended.' })}${overtaken}<p>People sign in at your own provider (OpenID Connect), by invitation. Whoever it vouches for needs no password and no second factor here. Switch on its claim <code>auth_time</code>: without it nobody who signs in there can open the pages that need a fresh proof, such as keys and exports.</p>${facts(
        [
          ['Register this redirect address there', html`<code>${callbackOf(baseUrl)}</code>`],
          ['People sign in at', html`<code>${`${baseUrl}/console/sso/sign-in/${organisation.public_id}`}</code>`],
          ['State', provider === undefined ? 'Off' : html`On. <a href="${base}/sso/off">Turn it off</a>`],
        ],
      )}${form(
        `${base}/sso`,
        [
          seenField(seen),
          textField({
            name: 'issuer',
            label: 'Issuer',
            hint: 'The provider’s address, such as https://login.microsoftonline.com/TENANT/v2.0.',
            type: 'url',
            value: value('issuer'),
            width: 40,
            fault: faults.issuer,
          }),
          textField({
            name: 'client_id',
            label: 'Client id',
            value: value('client_id'),
            width: 40,
            fault: faults.client_id,
          }),
          textField({
            name: 'client_secret',
            label: 'Client secret',
            hint: 'It is not shown again.',
            type: 'password',
            width: 40,
            fault: faults.client_secret,
          }),
          textField({
            name: 'tenant',
            label: 'Tenant (needed for Microsoft and Google)',
            hint: 'The tenant’s id, or the domain: people of others are refused.',
            value: value('tenant'),
            width: 40,
            fault: faults.tenant,
          }),
        ],
        'Set',
        { faults },
      )}`,
    },
  };
}

async function settings(visit: Visit): Promise<Answer> {
  const { app, organisation } = visit;
  const provider = await findProvider(app.db, app.keyring, organisation.organisation_id);
  return settingsPage(visit, provider, { seen: markOfStored(provider) });
}

async function change(visit: Visit): Promise<Answer> {
  const { app, base, organisation, form: sent } = visit;
  const { organisation_id: id } = organisation;
  const provider: Provider = {
    issuer: sent.text('issuer'),
    client_id: sent.text('client_id'),
    client_secret: sent.raw('client_secret'),
    tenant: sent.text('tenant') || null,
  };
  const faults: Faults = {};
  const verdict = checkUrl(provider.issuer, { allowNetworks: app.settings.webhookAllowNetworks });
  if (!verdict.ok) faults.issuer = `Enter an address with https: ${verdict.reason}.`;
  else if (shared.test(provider.issuer)) faults.issuer = 'Enter your own tenant’s issuer: this one lets anybody in.';
  for (const [name, label] of [
    ['client_id', 'client id'],
    ['client_secret', 'client secret'],
  ] as const)
    if (!isPlainText(provider[name], limits.clientSecretChars)) faults[name] = `Enter the ${label}.`;
  if (needsTenant.test(provider.issuer) && provider.tenant === null) faults.tenant = 'Enter the tenant.';
  if (provider.tenant !== null && !isPlainText(provider.tenant, limits.clientSecretChars))
    faults.tenant = 'Enter the tenant.';
  const seen = seenBy(visit);
  if (Object.keys(faults).length > 0)
    return settingsPage(visit, await findProvider(app.db, app.keyring, id), { seen, faults });
  const instead = await visit.change(async (work): Promise<Acted<{ stored: StoredProvider | undefined } | null>> => {
    await lockFeed(work, id);
    const stored = await findProvider(work.tx, work.keyring, id);
    if (stored !== undefined && isSame(stored, provider)) return { result: null };
    if (markOfStored(stored) !== seen) return { result: { stored } };
    await setProvider(work, id, provider);
    return { result: null, resource: organisation.public_id };
  });
  if (instead === null) return { to: `${base}/sso?did=changed` };
  const { stored } = instead;
  const overtaken = overtakenNote([
    ['State', stored === undefined ? 'Off' : 'On', 'On'],
    ['Issuer', stored?.issuer ?? 'None', provider.issuer],
    ['Client id', stored?.client_id ?? 'None', provider.client_id],
    ['Tenant', stored?.tenant ?? 'None', provider.tenant ?? 'None'],
  ]);
  return settingsPage(visit, stored, { seen: markOfStored(stored), overtaken });
}

async function showOff({ base }: Visit): Promise<Answer> {
  return {
    page: confirmPage({
      title: 'Turn single sign-on off?',
      says: [
        'Sessions that began at your provider end at once. People who have no password here need a new link from the page People.',
      ],
      action: `${base}/sso/off`,
      button: 'Turn it off',
      cancel: `${base}/sso`,
    }),
  };
}

async function off(visit: Visit): Promise<Answer> {
  await visit.change(async (work) => {
    await lockFeed(work, visit.organisation.organisation_id);
    await dropProvider(work, visit.organisation.organisation_id);
    return { result: null, resource: visit.organisation.public_id };
  });
  return { to: `${visit.base}/sso?did=off` };
}

const unavailable: Answer = {
  status: 502,
  page: messagePage(
    'Your organisation’s sign-in does not answer',
    'Try again in a minute. If it goes on, tell an owner of your organisation.',
  ),
};

/** Leaves for the provider; what is needed to come back goes with the browser, sealed. */
async function leave(
  { app, query, form: sent }: OpenVisit,
  organisationId: number,
  provider: Provider,
  purpose: Purpose,
): Promise<Answer> {
  try {
    const { to, journey } = await leaveFor(app, provider, purpose.purpose === 'confirm');
    const errand: Errand = {
      ...purpose,
      organisationId,
      issuer: provider.issuer,
      journey,
      until: app.clock.nowMs() + limits.sessionCodeMs,
      to: safeAddress(sent.raw('to') || (query.get('to') ?? ''), app.settings.baseUrl),
    };
    return { to, errand: app.secrets.seal('sign-in', JSON.stringify(errand), app.random).toString('base64url') };
  } catch (error) {
    if (error instanceof ProviderFailed) return unavailable;
    throw error;
  }
}

/** The organisation of an address and its provider; none of either looks alike. */
async function providerOf({ app, params }: OpenVisit): Promise<{ organisation: Organisation; provider: Provider }> {
  const id = params.organisation!;
  const organisation = isUuid(id) ? await findOrganisation(app.db, id) : undefined;
  const provider =
    organisation === undefined ? undefined : await findProvider(app.db, app.keyring, organisation.organisation_id);
  if (organisation === undefined || provider === undefined) throw new NoSuchPage();
  return { organisation, provider };
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
  return leave(visit, organisation.organisation_id, provider, {
    purpose: 'connect',
    sessionId: session.session_id,
  });
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
  page: messagePage('This sign-in did not work', ...sentences),
});

function openErrand({ app, sealed }: OpenVisit): Errand | null {
  const text = sealed === null ? null : app.secrets.open('sign-in', Buffer.from(sealed, 'base64url'));
  const errand = text === null ? null : (JSON.parse(text) as Errand);
  return errand === null || errand.until < app.clock.nowMs() ? null : errand;
}

async function callback(visit: OpenVisit): Promise<Answer> {
  const { app, query } = visit;
  const errand = openErrand(visit);
  if (errand === null) return refused('It took too long, or began in another browser. Begin again.');
  const provider = await findProvider(app.db, app.keyring, errand.organisationId);
  if (provider === undefined || provider.issuer !== errand.issuer) return changed;
  // Each return asks the provider: from one address it does so no more often than sign-ins may fail.
  const subjects: Subject[] = [{ kind: 'return', value: visit.address }];
  const seconds = await inWork(app, null, (work) => countAttempt(work, subjects));
  if (seconds > 0)
    return { ...refused(waitFault(seconds)), status: 429, headers: { 'retry-after': String(seconds) } } as Answer;
  let somebody: Somebody;
  try {
    somebody = await comeBack(app, provider, errand.journey, query, errand.purpose === 'confirm');
  } catch (error) {
    if (error instanceof NoAuthTime)
      return refused(
        'Your provider did not say when you last entered your password there, so that it proves nothing.',
        'Tell an owner of your organisation: the claim auth_time is to be switched on at the provider. Whoever has a password here can sign in with it instead.',
      );
    if (error instanceof StaleProof)
      return refused(
        'Your provider says that you entered your password there more than two minutes ago. Begin again, and enter it there when you are asked.',
        'If you have just entered it, tell whoever runs this service: its clock may be ahead of your provider’s.',
      );
    if (error instanceof ProviderFailed) return refused('Your provider did not vouch for you. Begin again.');
    throw error;
  }
  await inWork(app, null, (work) => uncountAttempt(work, subjects));
  try {
    return { ...(await arrive(visit, errand, provider, somebody)), errand: null };
  } catch (error) {
    if (error instanceof ProviderChanged) return changed;
    if (error instanceof Refused) return refused(error.message);
    throw error;
  }
}

const changed = refused('The organisation has changed its provider meanwhile. Begin again.');

/** Whoever vouched for somebody does so no more: the provider was changed, or turned off. */
class ProviderChanged extends Error {}

/** What was so when somebody came back is so no more, seen inside the change: nothing of it is done. */
class Refused extends Error {}

const unknown = 'You are not known here yet: ask an owner or an admin for an invitation, and open its link.';
const signedOut = 'You have signed out meanwhile. Begin again.';
const taken = 'This sign-in belongs to somebody else here.';

/** The provider has vouched for somebody: what they came for is done. */
async function arrive(
  visit: OpenVisit,
  errand: Errand,
  provider: StoredProvider,
  { subject, name, seenMs }: Somebody,
): Promise<Answer> {
  const { app, session, client, requestId } = visit;
  const { organisationId, issuer, to } = errand;
  const opened = { stage: 'full', client, provider: { organisationId, seenMs } } as const;
  const known = await findByIdentity(app.db, organisationId, issuer, subject);
  const isTheirs = (sessionId: string) => session?.stage === 'full' && session.session_id === sessionId;
  const audited = { organisationId, requestId };
  const held = <T>(inside: (work: Work) => Promise<T>): Promise<T> =>
    inWork(app, null, async (work) => {
      if (!(await holdProvider(work, organisationId, provider))) throw new ProviderChanged();
      return inside(work);
    });
  switch (errand.purpose) {
    case 'sign-in': {
      if (known === undefined) return refused(unknown);
      const token = await held(async (work) => {
        if (!(await holdMembership(work, organisationId, known))) throw new Refused(unknown);
        if (session !== null) await endSession(work, session.user_id, session.session_id);
        await auditAct(work, { ...audited, userId: known, action: 'GET /console/sso/sign-in', resource: known });
        return openSession(work, { ...opened, userId: known });
      });
      return { to, token };
    }
    case 'accept': {
      if (known !== undefined) return refused('You belong to the organisation already: sign in instead.');
      const organisation = await readOrganisation(app.db, organisationId);
      const fullName = name !== null && nameFault(name) === null ? name : 'New person';
      const token = await held(async (work) => {
        const made = await acceptInside(work, errand.token, { fullName, password: null });
        if (made === null) return null;
        const { userId } = made;
        if (!(await connectIdentity(work, organisationId, { issuer, subject, userId }))) throw new Refused(taken);
        await auditAct(work, { ...audited, userId, action: 'GET /console/sso/invitation', resource: userId });
        return openSession(work, { ...opened, userId });
      });
      return token === null
        ? refused('The invitation was used meanwhile.')
        : { to: `/console/${organisation.public_id}`, token };
    }
    case 'connect': {
      if (!isTheirs(errand.sessionId)) return refused(signedOut);
      const { user_id: userId, session_id: id } = session!;
      await held(async (work) => {
        // In the order in which a removal takes them.
        const belongs = await holdMembership(work, organisationId, userId);
        if (!belongs || !(await holdSession(work, id))) throw new Refused(signedOut);
        if (!(await connectIdentity(work, organisationId, { issuer, subject, userId }))) throw new Refused(taken);
        await writeOfChange(work, session!, 'single_sign_on');
        await auditAct(work, { ...audited, userId, action: 'GET /console/sso/connect', resource: userId });
      });
      return { to: '/console/account?did=connected' };
    }
    case 'confirm': {
      if (!isTheirs(errand.sessionId) || known !== session!.user_id)
        return refused('You came back as somebody else. Begin again.');
      const { session_id: id } = session!;
      return { to, token: await held((work) => renewSession(work, id, { proved: true })) };
    }
  }
}
