import { statement, type Tx } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { type ErasedLearners, findErasedSince, isSame } from '../../../records/learners/erased.ts';
import { isNameOf, isOpaqueRef, refPattern, spellings } from '../../../platform/validation/personal-data.ts';
import { type Check, type Checked, countFaulty } from './check.ts';

/** SQL: whether a row has a valid reference that is not the name. */
const hasUsableRef = `(cells ->> 'ref' ~ '${refPattern}' and regexp_replace(lower(cells ->> 'ref'), '[^a-z]', '', 'g') <> all($5::text[]))`;
// A row without a usable reference is found by its name or email address. A row with another reference belongs to
// another learner, so it loses only the email address.
// In an update by columns, Citus takes only immutable functions, and jsonb_build_object is not one.
const deleteOfPerson = statement('invitation_run.delete_of_person')`
  with without as (
    update invitation_run_row
       set cells = cells - 'email', ready = case when ready is null then null else ready || '{"email":null}' end
     where organisation_id = $1 and cells is not null
       and lower(cells ->> 'email') = lower($4) and ${hasUsableRef} and not cells ->> 'ref' = any($2)),
  gone as (
    delete from invitation_run_row
     where organisation_id = $1 and cells is not null
       and (cells ->> 'ref' = any($2)
            or ((lower(cells ->> 'full_name') = lower($3) or lower(cells ->> 'email') = lower($4))
                and ${hasUsableRef} is not true))
    returning run_id, faults is not null as faulty),
  counted as (
    select run_id, count(*) as rows, count(*) filter (where faulty) as faulty from gone group by run_id)
  update background_job j
     set progress = progress || ('{"total":' || ((progress -> 'total')::int8 - c.rows)::text || ',"faulty":'
                                 || greatest(0, (progress -> 'faulty')::int8 - c.faulty)::text || '}')::jsonb
    from counted c where j.organisation_id = $1 and j.job_id = c.run_id`;

/** Deletes a person's rows that still wait, so that they invite no one. */
export async function forgetRunRows(
  tx: Tx,
  organisationId: number,
  { refs, fullName, email }: { refs: readonly string[]; fullName: string; email: string | null },
): Promise<void> {
  await tx.query(deleteOfPerson, [organisationId, refs, fullName, email, spellings(fullName)]);
}

/** The rest of a checked row after an erasure, as `deleteOfPerson` leaves a stored row. */
function withoutPersons(checked: Checked[number], { hadRef, persons }: ErasedLearners): Checked {
  let row = checked;
  const { ref, full_name: name } = row.cells;
  if (ref !== undefined && hadRef(ref)) return [];
  for (const person of persons) {
    const hasAddress = isSame(row.cells.email, person.email);
    if (!hasAddress && !isSame(name, person.full_name)) continue;
    if (ref === undefined || !isOpaqueRef(ref) || isNameOf(ref, person.full_name)) return [];
    if (!hasAddress) continue;
    const { email: _, ...cells } = row.cells;
    row = { ...row, cells, ready: row.ready === null ? null : { ...row.ready, email: null } };
  }
  return [row];
}

/** Removes learners from checked rows who were erased since the check. */
export async function withoutErased(work: UnitOfWork, organisationId: number, check: Check): Promise<Check> {
  const erased = await findErasedSince(work, organisationId, check.before);
  if (erased === null) return check;
  const rows = check.rows.flatMap((row) => withoutPersons(row, erased));
  return { ...check, rows, ...countFaulty(rows) };
}
