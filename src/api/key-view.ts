import type { App } from '../app.ts';
import { callsByHour } from '../audit/hours.ts';
import { fixOf } from '../audit/log.ts';
import { within } from '../bounds.ts';
import { ApiError } from '../errors.ts';
import { findDigest } from '../feed/digest.ts';
import { SetCache } from '../feed/group-sets.ts';
import type { Caller } from '../http/route.ts';
import type { AccessKey } from '../keys/keys.ts';
import { statusOf } from '../keys/keys.ts';
import { usedOf } from '../keys/use.ts';
import { limits } from '../limits.ts';
import { nilUuid } from '../uuid.ts';
import type { Changed } from '../trace/entries.ts';
import { readChanged } from '../trace/entries.ts';
import type { Poll } from '../trace/facts.ts';
import { readLastPolls, readLearnerRef, readLogBounds, readResult } from '../trace/facts.ts';
import { excludedBy, keyName, outsideBounds } from '../trace/key.ts';
import type { NextRequest } from '../trace/next.ts';
import { filtersOf, firstRequest, nextRequest } from '../trace/next.ts';
import { splitList, unknownLearner } from '../trace/walk.ts';
import { time } from '../trace/words.ts';
import type { SentEntry } from './dry-run.ts';
import { answerTo, pageOf, rawQueryOf, walkFrom } from './dry-run.ts';

/** What one key receives next, and why: by the log of what it asked, and by the handler that will answer it. */

export type KeyState =
  'revoked' | 'expired' | 'never_polled' | 'not_known' | 'walking' | 'behind' | 'filter_excludes' | 'up_to_date';

export type ViewedEntry = {
  kind: 'result' | 'withdrawn' | 'left_scope';
  /** As it is sent. */
  payload: SentEntry;
  /** It has had it: `since` is inclusive. */
  again: boolean;
  changed: Changed | null;
  /** Why it comes, and what to do with it. */
  why: string;
};

/** A key without bounds sees whom its filters let through; results that they keep out, and why. */
export type KeptOut = { assessment_id: string; updated_at: string; why: string };

export type KeyView = {
  state: KeyState;
  sentence: string;
  /** The call that this is read from. */
  last: Poll | null;
  /** Its last call, where that was refused. */
  refusal: { call: Poll; code: string; fix: string } | null;
  /** The request that comes next; null where it can't be known, or is refused. */
  request: {
    /** With the cursor and with the learner's reference: for the key's own people, never for an address of ours. */
    rawQuery: string;
    /** The same for people to read. */
    text: string;
    limit: number;
    more: boolean;
    /** How many entries its answer has. */
    sent: number;
    /** Those of the part that was asked for. */
    entries: ViewedEntry[];
    /** With the ETag that it was given, it is answered by 304. */
    unchanged: boolean;
    digest: string | null;
  } | null;
  /** What it has not had yet; null where that can't be counted. */
  lag: { changes: number; atLeast: boolean; oldest: Date | null } | null;
  keptOut: KeptOut[];
  /** The newest call of each other set of filters that it has used lately. */
  others: { call: Poll; filters: string }[];
  polls: { answered: number; unchanged: number };
  rate: { limit: number; used: number };
  /** Looks for differences by the digest's buckets, in the last day: the copy's sums differed. */
  comparisons: number;
};

const dayMs = 86_400_000;
const hourMs = 3600_000;

const learnerOf = (query: string) => new URLSearchParams(query).get('learner_id');
const withRef = (query: string, ref: string) => query.replace(/learner_id=[^&]*/, `learner_ref=${ref}`);

/** Which entries of the answer are explained. */
export type Part = { from: number; count: number };

/**
 * @param of the call to read from, instead of the last one
 * @returns undefined where `of` is none of the key's latest lists
 */
export async function viewKey(
  app: App,
  organisationId: number,
  key: AccessKey,
  of: number | null = null,
  part: Part = { from: 0, count: limits.pageMax },
): Promise<KeyView | undefined> {
  const { recorded_from: from } = await readLogBounds(app.db, organisationId);
  const polls = await readLastPolls(app.db, organisationId, key.key_id, from);
  const answered = polls.filter((poll) => poll.status < 400);
  const last = (of === null ? answered[0] : answered.find((poll) => poll.audit_id === of)) ?? null;
  if (of !== null && last === null) return undefined;
  const beside = readBeside(app, organisationId, key, polls, last, of === null);
  const ahead = lookAhead(app, organisationId, key, { polls, answered, last, from }, part);
  const [seen, coming] = await Promise.all([beside, ahead]);
  return { ...seen, ...coming };
}

