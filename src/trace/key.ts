import { facetsMatching, levelCodes } from '../assessments/facet.ts';
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
};

/** Clocks of processes may differ by so much, and positions run ahead of the clock in a bulk change. */
const slackMs = 5000;

const msOf = (us: number) => Math.floor(us / 1000);

/** The name of a key to its people. */
export function keyName(key: Pick<TracedKey, 'key_id' | 'label'>): string {
  return key.label ?? key.key_id;
}

/** Whether a filter lets the result through; otherwise which one doesn't. */
export function excludedBy(query: string, result: TracedResult): string | null {
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
export function outsideBounds(
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
});

export type KeyCalls = {
  /** 200s whose page's ends lie around the result's position. */
  pages: Poll[];
  /** Reads of the result or its learner by id. */
  reads: Poll[];
  /** The first and last polls since the result stood where it stands. */
  polls: Poll[];
  /** Those since it was completed, where it has changed since. */
  earlier: Poll[];
};

export function explainKey(
  key: TracedKey,
  result: TracedResult,
  log: LogBounds,
  calls: KeyCalls,
  nowMs: number,
): KeyVerdict {
  const name = keyName(key);
  const what = result.deleted ? 'the withdrawal' : 'the result';
  const stoodMs = msOf(result.position);
  const page = calls.pages.find(
    (poll) => walkOf(poll)?.byPosition === true && excludedBy(walkOf(poll)!.query, result) === null,
  );
  const read = result.deleted ? undefined : calls.reads[0];
  const bound = outsideBounds(key, result);
  if (page !== undefined && bound === null && (read === undefined || page.at <= read.at))
    return verdict('fetched', `${name} fetched ${what} at ${time(page.at)}.`, page);
  if (read !== undefined) return verdict('read_by_id', `${name} read it by its id at ${time(read.at)}.`, read);
  if (bound !== null) return verdict('key_bounded', `${name} can't see it: ${bound}.`);

  const before = calls.earlier.find((poll) => coveredAll(poll, result));
  if (before !== undefined)
    return verdict(
      'fetched_before_change',
      `${name} fetched it at ${time(before.at)}, and hasn't fetched its change of ${time(new Date(stoodMs))}.`,
      before,
    );
  const ended = endOf(key, nowMs);
  if (ended !== null && ended.at.getTime() <= stoodMs)
    return verdict(ended.reason, `${name} was ${ended.word} at ${time(ended.at)}, before ${what}.`, null, ended.at);
  if (key.last_poll_at === null && key.created_at >= log.recorded_from)
    return verdict('never_polled', `${name} has never asked for results.`);
  if (stoodMs + slackMs < log.recorded_from.getTime())
    return verdict('not_known', `Not known for ${name}: the log goes back to ${time(log.recorded_from)}.`);
  if (key.last_poll_at === null)
    return verdict('never_polled', `${name} has not asked for results since the log begins.`);
  if (key.last_poll_at.getTime() < stoodMs)
    return ended === null
      ? verdict('not_polled_since', `${name} has not polled since ${time(key.last_poll_at)}.`, null, key.last_poll_at)
      : verdict(
          ended.reason,
          `${name} was ${ended.word} at ${time(ended.at)}, and had not polled since ${time(key.last_poll_at)}.`,
          null,
          ended.at,
        );
  return ofPolls(name, what, result, calls.polls, key.last_poll_at);
}

/** How the key has ended; null while it works, whenever it is going to end. */
function endOf(
  key: TracedKey,
  nowMs: number,
): { reason: 'key_revoked' | 'key_expired'; word: string; at: Date } | null {
  const { revoked_at: revoked, expires_at: expires } = key;
  if (revoked !== null && (expires === null || revoked <= expires))
    return { reason: 'key_revoked', word: 'revoked', at: revoked };
  return expires === null || expires.getTime() > nowMs
    ? null
    : { reason: 'key_expired', word: 'at its end', at: expires };
}

/** Whether a page of before the last change held everything from before the result's completion on. */
function coveredAll(poll: Poll, result: TracedResult): boolean {
  const walk = walkOf(poll);
  if (walk === null || !walk.byPosition || poll.status !== 200 || walk.cursor !== null || walk.more) return false;
  if (excludedBy(walk.query.replace(/(^|&)status=[^&]*/, ''), result) !== null || result.completed_at === null)
    return false;
  return walk.rows > 0 && (walk.sinceUs === null || walk.sinceUs <= result.completed_at.getTime() * 1000);
}

function ofPolls(name: string, what: string, result: TracedResult, polls: Poll[], lastPollAt: Date | null): KeyVerdict {
  const last = polls.at(-1) ?? null;
  if (last === null) return verdict('not_known', `Not known for ${name}: its polls are not in the log.`);
  const answered = polls.filter((poll) => poll.status < 400);
  // What found nothing new is not among the polls: then it wasn't refused each time.
  if (answered.length === 0 && (lastPollAt === null || lastPollAt <= last.at))
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
  const latest = fitting.at(-1)!;
  const beyond = fitting.find(
    ({ walk }) => walk.sinceUs !== null && walk.cursor === null && walk.sinceUs > result.position,
  );
  const early = fitting.filter(
    ({ walk }) => walk.byPosition && walk.more && walk.last !== null && walk.last < result.position,
  );
  const stuck = fitting.filter(({ walk }) => walk.cursor !== null && walk.cursor === latest.walk.cursor);
  if (latest.walk.cursor !== null && latest.walk.cursor < result.position && stuck.length > 1)
    return verdict(
      'cursor_stuck',
      `${name} asks for the same page again and again, since ${time(stuck[0]!.poll.at)}: it doesn't follow pagination.next.`,
      latest.poll,
    );
  if (beyond !== undefined) {
    const ours = polls.some((poll) => {
      const through = walkOf(poll)?.throughUs ?? null;
      return through !== null && msOf(through) === msOf(beyond.walk.sinceUs!);
    });
    return ours
      ? verdict(
          'walk_unfinished',
          `${name} went on at ${time(beyond.poll.at)} without having read the walk before to its end: ${what} stood on a later page.`,
          beyond.poll,
        )
      : verdict(
          'own_clock',
          `${name} walks with its own clock: ${what} stood below its since of ${time(beyond.poll.at)}. X-Sync-Through is the right one.`,
          beyond.poll,
        );
  }
  if (early.length > 0 && latest.poll === early.at(-1)!.poll)
    return verdict(
      'walk_under_way',
      `${name} is on its way: its walk had come to ${time(new Date(msOf(latest.walk.last!)))} at ${time(latest.poll.at)}.`,
      latest.poll,
    );
  if (early.length > 0)
    return verdict(
      'walk_unfinished',
      `${name} has not read its walk to the end: ${what} stands on a later page.`,
      early.at(-1)!.poll,
    );
  return verdict(
    'not_known',
    `Not known for ${name}: it polled at ${time(latest.poll.at)}, and no page in the log held ${what}.`,
    latest.poll,
  );
}
