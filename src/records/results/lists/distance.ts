import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../../../platform/app.ts';
import { nilUuid } from '../../../platform/crypto/random.ts';
import { type Database, type Tx, statement } from '../../../platform/db/database.ts';
import { withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { errorFields } from '../../../platform/observability/log.ts';
import { type Subject, subjects } from '../../../engine/scoring/levels.ts';
import { type Outcome, changeOf, progressOfLearners, z95 } from './progress.ts';

/**
 * The distance that learners travelled, counted for each group and for the organisation. Counting reads every learner
 * with two results, so the counts are stored, and counted again when a page needs newer counts.
 */

/** `levels` and `squares`: sums over the `placed` learners, whose two results are both placed. */
export type DistanceTotal = Record<
  'learners' | Exclude<Outcome, 'unmeasured'> | 'placed' | 'levels' | 'squares',
  number
>;

const none: DistanceTotal = { learners: 0, gain: 0, unclear: 0, loss: 0, placed: 0, levels: 0, squares: 0 };
/** The ID that the organisation's own totals have instead of a group's. */
export const all = nilUuid;

const counts = Object.keys(none) as (keyof DistanceTotal)[];

const position = statement('distance.position')`select position from feed where organisation_id = $1`;
const learners = statement('distance.learners')`
  select learner_id from learner_feed
   where organisation_id = $1 and learner_id > $2 and not deleted order by learner_id limit $3`;
const memberships = statement('distance.memberships')`
  select learner_id, group_id from membership
   where organisation_id = $1 and learner_id = any($2::uuid[]) and left_position is null`;
const forget = statement('distance.forget')`delete from distance_total where organisation_id = $1`;
const store = statement('distance.store')`
  insert into distance_total (organisation_id, group_id, subject, ${counts.join(', ')}, position, counted_at)
  select $1, t.*, $4, $5 from unnest($2::uuid[], $3::text[], ${counts.map((_, i) => `$${i + 6}::int8[]`).join(', ')}) as t
  on conflict (organisation_id, group_id, subject) do update
     set ${[...counts, 'position', 'counted_at'].map((one) => `${one} = excluded.${one}`).join(', ')}`;

/** The number of learners read by one statement. */
const perPage = 50;
/** The first learners are read without pauses, because a request waits for the totals of a small organisation. */
const readAtOnce = 2000;
const pauseMs = 10;

async function countAll(tx: Tx, organisationId: number) {
  const totals = new Map<string, DistanceTotal>();
  const [feed] = await tx.query<{ position: number }>(position, [organisationId]);
  let pages = 0;
  for (let after: string | undefined = nilUuid; after !== undefined; pages += 1) {
    const found: { learner_id: string }[] = await tx.query(learners, [organisationId, after, perPage]);
    const ids = found.map((one) => one.learner_id);
    const rows = await progressOfLearners(tx, organisationId, ids, { subject: null, visibility: null }, 2);
    const values = [organisationId, [...new Set(rows.map((row) => row.learner_id))]];
    const members = await tx.query<{ learner_id: string; group_id: string }>(memberships, values);
    const groups = Map.groupBy(members, (one) => one.learner_id);
    for (const row of rows) {
      const { gained, outcome } = changeOf(row)!;
      for (const group of [all, ...(groups.get(row.learner_id) ?? []).map((one) => one.group_id)]) {
        const key = `${group} ${row.first.content.subject}`;
        const total = totals.get(key) ?? { ...none };
        totals.set(key, total);
        total.learners += 1;
        if (outcome !== 'unmeasured') total[outcome] += 1;
        if (gained === null) continue;
        total.placed += 1;
        total.levels += gained;
        total.squares += gained ** 2;
      }
    }
    after = found.length < perPage ? undefined : ids.at(-1);
    // A pause lets other requests have their turn.
    await delay(pages * perPage < readAtOnce ? 0 : pauseMs);
  }
  return { position: feed!.position, totals };
}

async function count(app: App, organisationId: number): Promise<void> {
  const counted = await app.db.snapshot((tx) => countAll(tx, organisationId));
  // The organisation's own row says when it was counted, also if no learner has two results.
  const rows = [...new Map([[`${all} ${subjects[0]}`, none], ...counted.totals])];
  const column = (n: number) => rows.map(([key]) => key.split(' ')[n]);
  const numbers = counts.map((name) => rows.map(([, total]) => total[name]));
  await withUnitOfWork(app, null, async ({ tx, nowMs }) => {
    await tx.query(forget, [organisationId]);
    const values = [organisationId, column(0), column(1), counted.position, new Date(nowMs), ...numbers];
    await tx.query(store, values);
  });
}

const underWay = new WeakMap<Database, Map<number, Promise<void>>>();

function countOnce(app: App, organisationId: number): Promise<void> {
  const running = underWay.get(app.db) ?? new Map<number, Promise<void>>();
  underWay.set(app.db, running);
  const counting =
    running.get(organisationId) ?? count(app, organisationId).finally(() => running.delete(organisationId));
  running.set(organisationId, counting);
  return counting;
}

const state = statement('distance.state')`
  select v.position, v.digest_n as results, d.position as counted, d.counted_at
    from feed v left join distance_total d
      on d.organisation_id = $1 and d.group_id = '${all}' and d.subject = '${subjects[0]}'
   where v.organisation_id = $1`;
type State = { position: number; results: number; counted: number | null; counted_at: Date | null };

/** A request waits for the count of an organisation with at most this many results. */
const waitedFor = 2000;
/** Counts of a larger organisation are counted again if they are older. */
const countedMs = 10 * 60_000;

/** Brings the totals up to date. Larger organisations are counted in the background. @returns the time of the totals */
export async function refreshTotals(app: App, organisationId: number): Promise<Date | null> {
  const read = async () => (await app.db.query<State>(state, [organisationId]))[0]!;
  const { position: now, results, counted, counted_at } = await read();
  const isOld = counted_at === null || counted_at.getTime() <= app.clock.nowMs() - countedMs;
  if (now === counted || (results > waitedFor && !isOld)) return counted_at;
  const counting = countOnce(app, organisationId);
  if (results <= waitedFor) {
    await counting;
    return (await read()).counted_at;
  }
  counting.catch((error: unknown) => app.log.error('counting the distance travelled failed', errorFields(error)));
  return counted_at;
}

const totals = statement('distance.totals')`
  select group_id, subject, ${counts.join(', ')} from distance_total
   where organisation_id = $1 and group_id = any($2::uuid[])`;
type Total = DistanceTotal & { group_id: string; subject: Subject };

/** Reads the totals of groups; `all` is the organisation. */
export async function totalsOf(tx: Tx, organisationId: number, groupIds: readonly string[]) {
  const rows = await tx.query<Total>(totals, [organisationId, groupIds]);
  return (groupId: string, subject: Subject): DistanceTotal =>
    rows.find((one) => one.group_id === groupId && one.subject === subject) ?? none;
}

/** With fewer learners, the mean would say more about chance than about the group. */
export const minForMean = 10;

/** The mean number of levels gained, with its 95 % interval from the spread of the learners; null for few learners. */
export function meanLevels({ placed, levels, squares }: DistanceTotal) {
  if (placed < minForMean) return null;
  const mean = levels / placed;
  const margin = z95 * Math.sqrt(Math.max(0, squares / placed - mean ** 2) / (placed - 1));
  return { mean, low: mean - margin, high: mean + margin };
}
