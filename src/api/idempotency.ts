import { hash } from 'node:crypto';
import type { App } from '../platform/app.ts';
import { type Tx, statement } from '../platform/db/database.ts';
import { inSteps } from '../platform/db/unit-of-work.ts';
import { ApiError } from '../platform/errors/errors.ts';
import type { KeptReply } from './http/route.ts';
import { limits } from '../platform/config/limits.ts';

const claim = statement('idempotency.claim')`
  insert into idempotency as i (organisation_id, key_sha256, request_sha256, created_at, leased_until) values ($1, $2, $3, $4, $5)
  on conflict (organisation_id, key_sha256) do update
     set request_sha256 = excluded.request_sha256, created_at = excluded.created_at, leased_until = excluded.leased_until, status = null, reply = null
   where i.created_at <= $6 or (i.status is null and i.leased_until <= $4 and i.request_sha256 = excluded.request_sha256)
  returning true as claimed`;
const read = statement('idempotency.read')`
  select request_sha256, status, reply from idempotency where organisation_id = $1 and key_sha256 = $2`;
const keep = statement('idempotency.keep')`
  update idempotency set status = $3, reply = $4 where organisation_id = $1 and key_sha256 = $2 and leased_until = $5 returning true as kept`;
const release = statement('idempotency.release')`
  delete from idempotency where organisation_id = $1 and key_sha256 = $2 and status is null and leased_until = $3`;
const pruneWhose = statement('idempotency.prune_whose')`
  select distinct organisation_id from idempotency where created_at <= $1`;
const prune = statement('idempotency.prune')`
  with gone as (
    delete from idempotency where organisation_id = $1 and key_sha256 = any(array(
      select key_sha256 from idempotency where organisation_id = $1 and created_at <= $2 order by created_at limit $3 for update skip locked))
    returning 1)
  select count(*) as count from gone`;

/** Deleting this many rows takes some milliseconds, the longest wait of a request that reuses an expired key. */
const pruneRows = 1000;

/** Deletes expired responses in batches, each in its own transaction. Rows that a request has locked are skipped. */
export async function pruneIdempotency(app: App, signal?: AbortSignal): Promise<void> {
  const before = new Date(app.clock.nowMs() - limits.idempotencyMs);
  for (const { organisation_id: id } of await app.db.query<{ organisation_id: number }>(pruneWhose, [before]))
    await inSteps(async () => {
      const [row] = await app.db.query<{ count: number }>(prune, [id, before, pruneRows]);
      return row!.count === pruneRows;
    }, signal);
}

/**
 * `keep` runs in the transaction of the change, so the response is stored exactly if the change is committed. If the
 * claim has ended and a repeated request has claimed the key, `keep` fails and the change is rolled back.
 */
export type Claim = {
  keep(tx: Tx, reply: KeptReply): Promise<void>;
  release(): Promise<void>;
};

const stillRunning = () => new ApiError('idempotency_conflict', undefined, { 'retry-after': '1' });

/**
 * After an erasure, or with another service secret, the stored response is unreadable. The request is refused, because
 * the change must not happen twice.
 */
const unreadable = () =>
  new ApiError(
    'idempotency_conflict',
    'A request with this Idempotency-Key has ended, and its response is no longer readable. Check what the request changed before you use a new key.',
  );

/**
 * Claims an Idempotency-Key, or finds its first response. The key is stored as a hash and the response encrypted, because
 * both may contain personal data.
 * @throws ApiError idempotency_mismatch, idempotency_conflict
 */
export async function claimKey(
  app: App,
  organisationId: number,
  key: string,
  request: string,
): Promise<KeptReply | Claim> {
  const keyHash = hash('sha256', key, 'buffer');
  const requestHash = hash('sha256', request, 'buffer');
  const nowMs = app.clock.nowMs();
  const lease = new Date(nowMs + limits.idempotencyLeaseMs);
  const claimed = await app.db.query(claim, [
    organisationId,
    keyHash,
    requestHash,
    new Date(nowMs),
    lease,
    new Date(nowMs - limits.idempotencyMs),
  ]);
  if (claimed.length === 0) return firstReply(app, organisationId, keyHash, requestHash);
  return {
    keep: async (tx, reply) => {
      const sealed = app.secrets.seal('idempotency', JSON.stringify(reply), app.random);
      if ((await tx.query(keep, [organisationId, keyHash, reply.status, sealed, lease])).length === 0)
        throw stillRunning();
    },
    release: async () => {
      await app.db.query(release, [organisationId, keyHash, lease]);
    },
  };
}

async function firstReply(app: App, organisationId: number, keyHash: Buffer, requestHash: Buffer): Promise<KeptReply> {
  const [row] = await app.db.query<{ request_sha256: Buffer; status: number | null; reply: Buffer | null }>(read, [
    organisationId,
    keyHash,
  ]);
  if (row === undefined) throw stillRunning();
  const { status, reply } = row;
  // An erasure removes the stored response and the request's hash, so this check comes before the comparison of hashes.
  if (status !== null && reply === null) throw unreadable();
  if (!row.request_sha256.equals(requestHash)) throw new ApiError('idempotency_mismatch');
  if (status === null) throw stillRunning();
  const opened = app.secrets.open('idempotency', reply!);
  if (opened === null) throw unreadable();
  return JSON.parse(opened) as KeptReply;
}
