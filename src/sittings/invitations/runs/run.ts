import { hasCountedCredits } from '../../../organisations/credits.ts';
import { isDeepStrictEqual } from 'node:util';
import { auditAct } from '../../../platform/audit/act.ts';
import { statement } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../../feed/position.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { added, type JobKey, jobsOf, type Stepped } from '../../../feed/jobs/jobs.ts';
import { sameNameKey } from '../../../records/learners/keys.ts';
import { limits } from '../../../platform/config/limits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { withSandbox } from '../../../organisations/sandboxes.ts';
import { withoutNationalInsuranceNumbers } from '../../../platform/validation/personal-data.ts';
import type { Check, Checked } from './check.ts';
import { withoutErased } from './forget-rows.ts';
import { inviteLearners, type InviteOutcome, type Within } from '../invite.ts';
import { pageOfRows, type Run, type RunInput, type RunProgress, type RunRow } from './read-runs.ts';
import { findNamesakes } from './namesakes.ts';
import type { RowFault } from './row.ts';
import type { Cells } from './table.ts';
import { teamsOfStaff } from '../../../organisations/teams.ts';
import { roleOf } from '../../../organisations/users/members.ts';

export const invitationRuns = jobsOf<RunInput, RunProgress>({
  kind: 'invitation_run',
  // When a draft is deleted, its rows are deleted, too.
  kept: { which: 'draft', ms: limits.inviteDraftMs },
  // Steps also run while the organisation is suspended, so that overdue runs end. No learner is invited during a
  // suspension.
  evenSuspended: true,
  step: inviteBatch,
  forget: ({ tx }, run) => tx.query(emptyRows, [run.organisation_id, run.run_id]),
  cancelled: { action: 'learner invite', after: (run) => `row ${run.reached} of ${run.total}` },
});

const insertRows = statement('invitation_run.insert_rows')`
  insert into invitation_run_row (organisation_id, run_id, row_no, cells, ready, faults)
  select $1, $2, * from unnest($3::int4[], $4::jsonb[], $5::jsonb[], $6::jsonb[])`;
const deleteFaulty = statement('invitation_run.delete_faulty')`
  delete from invitation_run_row where organisation_id = $1 and run_id = $2 and (faults is not null or ready -> 'doubts' is not null) and row_no = any($3)`;
const deleteRows = statement('invitation_run.delete_rows')`
  delete from invitation_run_row where organisation_id = $1 and run_id = $2`;
const replaceRows = statement('invitation_run.replace_rows')`
  update invitation_run_row r set ready = g.ready, faults = g.faults
    from unnest($3::int4[], $4::jsonb[], $5::jsonb[]) as g(row_no, ready, faults)
   where r.organisation_id = $1 and r.run_id = $2 and r.row_no = g.row_no
     and (r.ready is distinct from g.ready or r.faults is distinct from g.faults)`;
const countRows = statement('invitation_run.count_rows')`
  select count(*)::int4 as total from invitation_run_row where organisation_id = $1 and run_id = $2`;
const emptyRows = statement('invitation_run.empty_rows')`
  update invitation_run_row set cells = null, ready = null, faults = case when outcome is null then null else faults end
   where organisation_id = $1 and run_id = $2 and cells is not null`;
const settle = statement('invitation_run.settle')`
  update invitation_run_row r
     set cells = null, ready = null, faults = g.faults, outcome = g.outcome, learner_id = g.learner_id,
         invitation_id = g.invitation_id
    from unnest($3::int4[], $4::text[], $5::jsonb[], $6::uuid[], $7::uuid[])
         as g(row_no, outcome, faults, learner_id, invitation_id)
   where r.organisation_id = $1 and r.run_id = $2 and r.row_no = g.row_no`;
function keptCells(cells: Cells): Cells {
  return Object.fromEntries(
    Object.entries(cells).map(([column, value]) => [column, withoutNationalInsuranceNumbers(value)]),
  );
}

