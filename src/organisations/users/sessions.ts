import { hash } from 'node:crypto';
import { type Tx, statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import type { Role } from './roles.ts';

export type Membership = {
  organisation_id: number;
  public_id: string;
  name: string;
  time_zone: string;
  /** The organisation has made-up data and test keys. */
  is_test: boolean;
  /** The organisation is the sandbox of another organisation, and has the other organisation's members. */
  is_sandbox: boolean;
  role: Role;
  /** The organisation requires a second factor for every role. */
  second_factor_for_all: boolean;
};

export type SeenMembership = Membership & {
  /** The organisation that has the person as a member; for a sandbox, the organisation that the sandbox belongs to. */
  home_id: number;
  last_used_ms: number | null;
};

export type Session = {
  session_id: string;
  user_id: string;
  stage: 'code' | 'full';
  created_at: Date;
  last_seen_at: Date;
  proved_at: Date;
  client: string;
  pending_totp: string | null;
  email: string;
  full_name: string;
  has_password: boolean;
  has_second_factor: boolean;
  /** The only organisation that the session opens, if the person used its single sign-on. */
  sso_organisation_id: number | null;
  memberships: SeenMembership[];
};

/**
 * SQL: memberships in organisations, and in their sandboxes for roles with access to keys. Suspended organisations are
 * left out.
 */
export const belonging = `
  select m.organisation_id, m.user_id, m.role, m.organisation_id as home_id, m.last_used_at, m.sso_only from user_membership m join organisation o using (organisation_id)
   where o.suspended_at is null
  union all
  select o.organisation_id, m.user_id, m.role, m.organisation_id, m.last_used_at, m.sso_only from user_membership m join organisation o on o.sandbox_of = m.organisation_id
    join organisation p on p.organisation_id = m.organisation_id
   where m.role in ('owner', 'admin', 'developer') and o.suspended_at is null and p.suspended_at is null`;

/** $2 and $3 limit the age of every session; $4 limits the age of sessions that wait for a second factor. */
const alive = `s.last_seen_at > $2 and s.created_at > $3 and (s.stage = 'full' or s.created_at > $4)`;
const oldest = (nowMs: number) =>
  [limits.sessionIdleMs, limits.sessionMs, limits.sessionCodeMs].map((ms) => new Date(nowMs - ms));

const find = statement('session.find')`
  select s.session_id, s.user_id, s.stage, s.created_at, s.last_seen_at, s.proved_at, s.client, s.pending_totp, s.sso_organisation_id,
         u.email, u.full_name, u.password is not null as has_password, u.totp_secret is not null as has_second_factor,
         coalesce((select json_agg(json_build_object('organisation_id', o.organisation_id, 'public_id', o.public_id,
                                   'name', o.name, 'time_zone', o.time_zone, 'is_test', o.sandbox, 'is_sandbox', o.sandbox_of is not null,
                                   'role', m.role, 'second_factor_for_all', o.second_factor_for_all, 'home_id', m.home_id, 'last_used_ms', (extract(epoch from m.last_used_at) * 1000)::int8) order by o.name, o.public_id)
                     from (${belonging}) m join organisation o using (organisation_id) where m.user_id = s.user_id
                      and case when s.sso_organisation_id is null then not m.sso_only else s.sso_organisation_id in (o.organisation_id, o.sandbox_of) end), '[]') as memberships
    from user_session s join user_account u using (user_id)
   where s.token_sha256 = $1 and ${alive}`;
const owner = statement(
  'session.owner',
)`select user_id, session_id from user_session where token_sha256 = $1 and stage = 'full'`;
const list = statement('session.list')`
  select session_id, created_at, last_seen_at, client from user_session s
   where user_id = $1 and stage = 'full' and ${alive} order by last_seen_at desc, session_id`;
const insert = statement('session.insert')`
  insert into user_session (session_id, token_sha256, user_id, stage, created_at, last_seen_at, proved_at, client, sso_organisation_id)
  values ($1, $2, $3, $4, $5, $5, $6, $7, $8)`;
// Sessions that wait for a code are counted separately, so that a person with a stolen password can't end full
// sessions.
const endOldest = statement('session.end_oldest')`
  delete from user_session where session_id in
    (select session_id from user_session where user_id = $1 and stage = $3 order by created_at desc, session_id offset $2)`;
const renew = statement('session.renew')`
  update user_session set token_sha256 = $2, stage = 'full', proved_at = case when $4 then $3 else proved_at end, last_seen_at = $3,
         pending_totp = null
   where session_id = $1 returning user_id`;
const hold = statement('session.hold')`select session_id from user_session where session_id = $1 for key share`;
const touch = statement('session.touch')`update user_session set last_seen_at = $2 where session_id = $1`;
const setPending = statement('session.set_pending')`update user_session set pending_totp = $2 where session_id = $1`;
const endOne = statement('session.end')`
  delete from user_session where user_id = $1 and session_id = $2 returning session_id`;
const endAll = statement('session.end_all')`
  delete from user_session where user_id = $1 and session_id is distinct from $2`;
const keep = statement('session.keep_form')`
  update user_session set kept_form = $2, kept_until = $3 where session_id = $1`;
const take = statement('session.take_form')`
  update user_session s set kept_form = null, kept_until = null
    from (select session_id, kept_form from user_session where session_id = $1 and kept_until > $2 for update) k
   where s.session_id = k.session_id returning k.kept_form`;
const pruneForms = statement('session.prune_forms')`
  update user_session set kept_form = null, kept_until = null where kept_until <= $1`;
const prune = statement('session.prune')`delete from user_session where last_seen_at <= $1 or created_at <= $2`;

const hashOf = (token: string) => hash('sha256', token, 'buffer');
const newToken = ({ random }: UnitOfWork) => random.bytes(32).toString('base64url');

export async function findSession(tx: Tx, token: string, nowMs: number): Promise<Session | undefined> {
  return (await tx.query<Session>(find, [hashOf(token), ...oldest(nowMs)]))[0];
}

export type SessionOwner = Pick<Session, 'user_id' | 'session_id'>;

/** The person of a session, which may have ended by its age. A session that was ended on purpose is not stored. */
export async function findSessionOwner(tx: Tx, token: string): Promise<SessionOwner | null> {
  return (await tx.query<SessionOwner>(owner, [hashOf(token)]))[0] ?? null;
}

/** Stores the sealed form of a session while the person is at the identity provider. The session may have ended. */
export async function keepForm(work: UnitOfWork, sessionId: string, sealed: Buffer): Promise<void> {
  await work.tx.query(keep, [sessionId, sealed, new Date(work.nowMs + limits.keptFormMs)]);
}

/** Deletes the stored form. @returns the form; null if there is none, or its time is over */
export async function takeForm(work: UnitOfWork, sessionId: string): Promise<Buffer | null> {
  const [row] = await work.tx.query<{ kept_form: Buffer }>(take, [sessionId, new Date(work.nowMs)]);
  return row?.kept_form ?? null;
}

/**
 * Opens a session. `provider.seenMs`: when the identity provider proved the person's identity; null counts as never.
 * Without a provider, the sign-in has just proved the identity.
 * @returns the token, which only the cookie contains
 */
export async function openSession(
  work: UnitOfWork,
  input: {
    userId: string;
    stage: Session['stage'];
    client: string;
    provider?: { organisationId: number; seenMs: number | null };
  },
): Promise<string> {
  const token = newToken(work);
  const { userId, stage, client, provider } = input;
  const provedMs = provider === undefined ? work.nowMs : (provider.seenMs ?? 0);
  const times = [work.nowMs, provedMs].map((ms) => new Date(ms));
  const values = [work.uuid(), hashOf(token), userId, stage, ...times, client, provider?.organisationId ?? null];
  await work.tx.query(insert, values);
  await work.tx.query(endOldest, [userId, limits.sessionsPerUser, stage]);
  return token;
}

/**
 * Replaces the token of a session, so that the old token no longer works.
 * @param options `proved`: the person has proved their identity again, by the second factor if there is one
 * @returns the new token; null if the session has ended
 */
export async function renewSession(
  work: UnitOfWork,
  sessionId: string,
  { proved }: { proved: boolean },
): Promise<string | null> {
  const token = newToken(work);
  const values = [sessionId, hashOf(token), new Date(work.nowMs), proved];
  const [renewed] = await work.tx.query<{ user_id: string }>(renew, values);
  if (renewed === undefined) return null;
  await work.tx.query(endOldest, [renewed.user_id, limits.sessionsPerUser, 'full']);
  return token;
}

/** Locks a session, so that it can't end before this transaction ends. @returns whether the session still exists */
export async function holdSession(work: UnitOfWork, sessionId: string): Promise<boolean> {
  return (await work.tx.query(hold, [sessionId])).length > 0;
}

/** Records that the session is in use. Call this at most once a minute, so that most pages cost no write. */
export async function touchSession(work: UnitOfWork, sessionId: string): Promise<void> {
  await work.tx.query(touch, [sessionId, new Date(work.nowMs)]);
}

export async function keepPendingSecret(work: UnitOfWork, sessionId: string, encrypted: string): Promise<void> {
  await work.tx.query(setPending, [sessionId, encrypted]);
}

export type ListedSession = Pick<Session, 'session_id' | 'created_at' | 'last_seen_at' | 'client'>;

export function listSessions(tx: Tx, userId: string, nowMs: number): Promise<ListedSession[]> {
  return tx.query<ListedSession>(list, [userId, ...oldest(nowMs)]);
}

/** @returns false if the person has no such session */
export async function endSession(work: UnitOfWork, userId: string, sessionId: string): Promise<boolean> {
  return (await work.tx.query(endOne, [userId, sessionId])).length === 1;
}

/** @param except the session that continues */
export async function endSessions(work: UnitOfWork, userId: string, except: string | null = null): Promise<void> {
  await work.tx.query(endAll, [userId, except]);
}

export async function pruneSessions(work: UnitOfWork): Promise<void> {
  await work.tx.query(pruneForms, [new Date(work.nowMs)]);
  await work.tx.query(prune, oldest(work.nowMs - limits.sessionEndedMs).slice(0, 2));
}

const browsers: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: [RegExp, string][] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Names the browser and system in our own words, because the User-Agent header itself is never stored. */
export function clientName(userAgent: string): string {
  const [browser, system] = [browsers, systems].map((table) => table.find(([pattern]) => pattern.test(userAgent))?.[1]);
  return `${browser ?? 'Another program'}${system === undefined ? '' : ` on ${system}`}`;
}
