import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { findPresentLearner } from '../../records/learners/learners.ts';

/**
 * A legal hold keeps data that a claim, an audit or an inquiry needs. It covers one learner or the organisation, until
 * its end or its release.
 */
export type Hold = {
  hold_id: string;
  /** Null: every learner of the organisation. */
  learner_id: string | null;
  reason: string;
  placed_at: Date;
  placed_by: string;
  ends_at: Date | null;
  released_at: Date | null;
  released_by: string | null;
};

/** The message is shown to the person whose change is refused. */
export class UnderHold extends Error {
  constructor(ofAll: boolean) {
    super(
      ofAll
        ? 'The organisation is under a legal hold. Nothing is deleted until the hold ends or is released.'
        : 'The learner is under a legal hold. None of their data is deleted until the hold ends or is released.',
    );
  }
}

export const isHeld = (organisation: string, learner: string, now: string): string => `exists (
    select from legal_hold h where h.organisation_id = ${organisation} and h.released_at is null
       and (h.ends_at is null or h.ends_at > ${now}) and (h.learner_id is null or h.learner_id = ${learner}))`;

const columns = 'hold_id, learner_id, reason, placed_at, placed_by, ends_at, released_at, released_by';
const insert = statement('hold.insert')`
  insert into legal_hold (organisation_id, hold_id, learner_id, reason, placed_at, placed_by, ends_at)
  values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`;
const release = statement('hold.release')`
  update legal_hold set released_at = $3, released_by = $4
   where organisation_id = $1 and hold_id = $2 and released_at is null and (ends_at is null or ends_at > $3)
  returning hold_id`;
const onLearner = statement('hold.on_learner')`
  select learner_id is null as of_all from legal_hold
   where organisation_id = $1 and released_at is null and (ends_at is null or ends_at > $3)
     and ($2::uuid is null or learner_id is null or learner_id = $2) and ($4::timestamptz is null or placed_at > $4)
   order by learner_id is null limit 1`;
const byId = statement('hold.by_id')`select ${columns} from legal_hold where organisation_id = $1 and hold_id = $2`;
const list = statement('hold.list')`
  select ${columns} from legal_hold
   where organisation_id = $1 and ($2::uuid is null or learner_id = $2 or learner_id is null)
   order by released_at is not null or coalesce(ends_at <= $5, false), placed_at desc, hold_id limit $3 offset $4`;
const forget = statement('hold.forget')`
  update legal_hold set reason = '' where organisation_id = $1 and learner_id = $2 and reason <> ''`;

const move = statement('hold.pass')`
  update legal_hold set learner_id = $3 where organisation_id = $1 and learner_id = $2`;

/**
 * Places a hold, unless `holdId` already exists. The feed's lock makes erasures and merges wait. If the learner was
 * merged, the hold is placed on the survivor.
 * @returns the learner whom the hold covers
 * @throws ApiError not_found if the learner was erased
 */
export async function placeHold(
  work: UnitOfWork,
  organisationId: number,
  options: { holdId: string; learnerId: string | null; reason: string; actor: string; endsAt: Date | null },
): Promise<string | null> {
  await lockFeed(work, organisationId);
  const learnerId =
    options.learnerId === null ? null : await findPresentLearner(work.tx, organisationId, options.learnerId);
  await work.tx.query(insert, [
    organisationId,
    options.holdId,
    learnerId,
    options.reason,
    new Date(work.nowMs),
    options.actor,
    options.endsAt,
  ]);
  return learnerId;
}

/** @returns false if there is no such hold, or the hold has ended */
export async function releaseHold(
  work: UnitOfWork,
  organisationId: number,
  holdId: string,
  by: { actor: string },
): Promise<boolean> {
  const rows = await work.tx.query(release, [organisationId, holdId, new Date(work.nowMs), by.actor]);
  return rows.length > 0;
}

/**
 * The caller must hold the feed's lock, so that no hold is placed during the change.
 * @param placedAfter holds that were placed earlier do not count
 * @throws UnderHold
 */
export async function refuseUnderHold(
  work: UnitOfWork,
  organisationId: number,
  learnerId: string,
  placedAfter: Date | null = null,
): Promise<void> {
  const hold = await holdOn(work.tx, organisationId, learnerId, new Date(work.nowMs), placedAfter);
  if (hold !== undefined) throw new UnderHold(hold.of_all);
}

/**
 * Finds a hold in force on the learner or on the organisation. If `learnerId` is null, any hold counts.
 * @param placedAfter holds that were placed earlier do not count
 */
export async function holdOn(
  tx: Tx,
  organisationId: number,
  learnerId: string | null,
  now: Date,
  placedAfter: Date | null = null,
): Promise<{ of_all: boolean } | undefined> {
  return (await tx.query<{ of_all: boolean }>(onLearner, [organisationId, learnerId, now, placedAfter]))[0];
}

export async function findHold(tx: Tx, organisationId: number, holdId: string): Promise<Hold | undefined> {
  return (await tx.query<Hold>(byId, [organisationId, holdId]))[0];
}

/** Lists holds in force first, and newer holds first. A learner's list includes holds on the organisation. */
export function listHolds(
  tx: Tx,
  organisationId: number,
  { learnerId = null, from = 0, limit, now }: { learnerId?: string | null; from?: number; limit: number; now: Date },
): Promise<Hold[]> {
  return tx.query<Hold>(list, [organisationId, learnerId, limit, from, now]);
}

export async function moveHolds(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(move, [organisationId, from, to]);
}

export async function forgetHolds(tx: Tx, organisationId: number, learnerId: string): Promise<void> {
  await tx.query(forget, [organisationId, learnerId]);
}

export const isInForce = (one: Hold, nowMs: number): boolean =>
  one.released_at === null && (one.ends_at === null || one.ends_at.getTime() > nowMs);