async function keepCheck(work: UnitOfWork, run: JobKey, check: Check, visibility: Visibility): Promise<void> {
  const { faulty, known, again, credits } = check;
  const [row] = await work.tx.query<{ total: number }>(countRows, [run.organisation_id, run.run_id]);
  const progress = { faulty, known, open_already: again, credits, total: row!.total };
  await invitationRuns.save(work, run, { input: { visibility }, progress });
}

const jsonOf = (value: unknown) => (value === null ? null : JSON.stringify(value));
const faultsOf = ({ faults }: { faults: RowFault[] }) =>
  faults.length === 0 ? null : withoutNationalInsuranceNumbers(JSON.stringify(faults));

async function writeRows(work: UnitOfWork, organisationId: number, runId: string, rows: Checked): Promise<void> {
  await work.tx.query(insertRows, [
    organisationId,
    runId,
    rows.map((row) => row.row_no),
    rows.map((row) => JSON.stringify(row.faults.length > 0 ? keptCells(row.cells) : row.cells)),
    rows.map((row) => (row.faults.length > 0 ? null : jsonOf(row.ready))),
    rows.map(faultsOf),
  ]);
}

/** Stores checked rows as a draft. @returns false if the run already exists */
export async function draftRun(
  work: UnitOfWork,
  organisationId: number,
  input: { runId: string; by: string; check: Check } & Within,
): Promise<boolean> {
  const { runId, by, teamId, visibility } = input;
  if (work.again) await lockFeed(work, organisationId);
  const checked = { total: 0, faulty: 0, known: 0, open_already: 0, credits: 0 };
  const progress = { ...checked, reached: 0, invited: 0, again: 0, refused: 0, cancelled_because: null };
  const draft = { runId, by, status: 'draft', input: { team_id: teamId, visibility, mails: false }, progress } as const;
  if (!(await invitationRuns.order(work, organisationId, draft))) return false;
  await writeRows(work, organisationId, runId, input.check.rows);
  // The lock is taken after thousands of rows are written, so that other writers of the feed wait less.
  await lockFeed(work, organisationId);
  const check = await withoutErased(work, organisationId, input.check);
  if (check !== input.check) {
    await work.tx.query(deleteRows, [organisationId, runId]);
    await writeRows(work, organisationId, runId, check.rows);
  }
  await keepCheck(work, { organisation_id: organisationId, run_id: runId }, check, visibility);
  return true;
}

/**
 * Replaces the faulty and doubtful rows of a draft with corrected rows. `check` contains all rows of the draft.
 * @param input.replaced the numbers of the rows that a person was asked to correct
 * @param input.kept the numbers of the rows that must not change
 * @returns false if the run is not a draft
 */
export async function correctRun(
  work: UnitOfWork,
  organisationId: number,
  input: { runId: string; replaced: readonly number[]; kept: readonly number[]; check: Check; visibility: Visibility },
): Promise<boolean> {
  const { runId, replaced, kept, visibility } = input;
  await lockFeed(work, organisationId);
  const check = await withoutErased(work, organisationId, input.check);
  const { rows } = check;
  const run = await invitationRuns.lock(work, organisationId, runId);
  if (run?.status !== 'draft') return false;
  await work.tx.query(deleteFaulty, [organisationId, runId, replaced]);
  const stay = new Map((await pageOfRows(work.tx, organisationId, runId)).map((row) => [row.row_no, row]));
  await writeRows(
    work,
    organisationId,
    runId,
    // If a kept row is missing, it belonged to a learner who was erased, so it is not written again.
    rows.filter((row) => !stay.has(row.row_no) && !kept.includes(row.row_no)),
  );
  // If an erasure changed a row after the check, the row is not overwritten.
  const same = rows.filter((row) => stay.has(row.row_no) && hasCells(stay.get(row.row_no)!, row));
  await rewrite(work, organisationId, runId, same);
  await keepCheck(work, run, check, visibility);
  return true;
}

