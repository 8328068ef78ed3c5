import type { KeyScope } from '../../../organisations/key-scope.ts';
import { arrayLiteral, uuidArray } from '../../../platform/db/arrays.ts';
import { batcher } from '../../../platform/db/batcher.ts';
import { type Database, statement } from '../../../platform/db/database.ts';
import { type StoredAssessment, findLiveInScope, liveOne } from '../store.ts';

/** Reads live results by ID. Reads that are waiting at the same time share one statement. */

const maxAtOnce = 64;

// With "offset 0", each result is one index lookup, even if PostgreSQL planned the statement while the tables were
// small.
const liveEach = statement('assessment.live_each')`
  select g.n::int4 as n, r.*
    from unnest($1::int8[], $2::uuid[]) with ordinality as g(organisation_id, assessment_id, n)
   cross join lateral (${liveOne('g.organisation_id', 'g.assessment_id')} offset 0) r`;

const liveAlone = statement('assessment.live_alone', liveOne('$1', '$2'));

type ReadLive = (key: { organisationId: number; assessmentId: string }) => Promise<StoredAssessment | undefined>;

const readers = new WeakMap<Database, ReadLive>();

function openReader(db: Database): ReadLive {
  if (db.distributed === true)
    return async ({ organisationId, assessmentId }) =>
      (await db.query<StoredAssessment>(liveAlone, [organisationId, assessmentId]))[0];
  return batcher(
    async (wanted) => {
      const rows = await db.query<StoredAssessment & { n: number }>(liveEach, [
        arrayLiteral(wanted.map((one) => one.organisationId)),
        uuidArray(wanted.map((one) => one.assessmentId)),
      ]);
      const found = new Map(rows.map((row) => [row.n, row]));
      return wanted.map((_, i) => found.get(i + 1));
    },
    maxAtOnce,
    2,
  );
}

/** Reads a live result. A restricted key does not find a result outside its scope. */
export function readLiveInScope(db: Database, organisationId: number, assessmentId: string, keyScope: KeyScope | null) {
  if (keyScope !== null) return findLiveInScope(db, organisationId, assessmentId, keyScope);
  const read = readers.get(db) ?? openReader(db);
  readers.set(db, read);
  return read({ organisationId, assessmentId });
}
