import { facetsMatching, levelCodes } from '../assessments/facet.ts';
import type { RecordedWalk } from './walk.ts';
import { splitList, unknownLearner, walkOf } from './walk.ts';
import type { LogBounds, Poll, TracedKey, TracedResult } from './facts.ts';
import { time } from './words.ts';

/** Whether a key got a result, by which call, and if it didn't, why. */

export type KeyReason =
  | 'fetched'
  | 'read_by_id'
  | 'fetched_before_change'
  | 'key_bounded'
  | 'key_revoked'
  | 'key_expired'
  | 'never_polled'
  | 'not_polled_since'
  | 'polls_refused'
  | 'filter_excludes'
  | 'own_clock'
  | 'walk_unfinished'
  | 'cursor_stuck'
  | 'walk_under_way'
  | 'not_known';

export type KeyVerdict = {
  reason: KeyReason;
  sentence: string;
  /** When it was fetched, or last asked for. */
  at: Date | null;
  /** The row of the log that proves it. */
  proof: number | null;
  /** The key was revoked or has expired. */
  hasEnded: boolean;
};

/** Clocks of processes may differ by so much, and positions run ahead of the clock in a bulk change. */
const slackMs = 5000;

const msOf = (us: number) => Math.floor(us / 1000);

/** The name of a key to its people. */
export function keyName(key: Pick<TracedKey, 'key_id' | 'label'>): string {
  return key.label ?? key.key_id;
}

/** Whether a filter lets the result through; otherwise which one doesn't. */
function excludedBy(query: string, result: TracedResult): string | null {
  const given = new URLSearchParams(query);
  const list = (name: string) => splitList(given.get(name));
  const learner = given.get('learner_id');
  if (learner === unknownLearner) return 'it asks for a learner_ref that no learner had';
  if (learner !== null && learner !== result.learner_id && !result.merged_ids.includes(learner))
    return 'it asks for another learner';
  const facets = facetsMatching({
    subject: list('subject'),
    rqf_level_code: null,
    below_level_1: null,
  });
  if (facets !== null && !facets.includes(result.facet)) return 'it filters another subject';
  const levels = facetsMatching({
    subject: null,
    rqf_level_code:
      list('rqf_level_code')
        ?.map(Number)
        .filter((code) => levelCodes.includes(code as never)) ?? null,
    below_level_1: given.get('below_level_1') === null ? null : given.get('below_level_1') === 'true',
  });
  if (levels !== null && !levels.includes(result.facet)) return 'it filters another level';
  const [from, to] = ['assessed_from', 'assessed_to'].map((name) => given.get(name));
  if (from !== null && from !== undefined && result.assessed_at < Date.parse(from) * 1000)
    return 'it filters results that were assessed later';
  if (to !== null && to !== undefined && result.assessed_at > Date.parse(to) * 1000)
    return 'it filters results that were assessed earlier';
  const status = list('status');
  if (status !== null && !status.includes(result.deleted ? 'deleted' : 'completed'))
    return result.deleted ? 'it asks for completed results only, without withdrawals' : 'it asks for withdrawals only';
  const groups = list('group_id');
  if (groups !== null && !groups.some((id) => result.group_ids.includes(id)))
    return `it filters ${groups.length === 1 ? `group ${groups[0]}` : 'groups'}, and the learner isn't in ${groups.length === 1 ? 'it' : 'any of them'}`;
  return null;
}

/** What a key with bounds can't see, whatever it asks for. */
function outsideBounds(
  { group_ids: groups, subjects }: Pick<TracedKey, 'group_ids' | 'subjects'>,
  result: TracedResult,
): string | null {
  if (groups !== null && !groups.some((id) => result.group_ids.includes(id)))
    return 'the learner is in none of the groups that the key is bounded to';
  const facets = facetsMatching({ subject: subjects, rqf_level_code: null, below_level_1: null });
  if (facets !== null && !facets.includes(result.facet)) return 'the key is bounded to other subjects';
  return null;
}

const verdict = (
  reason: KeyReason,
  sentence: string,
  poll: Poll | null = null,
  at: Date | null = null,
): KeyVerdict => ({
  reason,
  sentence,
  at: at ?? poll?.at ?? null,
  proof: poll?.audit_id ?? null,
  hasEnded: false,
});

export type KeyCalls = {
  /** 200s whose page's ends lie around the result's position. */
  pages: Poll[];
  /** Reads of the result or its learner by id, the first before and the first since it stood where it stands. */
  reads: Poll[];
  /** The first and last polls since the result stood where it stands. */
  polls: Poll[];
  /** Those since it was recorded, where it has changed since. */
  earlier: Poll[];
};

/** What another key was answered, for keys that go on with its `since`. */
export type OtherPoll = { name: string; poll: Poll };

