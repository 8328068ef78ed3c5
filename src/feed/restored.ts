import type { Tx } from '../platform/db/database.ts';
import { statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { drawState } from './position.ts';

/**
 * How far the feed leaves its clock behind it after a restore. What was lost may have had positions up to the moment of the
 * loss, by the clock of a machine that is perhaps not this one.
 */
const aheadUs = 60_000_000;

const anywhere = statement('restored.anywhere', 'select organisation_id from feed order by organisation_id');
const lock = statement('restored.lock', 'select from feed where organisation_id = $1 for update');
const beginAgain = statement(
  'restored.begin_again',
  `
  update feed f
     set restored_through = f.position, restored_at = greatest(f.position, $3) + $4, position = greatest(f.position, $3) + $4,
         state = g.state, groups_version = g.state
    from unnest($1::int8[], $2::int8[]) as g(organisation_id, state)
   where f.organisation_id = g.organisation_id`,
);

/** Organisations whose feeds are begun again by one statement. */
const atOnce = 5000;

/**
 * The database was restored: every feed goes on above all that it may have shown before, what is remembered of its states
 * and walks is no longer taken, and a restamp (restamp.ts) gives each live record a new position, so that whoever asks by `since`
 * gets what the restore has changed.
 * @param shownMs what was shown may have stood as high as this: somebody knows of a clock that was ahead
 * @returns the organisations
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

const made = statement('restored.made', `select to_regclass('feed') is not null as made`);

/** Whether there is anything in the database that could have been restored; it may never have been the service's. */
export async function holdsFeeds(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ made: boolean }>(made);
  return row!.made && (await tx.query(anywhere)).length > 0;
}

/** Times are shown in milliseconds: one that is to be later has to be later by one. */
const laterUs = 1000;

/**
 * The same for one feed, of which it is known how far it had gone: a sandbox whose backup came back.
 * @param wentUs all that was shown stood no higher
 */
export async function beginFeedAgain(tx: Tx, organisationId: number, state: number, wentUs: number): Promise<void> {
  await tx.query(beginAgain, [[organisationId], [state], wentUs, laterUs]);
}
