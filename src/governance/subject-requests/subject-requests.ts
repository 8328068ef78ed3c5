import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { isHeld } from '../legal-holds/holds.ts';
import { findPresentLearner, isErased } from '../../records/learners/learners.ts';
import { readOrganisation } from '../../organisations/organisations.ts';
import { dayAfter, dayMonthsAfter, dayOf, lastInstantOf } from '../../organisations/zone.ts';

/**
 * Data subject requests and complaints. A request is due in 1 month; complex or many requests may take 2 more months
 * (UK GDPR, Articles 12 and 12A). A complaint is acknowledged within 30 days (Data Protection Act 2018, section 164A).
 */
export const requestKinds = {
  access: 'Access to personal data',
  erasure: 'Erasure',
  rectification: 'Rectification',
  objection: 'Objection',
  review: 'Human review of a result',
  complaint: 'Complaint',
} as const;
export type RequestKind = keyof typeof requestKinds;

export const outcomes = {
  done: 'Done as asked',
  partly: 'Done in part',
  refused: 'Refused',
  withdrawn: 'Withdrawn by the person',
} as const;
export type RequestOutcome = keyof typeof outcomes;

export const isRequestKind = (text: string): text is RequestKind => Object.hasOwn(requestKinds, text);
export const isRequestOutcome = (text: string): text is RequestOutcome => Object.hasOwn(outcomes, text);

export type SubjectRequest = {
  case_id: string;
  kind: RequestKind;
  learner_id: string | null;
  /** The requester and a contact, if the request is linked to no learner. */
  about: string | null;
  received_at: Date;
  due_at: Date;
  extended: boolean;
  paused_since: Date | null;
  paused_ms: number;
  outcome: RequestOutcome | null;
  opened_by: string;
  closed_at: Date | null;
  acknowledged_at: Date | null;
};

export type RequestEntry = {
  entry_no: number;
  at: Date;
  actor: string;
  kind: 'opened' | 'note' | 'paused' | 'resumed' | 'extended' | 'acknowledged' | 'closed';
  text: string | null;
};

const columns = `
  case_id, kind, learner_id, about, received_at, due_at, extended, paused_since, paused_ms, outcome, opened_by, closed_at,
  (select max(at) from data_case_entry e where e.organisation_id = data_case.organisation_id
      and e.case_id = data_case.case_id and e.kind = 'acknowledged') as acknowledged_at`;
const insert = statement('case.insert')`
  insert into data_case (organisation_id, case_id, kind, learner_id, about, received_at, due_at, opened_by)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`;
const insertEntry = statement('case.insert_entry')`
  insert into data_case_entry (organisation_id, case_id, entry_no, at, actor, kind, text)
  select $1, $2, coalesce(max(entry_no), 0) + 1, $3, $4, $5, $6 from data_case_entry where organisation_id = $1 and case_id = $2`;
const lock = statement('case.lock')`
  select ${columns} from data_case where organisation_id = $1 and case_id = $2 for update`;
const update = statement('case.update')`
  update data_case set due_at = $3, extended = $4, paused_since = $5, paused_ms = $6, outcome = $7, closed_at = $8
   where organisation_id = $1 and case_id = $2`;
const byId = statement('case.by_id')`select ${columns} from data_case where organisation_id = $1 and case_id = $2`;
const entries = statement('case.entries')`
  select entry_no, at, actor, kind, text from data_case_entry where organisation_id = $1 and case_id = $2 order by entry_no`;
const open = statement('case.open')`
  select ${columns} from data_case where organisation_id = $1 and closed_at is null order by due_at, case_id limit $2 offset $3`;
const closed = statement('case.closed')`
  select ${columns} from data_case where organisation_id = $1 and closed_at is not null order by closed_at desc, case_id limit $2 offset $3`;
const due = statement('case.due')`
  select count(*) as count from (
    select from data_case where organisation_id = $1 and closed_at is null and paused_since is null and due_at <= $2 limit 1000) d`;
