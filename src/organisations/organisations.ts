import { type Tx, statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { currentPayloadVersion } from '../platform/db/payload-version.ts';
import { insertEmptySet } from '../feed/group-sets.ts';
import { lockFeed } from '../feed/position.ts';
import { openLedger } from './credits.ts';

export const plans = ['standard', 'education', 'unlimited'] as const;
export type Plan = (typeof plans)[number];

export type Organisation = {
  organisation_id: number;
  public_id: string;
  name: string;
  plan: Plan;
  credits: number;
  group_autocreate: boolean;
  default_subjects: string[];
  /** Number in the UK Register of Learning Providers. */
  ukprn: string | null;
  contact: string | null;
  time_zone: string;
  /** A mailbox that receives the same notices as owners and admins. */
  notices_email: string | null;
  /** The minimum number of days between two assessments of a learner in one subject. */
  retake_gap_days: number | null;
  /** Days after an invitation until a learner who has not begun gets an email. */
  reminder_days: number | null;
  funding_rules_url: string | null;
  /** Every role needs a second factor. */
  second_factor_for_all: boolean;
  /** Sittings may contain questions on trial, and exports for calibration contain the organisation's answers. */
  pilot_items: boolean;
  created_at: Date;
  /** When the organisation was suspended (src/governance/offboarding); null if it is open. */
  suspended_at: Date | null;
  exported_at: Date | null;
  export_sha256: string | null;
};

const changeable = [
  'name',
  'plan',
  'group_autocreate',
  'default_subjects',
  'ukprn',
  'contact',
  'time_zone',
  'notices_email',
  'retake_gap_days',
  'reminder_days',
  'funding_rules_url',
  'second_factor_for_all',
  'pilot_items',
] as const;
export type OrganisationChanges = Partial<Pick<Organisation, (typeof changeable)[number]>>;

const columns =
  'organisation_id, public_id, name, plan, credits, group_autocreate, default_subjects, ukprn, contact, time_zone, notices_email, retake_gap_days, reminder_days, funding_rules_url, second_factor_for_all, pilot_items, created_at, suspended_at, exported_at, export_sha256';
const insert = statement('organisation.insert')`
  insert into organisation (public_id, name, plan, credits, group_autocreate, created_at, ukprn)
  values ($1, $2, $3, $4, $5, $6, $7)
  returning ${columns}`;
// During an upgrade, processes of an older version may still be running. A new organisation therefore starts with the
// lowest payload version of all feeds.
const insertFeed = statement('organisation.insert_feed')`
  insert into feed (organisation_id, position, shape)
  select $1::int8, $2::int8, coalesce(min(shape), ${currentPayloadVersion}) from feed`;
const byPublicId = statement('organisation.by_public_id')`select ${columns} from organisation where public_id = $1`;
const byId = statement('organisation.by_id')`select ${columns} from organisation where organisation_id = $1`;
const all = statement('organisation.all')`select ${columns} from organisation order by organisation_id`;
const update = statement('organisation.update')`
  update organisation set ${changeable.map((column, i) => `${column} = $${i + 2}`).join(', ')}
   where organisation_id = $1 returning ${columns}`;

export async function createOrganisation(
  work: UnitOfWork,
  input: {
    name: string;
    plan: Plan;
    credits: number;
    groupAutocreate: boolean;
    publicId?: string;
    ukprn?: string | null;
  },
): Promise<Organisation> {
  const { name, plan, credits, groupAutocreate, publicId = work.uuid(), ukprn = null } = input;
  const values = [publicId, name, plan, credits, groupAutocreate, new Date(work.nowMs), ukprn];
  const [row] = await work.tx.query<Organisation>(insert, values);
  await work.tx.query(insertFeed, [row!.organisation_id, work.nowMs * 1000]);
  await insertEmptySet(work.tx, row!.organisation_id);
  await openLedger(work, row!);
  return row!;
}

export async function findOrganisation(tx: Tx, publicId: string): Promise<Organisation | undefined> {
  return (await tx.query<Organisation>(byPublicId, [publicId]))[0];
}

export async function readOrganisation(tx: Tx, organisationId: number): Promise<Organisation> {
  return (await tx.query<Organisation>(byId, [organisationId]))[0]!;
}

export function listOrganisations(tx: Tx): Promise<Organisation[]> {
  return tx.query<Organisation>(all);
}

/** Concurrent changes wait for the feed's lock, so that no change overwrites another. */
export async function updateOrganisation(
  work: UnitOfWork,
  organisationId: number,
  changes: OrganisationChanges,
): Promise<Organisation> {
  await lockFeed(work, organisationId);
  const row = { ...(await readOrganisation(work.tx, organisationId)), ...changes };
  const values = changeable.map((column) => row[column]);
  const [changed] = await work.tx.query<Organisation>(update, [organisationId, ...values]);
  return changed!;
}
