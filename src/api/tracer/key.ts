import { assessmentQuery } from '../routes/assessments.ts';
import { facetsMatching } from '../../records/results/facet.ts';
import type { Poll, TracedKey, TracedResult } from './facts.ts';
import { type Reason, time, timeOf } from './words.ts';

export type KeyVerdict = {
  reason: Reason;
  sentence: string;
  /** The time of the call that fetched the result, or of the last poll. */
  at: Date | null;
  /** The ID of the audit row that proves the verdict. */
  proof: number | null;
  hasEnded: boolean;
};

/** The clocks of two processes may differ by this time. A bulk change gives positions that are ahead of the clock. */
const slackMs = 5000;

export const keyName = (key: TracedKey): string => key.label ?? key.key_id;

/** The query and the response of a poll, from the log. */
type RecordedWalk = {
  query: string;
  sinceUs: number | null;
  cursor: number | null;
  throughUs: number | null;
  first: number | null;
  last: number | null;
  rows: number;
  more: boolean;
  /** False if the list is sorted by assessed_at: `first` and `last` are then times of assessments, not positions. */
  byPosition: boolean;
};

/** @returns null for a refused poll */
function walkOf({ detail, status }: Poll): RecordedWalk | null {
  if (detail === null || status >= 400 || detail.limit === undefined) return null;
  const { query = '', cursor = null, through = null, first = null, last = null, rows = 0, more = false } = detail;
  const sent = new URLSearchParams(query);
  const since = sent.get('since');
  return {
    query,
    sinceUs: since === null ? null : Date.parse(since) * 1000,
    cursor,
    throughUs: through,
    first,
    last,
    rows,
    more,
    byPosition: !(sent.get('sort') ?? '').endsWith('assessed_at'),
  };
}

/** Says which filter of a poll excludes the result; null: none. */
function excludedBy(query: string, result: TracedResult): string | null {
  const sent = new URLSearchParams(query);
  for (const { name, excludes } of assessmentQuery) {
    const text = sent.get(name === 'learner_ref' ? 'learner_id' : name);
    const why = text === null ? null : (excludes?.(text, result) ?? null);
    if (why !== null) return why;
  }
  return null;
}

/** Says why a restricted key cannot see the result; null: the key can see the result. */
function outsideScope({ group_ids: groups, subjects }: TracedKey, result: TracedResult): string | null {
  if (groups !== null && !groups.some((id) => result.group_ids.includes(id)))
    return 'the learner is in none of the groups that the key is restricted to';
  const facets = facetsMatching({ subject: subjects });
  return facets === null || facets.includes(result.facet) ? null : 'the key is restricted to other subjects';
}

const verdict = (reason: Reason, sentence: string, poll: Poll | null = null, at = poll?.at ?? null): KeyVerdict => ({
  reason,
  sentence,
  at,
  proof: poll?.audit_id ?? null,
  hasEnded: false,
});

type KeyFacts = {
  key: TracedKey;
  result: TracedResult;
  logBegin: Date;
  nowMs: number;
  /** Calls with status 200 whose lowest and highest position enclose the result's position. */
  pages: Poll[];
  /**
   * The first read by ID of the result or its learner before the result got its present position, and the first since.
   */
  reads: Poll[];
  /** The first and the last polls since the result got its present position. */
  polls: Poll[];
  /** If the result has changed: the first and last polls since it was recorded. */
  earlier: Poll[];
  /** The polls of other keys, because a platform may poll with a `since` that it got with another key. */
  others: readonly { name: string; poll: Poll }[];
};