/** What else is known of it, beside what comes next. */
async function readBeside(
  app: App,
  organisationId: number,
  key: AccessKey,
  polls: readonly Poll[],
  last: Poll | null,
  newest: boolean,
): Promise<Omit<KeyView, keyof Ahead>> {
  const nowMs = app.clock.nowMs();
  const { db } = app;
  const day = { actor: key.key_id, from: new Date(nowMs - dayMs), to: new Date(nowMs + hourMs) };
  const [hours, used, compared] = await Promise.all([
    callsByHour(db, organisationId, { action: 'GET /assessments', ...day }),
    usedOf(db, organisationId, key.key_id, nowMs),
    callsByHour(db, organisationId, { action: 'GET /assessments/digest', ...day }),
  ]);
  const sum = (name: 'answered' | 'unchanged') => hours.reduce((total, hour) => total + hour[name], 0);
  return {
    last,
    refusal: newest ? refusalOf(polls[0]) : null,
    others: othersOf(
      polls.filter((poll) => poll.status < 400),
      last,
    ),
    polls: { answered: sum('answered'), unchanged: sum('unchanged') },
    rate: { limit: app.settings.rateLimit, used },
    comparisons: compared.reduce((total, hour) => total + hour.answered, 0),
  };
}

type Known = { polls: readonly Poll[]; answered: readonly Poll[]; last: Poll | null; from: Date };

async function lookAhead(
  app: App,
  organisationId: number,
  key: AccessKey,
  { polls, answered, last, from }: Known,
  part: Part,
): Promise<Ahead> {
  const nowMs = app.clock.nowMs();
  const nothing = { request: null, lag: null, keptOut: [] };
  const status = statusOf(key, nowMs);
  const name = keyName(key);
  if (status !== 'active') {
    const at = time(status === 'revoked' ? key.revoked_at! : key.expires_at!);
    const sentence = `${name} receives nothing more: it ${status === 'revoked' ? 'was revoked' : 'came to its end'} at ${at}. Every request is refused by 401.`;
    return { ...nothing, state: status, sentence };
  }
  const never = last === null && (polls.length > 0 || key.last_used_ms === null || key.created_at >= from);
  const request = last === null ? (never ? firstRequest : null) : nextRequest(last, answered);
  if (request === null) {
    const sentence =
      last === null
        ? `Not known for ${name}: it was used at ${time(new Date(key.last_used_ms!))}, and the log goes back to ${time(from)}. Its next poll tells.`
        : `Not known for ${name}: what it asked for at ${time(last.at)} is not in the log. Its next poll tells.`;
    return { ...nothing, state: 'not_known', sentence };
  }
  return walkAhead(app, organisationId, key, request, never, part);
}

function refusalOf(newest: Poll | undefined): KeyView['refusal'] {
  if (newest === undefined || newest.status < 400) return null;
  const code = newest.detail?.code ?? String(newest.status);
  return { call: newest, code, fix: fixOf(code) };
}

function othersOf(answered: readonly Poll[], last: Poll | null): KeyView['others'] {
  const filters = (poll: Poll) => filtersOf(poll.detail?.query ?? '');
  const found = new Map<string, Poll>();
  for (const call of answered) if (!found.has(filters(call))) found.set(filters(call), call);
  if (last !== null) found.delete(filters(last));
  return [...found].map(([text, call]) => ({ call, filters: text }));
}

type Ahead = Pick<KeyView, 'state' | 'sentence' | 'request' | 'lag' | 'keptOut'>;

