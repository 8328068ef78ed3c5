import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import type { ListedErasure } from './erasures-list.ts';
import { markFeedResumed, markFeedSuspended } from '../feed/position.ts';

/** Records the suspension and deletion of organisations. src/governance/offboarding carries them out. */

export type Suspension = { suspended_at: Date; suspended_for: string; paused_endpoints: string[] | null };

const find = statement('suspension.find')`
  select suspended_at, suspended_for, paused_endpoints from organisation
   where organisation_id = $1 and suspended_at is not null`;
const mark = statement('suspension.mark')`
  update organisation set suspended_at = $2, suspended_for = $3, paused_endpoints = $4
   where organisation_id = $1 or sandbox_of = $1 returning organisation_id`;
const unmark = statement('suspension.unmark')`
  update organisation set suspended_at = null, suspended_for = null, paused_endpoints = null,
         past_suspensions = past_suspensions + tstzmultirange(tstzrange(least(suspended_at, $2), $2))
   where organisation_id = $1 or sandbox_of = $1 returning organisation_id`;
const past = statement('suspension.past')`
  select count(*) as count, coalesce(round(sum(extract(epoch from upper(s) - lower(s)))), 0)::int8 as seconds
    from organisation, unnest(past_suspensions * tstzmultirange(tstzrange($2, $3))) s where organisation_id = $1`;
const exported = statement('organisation.exported')`
  update organisation set exported_at = $2, export_sha256 = $3, exported_state = $4 where organisation_id = $1`;
const returned = statement('organisation.returned')`
  select o.exported_at >= o.suspended_at and o.exported_state = f.state as of_suspended
    from organisation o join feed f on f.organisation_id = o.organisation_id
   where o.organisation_id = $1 and o.exported_at is not null`;

/** @returns null if the organisation is open */
export async function findSuspension(tx: Tx, organisationId: number): Promise<Suspension | null> {
  return (await tx.query<Suspension>(find, [organisationId]))[0] ?? null;
}

/** Suspends the organisation and its sandbox. */
export async function markSuspended(
  work: UnitOfWork,
  organisationId: number,
  { reason, pausedEndpoints }: { reason: string; pausedEndpoints: string[] },
): Promise<void> {
  const values = [organisationId, new Date(work.nowMs), reason, pausedEndpoints];
  const rows = await work.tx.query<{ organisation_id: number }>(mark, values);
  await markFeedSuspended(
    work.tx,
    rows.map((row) => row.organisation_id),
  );
}

export async function markResumed(work: UnitOfWork, organisationId: number): Promise<void> {
  const at = new Date(work.nowMs);
  const rows = await work.tx.query<{ organisation_id: number }>(unmark, [organisationId, at]);
  await markFeedResumed(
    work.tx,
    rows.map((row) => row.organisation_id),
    at,
  );
}

/** Counts the suspensions of an organisation between two instants, and their seconds in total. */
export async function suspensionsBetween(
  tx: Tx,
  organisationId: number,
  from: Date,
  to: Date,
): Promise<{ count: number; seconds: number }> {
  const values = [organisationId, from, to < from ? from : to];
  const [row] = await tx.query<{ count: number; seconds: number }>(past, values);
  return row!;
}

/** @param feedState the state of the feed when the export was made */
export async function recordExport(
  tx: Tx,
  organisationId: number,
  { madeAt, sha256, feedState }: { madeAt: Date; sha256: string; feedState: number },
): Promise<void> {
  await tx.query(exported, [organisationId, madeAt, sha256, feedState]);
}

/**
 * Whether the last export was made after the suspension, and no learner, result or group has changed since the export.
 * The feed of a suspended organisation still changes if a sitting ends or the operator imports or erases.
 * @returns null if there is no export
 */
export async function isReturnedWhole(tx: Tx, organisationId: number): Promise<boolean | null> {
  const [row] = await tx.query<{ of_suspended: boolean | null }>(returned, [organisationId]);
  return row === undefined ? null : row.of_suspended === true;
}

export type Deletion = {
  public_id: string;
  former_id: number;
  began_at: Date;
  ended_at: Date | null;
  counts: Record<string, number>;
  /** The last block of the audit log when the deletion began. */
  audit_end: { block: number; hash: string } | null;
  certificate: string | null;
};

const deletion = statement('deletion.find')`
  select public_id, former_id, began_at, ended_at, counts, audit_end, certificate from organisation_deletion where public_id = $1`;
const begin = statement('deletion.begin')`
  insert into organisation_deletion (public_id, former_id, began_at, audit_end) values ($1, $2, $3, $4) on conflict do nothing`;
const count = statement('deletion.count')`
  update organisation_deletion
     set counts = counts || (select jsonb_object_agg(n.key, coalesce((counts ->> n.key)::int8, 0) + n.value::int8) from jsonb_each_text($2) n)
   where public_id = $1 returning counts`;
const end = statement('deletion.end')`
  update organisation_deletion set ended_at = $2, certificate = $3 where public_id = $1`;

export async function findDeletion(tx: Tx, publicId: string): Promise<Deletion | undefined> {
  return (await tx.query<Deletion>(deletion, [publicId]))[0];
}

export async function beginDeletion(
  work: UnitOfWork,
  organisation: { organisation_id: number; public_id: string },
  auditEnd: Deletion['audit_end'],
): Promise<void> {
  await work.tx.query(begin, [
    organisation.public_id,
    organisation.organisation_id,
    new Date(work.nowMs),
    auditEnd === null ? null : JSON.stringify(auditEnd),
  ]);
}

/** Call this in the transaction that deletes the rows, so that the counts are exact. */
export async function countDeleted(work: UnitOfWork, publicId: string, rows: Record<string, number>): Promise<void> {
  const some = Object.entries(rows).filter(([, n]) => n > 0);
  if (some.length > 0) await work.tx.query(count, [publicId, JSON.stringify(Object.fromEntries(some))]);
}

export async function endDeletion(work: UnitOfWork, publicId: string, certificate: string): Promise<void> {
  await work.tx.query(end, [publicId, new Date(work.nowMs), certificate]);
}

const ended = statement('deletion.ended')`
  select public_id as organisation_id, null as learner_id from organisation_deletion where ended_at is not null`;

export function listDeletions(tx: Tx): Promise<ListedErasure[]> {
  return tx.query<ListedErasure>(ended, []);
}

const state = statement('organisation.state')`
  select suspended_at is not null as suspended from organisation where organisation_id = $1`;

/** @returns `gone` if the organisation was deleted */
export async function stateOf(tx: Tx, organisationId: number): Promise<'open' | 'suspended' | 'gone'> {
  const [row] = await tx.query<{ suspended: boolean }>(state, [organisationId]);
  return row === undefined ? 'gone' : row.suspended ? 'suspended' : 'open';
}
