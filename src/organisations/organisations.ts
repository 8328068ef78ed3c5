import type { Tx } from '../platform/db/database.ts';
import { statement } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';
import { currentPayloadVersion } from '../platform/db/payload-version.ts';
import { insertEmptySet } from '../feed/group-sets.ts';
import { everyLearner } from '../feed/digest.ts';
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
  /** The provider's number in the UK Register of Learning Providers, where it is known. */
  ukprn: string | null;
  /** How learners reach somebody who helps, in the provider's words, such as a telephone number. */
  contact: string | null;
  /** By whose clocks its people read times: a name of the IANA database. */
  time_zone: string;
  /** A mailbox that is told of what goes wrong, beside owners and admins. */
  notices_email: string | null;
  /** The least days between two assessments of a learner in one subject; null: any. */
  retake_gap_days: number | null;
  /** Where the rules of its funding are, for the lists that funding turns on. */
  funding_rules_url: string | null;
  created_at: Date;
  /** Since when it is closed for everybody (src/governance/offboarding). */
  suspended_at: Date | null;
  /** When everything was returned last, and the hash of that export's manifest. */
  exported_at: Date | null;
  export_sha256: string | null;
};

const columns =
  'organisation_id, public_id, name, plan, credits, group_autocreate, default_subjects, ukprn, contact, time_zone, notices_email, retake_gap_days, funding_rules_url, created_at, suspended_at, exported_at, export_sha256';
const insert = statement(
  'organisation.insert',
  `
  insert into organisation (public_id, name, plan, credits, group_autocreate, created_at, ukprn)
  values ($1, $2, $3, $4, $5, $6, $7)
  returning ${columns}`,
);
const insertFeed = statement(
  'organisation.insert_feed',
  // While an organisation waits for a restamp, an older process may serve: a new one begins as that shows it.
  `
  insert into feed (organisation_id, position, shape, digest_through)
  select $1::int8, $2::int8, coalesce(min(shape), ${currentPayloadVersion}), '${everyLearner}' from feed`,
);
const byPublicId = statement('organisation.by_public_id', `select ${columns} from organisation where public_id = $1`);
const byId = statement('organisation.by_id', `select ${columns} from organisation where organisation_id = $1`);
const all = statement('organisation.all', `select ${columns} from organisation order by organisation_id`);
const update = statement(
  'organisation.update',
  `
  update organisation set name = $2, plan = $3, group_autocreate = $4, default_subjects = $5, ukprn = $6, contact = $7,
         time_zone = $8, notices_email = $9, retake_gap_days = $10, funding_rules_url = $11
   where organisation_id = $1 returning ${columns}`,
);
/** Makes an organisation with its feed and its empty group set. */
export async function createOrganisation(
  work: UnitOfWork,
  given: {
    name: string;
    plan: Plan;
    credits: number;
    groupAutocreate: boolean;
    publicId?: string;
    ukprn?: string | null;
  },
): Promise<Organisation> {
  const [row] = await work.tx.query<Organisation>(insert, [
    given.publicId ?? work.uuid(),
    given.name,
    given.plan,
    given.credits,
    given.groupAutocreate,
    new Date(work.nowMs),
    given.ukprn ?? null,
  ]);
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

/** What can be changed of an organisation. */
export type OrganisationChanges = Partial<
  Pick<
    Organisation,
    | 'name'
    | 'plan'
    | 'group_autocreate'
    | 'default_subjects'
    | 'ukprn'
    | 'contact'
    | 'time_zone'
    | 'notices_email'
    | 'retake_gap_days'
    | 'funding_rules_url'
  >
>;

/** Changes what is named and leaves the rest. Two changes at once wait for each other, so neither undoes the other. */
export async function updateOrganisation(
  work: UnitOfWork,
  organisationId: number,
  changes: OrganisationChanges,
): Promise<Organisation> {
  await lockFeed(work, organisationId);
  const row = { ...(await readOrganisation(work.tx, organisationId)), ...changes };
  const [changed] = await work.tx.query<Organisation>(update, [
    organisationId,
    row.name,
    row.plan,
    row.group_autocreate,
    row.default_subjects,
    row.ukprn,
    row.contact,
    row.time_zone,
    row.notices_email,
    row.retake_gap_days,
    row.funding_rules_url,
  ]);
  return changed!;
}
