import { statement, type Tx } from '../../../platform/db/database.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { type ErasedLearners, findErasedSince, isSame } from '../../../records/learners/erased.ts';
import { isNameOf, isOpaqueRef, refPattern, spellings } from '../../../platform/validation/personal-data.ts';
import { type Check, type Checked, countFaulty } from './check.ts';

/** SQL: whether a row has a valid reference. A reference that spells the person's name does not count. */
const hasUsableRef = `(cells ->> 'ref' ~ '${refPattern}' and regexp_replace(lower(cells ->> 'ref'), '[^a-z]', '', 'g') <> all($5::text[]))`;
// A row without a usable reference is found by the name or the email address. A row with another person's reference
// loses only the email address.
// Citus allows only immutable functions in this update, so the statement cannot use jsonb_build_object.
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

/** Deletes a person's pending rows, so that no run invites the person again. */
export async function forgetRunRows(
  tx: Tx,
  organisationId: number,
  { refs, fullName, email }: { refs: readonly string[]; fullName: string; email: string | null },
): Promise<void> {
  await tx.query(deleteOfPerson, [organisationId, refs, fullName, email, spellings(fullName)]);
}

/** A checked row after an erasure. The result must equal what `deleteOfPerson` leaves of the stored row. */
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

export async function withoutErased(work: UnitOfWork, organisationId: number, check: Check): Promise<Check> {
  const erased = await findErasedSince(work, organisationId, check.before);
  if (erased === null) return check;
  const rows = check.rows.flatMap((row) => withoutPersons(row, erased));
  return { ...check, rows, ...countFaulty(rows) };
}
