import { statement, type Tx } from '../platform/db/database.ts';
import type { ItemOutcome, ItemResponse } from '../engine/scoring/score.ts';
import type { Subject } from '../engine/scoring/levels.ts';
import { limits } from '../platform/config/limits.ts';

export type SittingRow = {
  organisation_id: number;
  sitting_id: string;
  invitation_id: string;
  learner_id: string;
  subject: Subject;
  status: 'open' | 'completed' | 'void';
  bank_version: string;
  settings: string;
  time_limit_ms: number;
  withheld: string[];
  used_ms: number;
  on_screen_since: Date | null;
  last_seen_at: Date;
  started_at: Date;
  /** For an abandoned sitting, this is the time of the last touch. */
  finished_at: Date | null;
  /** When an abandoned sitting was closed; else null. */
  closed_at: Date | null;
  stop: string | null;
  declared_at: Date | null;
  void_reason: string | null;
  assessment_id: string | null;
  result: string | null;
  released_by: string | null;
  released_at: Date | null;
  /** Copied from the invitation when the sitting begins, and null after the sitting has ended. */
  supervision: string | null;
  supervisor: string | null;
  retake_reason: string | null;
};

/** Coarse classes of the browser with which a question was answered; null if they are not known. */
export type Client = { device: 'phone' | 'tablet' | 'desktop' | null; language: 'en' | 'cy' | 'other' | null };

const openOf = statement('sitting.open_of_learner')`
  select from sitting where organisation_id = $1 and learner_id = $2 and status = 'open' limit 1`;

const invitationOfOpen = statement('sitting.invitation_of_open')`
  select invitation_id from sitting where organisation_id = $1 and learner_id = $2 and subject = $3 and status = 'open'`;

export async function invitationOfOpenSitting(
  tx: Tx,
  { organisation_id, learner_id, subject }: Pick<SittingRow, 'organisation_id' | 'learner_id' | 'subject'>,
): Promise<string | undefined> {
  const rows = await tx.query<{ invitation_id: string }>(invitationOfOpen, [organisation_id, learner_id, subject]);
  return rows[0]?.invitation_id;
}

export async function hasOpenSitting(tx: Tx, organisationId: number, learnerId: string): Promise<boolean> {
  return (await tx.query(openOf, [organisationId, learnerId])).length > 0;
}

export type SittingKey = { organisation_id: number; sitting_id: string };

export type SittingItemRow = {
  position: number;
  item_id: string;
  seed: string;
  rendered: string;
  choice: string;
  shown_at: Date;
  answered_at: Date | null;
  answer: string | null;
  outcome: ItemOutcome | null;
  /** Working time without pauses; null if it was not measured. */
  working_ms: number | null;
  pauses: number;
  paused_ms: number;
  /** The question is on trial, so it is not scored. */
  pilot: boolean;
};

const columns = `organisation_id, sitting_id, invitation_id, learner_id, subject, status, bank_version, settings, time_limit_ms, withheld, used_ms,
  on_screen_since, last_seen_at, started_at, finished_at, closed_at, stop, declared_at, void_reason, assessment_id, result, released_by, released_at, supervision, supervisor, retake_reason`;

const ofInvitation = statement('sitting.of_invitation')`
  select ${columns} from sitting where organisation_id = $1 and invitation_id = $2 order by started_at, sitting_id`;
const byId = statement('sitting.by_id')`select ${columns} from sitting where organisation_id = $1 and sitting_id = $2`;
const ofResult = statement('sitting.of_result')`
  select ${columns} from sitting where organisation_id = $1 and assessment_id = $2`;
const locked = statement('sitting.locked')`
  select ${columns} from sitting where organisation_id = $1 and sitting_id = $2 for update`;
const insert = statement('sitting.insert')`
  insert into sitting (organisation_id, sitting_id, invitation_id, learner_id, subject, bank_version, settings, time_limit_ms, withheld, on_screen_since, last_seen_at, started_at, released_by, released_at,
                       supervision, supervisor, retake_reason)
  select $1, $2, invitation_id, $4, $5, $6, $7, $8, $9, $10, $10, $10, $11, $12, supervision, supervisor, retake_reason from invitation
   where organisation_id = $1 and invitation_id = $3 and status <> 'withdrawn' for share
  on conflict do nothing
  returning ${columns}`;