const forget = statement('case.forget')`
  with about as (
    update data_case set about = null where organisation_id = $1 and learner_id = $2 returning case_id)
  update data_case_entry e set text = null from about
   where e.organisation_id = $1 and e.case_id = about.case_id and e.text is not null`;
const move = statement('case.pass')`
  update data_case set learner_id = $3 where organisation_id = $1 and learner_id = $2`;
const prune = statement('case.prune')`
  with old as (
    update data_case c set about = null
     where c.closed_at < $1 and c.about is not null and not ${isHeld('c.organisation_id', 'c.learner_id', '$2')})
  update data_case_entry e set text = null from data_case c
   where c.closed_at < $1 and e.organisation_id = c.organisation_id and e.case_id = c.case_id and e.text is not null
     and not ${isHeld('c.organisation_id', 'c.learner_id', '$2')}`;

const months = (extended: boolean): number => (extended ? 3 : 1);

const dayMs = 86_400_000;

/**
 * The deadline: the end of the same day in a later month, in the organisation's time zone, plus the paused time. Full
 * paused days are counted as calendar days, because some days have 23 hours.
 */
function dueAt(
  { received_at, extended, paused_ms }: Pick<SubjectRequest, 'received_at' | 'extended' | 'paused_ms'>,
  zone: string,
): Date {
  const day = dayMonthsAfter(dayOf(received_at, zone), months(extended));
  const last = lastInstantOf(dayAfter(day, Math.floor(paused_ms / dayMs)), zone)!;
  return new Date(last.getTime() + (paused_ms % dayMs));
}

/** The end of the 30th day after receipt; null if no acknowledgement is due. */
export const acknowledgeBy = (one: SubjectRequest, zone: string): Date | null =>
  one.kind === 'complaint' && one.acknowledged_at === null && one.closed_at === null
    ? lastInstantOf(dayAfter(dayOf(one.received_at, zone), 30), zone)
    : null;

/** @throws ApiError not_found if the learner was erased */
export async function openRequest(
  work: UnitOfWork,
  organisationId: number,
  options: {
    caseId: string;
    kind: RequestKind;
    learnerId: string | null;
    about: string | null;
    receivedAt: Date;
    note: string | null;
    actor: string;
  },
): Promise<void> {
  const { caseId, kind, about, receivedAt, note, actor } = options;
  // Erasures and merges, which change a learner's requests, take this lock too. They run before or after this change.
  await lockFeed(work, organisationId);
  const learnerId =
    options.learnerId === null ? null : await findPresentLearner(work.tx, organisationId, options.learnerId);
  const { time_zone: zone } = await readOrganisation(work.tx, organisationId);
  const due = dueAt({ received_at: receivedAt, extended: false, paused_ms: 0 }, zone);
  await work.tx.query(insert, [organisationId, caseId, kind, learnerId, about, receivedAt, due, actor]);
  await work.tx.query(insertEntry, [organisationId, caseId, new Date(work.nowMs), actor, 'opened', note]);
}

export type RequestStep =
  | { kind: 'note' | 'paused' | 'extended'; text: string }
  | { kind: 'resumed' | 'acknowledged'; text: string | null }
  | { kind: 'closed'; text: string | null; outcome: RequestOutcome };

/** Text about an erased learner is refused. The message is shown to the person who wrote the text. */
export class AboutErased extends Error {
  constructor() {
    super('The learner is erased, so no text about them is kept. Close the request without a text.');
  }
}

/**
 * Adds an entry to an open request. The feed's lock makes an erasure wait.
 * @returns false if there is no such open request, or the step is already done or does not apply
 * @throws AboutErased
 */