export function explainKey(it: KeyFacts): KeyVerdict {
  const { key, result } = it;
  const name = keyName(key);
  const ended = endOf(it);
  const bound = outsideScope(key, result);
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

function receivedBy(name: string, { result, pages, reads }: KeyFacts, bound: string | null): KeyVerdict | null {
  const page = pages.find((poll) => {
    const walk = walkOf(poll);
    return walk?.byPosition === true && excludedBy(walk.query, result) === null;
  });
  const read = result.deleted ? undefined : reads.find(({ at }) => at >= timeOf(result.position));
  if (page !== undefined && bound === null && (read === undefined || page.at <= read.at))
    return verdict('fetched', `${name} fetched ${whatOf(result)} at ${time(page.at)}.`, page);
  return read === undefined ? null : verdict('read_by_id', `${name} read it by its ID at ${time(read.at)}.`, read);
}

/** The verdict if the key has fetched an older state of the result; otherwise null. */
function fetchedEarlier(name: string, { result, earlier, reads }: KeyFacts): KeyVerdict | null {
  const [before] = [...earlier.filter((poll) => coveredAll(poll, result)), ...reads].sort(
    (a, b) => a.at.getTime() - b.at.getTime(),
  );
  if (before === undefined) return null;
  const change = result.deleted ? 'withdrawal' : 'change';
  const sentence = `${name} fetched it at ${time(before.at)}, and hasn't fetched its ${change} of ${time(timeOf(result.position))}.`;
  return verdict('fetched_before_change', sentence, before);
}

function whyNot(name: string, it: KeyFacts): KeyVerdict {
  const { key, logBegin } = it;
  const { last_poll_at: lastPoll, networks } = key;
  const stoodMs = timeOf(it.result.position).getTime();
  // The service refuses a call from another network like a wrong secret, so no organisation's log contains the call.
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

/** How and when the key has ended; null: the key still works. */
function endOf({ key: { revoked_at: revoked, expires_at: expires }, nowMs }: KeyFacts) {
  if (revoked !== null && (expires === null || revoked <= expires))
    return { reason: 'key_revoked' as const, says: `revoked at ${time(revoked)}`, at: revoked };
  if (expires === null || expires.getTime() > nowMs) return null;
  return { reason: 'key_expired' as const, says: `at its end at ${time(expires)}`, at: expires };
}

/** Whether a poll before the last change fetched all results from this result's first position on. */
function coveredAll(poll: Poll, result: TracedResult): boolean {
  const walk = walkOf(poll);
  if (walk === null || !walk.byPosition || poll.status !== 200 || walk.cursor !== null || walk.more) return false;
  if (excludedBy(walk.query.replace(/(^|&)status=[^&]*/, ''), result) !== null) return false;
  return walk.rows > 0 && (walk.sinceUs === null || walk.sinceUs <= result.first_position);
}

type Walk = { poll: Poll; walk: RecordedWalk; excluded: string | null };

function ofPolls(name: string, it: KeyFacts, lastPollAt: Date): KeyVerdict {
  const { result, polls } = it;
  const last = polls.at(-1) ?? null;
  // `polls` contains no 304s, so the key may have received only 304s.
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

/** The verdict if the key's `since` is later than the result. It says where the `since` comes from. */
function passedBy(name: string, { result, others }: KeyFacts, { poll, walk }: Walk, walks: Walk[]): KeyVerdict {
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

/** If a key has fetched no page for this time, its sync counts as broken off. */
const restMs = 15 * 60_000;

function inWalk(name: string, { result, nowMs }: KeyFacts, fitting: Walk[]): KeyVerdict | null {
  const early = fitting.findLast(
    ({ walk }) => walk.byPosition && walk.more && walk.last !== null && walk.last < result.position,
  );
  if (early === undefined) return null;
  const { poll, walk } = early;
  const left = `${whatOf(result)} is on a later page.`;
  if (early !== fitting.at(-1))
    return verdict('walk_unfinished', `${name} has not read its walk to the end: ${left}`, poll);
  const at = time(poll.at);
  if (nowMs - poll.at.getTime() > restMs)
    return verdict('walk_unfinished', `${name} has stopped in the middle of its walk, at ${at}: ${left}`, poll);
  const come = time(timeOf(walk.last!));
  return verdict('walk_under_way', `${name} is on its way: its walk had come to ${come} at ${at}.`, poll);
}