const update = statement('sitting.update')`
  update sitting set used_ms = $3, on_screen_since = $4, last_seen_at = $5, stop = $6, declared_at = $7, status = $8, finished_at = $9,
         void_reason = $10, assessment_id = $11, result = $12, closed_at = $13,
         supervision = case when $8 = 'open' then supervision end, supervisor = case when $8 = 'open' then supervisor end,
         retake_reason = case when $8 = 'open' then retake_reason end
   where organisation_id = $1 and sitting_id = $2`;
const touch = statement('sitting.touch')`
  update sitting set last_seen_at = $3
   where organisation_id = $1 and sitting_id = $2 and status = 'open' and (on_screen_since is not null or stop is not null) and last_seen_at < $3`;
const correct = statement('sitting.correct_supervision')`
  update sitting set supervision = coalesce($3, supervision), supervisor = case when $4 then $5 else supervisor end
   where organisation_id = $1 and invitation_id = $2 and status = 'open' and supervision is not null`;
const items = statement('sitting.items')`
  select position, item_id, seed, rendered, choice, shown_at, answered_at, answer, outcome, working_ms, pauses, paused_ms, pilot
    from sitting_item where organisation_id = $1 and sitting_id = $2 order by position`;
const history = statement('sitting.history')`
  select position, item_id, outcome, pilot, working_ms, case when outcome is null then rendered end as rendered
    from sitting_item where organisation_id = $1 and sitting_id = $2 order by position`;
const moved = statement('sitting.moved')`
  update sitting set assessment_id = $3 where organisation_id = $1 and assessment_id = $2`;
const begun = statement('sitting.begun')`
  select distinct invitation_id from sitting where organisation_id = $1 and invitation_id = any($2)`;
const current = statement('sitting.current')`
  select position, item_id, rendered, answer from sitting_item
   where organisation_id = $1 and sitting_id = $2 and outcome is null order by position desc limit 1`;
const draft = statement('sitting.draft')`
  update sitting_item set answer = $4 where organisation_id = $1 and sitting_id = $2 and position = $3 and outcome is null`;
const pause = statement('sitting.pause')`
  update sitting_item set working_ms = coalesce(working_ms, 0) + $4
   where organisation_id = $1 and sitting_id = $2 and position = $3 and outcome is null`;
const resume = statement('sitting.resume')`
  update sitting_item set pauses = pauses + 1, paused_ms = paused_ms + $4
   where organisation_id = $1 and sitting_id = $2 and position = $3 and outcome is null`;
const insertItem = statement('sitting.insert_item')`
  insert into sitting_item (organisation_id, sitting_id, position, item_id, seed, rendered, choice, shown_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`;
const advance = statement('sitting.advance')`
  with closed as (
    update sitting_item set answered_at = $4, answer = $5, outcome = $6, working_ms = coalesce(working_ms, 0) + $17, device = $19, language = $20
     where organisation_id = $1 and sitting_id = $2 and position = $3 and outcome is null),
  shown as (
    insert into sitting_item (organisation_id, sitting_id, position, item_id, seed, rendered, choice, shown_at, pilot)
    select $1, $2, $7, $8, $9, $10, $11, $12, $18 where $7::int4 is not null)
  update sitting set used_ms = $13, on_screen_since = $14, last_seen_at = $15, stop = $16 where organisation_id = $1 and sitting_id = $2`;
const seenSince = statement('sitting.seen_since')`
  select distinct i.item_id from sitting s
    join sitting_item i on i.organisation_id = s.organisation_id and i.sitting_id = s.sitting_id
   where s.organisation_id = $1 and s.learner_id = $2 and s.subject = $3 and i.shown_at > $4 order by i.item_id`;