export function explainKey(
  key: TracedKey,
  result: TracedResult,
  log: LogBounds,
  calls: KeyCalls,
  others: readonly OtherPoll[],
  nowMs: number,
): KeyVerdict {
  const name = keyName(key);
  const ended = endOf(key, nowMs);
  const got = receivedBy(name, result, calls, outsideBounds(key, result));
  if (got !== null)
    return ended === null
      ? got
      : { ...got, sentence: `${got.sentence.slice(0, -1)}, and was ${ended.says}.`, hasEnded: true };
  const bound = outsideBounds(key, result);
  if (bound !== null) return verdict('key_bounded', `${name} can't see it: ${bound}.`);
  const stood = new Date(msOf(result.position));
  if (ended !== null && ended.at <= stood && result.first_position === result.position)
    return verdict(ended.reason, `${name} was ${ended.says}, before ${whatOf(result)}.`, null, ended.at);
  const why = fetchedEarlier(name, result, calls) ?? whyNot(key, result, log, calls, others, nowMs);
  if (ended === null) return why;
  return {
    ...why,
    reason: ended.reason,
    sentence: `${name} was ${ended.says}. Before that: ${why.sentence}`,
    at: ended.at,
  };
}

const whatOf = (result: TracedResult) => (result.deleted ? 'the withdrawal' : 'the result');

function receivedBy(name: string, result: TracedResult, calls: KeyCalls, bound: string | null): KeyVerdict | null {
  const what = whatOf(result);
  const page = calls.pages.find(
    (poll) => walkOf(poll)?.byPosition === true && excludedBy(walkOf(poll)!.query, result) === null,
  );
  const read = result.deleted ? undefined : calls.reads.find(({ at }) => at.getTime() >= msOf(result.position));
  if (page !== undefined && bound === null && (read === undefined || page.at <= read.at))
    return verdict('fetched', `${name} fetched ${what} at ${time(page.at)}.`, page);
  return read === undefined ? null : verdict('read_by_id', `${name} read it by its id at ${time(read.at)}.`, read);
}

/** It has an older state of the result. */
function fetchedEarlier(name: string, result: TracedResult, calls: KeyCalls): KeyVerdict | null {
  const [before] = [...calls.earlier.filter((poll) => coveredAll(poll, result)), ...calls.reads].sort(
    (a, b) => a.at.getTime() - b.at.getTime(),
  );
  if (before === undefined) return null;
  const change = result.deleted ? 'withdrawal' : 'change';
  const sentence = `${name} fetched it at ${time(before.at)}, and hasn't fetched its ${change} of ${time(new Date(msOf(result.position)))}.`;
  return verdict('fetched_before_change', sentence, before);
}

function whyNot(
  key: TracedKey,
  result: TracedResult,
  log: LogBounds,
  calls: KeyCalls,
  others: readonly OtherPoll[],
  nowMs: number,
): KeyVerdict {
  const name = keyName(key);
  const stoodMs = msOf(result.position);
  // A call from elsewhere is refused as a wrong secret is, and is in nobody's log.
  const only =
    key.networks === null
      ? ''
      : ` It is accepted from ${key.networks.join(', ')} only; calls from elsewhere leave no trace.`;
  if (key.last_poll_at === null && key.created_at >= log.recorded_from)
    return verdict('never_polled', `${name} has never asked for results.${only}`);
  if (stoodMs + slackMs < log.recorded_from.getTime())
    return verdict('not_known', `Not known for ${name}: the log goes back to ${time(log.recorded_from)}.`);
  if (key.last_poll_at === null)
    return verdict('never_polled', `${name} has not asked for results since the log begins.${only}`);
  if (key.last_poll_at.getTime() < stoodMs)
    return verdict(
      'not_polled_since',
      `${name} has not polled since ${time(key.last_poll_at)}.${only}`,
      null,
      key.last_poll_at,
    );
  return ofPolls(name, result, calls.polls, others, { lastPollAt: key.last_poll_at, nowMs });
}

/** How the key has ended; null while it works, whenever it is going to end. */
function endOf(
  key: TracedKey,
  nowMs: number,
): { reason: 'key_revoked' | 'key_expired'; says: string; at: Date } | null {
  const { revoked_at: revoked, expires_at: expires } = key;
  if (revoked !== null && (expires === null || revoked <= expires))
    return { reason: 'key_revoked', says: `revoked at ${time(revoked)}`, at: revoked };
  return expires === null || expires.getTime() > nowMs
    ? null
    : { reason: 'key_expired', says: `at its end at ${time(expires)}`, at: expires };
}

/** Whether a page of before the last change held everything from before the result was recorded on. */
function coveredAll(poll: Poll, result: TracedResult): boolean {
  const walk = walkOf(poll);
  if (walk === null || !walk.byPosition || poll.status !== 200 || walk.cursor !== null || walk.more) return false;
  if (excludedBy(walk.query.replace(/(^|&)status=[^&]*/, ''), result) !== null) return false;
  return walk.rows > 0 && (walk.sinceUs === null || walk.sinceUs <= result.first_position);
}

type Walk = { poll: Poll; walk: RecordedWalk; excluded: string | null };

