import { statement, type Tx } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { drawState } from './position.ts';

/**
 * A restored feed starts this far ahead of the clock, because lost positions may come from another machine's faster
 * clock.
 */
const aheadUs = 60_000_000;

const anywhere = statement('restored.anywhere')`select organisation_id from feed order by organisation_id`;
const lock = statement('restored.lock')`select from feed where organisation_id = $1 for update`;
const beginAgain = statement('restored.begin_again')`
  update feed f
     set restored_through = f.position, restored_at = greatest(f.position, $3) + $4, position = greatest(f.position, $3) + $4,
         state = g.state, groups_version = g.state
    from unnest($1::int8[], $2::int8[]) as g(organisation_id, state)
   where f.organisation_id = g.organisation_id`;

const atOnce = 5000;

/**
 * After a restore, every feed continues above all positions that clients may have seen. States and cursors become
 * invalid, and a restamp (restamp.ts) gives each live record a new position, so that `since` finds every difference.
 * @param shownMs the latest time that clients may have seen, if the operator knows of a fast clock
 * @returns the IDs of the organisations
 */
export async function beginFeedsAgain(work: UnitOfWork, shownMs = 0): Promise<number[]> {
  const wentUs = Math.max(work.nowMs, shownMs) * 1000;
  const rows = await work.tx.query<{ organisation_id: number }>(anywhere);
  const ids = rows.map((row) => row.organisation_id);
  for (const id of ids) await work.tx.query(lock, [id]);
  for (let from = 0; from < ids.length; from += atOnce) {
    const some = ids.slice(from, from + atOnce);
    await work.tx.query(beginAgain, [some, some.map(() => drawState(work)), wentUs, aheadUs]);
  }
  return ids;
}

const made = statement('restored.made')`select to_regclass('feed') is not null as made`;

/** @returns false if the service has never used the database */
export async function holdsFeeds(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ made: boolean }>(made);
  return row!.made && (await tx.query(anywhere)).length > 0;
}

/** The feed restarts 1 millisecond after its last position, because clients see positions in milliseconds. */
const laterUs = 1000;

/**
 * Like `beginFeedsAgain`, but for one feed whose last position is known. A sandbox that loads a backup uses this.
 * @param wentUs the highest position that clients may have seen
 */
export async function beginFeedAgain(tx: Tx, organisationId: number, state: number, wentUs: number): Promise<void> {
  await tx.query(beginAgain, [[organisationId], [state], wentUs, laterUs]);
}