async function walkAhead(
  app: App,
  organisationId: number,
  key: AccessKey,
  next: NextRequest,
  never: boolean,
  part: Part,
): Promise<Ahead> {
  const name = keyName(key);
  const bounds =
    key.group_ids === null && key.subjects === null ? null : { groupIds: key.group_ids, subjects: key.subjects };
  const { feed } = await findDigest(app.db, organisationId, { facets: null, groupIds: null });
  const caller: Caller = { organisationId, keyId: key.key_id, bounds, feed };
  const learnerId = learnerOf(next.query);
  const ref = learnerId === null ? null : await readLearnerRef(app.db, organisationId, learnerId);
  if (learnerId !== null && ref === null) {
    const unknown = learnerId === unknownLearner;
    const sentence = unknown
      ? `${name} asks for a learner_ref that no learner had: its pages stay empty until one has.`
      : `Not known for ${name}: the learner that it asked for has lost the reference, as by an erasure. It receives what that left: tombstones.`;
    return { state: unknown ? 'filter_excludes' : 'not_known', sentence, request: null, lag: null, keptOut: [] };
  }
  const ask = { ...next, query: ref === null ? next.query : withRef(next.query, encodeURIComponent(ref)) };
  const sets = new SetCache();
  const rawQuery = rawQueryOf(app, caller, ask);
  const [reply, counted] = await Promise.all([
    orRefusal(answerTo(app, sets, caller, rawQuery)),
    orRefusal(countLag(app, sets, caller, ask, next, never)),
  ]);
  if (reply instanceof ApiError) {
    const sentence = `The next request of ${name} is refused with ${reply.code}: ${reply.message}`;
    return { state: 'not_known', sentence, request: null, lag: null, keptOut: [] };
  }
  if (counted instanceof ApiError) throw counted;
  const { data, pagination } = pageOf(reply);
  const unchanged = next.sameSinceUs !== null && next.sameSinceUs === feed.position;
  const [keptOut, entries] = await Promise.all([
    findKeptOut(app, sets, caller, key, next, counted?.entries ?? null),
    explain(app, organisationId, key, next, data.slice(part.from, part.from + part.count)),
  ]);
  const lag =
    counted === null
      ? null
      : {
          changes: counted.entries.length,
          atLeast: counted.more,
          oldest: counted.entries.length === 0 ? null : new Date(counted.entries[0]!.updated_at),
        };
  const state = stateOf(next, never, lag, unchanged, keptOut);
  return {
    state,
    sentence: sentenceOf(name, state, lag, data.length, keptOut.length, app.clock.nowMs()),
    request: {
      rawQuery,
      text: textOf(next),
      limit: pagination.limit,
      more: pagination.has_more,
      sent: data.length,
      entries,
      unchanged,
      digest: reply.headers?.['x-sync-digest'] ?? null,
    },
    lag,
    keptOut,
  };
}

function orRefusal<T>(answer: Promise<T>): Promise<T | ApiError> {
  return answer.catch((error: unknown) => {
    if (error instanceof ApiError) return error;
    throw error;
  });
}

/** What stands in the feed for it behind all that it has had. */
async function countLag(
  app: App,
  sets: SetCache,
  caller: Caller,
  ask: { query: string },
  { hadUs }: NextRequest,
  never: boolean,
): Promise<{ entries: SentEntry[]; more: boolean } | null> {
  if (hadUs === null && !never) return null;
  const cursor = hadUs === null ? null : { value: hadUs, id: nilUuid, throughUs: null };
  return walkFrom(app, sets, caller, { query: ask.query, cursor }, limits.lagCounted);
}

/** How many of the results that filters keep out are named with their reason. */
const keptOutNamed = 10;

/** What has changed since it has had everything, and doesn't come to it. */
async function findKeptOut(
  app: App,
  sets: SetCache,
  caller: Caller,
  key: AccessKey,
  { query, hadUs, cursor }: NextRequest,
  coming: readonly SentEntry[] | null,
): Promise<KeptOut[]> {
  const narrow = caller.bounds !== null || filtersOf(query) !== '';
  if (!narrow || cursor !== null || hadUs === null || coming === null || coming.length >= limits.lagCounted) return [];
  const all = { query: '', cursor: { value: hadUs, id: nilUuid, throughUs: null } };
  const { entries } = await walkFrom(app, sets, { ...caller, bounds: null }, all, limits.pageDefault);
  const ids = new Set(coming.map((entry) => entry.assessment_id));
  const out: KeptOut[] = [];
  for (const { assessment_id, updated_at } of entries) {
    if (ids.has(assessment_id)) continue;
    const result =
      out.length < keptOutNamed ? await readResult(app.db, caller.organisationId, assessment_id) : undefined;
    const why = result === undefined ? null : (outsideBounds(key, result) ?? excludedBy(filtersOf(query), result));
    out.push({ assessment_id, updated_at, why: why ?? '' });
  }
  return out;
}

function stateOf(
  { cursor }: NextRequest,
  never: boolean,
  lag: KeyView['lag'],
  unchanged: boolean,
  keptOut: readonly KeptOut[],
): KeyState {
  if (never) return 'never_polled';
  if (cursor !== null) return 'walking';
  if (lag === null ? !unchanged : lag.changes > 0) return 'behind';
  return keptOut.length > 0 ? 'filter_excludes' : 'up_to_date';
}