function ofPolls(
  name: string,
  result: TracedResult,
  polls: Poll[],
  others: readonly OtherPoll[],
  { lastPollAt, nowMs }: { lastPollAt: Date; nowMs: number },
): KeyVerdict {
  const last = polls.at(-1) ?? null;
  // Only what brought something, or was refused, is among the polls.
  if (last === null)
    return verdict(
      'not_known',
      `Not known for ${name}: since then it was only told that nothing has changed (304), until ${time(lastPollAt)}.`,
    );
  const answered = polls.filter((poll) => poll.status < 400);
  if (answered.length === 0 && lastPollAt <= last.at)
    return verdict(
      'polls_refused',
      `${name} has polled since, and was refused each time: ${last.detail?.code ?? last.status}.`,
      last,
    );
  const walks = answered.flatMap((poll) => {
    const walk = walkOf(poll);
    return walk === null ? [] : [{ poll, walk, excluded: excludedBy(walk.query, result) }];
  });
  if (walks.length === 0)
    return verdict('not_known', `Not known for ${name}: what it asked for was not recorded.`, last);
  const fitting = walks.filter(({ excluded }) => excluded === null);
  const newest = walks.at(-1)!;
  if (fitting.length === 0)
    return verdict('filter_excludes', `${name} doesn't get it: ${newest.excluded}.`, newest.poll);
  const beyond = fitting.find(
    ({ walk }) => walk.sinceUs !== null && walk.cursor === null && walk.sinceUs > result.position,
  );
  return (
    stuckOn(name, result, fitting) ??
    (beyond === undefined ? null : passedBy(name, result, beyond, walks, others)) ??
    inWalk(name, result, fitting, nowMs) ??
    verdict(
      'not_known',
      `Not known for ${name}: it polled at ${time(fitting.at(-1)!.poll.at)}, and no page in the log held ${whatOf(result)}.`,
      fitting.at(-1)!.poll,
    )
  );
}

function stuckOn(name: string, result: TracedResult, fitting: Walk[]): KeyVerdict | null {
  const { poll, walk } = fitting.at(-1)!;
  const stuck = fitting.filter((one) => one.walk.cursor === walk.cursor);
  if (walk.cursor === null || walk.cursor >= result.position || stuck.length < 2) return null;
  return verdict(
    'cursor_stuck',
    `${name} asks for the same page again and again, since ${time(stuck[0]!.poll.at)}: it doesn't follow pagination.next.`,
    poll,
  );
}

/** Its `since` is later than the result: from where it has that. */
function passedBy(
  name: string,
  result: TracedResult,
  { poll, walk }: Walk,
  walks: Walk[],
  others: readonly OtherPoll[],
): KeyVerdict {
  const what = whatOf(result);
  const gave = (one: Poll) => {
    const through = walkOf(one)?.throughUs ?? null;
    return through !== null && msOf(through) === msOf(walk.sinceUs!);
  };
  const own = walks.findLast((one) => one.poll.audit_id < poll.audit_id && gave(one.poll));
  if (own !== undefined)
    return own.excluded === null
      ? verdict(
          'walk_unfinished',
          `${name} went on at ${time(poll.at)} without having read the walk before to its end: ${what} stood on a later page.`,
          poll,
        )
      : verdict(
          'filter_excludes',
          `${name} changed its filters at ${time(poll.at)} and went on with its since. The walk before left ${what} out: ${own.excluded}. It has to walk once without since.`,
          poll,
        );
  const other = others.find((one) => one.poll.at <= poll.at && gave(one.poll));
  if (other !== undefined)
    return verdict(
      'walk_unfinished',
      `${name} went on at ${time(poll.at)} with the since of ${other.name}, which had not had ${what}. It has to walk once without since.`,
      poll,
    );
  return verdict(
    'own_clock',
    `${name} walks with its own clock: ${what} stood below its since of ${time(poll.at)}. X-Sync-Through is the right one.`,
    poll,
  );
}

/** A walk that rests for so long has been broken off. */
const restMs = 15 * 60_000;

function inWalk(name: string, result: TracedResult, fitting: Walk[], nowMs: number): KeyVerdict | null {
  const early = fitting.findLast(
    ({ walk }) => walk.byPosition && walk.more && walk.last !== null && walk.last < result.position,
  );
  if (early === undefined) return null;
  const { poll, walk } = early;
  const what = whatOf(result);
  if (early !== fitting.at(-1))
    return verdict(
      'walk_unfinished',
      `${name} has not read its walk to the end: ${what} stands on a later page.`,
      poll,
    );
  if (nowMs - poll.at.getTime() > restMs)
    return verdict(
      'walk_unfinished',
      `${name} has stopped in the middle of its walk, at ${time(poll.at)}: ${what} stands on a later page.`,
      poll,
    );
  return verdict(
    'walk_under_way',
    `${name} is on its way: its walk had come to ${time(new Date(msOf(walk.last!)))} at ${time(poll.at)}.`,
    poll,
  );
}
