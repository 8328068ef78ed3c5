import { type Session, endSession, holdSession, openSession, renewSession } from '../organisations/users/sessions.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { readOrganisation } from '../organisations/organisations.ts';
import { writeOfChange } from '../organisations/users/email-templates.ts';
import { holdMembership } from '../organisations/users/members.ts';
import { connectIdentity } from '../organisations/users/single-sign-on.ts';
import type { Journey, Claims } from './identity-provider.ts';
import { acceptInside, nameFault } from './accept-invitation.ts';
import { auditRequest } from '../platform/audit/act.ts';

/** What follows when a person returns from the identity provider of an organisation. */

type Visitor = { session: Session | null; requestId: string };
type Arrived = { to: string; token?: string | null };

export type Purpose =
  { purpose: 'sign-in' } | { purpose: 'accept'; token: string } | { purpose: 'connect' | 'confirm'; sessionId: string };

/** Why the browser was sent to the provider. A sealed cookie of the browser contains the errand. */
export type Errand = {
  organisationId: number;
  issuer: string;
  journey: Journey;
  until: number;
  to: string;
  /** The session that keeps a form for the person. */
  keptIn: string | null;
} & Purpose;

/** Raised if the person lost their rights during the sign-in, so that the transaction is rolled back. */
export class Refused extends Error {}

const unknown = 'You have no access yet. Ask an owner or an admin for an invitation, and open its link.';
const signedOut = 'You signed out during the sign-in. Sign in again.';
const taken = 'Another person in this organisation already signs in with this account of your identity provider.';

type Arrival = {
  errand: Errand;
  claims: Claims;
  knownAs: string | undefined;
  opened: OpenedAt;
  held: Held;
};
type OpenedAt = { stage: 'full'; client: string; provider: { organisationId: number; seenMs: number | null } };
/** Runs a change in a transaction, if the settings still name the provider that answered. */
export type Held = <T>(inside: (work: UnitOfWork) => Promise<T>) => Promise<T>;

export const arrivals: Record<Purpose['purpose'], (visit: Visitor, arrival: Arrival) => Promise<Arrived>> = {
  'sign-in': signedIn,
  accept: accepted,
  connect: connected,
  confirm: confirmed,
};

async function signedIn({ session, requestId }: Visitor, { errand, knownAs, opened, held }: Arrival) {
  if (knownAs === undefined) throw new Refused(unknown);
  const { organisationId, to } = errand;
  const audited = { organisationId, requestId, userId: knownAs, resource: knownAs };
  const token = await held(async (work) => {
    if (!(await holdMembership(work, organisationId, knownAs))) throw new Refused(unknown);
    if (session !== null) await endSession(work, session.user_id, session.session_id);
    await auditRequest(work, { ...audited, action: 'GET /console/sso/sign-in' });
    return openSession(work, { ...opened, userId: knownAs });
  });
  return { to, token };
}

async function accepted({ requestId }: Visitor, arrival: Arrival): Promise<Arrived> {
  const { errand, claims, knownAs, opened, held } = arrival;
  if (knownAs !== undefined || errand.purpose !== 'accept')
    throw new Refused('You belong to the organisation already. Sign in instead.');
  const { organisationId, issuer } = errand;
  const { name, subject } = claims;
  const fullName = name !== null && nameFault(name) === null ? name : 'New person';
  const arrived = await held(async (work) => {
    const made = await acceptInside(work, errand.token, { fullName, password: null });
    if (made === null) return null;
    const { userId } = made;
    if (!(await connectIdentity(work, organisationId, { issuer, subject, userId }))) throw new Refused(taken);
    const action = 'GET /console/sso/invitation';
    await auditRequest(work, { organisationId, requestId, userId, action, resource: userId });
    const { public_id: home } = await readOrganisation(work.tx, organisationId);
    return { to: `/console/${home}`, token: await openSession(work, { ...opened, userId }) };
  });
  if (arrived === null) throw new Refused('The invitation has been used. Ask the person who sent it for a new one.');
  return arrived;
}

/** The session that began the errand; null if the person is no longer signed in to it. */
const ownSession = ({ session }: Visitor, errand: Errand): Session | null =>
  session?.stage === 'full' && 'sessionId' in errand && session.session_id === errand.sessionId ? session : null;

async function connected(visit: Visitor, { errand, claims: { subject }, held }: Arrival): Promise<Arrived> {
  const session = ownSession(visit, errand);
  if (session === null) throw new Refused(signedOut);
  const { organisationId, issuer } = errand;
  const { user_id: userId, session_id: id } = session;
  await held(async (work) => {
    // The removal of a person locks these rows in the same order, so the two cannot deadlock.
    const belongs = await holdMembership(work, organisationId, userId);
    if (!belongs || !(await holdSession(work, id))) throw new Refused(signedOut);
    if (!(await connectIdentity(work, organisationId, { issuer, subject, userId }))) throw new Refused(taken);
    await writeOfChange(work, session, 'single_sign_on');
    const { requestId } = visit;
    await auditRequest(work, {
      organisationId,
      requestId,
      userId,
      action: 'GET /console/sso/connect',
      resource: userId,
    });
  });
  return { to: '/console/account?did=connected' };
}

async function confirmed(visit: Visitor, { errand, knownAs, held }: Arrival): Promise<Arrived> {
  const session = ownSession(visit, errand);
  if (session === null || knownAs !== session.user_id)
    throw new Refused('You signed in as another person. Sign in again.');
  const token = await held((work) => renewSession(work, session.session_id, { proved: true }));
  return { to: errand.to, token };
}