function lasted(ms: number): string {
  const units = [
    [86_400_000, 'day'],
    [3600_000, 'hour'],
    [60_000, 'minute'],
    [1000, 'second'],
  ] as const;
  const [size, unit] = units.find(([unitMs]) => ms >= unitMs) ?? units[3];
  const n = Math.max(0, Math.floor(ms / size));
  return `${n} ${unit}${n === 1 ? '' : 's'}`;
}

function counted(n: number, what: string): string {
  return `${n.toLocaleString('en-GB')} ${what}${n === 1 ? '' : 's'}`;
}

function sentenceOf(
  name: string,
  state: KeyState,
  lag: KeyView['lag'],
  onPage: number,
  keptOut: number,
  nowMs: number,
): string {
  const all = lag === null ? '' : `${lag.atLeast ? 'at least ' : ''}${counted(lag.changes, 'change')}`;
  switch (state) {
    case 'never_polled':
      return `${name} has been answered no list of results yet: its first page holds ${onPage} ${onPage === 1 ? 'entry' : 'entries'} of ${all}.`;
    case 'walking':
      return `${name} is in the middle of a walk: its next page holds ${onPage}${lag === null ? '' : `, and ${all} are left`}.`;
    case 'behind':
      if (lag?.oldest == null) return `${name} walks everything again, and something has changed since.`;
      return `${name} is ${all} behind, the oldest of ${time(lag.oldest)}, ${lasted(nowMs - lag.oldest.getTime())} ago.`;
    case 'filter_excludes':
      return `${name} is up to date: its filters or bounds keep out what has changed since, ${counted(keptOut, 'result')}.`;
    default:
      return `${name} is up to date: nothing has changed for it since its last walk.`;
  }
}

const reasons: Record<NonNullable<Changed['cause']>, string> = {
  completed: 'It is new.',
  amended: 'It was amended.',
  renamed: 'Its learner was given another name or reference.',
  joined_or_left: 'Its learner has joined or left a group.',
  group_changed: 'A group of its learner was renamed, archived or brought back.',
  reported: 'Its evidence was made for the first time.',
};

function whyOf(kind: ViewedEntry['kind'], again: boolean, changed: Changed | null, since: number | null): string {
  if (again) return 'It has had this one: since is inclusive, so the newest of before come once more.';
  if (kind === 'withdrawn') return 'It was withdrawn: the copy is to be deleted.';
  if (kind === 'left_scope') {
    const left =
      changed === null || changed.left.length === 0 ? 'the groups that were asked for' : changed.left.join(', ');
    return `Its learner left ${left}: the copy goes out of that group's view.`;
  }
  if (since === null) return 'It comes with the first walk.';
  return changed?.cause == null ? 'It is new, or was imported anew.' : reasons[changed.cause];
}

async function explain(
  app: App,
  organisationId: number,
  key: AccessKey,
  next: NextRequest,
  data: readonly SentEntry[],
): Promise<ViewedEntry[]> {
  const given = new URLSearchParams(next.query);
  const sinceText = given.get('since');
  const since = next.cursor === null ? next.hadUs : sinceText === null ? null : Date.parse(sinceText) * 1000;
  const groups = within(splitList(given.get('group_id')), key.group_ids);
  const changed = await readChanged(
    app.db,
    organisationId,
    data.map((entry) => entry.assessment_id),
    since ?? 0,
    groups,
  );
  const hadMs = next.cursor !== null || next.hadUs === null ? -1 : Math.floor(next.hadUs / 1000);
  return data.map((payload) => {
    const kind = payload.removed !== undefined ? 'left_scope' : payload.status === 'deleted' ? 'withdrawn' : 'result';
    const again = Date.parse(payload.updated_at) <= hadMs;
    const found = changed.get(payload.assessment_id) ?? null;
    return { kind, payload, again, changed: found, why: whyOf(kind, again, found, since) };
  });
}

/** The request for people to read: a learner's reference and a cursor are named, not shown. */
function textOf({ query, limit, cursor }: NextRequest): string {
  const parts = [
    decodeURIComponent(query).replace(/learner_id=[^&]*/, 'learner_ref=LEARNER_REF'),
    limit === null ? '' : `limit=${limit}`,
    cursor === null ? '' : 'cursor=CURSOR',
  ].filter((part) => part !== '');
  return `GET /assessments${parts.length === 0 ? '' : `?${parts.join('&')}`}`;
}
