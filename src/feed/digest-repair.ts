import type { App } from '../platform/app.ts';
import { feedQueue, withUnitOfWork } from '../platform/db/unit-of-work.ts';
import { statement, type Tx } from '../platform/db/database.ts';
import { publicIdOf } from '../platform/db/public-ids.ts';
import { advisoryLocks } from '../platform/db/locks.ts';
import { countAgainIn, type DifferingCell, nextSetBehind, recountDigest } from './digest.ts';
import { limits } from '../platform/config/limits.ts';
import { digestDifferences } from '../platform/observability/metric-definitions.ts';
import { nilUuid } from '../platform/crypto/random.ts';

const start = { organisationId: 0, groupSetId: nilUuid };
const scrubbedThrough = new WeakMap<App, typeof start>();

const turn = statement('digest.turn')`select pg_try_advisory_xact_lock(${advisoryLocks.digest}) as mine`;

/**
 * Compares the digests of the next group sets, over all organisations, with a recount, and logs each difference as an
 * error. The next call continues after these group sets.
 */
export async function scrubDigest(app: App): Promise<void> {
  await app.db.snapshot(async (tx) => {
    const [row] = await tx.query<{ mine: boolean }>(turn);
    if (!row!.mine) return;
    let at = scrubbedThrough.get(app) ?? start;
    for (let checked = 0; checked < limits.digestScrubRecords;) {
      const set = await nextSetBehind(tx, at);
      if (set === null) {
        scrubbedThrough.set(app, start);
        return;
      }
      const differing = await recountDigest(tx, set.organisationId, set.groupSetId);
      if (differing.length > 0) await raiseAlarm(app, tx, set, differing.length);
      at = set;
      scrubbedThrough.set(app, at);
      checked += Math.max(set.n, limits.digestScrubRecords / 100);
    }
  });
}

async function raiseAlarm(
  app: App,
  tx: Tx,
  { organisationId, groupSetId }: typeof start,
  cells: number,
): Promise<void> {
  digestDifferences.count();
  const hint = 'ars digest verify --repair counts it again';
  const organisation = await publicIdOf(app, organisationId, tx);
  app.log.error('digest.differs', { organisation, group_set: groupSetId, cells, hint });
}

export function verifyDigest(app: App, organisationId: number): Promise<DifferingCell[]> {
  return app.db.snapshot((tx) => recountDigest(tx, organisationId));
}

/**
 * Rebuilds an organisation's digest from its results. The organisation's other writers wait until the rebuild ends,
 * some seconds for a million results.
 */
export function repairDigest(app: App, organisationId: number): Promise<void> {
  return withUnitOfWork(app, feedQueue(organisationId), (work) => countAgainIn(work, organisationId));
}
