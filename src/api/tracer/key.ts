import { facetsMatching } from '../../records/results/facet.ts';
import type { RecordedWalk } from './polls.ts';
import { splitList, unknownLearner, walkOf } from './polls.ts';
import type { Poll, TracedKey, TracedResult } from './facts.ts';
import type { Reason } from './words.ts';
import { time, timeOf } from './words.ts';

/** Whether a key got a result, by which call, and if it didn't, why. */

export type KeyVerdict = {
  reason: Reason;
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

/** The name of a key to its people. */
export function keyName(key: Pick<TracedKey, 'key_id' | 'label'>): string {
  return key.label ?? key.key_id;
}

const unfiltered = { subject: null, rqf_level_code: null, below_level_1: null };

/** Whether a filter lets the result through; otherwise which one doesn't. */
function excludedBy(query: string, result: TracedResult): string | null {
  const given = new URLSearchParams(query);
  const list = (name: string) => splitList(given.get(name));
  const isIn = (facets: number[] | null) => facets === null || facets.includes(result.facet);
  const learner = given.get('learner_id');
  if (learner === unknownLearner) return 'it asks for a learner_ref that no learner had';
  if (learner !== null && learner !== result.learner_id && !result.merged_ids.includes(learner))
    return 'it asks for another learner';
  if (!isIn(facetsMatching({ ...unfiltered, subject: list('subject') }))) return 'it filters another subject';
  const codes = list('rqf_level_code')?.map(Number) ?? null;
  const below = given.get('below_level_1');
  const level = { rqf_level_code: codes, below_level_1: below === null ? null : below === 'true' };
  if (!isIn(facetsMatching({ ...unfiltered, ...level }))) return 'it filters another level';
  const from = given.get('assessed_from');
  const to = given.get('assessed_to');
  if (from !== null && result.assessed_at < Date.parse(from) * 1000)
    return 'it filters results that were assessed later';
  if (to !== null && result.assessed_at > Date.parse(to) * 1000) return 'it filters results that were assessed earlier';
  const status = list('status');
  if (status !== null && !status.includes(result.deleted ? 'deleted' : 'completed'))
    return result.deleted ? 'it asks for completed results only, without withdrawals' : 'it asks for withdrawals only';
  const groups = list('group_id');
  if (groups !== null && !groups.some((id) => result.group_ids.includes(id)))
    return `it filters ${groups.length === 1 ? `group ${groups[0]}` : 'groups'}, and the learner isn't in ${groups.length === 1 ? 'it' : 'any of them'}`;
  return null;
}

/** What a key with bounds can't see, whatever it asks for. */
function outsideBounds({ group_ids: groups, subjects }: TracedKey, result: TracedResult): string | null {
  if (groups !== null && !groups.some((id) => result.group_ids.includes(id)))
    return 'the learner is in none of the groups that the key is bounded to';
  const facets = facetsMatching({ ...unfiltered, subject: subjects });
  return facets === null || facets.includes(result.facet) ? null : 'the key is bounded to other subjects';
}

const verdict = (reason: Reason, sentence: string, poll: Poll | null = null, at = poll?.at ?? null): KeyVerdict => ({
  reason,
  sentence,
  at,
  proof: poll?.audit_id ?? null,
  hasEnded: false,
});

/** A key with what is known of its calls, and the result that is asked about. */
export type KeyCase = {
  key: TracedKey;
  result: TracedResult;
  /** From when on the log tells of calls. */
  logBegin: Date;
  nowMs: number;
  /** 200s whose page's ends lie around the result's position. */
  pages: Poll[];
  /** Reads of the result or its learner by id, the first before and the first since it stood where it stands. */
  reads: Poll[];
  /** The first and last polls since the result stood where it stands. */
  polls: Poll[];
  /** Those since it was recorded, where it has changed since. */
  earlier: Poll[];
  /** What other keys were answered: this one may go on with the `since` of another. */
  others: readonly { name: string; poll: Poll }[];
};

export function explainKey(it: KeyCase): KeyVerdict {
  const { key, result } = it;
  const name = keyName(key);
  const ended = endOf(it);
  const bound = outsideBounds(key, result);
  const got = receivedBy(name, it, bound);
  if (got !== null)
    return ended === null
      ? got
      : { ...got, sentence: `${got.sentence.slice(0, -1)}, and was ${ended.says}.`, hasEnded: true };
  if (bound !== null) return verdict('key_bounded', `${name} can't see it: ${bound}.`);
  const stood = timeOf(result.position);
  if (ended !== null && ended.at <= stood && result.first_position === result.position)
    return verdict(ended.reason, `${name} was ${ended.says}, before ${whatOf(result)}.`, null, ended.at);
  const why = fetchedEarlier(name, it) ?? whyNot(name, it);
  if (ended === null) return why;
  const sentence = `${name} was ${ended.says}. Before that: ${why.sentence}`;
  return { ...why, reason: ended.reason, sentence, at: ended.at };
}

const whatOf = (result: TracedResult) => (result.deleted ? 'the withdrawal' : 'the result');

function receivedBy(name: string, { result, pages, reads }: KeyCase, bound: string | null): KeyVerdict | null {
  const page = pages.find((poll) => {
    const walk = walkOf(poll);
    return walk?.byPosition === true && excludedBy(walk.query, result) === null;
  });
  const read = result.deleted ? undefined : reads.find(({ at }) => at >= timeOf(result.position));
  if (page !== undefined && bound === null && (read === undefined || page.at <= read.at))
    return verdict('fetched', `${name} fetched ${whatOf(result)} at ${time(page.at)}.`, page);
  return read === undefined ? null : verdict('read_by_id', `${name} read it by its id at ${time(read.at)}.`, read);
}

/** It has an older state of the result. */
function fetchedEarlier(name: string, { result, earlier, reads }: KeyCase): KeyVerdict | null {
  const [before] = [...earlier.filter((poll) => coveredAll(poll, result)), ...reads].sort(
    (a, b) => a.at.getTime() - b.at.getTime(),
  );
  if (before === undefined) return null;
  const change = result.deleted ? 'withdrawal' : 'change';
  const sentence = `${name} fetched it at ${time(before.at)}, and hasn't fetched its ${change} of ${time(timeOf(result.position))}.`;
  return verdict('fetched_before_change', sentence, before);
}

function whyNot(name: string, it: KeyCase): KeyVerdict {
  const { key, logBegin } = it;
  const { last_poll_at: lastPoll, networks } = key;
  const stoodMs = timeOf(it.result.position).getTime();
  // A call from elsewhere is refused as a wrong secret is, and is in nobody's log.
  const only =
    networks === null ? '' : ` It is accepted from ${networks.join(', ')} only; calls from elsewhere leave no trace.`;
  if (lastPoll === null && key.created_at >= logBegin)
    return verdict('never_polled', `${name} has never asked for results.${only}`);
  if (stoodMs + slackMs < logBegin.getTime())
    return verdict('not_known', `Not known for ${name}: the log goes back to ${time(logBegin)}.`);
  if (lastPoll === null)
    return verdict('never_polled', `${name} has not asked for results since the log begins.${only}`);
  if (lastPoll.getTime() < stoodMs)
    return verdict('not_polled_since', `${name} has not polled since ${time(lastPoll)}.${only}`, null, lastPoll);
  return ofPolls(name, it, lastPoll);
}

type Ended = { reason: 'key_revoked' | 'key_expired'; says: string; at: Date };

/** How the key has ended; null while it works, whenever it is going to end. */
function endOf({ key: { revoked_at: revoked, expires_at: expires }, nowMs }: KeyCase): Ended | null {
  if (revoked !== null && (expires === null || revoked <= expires))
    return { reason: 'key_revoked', says: `revoked at ${time(revoked)}`, at: revoked };
  if (expires === null || expires.getTime() > nowMs) return null;
  return { reason: 'key_expired', says: `at its end at ${time(expires)}`, at: expires };
}

/** Whether a page of before the last change held everything from before the result was recorded on. */
function coveredAll(poll: Poll, result: TracedResult): boolean {
  const walk = walkOf(poll);
  if (walk === null || !walk.byPosition || poll.status !== 200 || walk.cursor !== null || walk.more) return false;
  if (excludedBy(walk.query.replace(/(^|&)status=[^&]*/, ''), result) !== null) return false;
  return walk.rows > 0 && (walk.sinceUs === null || walk.sinceUs <= result.first_position);
}

type Walk = { poll: Poll; walk: RecordedWalk; excluded: string | null };

function ofPolls(name: string, it: KeyCase, lastPollAt: Date): KeyVerdict {
  const { result, polls } = it;
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
    (beyond === undefined ? null : passedBy(name, it, beyond, walks)) ??
    inWalk(name, it, fitting) ??
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
function passedBy(name: string, { result, others }: KeyCase, { poll, walk }: Walk, walks: Walk[]): KeyVerdict {
  const what = whatOf(result);
  const at = time(poll.at);
  const gave = (one: Poll) => {
    const through = walkOf(one)?.throughUs ?? null;
    return through !== null && Math.floor(through / 1000) === Math.floor(walk.sinceUs! / 1000);
  };
  const own = walks.findLast((one) => one.poll.audit_id < poll.audit_id && gave(one.poll));
  if (own?.excluded === null)
    return verdict(
      'walk_unfinished',
      `${name} went on at ${at} without having read the walk before to its end: ${what} stood on a later page.`,
      poll,
    );
  if (own !== undefined)
    return verdict(
      'filter_excludes',
      `${name} changed its filters at ${at} and went on with its since. The walk before left ${what} out: ${own.excluded}. It has to walk once without since.`,
      poll,
    );
  const other = others.find((one) => one.poll.at <= poll.at && gave(one.poll));
  if (other !== undefined)
    return verdict(
      'walk_unfinished',
      `${name} went on at ${at} with the since of ${other.name}, which had not had ${what}. It has to walk once without since.`,
      poll,
    );
  return verdict(
    'own_clock',
    `${name} walks with its own clock: ${what} stood below its since of ${at}. X-Sync-Through is the right one.`,
    poll,
  );
}

/** A walk that rests for so long has been broken off. */
const restMs = 15 * 60_000;

function inWalk(name: string, { result, nowMs }: KeyCase, fitting: Walk[]): KeyVerdict | null {
  const early = fitting.findLast(
    ({ walk }) => walk.byPosition && walk.more && walk.last !== null && walk.last < result.position,
  );
  if (early === undefined) return null;
  const { poll, walk } = early;
  const left = `${whatOf(result)} stands on a later page.`;
  if (early !== fitting.at(-1))
    return verdict('walk_unfinished', `${name} has not read its walk to the end: ${left}`, poll);
  const at = time(poll.at);
  if (nowMs - poll.at.getTime() > restMs)
    return verdict('walk_unfinished', `${name} has stopped in the middle of its walk, at ${at}: ${left}`, poll);
  const come = time(timeOf(walk.last!));
  return verdict('walk_under_way', `${name} is on its way: its walk had come to ${come} at ${at}.`, poll);
}