const hasCells = (row: RunRow, { cells }: Checked[number]): boolean => isDeepStrictEqual(row.cells, cells);

async function rewrite(work: UnitOfWork, organisationId: number, runId: string, rows: Checked): Promise<void> {
  await work.tx.query(replaceRows, [
    organisationId,
    runId,
    rows.map((row) => row.row_no),
    rows.map((row) => (row.faults.length > 0 ? null : jsonOf(row.ready))),
    rows.map(faultsOf),
  ]);
}

export type Begun = 'begun' | 'not_draft' | 'faulty' | 'doubtful' | { missing: number; credits: number };

/**
 * Begins a draft, so that a background job invites the learners.
 * @param input.check a new check of the draft's rows
 * @param input.by the person who begins the run and becomes its owner
 */
export async function beginRun(
  work: UnitOfWork,
  organisationId: number,
  input: { runId: string; by: string; check: Check; mails: boolean; visibility: Visibility; credits: number | null },
): Promise<Begun> {
  const { runId, by, check, mails, visibility, credits } = input;
  await lockFeed(work, organisationId);
  const run = await invitationRuns.lock(work, organisationId, runId);
  if (run?.status !== 'draft') return 'not_draft';
  // After the check, a person may have corrected the draft, or a learner may have been erased.
  const stored = await pageOfRows(work.tx, organisationId, runId);
  const isSame = (row: RunRow, i: number) => row.row_no === check.rows[i]!.row_no && hasCells(row, check.rows[i]!);
  if (stored.length !== check.rows.length || !stored.every(isSame)) return 'not_draft';
  await rewrite(work, organisationId, runId, check.rows);
  await keepCheck(work, run, check, visibility);
  if (check.faulty > 0 || check.rows.length === 0) return 'faulty';
  if (check.doubtful > 0) return 'doubtful';
  if (credits !== null && check.credits > credits) return { missing: check.credits - credits, credits: check.credits };
  const startedAt = new Date(work.nowMs);
  await invitationRuns.save(work, run, { status: 'running', createdBy: by, startedAt, input: { mails, visibility } });
  return 'begun';
}

/**
 * The time at which the service cancels an unfinished run. The rows contain names, so they must not be kept for long
 * (docs/decisions/0025).
 */
export const endsAt = (run: Run): Date => new Date(run.started_at!.getTime() + limits.inviteRunMs);

/** The reason to show if the service cancelled the run; null if a person cancelled it. */
export function whyCancelled({ cancelled_because: because }: Run): string | null {
  if (because === 'overdue')
    return `The service cancelled it ${limits.inviteRunMs / 86_400_000} days after the start, because rows contain names.`;
  if (because === 'stopped')
    return 'The service cancelled it, because the person who started it may no longer invite these learners.';
  if (because === 'restored')
    return 'The service cancelled it after a restore, because a row may contain a learner who was erased since the backup. Invite the other learners again.';
  return null;
}

const cameSince: InviteOutcome = {
  outcome: 'refused',
  faults: [{ column: 'full_name', expected: 'of a new learner: another learner has had this name since the check' }],
};

/**
 * Finds rows without a reference whose name a learner got after the check. The person who began the run has not
 * confirmed these rows.
 */
async function nowKnown(
  work: UnitOfWork,
  organisationId: number,
  rows: RunRow[],
  visibility: Visibility,
): Promise<Set<RunRow>> {
  const unasked = rows.filter(
    ({ cells, ready }) =>
      ready!.ref === null && ready!.learner_id === undefined && !/\b(?:known|twice)\b/.test(cells?.accepted ?? ''),
  );
  const names = unasked.map(({ ready }) => ready!.full_name);
  const found = await findNamesakes(work.tx, organisationId, names, visibility);
  return new Set(unasked.filter(({ ready }) => found.has(sameNameKey(ready!.full_name))));
}

