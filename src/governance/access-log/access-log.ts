import { batcher } from '../../platform/db/batcher.ts';
import { type Database, statement, type Tx } from '../../platform/db/database.ts';
import { isHeld } from '../legal-holds/holds.ts';

/**
 * The access log: the service adds a row for each page about one learner when it sends the page. Rows are written in
 * batches whose commits do not wait for the disk. A power failure therefore loses at most half a second of rows.
 */
export type AccessLogEntry = {
  organisationId: number;
  userId: string;
  atMs: number;
  /** The page's path with names of parameters instead of values, such as `/learners/{learner_id}`. */
  page: string;
  of: 'learner' | 'result' | 'invitation';
  id: string;
};

const insert = statement('lookup.insert')`
  insert into lookup (organisation_id, learner_id, at, user_id, page)
  select e.organisation_id, coalesce(l.learner_id, a.learner_id, i.learner_id), to_timestamp(e.ms / 1000.0::float8), e.user_id, e.page
    from unnest($1::int8[], $2::text[], $3::uuid[], $4::int8[], $5::uuid[], $6::text[]) as e(organisation_id, kind, id, ms, user_id, page)
    left join learner l on e.kind = 'learner' and l.organisation_id = e.organisation_id and l.learner_id = e.id
    left join assessment a on e.kind = 'result' and a.organisation_id = e.organisation_id and a.assessment_id = e.id
    left join invitation i on e.kind = 'invitation' and i.organisation_id = e.organisation_id and i.invitation_id = e.id
   where coalesce(l.learner_id, a.learner_id, i.learner_id) is not null
  on conflict do nothing`;
const page = statement('lookup.page')`
  select at, user_id, page from lookup
   where organisation_id = $1 and learner_id = $2 and at < $3 order by at desc, user_id, page limit $4`;
const move = statement('lookup.pass')`
  with gone as (
    delete from lookup where organisation_id = $1 and learner_id = $2 returning at, user_id, page)
  insert into lookup (organisation_id, learner_id, at, user_id, page)
  select $1, $3, at, user_id, page from gone on conflict do nothing`;
const prune = statement('lookup.prune')`
  delete from lookup l where at < $1 and not ${isHeld('l.organisation_id', 'l.learner_id', '$2')}`;

const opened = new WeakMap<Database, (entry: AccessLogEntry) => Promise<void>>();

export function recordAccess(db: Database, entry: AccessLogEntry): Promise<void> {
  let note = opened.get(db);
  if (note === undefined) {
    const connection = db.dedicated({ synchronousCommit: false });
    note = batcher<AccessLogEntry, void>(async (batch) => {
      await connection.query(insert, [
        batch.map((one) => one.organisationId),
        batch.map((one) => one.of),
        batch.map((one) => one.id),
        batch.map((one) => one.atMs),
        batch.map((one) => one.userId),
        batch.map((one) => one.page),
      ]);
      return new Array<void>(batch.length).fill(undefined);
    }, 500);
    opened.set(db, note);
  }
  return note(entry);
}

export function readAccessLog(
  tx: Tx,
  organisationId: number,
  learnerId: string,
  { before, limit }: { before: Date | null; limit: number },
): Promise<{ at: Date; user_id: string; page: string }[]> {
  return tx.query(page, [organisationId, learnerId, before ?? 'infinity', limit]);
}

export async function moveAccessLog(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(move, [organisationId, from, to]);
}

/** Deletes entries that are older than `keptMs`, except those of learners under a legal hold. */
export async function pruneAccessLog({ tx, nowMs }: { tx: Tx; nowMs: number }, keptMs: number): Promise<void> {
  await tx.query(prune, [new Date(nowMs - keptMs), new Date(nowMs)]);
}