const idle = statement('sitting.idle')`
  select organisation_id, sitting_id from (
    select *, row_number() over (partition by organisation_id order by last_seen_at) as n
      from sitting t where status = 'open' and last_seen_at < $1
       and not exists (select from feed f where f.organisation_id = t.organisation_id and (f.suspended or f.resumed_at >= $1))) s
   order by n, last_seen_at limit $2`;
export function findSittings(tx: Tx, organisationId: number, invitationId: string): Promise<SittingRow[]> {
  return tx.query<SittingRow>(ofInvitation, [organisationId, invitationId]);
}

export async function findSitting(
  tx: Tx,
  { organisation_id, sitting_id }: SittingKey,
): Promise<SittingRow | undefined> {
  return (await tx.query<SittingRow>(byId, [organisation_id, sitting_id]))[0];
}

/** Finds the sitting of a result. Imported results have none. */
export async function findSittingOfResult(
  tx: Tx,
  organisationId: number,
  assessmentId: string,
): Promise<SittingRow | undefined> {
  return (await tx.query<SittingRow>(ofResult, [organisationId, assessmentId]))[0];
}

/** Locks the sitting until the transaction ends, so that the second of two tabs waits. */
export async function lockSitting(
  tx: Tx,
  { organisation_id, sitting_id }: SittingKey,
): Promise<SittingRow | undefined> {
  return (await tx.query<SittingRow>(locked, [organisation_id, sitting_id]))[0];
}

/** Links the sitting of the result `from` to the result `to` that replaces it. */
export async function moveSitting(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(moved, [organisationId, from, to]);
}

/** Returns the invitations that have a sitting. Void sittings count too. */
export async function findBegun(tx: Tx, organisationId: number, invitationIds: string[]): Promise<Set<string>> {
  const rows = await tx.query<{ invitation_id: string }>(begun, [organisationId, invitationIds]);
  return new Set(rows.map((row) => row.invitation_id));
}

/** @returns undefined if the learner has an open sitting in the subject, or the invitation was cancelled */
export async function insertSitting(
  tx: Tx,
  row: Pick<
    SittingRow,
    | 'organisation_id'
    | 'sitting_id'
    | 'invitation_id'
    | 'learner_id'
    | 'subject'
    | 'bank_version'
    | 'settings'
    | 'time_limit_ms'
    | 'withheld'
    | 'started_at'
    | 'released_by'
    | 'released_at'
  >,
): Promise<SittingRow | undefined> {
  return (
    await tx.query<SittingRow>(insert, [
      row.organisation_id,
      row.sitting_id,
      row.invitation_id,
      row.learner_id,
      row.subject,
      row.bank_version,
      row.settings,
      row.time_limit_ms,
      row.withheld,
      row.started_at,
      row.released_by,
      row.released_at,
    ])
  )[0];
}

export async function updateSitting(tx: Tx, row: SittingRow): Promise<void> {
  await tx.query(update, [
    row.organisation_id,
    row.sitting_id,
    row.used_ms,
    row.on_screen_since,
    row.last_seen_at,
    row.stop,
    row.declared_at,
    row.status,
    row.finished_at,
    row.void_reason,
    row.assessment_id,
    row.result,
    row.closed_at,
  ]);
}

/** Updates the time of the last touch. During a pause the function changes nothing. */
export async function touchSitting(tx: Tx, { organisation_id, sitting_id }: SittingKey, at: Date): Promise<void> {
  await tx.query(touch, [organisation_id, sitting_id, at]);
}

export async function correctSupervision(
  tx: Tx,
  organisationId: number,
  invitationId: string,
  { supervision, supervisor }: { supervision?: string; supervisor?: string | null },
): Promise<void> {
  const values = [supervision ?? null, supervisor !== undefined, supervisor ?? null];
  await tx.query(correct, [organisationId, invitationId, ...values]);
}

/** The answers that count, in their order. The questions of the sitting must be over. */
export const scoredResponses = (rows: readonly SittingItemRow[]): ItemResponse[] =>
  rows.filter(({ pilot }) => !pilot).map(({ item_id, outcome }) => ({ itemId: item_id, outcome: outcome! }));

