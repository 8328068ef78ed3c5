import { statement, type Tx } from '../platform/db/database.ts';
import { advisoryLocks } from '../platform/db/locks.ts';
import { currentPayloadVersion, olderProcesses } from '../platform/db/payload-version.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { limits } from '../platform/config/limits.ts';
import { counted, counting, tokenOf } from './digest.ts';
import type { CountedRow, Feed } from './position.ts';

/**
 * A restamp gives records new positions after a change of the payload version (src/platform/db/payload-version.ts) or a
 * restore.
 */

const step = limits.positionStepUs;

const pending = statement('restamp.pending')`
  select organisation_id from feed
   where (shape < ${currentPayloadVersion} or shape_position > 0 or restored_through > 0) and organisation_id <> all($1)
   order by organisation_id limit 1`;
const older = statement('restamp.older', olderProcesses);
// Only one process restamps at a time, because a second process would only disturb the writers more.
const turn = statement('restamp.turn')`select pg_try_advisory_xact_lock(${advisoryLocks.restamp}) as mine`;
const state = statement('restamp.state')`
  select shape, shape_position, restored_through, restored_at from feed where organisation_id = $1`;
const begin = statement('restamp.begin')`
  update feed set shape = shape + 1, shape_position = position where organisation_id = $1`;
const end = statement('restamp.end')`
  update feed set shape_position = 0, restored_through = 0 where organisation_id = $1`;

const next = 'organisation_id = $1 and position > $2 and position <= $3 and not deleted order by position limit $4';
const results = statement('restamp.assessment_feed')`
  with moving as materialized (
    select learner_id, assessment_id, group_set_id, facet, position, token as had,
           $5 + ${step} * (row_number() over (order by position) - 1) as next
      from assessment_feed where ${next}),
  named as materialized (select m.*, ${tokenOf('m.assessment_id', 'm.next')} as token from moving m),
  moved as (
    update assessment_feed f set position = m.next, token = m.token
      from named m where f.organisation_id = $1 and f.learner_id = m.learner_id and f.assessment_id = m.assessment_id),
  ${counting('select group_set_id, facet, had as token from named', 'select group_set_id, facet, token from named')}
  select count(*) as count, max(position) as through, ${counted} from moving`;
const learners = statement('restamp.learner_feed')`
  with moving as materialized (
    select learner_id, position, row_number() over (order by position) - 1 as n from learner_feed where ${next}),
  moved as (
    update learner_feed f set position = $5 + ${step} * m.n from moving m where f.organisation_id = $1 and f.learner_id = m.learner_id)
  select count(*) as count, max(position) as through from moving`;

const groups = statement('restamp.learner_group')`
  with moving as materialized (
    select group_id, position, row_number() over (order by position) - 1 as n
      from learner_group where organisation_id = $1 and position > $2 and position <= $3 order by position limit $4),
  moved as (
    update learner_group g set position = $5 + ${step} * m.n from moving m where g.organisation_id = $1 and g.group_id = m.group_id)
  select count(*) as count, max(position) as through from moving`;

type Moved = { count: number; through: number } & CountedRow;

export async function findRestamp(tx: Tx, others: readonly number[] = []): Promise<number | null> {
  return (await tx.query<{ organisation_id: number }>(pending, [others]))[0]?.organisation_id ?? null;
}

export async function olderProcessServes(tx: Tx): Promise<boolean> {
  return (await tx.query(older)).length > 0;
}

export async function takeRestampTurn(tx: Tx): Promise<boolean> {
  return (await tx.query<{ mine: boolean }>(turn))[0]!.mine;
}

/**
 * How far this process has restamped an organisation. Tombstones keep their positions, so the progress prevents a
 * second scan over them. `named` identifies the restamp: the progress starts again if a restore begins another restamp.
 */
export type RestampedThrough = { named: string; results: number; learners: number; groups: number };

export const nothingRestamped: Readonly<RestampedThrough> = { named: '', results: 0, learners: 0, groups: 0 };

/**
 * Gives new positions to the next records, at most `max`, with an older payload version or from a restored backup. The
 * first call begins the organisation's restamp, and the last call ends it. The caller holds the feed's lock.
 * @returns true if the restamp has ended
 */
export async function restampSlice(
  work: UnitOfWork,
  feed: Feed,
  through: RestampedThrough,
  max: number,
): Promise<boolean> {
  const { organisationId } = feed;
  type Row = { shape: number; shape_position: number; restored_through: number; restored_at: number | null };
  const [row] = await work.tx.query<Row>(state, [organisationId]);
  const { shape, shape_position, restored_through } = row!;
  const named = Object.values(row!).join(' ');
  if (through.named !== named) Object.assign(through, nothingRestamped, { named });
  const upTo = Math.max(shape_position, restored_through);
  if (upTo === 0) {
    if (shape < currentPayloadVersion) await work.tx.query(begin, [organisationId]);
    return false;
  }
  for (const [of, sql] of [
    ['results', results],
    ['learners', learners],
    // A restored backup may contain an older name of a group, so groups get new positions too. A newer payload version
    // does not change groups.
    ...(restored_through > 0 ? [['groups', groups] as const] : []),
  ] as const) {
    const [moved] = await work.tx.query<Moved>(sql, [organisationId, through[of], upTo, max, feed.next()]);
    if (moved!.count === 0) continue;
    feed.used(moved!.count);
    if (of === 'results') feed.counted(moved!);
    // The caller keeps `through` only if the transaction commits.
    through[of] = moved!.through;
    return false;
  }
  await work.tx.query(end, [organisationId]);
  return true;
}