export async function addEntry(
  work: UnitOfWork,
  organisationId: number,
  caseId: string,
  step: RequestStep & { actor: string },
): Promise<boolean> {
  await lockFeed(work, organisationId);
  const [found] = await work.tx.query<SubjectRequest>(lock, [organisationId, caseId]);
  if (found === undefined || found.closed_at !== null) return false;
  if (step.text !== null && (await isOfErased(work.tx, organisationId, found))) throw new AboutErased();
  const { time_zone: zone } = await readOrganisation(work.tx, organisationId);
  if (step.kind === 'acknowledged' && acknowledgeBy(found, zone) === null) return false;
  const now = new Date(work.nowMs);
  const next = { ...found };
  if (step.kind === 'paused') {
    if (found.paused_since !== null) return false;
    next.paused_since = now;
  }
  if (step.kind === 'resumed' && found.paused_since === null) return false;
  if ((step.kind === 'resumed' || step.kind === 'closed') && found.paused_since !== null) {
    next.paused_ms += Math.max(0, work.nowMs - found.paused_since.getTime());
    next.paused_since = null;
  }
  if (step.kind === 'extended') {
    if (found.extended) return false;
    next.extended = true;
  }
  if (step.kind === 'closed') {
    next.outcome = step.outcome;
    next.closed_at = now;
  }
  await work.tx.query(update, [
    organisationId,
    caseId,
    dueAt(next, zone),
    next.extended,
    next.paused_since,
    next.paused_ms,
    next.outcome,
    next.closed_at,
  ]);
  await work.tx.query(insertEntry, [organisationId, caseId, now, step.actor, step.kind, step.text]);
  return true;
}

export async function isOfErased(
  tx: Tx,
  organisationId: number,
  one: Pick<SubjectRequest, 'learner_id'>,
): Promise<boolean> {
  return one.learner_id !== null && isErased(tx, organisationId, one.learner_id);
}

export async function findRequest(tx: Tx, organisationId: number, caseId: string): Promise<SubjectRequest | undefined> {
  return (await tx.query<SubjectRequest>(byId, [organisationId, caseId]))[0];
}

export function listEntries(tx: Tx, organisationId: number, caseId: string): Promise<RequestEntry[]> {
  return tx.query<RequestEntry>(entries, [organisationId, caseId]);
}

/** Lists open requests by deadline, or closed requests with the newest first. */
export function listRequests(
  tx: Tx,
  organisationId: number,
  { state, from = 0, limit }: { state: 'open' | 'closed'; from?: number; limit: number },
): Promise<SubjectRequest[]> {
  return tx.query<SubjectRequest>(state === 'open' ? open : closed, [organisationId, limit, from]);
}

/** Counts open requests, except paused ones, that are due by this time. The count stops at 1,000. */
export async function countDueRequests(tx: Tx, organisationId: number, by: Date): Promise<number> {
  return (await tx.query<{ count: number }>(due, [organisationId, by]))[0]!.count;
}

/** Deletes the texts of an erased learner's requests; kind, dates and outcome stay. */
export async function forgetRequests(tx: Tx, organisationId: number, learnerId: string): Promise<void> {
  await tx.query(forget, [organisationId, learnerId]);
}

export async function moveRequests(tx: Tx, organisationId: number, from: string, to: string): Promise<void> {
  await tx.query(move, [organisationId, from, to]);
}

/** Deletes the texts of old closed requests, unless a legal hold covers the learner. */
export async function pruneRequests(work: UnitOfWork, keptMs: number): Promise<void> {
  await work.tx.query(prune, [new Date(work.nowMs - keptMs), new Date(work.nowMs)]);
}

export function readStep(step: string, text: string): RequestStep | null {
  if (step === 'note' || step === 'paused' || step === 'extended') return { kind: step, text };
  if (step === 'resumed' || step === 'acknowledged') return { kind: step, text: text || null };
  const outcome = step.replace(/^closed-/, '');
  return step.startsWith('closed-') && isRequestOutcome(outcome)
    ? { kind: 'closed', outcome, text: text || null }
    : null;
}