export function findItems(tx: Tx, { organisation_id, sitting_id }: SittingKey): Promise<SittingItemRow[]> {
  return tx.query<SittingItemRow>(items, [organisation_id, sitting_id]);
}

/** An item of the sitting with its outcome. Only the current item has its rendered question. */
export type HistoryRow = Pick<SittingItemRow, 'position' | 'item_id' | 'outcome' | 'pilot' | 'working_ms'> & {
  rendered: string | null;
};

export function findHistory(tx: Tx, sitting: SittingKey): Promise<HistoryRow[]> {
  return tx.query<HistoryRow>(history, [sitting.organisation_id, sitting.sitting_id]);
}

type CurrentItem = Pick<SittingItemRow, 'position' | 'item_id' | 'rendered' | 'answer'>;

export async function findCurrent(tx: Tx, sitting: SittingKey): Promise<CurrentItem | undefined> {
  return (await tx.query<CurrentItem>(current, [sitting.organisation_id, sitting.sitting_id]))[0];
}

export async function storeDraft(tx: Tx, sitting: SittingKey, position: number, answer: string | null): Promise<void> {
  await tx.query(draft, [sitting.organisation_id, sitting.sitting_id, position, answer]);
}

export async function addWorkingTime(tx: Tx, sitting: SittingKey, position: number, ms: number): Promise<void> {
  await tx.query(pause, [sitting.organisation_id, sitting.sitting_id, position, ms]);
}

export async function addPause(tx: Tx, sitting: SittingKey, position: number, ms: number): Promise<void> {
  await tx.query(resume, [sitting.organisation_id, sitting.sitting_id, position, ms]);
}

export type NewItem = Pick<
  SittingItemRow,
  'position' | 'item_id' | 'seed' | 'rendered' | 'choice' | 'shown_at' | 'pilot'
>;

type Ended = {
  position: number;
  answered_at: Date;
  answer: string | null;
  outcome: ItemOutcome;
  /** Working time since the question was last shown. */
  working_ms: number;
} & Client;

export async function addItem(tx: Tx, sitting: SittingRow, row: NewItem): Promise<void> {
  await tx.query(insertItem, [
    sitting.organisation_id,
    sitting.sitting_id,
    row.position,
    row.item_id,
    row.seed,
    row.rendered,
    row.choice,
    row.shown_at,
  ]);
}

/** Ends the current question and shows the next one in one statement. The caller has locked the sitting. */
export async function advanceSitting(tx: Tx, sitting: SittingRow, ended: Ended, next: NewItem | null): Promise<void> {
  await tx.query(advance, [
    sitting.organisation_id,
    sitting.sitting_id,
    ended.position,
    ended.answered_at,
    ended.answer,
    ended.outcome,
    next?.position ?? null,
    next?.item_id ?? null,
    next?.seed ?? null,
    next?.rendered ?? null,
    next?.choice ?? null,
    next?.shown_at ?? null,
    sitting.used_ms,
    sitting.on_screen_since,
    sitting.last_seen_at,
    sitting.stop,
    ended.working_ms,
    next?.pilot ?? false,
    ended.device,
    ended.language,
  ]);
}

export async function itemsSeenSince(
  tx: Tx,
  learner: { organisation_id: number; learner_id: string; subject: Subject },
  since: Date,
): Promise<string[]> {
  const { organisation_id, learner_id, subject } = learner;
  return (await tx.query<{ item_id: string }>(seenSince, [organisation_id, learner_id, subject, since])).map(
    (row) => row.item_id,
  );
}

export function findIdleSittings(tx: Tx, before: Date, limit: number): Promise<SittingKey[]> {
  return tx.query(idle, [before, limit]);
}

const open = statement('sitting.open_count')`
  select count(*) as count from (select 1 from sitting where status = 'open' limit ${limits.rowsCounted}) s`;

export async function countOpenSittings(tx: Tx): Promise<number> {
  return (await tx.query<{ count: number }>(open))[0]!.count;
}
