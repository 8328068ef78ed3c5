import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { lockFeed } from '../../feed/position.ts';
import { defaultMonths, type KindName, kindNames, maxMonths, minMonths, type Months } from './kinds.ts';

export type Policy = {
  months: Months;
  automatic: boolean;
  next_at: Date | null;
  /** Null: the organisation has not decided; nothing is deleted. */
  changed_at: Date | null;
  changed_by: string | null;
};

type Row = Omit<Policy, 'months'> & { months: Partial<Months> };

const read = statement('retention.policy')`
  select months, automatic, next_at, changed_at, changed_by from retention_policy where organisation_id = $1`;
const write = statement('retention.set_policy')`
  insert into retention_policy (organisation_id, months, automatic, next_at, changed_at, changed_by)
  values ($1, $2, coalesce($3, false), case when $3 then $4::timestamptz + interval '24 hours' end, $4, $5)
  on conflict (organisation_id) do update
     set months = retention_policy.months || excluded.months, automatic = coalesce($3, retention_policy.automatic), changed_at = excluded.changed_at, changed_by = excluded.changed_by,
         next_at = case when coalesce($3, retention_policy.automatic) then coalesce(retention_policy.next_at, excluded.next_at) end`;
const due = statement('retention.due')`
  select organisation_id from retention_policy p
   where automatic and next_at <= $1 and not exists (select from feed f where f.organisation_id = p.organisation_id and f.suspended)
   order by next_at limit 100`;
const claim = statement('retention.claim')`
  update retention_policy set next_at = $2::timestamptz + interval '24 hours'
   where organisation_id = $1 and automatic and next_at <= $2 returning organisation_id`;

export async function readPolicy(tx: Tx, organisationId: number): Promise<Policy> {
  const [row] = await tx.query<Row>(read, [organisationId]);
  if (row === undefined)
    return { months: defaultMonths(), automatic: false, next_at: null, changed_at: null, changed_by: null };
  return { ...row, months: { ...defaultMonths(), ...row.months } };
}

/**
 * Changes the policy under the feed's lock, so that changes run one after another.
 * @param options kinds that are left out, and a null `automatic`, keep their values
 */
export async function setPolicy(
  work: UnitOfWork,
  organisationId: number,
  options: { months: Partial<Months>; automatic: boolean | null; actor: string },
): Promise<void> {
  await lockFeed(work, organisationId);
  await work.tx.query(write, [
    organisationId,
    JSON.stringify(options.months),
    options.automatic,
    new Date(work.nowMs),
    options.actor,
  ]);
}

export async function findDuePolicies(tx: Tx, now: Date): Promise<{ organisation_id: number }[]> {
  return tx.query(due, [now]);
}

/** @returns whether this process begins the day's run */
export async function claimDay(work: UnitOfWork, organisationId: number): Promise<boolean> {
  const values = [organisationId, new Date(work.nowMs)];
  return (await work.tx.query(claim, values)).length > 0;
}

/** Parses the number of months for each kind. Empty text means that the data is kept for ever. */
export function readMonths(
  options: Partial<Record<KindName, string>>,
): { months: Months } | { faults: Partial<Record<KindName, string>> } {
  const months = defaultMonths();
  const faults: Partial<Record<KindName, string>> = {};
  for (const kind of kindNames) {
    const text = (options[kind] ?? '').trim();
    const value = Number(text);
    if (text === '') months[kind] = null;
    else if (/^\d{1,3}$/.test(text) && value >= minMonths && value <= maxMonths) months[kind] = value;
    else
      faults[kind] =
        `Enter a whole number of months from ${minMonths} to ${maxMonths}, or nothing to keep it for ever.`;
  }
  return Object.keys(faults).length > 0 ? { faults } : { months };
}