async function inviteBatch(work: UnitOfWork, run: Run, isSuspended: boolean): Promise<Stepped<RunProgress> | null> {
  const { organisation_id: organisationId, run_id: runId } = run;
  if (work.nowMs >= endsAt(run).getTime()) return invitationRuns.end(work, run, 'overdue');
  const visibility = await currentVisibility(work, run);
  if (visibility === undefined) return invitationRuns.end(work, run, 'stopped');
  if (isSuspended) return null;
  const { tx } = work;
  const { plan, credits: left } = await readOrganisation(tx, organisationId);
  if (run.status === 'waiting' && hasCountedCredits(plan) && left === 0) return null;
  const found = await pageOfRows(tx, organisationId, runId, {
    after: run.reached,
    limit: limits.inviteBatch,
  });
  const rows = found.filter((row) => row.ready !== null);
  const known = await nowKnown(work, organisationId, rows, visibility);
  const invited = await inviteLearners(
    work,
    organisationId,
    rows.filter((row) => !known.has(row)).map((row) => row.ready!),
    { actor: run.created_by, mails: run.mails, visibility, teamId: run.team_id },
  );
  const all = rows.map((row): InviteOutcome => (known.has(row) ? cameSince : invited.shift()!));
  const cut = all.findIndex(({ outcome }) => outcome === 'no_credit');
  const done = cut < 0 ? rows : rows.slice(0, cut);
  const outcomes = all.slice(0, done.length);
  const of = (wanted: string) => outcomes.filter(({ outcome }) => outcome === wanted).length;
  await tx.query(settle, [
    organisationId,
    runId,
    done.map((row) => row.row_no),
    done.map((_, i) => outcomes[i]!.outcome),
    done.map((_, i) => ('faults' in outcomes[i]! ? faultsOf(outcomes[i]) : null)),
    done.map((_, i) => ('learner_id' in outcomes[i]! ? outcomes[i].learner_id : null)),
    done.map((_, i) => ('invitation' in outcomes[i]! ? outcomes[i].invitation.invitation_id : null)),
  ]);
  const isLast = cut < 0 && found.length < limits.inviteBatch;
  const status: Run['status'] = cut >= 0 ? 'waiting' : isLast ? 'finished' : 'running';
  const reached = cut < 0 ? found.at(-1)?.row_no : done.at(-1)?.row_no;
  const counts = { invited: of('invited'), again: of('again'), refused: of('refused') };
  if (done.length > 0)
    await auditAct(work, organisationId, {
      actor: run.created_by,
      action: 'learner invite',
      resource: `${runId}: ${counts.invited} invited, ${counts.again} again, ${counts.refused} refused`,
    });
  return { status, progress: { reached: Math.max(run.reached, reached ?? 0), ...added(run, counts) } };
}

/** Moves unfinished runs from one account to another, including runs in the sandbox. */
export async function handOverRuns(
  work: UnitOfWork,
  organisationId: number,
  { from, to }: { from: string; to: string },
): Promise<void> {
  for (const id of await withSandbox(work, organisationId))
    for (const run of await invitationRuns.unended(work, id))
      if (run.created_by === from) await invitationRuns.save(work, run, { createdBy: to });
}

/**
 * The present visibility of the person who began a run. The visibility may have changed since then
 * (docs/decisions/0025).
 * @returns undefined if the person may no longer invite learners, or may not add them to the run's team
 */
async function currentVisibility({ tx }: UnitOfWork, run: Run): Promise<Visibility | undefined> {
  if (run.created_by === 'operator') return run.visibility;
  const role = await roleOf(tx, run.organisation_id, run.created_by);
  if (role === 'owner' || role === 'admin') return null;
  if (role !== 'tutor') return undefined;
  const visibility = await teamsOfStaff(tx, run.organisation_id, run.created_by);
  return run.team_id !== null && visibility.includes(run.team_id) ? visibility : undefined;
}
