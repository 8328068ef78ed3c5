import { redactBody } from '../../records/results/amend.ts';
import { dropReport } from '../../records/results/report.ts';
import { findLive } from '../../records/results/results.ts';
import {
  type ByteReaders,
  changeStoredText,
  type Place,
  readStoredText,
  storedTexts,
} from '../../platform/db/stored-text.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { redactEdition } from '../../records/evidence/evidence.ts';
import { lockFeed } from '../../feed/position.ts';
import { redactGroup } from '../../organisations/groups/change.ts';
import { redactAlias } from '../../records/learners/aliases.ts';
import { redactLearner } from '../../records/learners/rename.ts';
import { withoutNationalInsuranceNumbers } from '../../platform/validation/personal-data.ts';
import type { Purpose, Secrets } from '../../platform/crypto/secrets.ts';

/**
 * How each column of type `bytea` is read as text; null: the column contains no text. A search for personal data throws
 * an error if a column is missing here.
 */
export function byteReaders(secrets: Secrets): ByteReaders {
  return {
    'access_key.secret_sha256': null,
    'audit.address': null,
    'audit_block.hash': null,
    'audit_chain.hash': null,
    'evidence.pdf': null,
    'idempotency.key_sha256': null,
    'idempotency.request_sha256': null,
    'idempotency.reply': (bytes) => secrets.open('idempotency', bytes),
    'learner.ref_hash': null,
    'learner_alias.ref_hash': null,
    'mail.sealed': (bytes) => secrets.open('mail', bytes),
    'refused_calls.address': null,
    'sign_in_attempts.subject': null,
    'start_code.code_mac': null,
    'user_invitation.token_sha256': null,
    'user_session.kept_form': (bytes) => secrets.open('form', bytes),
    'user_session.token_sha256': null,
  };
}

type Redaction = (work: UnitOfWork, organisationId: number, place: Place) => Promise<void>;

const overwrite: Redaction = async (work, _, place) => {
  await changeStoredText(work.tx, place, (value) => withoutNationalInsuranceNumbers(String(value)));
};

function overwriteSealed(purpose: Purpose): Redaction {
  return async (work, _, place) => {
    await changeStoredText(work.tx, place, (value) => {
      const text = Buffer.isBuffer(value) ? work.secrets.open(purpose, value) : null;
      return text === null ? value : work.secrets.seal(purpose, withoutNationalInsuranceNumbers(text), work.random);
    });
  };
}

/** Text columns that appear in no payload, so a redaction only overwrites the text. */
const overwritten: Record<string, string[]> = {
  access_key: ['contact', 'label', 'purpose'],
  assessment_change: ['actor', 'before', 'reason'],
  audit: ['action', 'actor', 'detail', 'resource'],
  credit_entry: ['actor', 'reason'],
  data_case: ['about'],
  data_case_entry: ['text'],
  delivery_attempt: ['error'],
  event: ['payload'],
  import_run_row: ['record'],
  invitation: ['retake_reason', 'supervision', 'supervisor'],
  invitation_run_row: ['cells', 'faults', 'ready'],
  key_link: ['description'],
  key_use: ['client'],
  learner: ['email'],
  learner_change: ['actor', 'reason'],
  learner_distinct: ['actor'],
  legal_hold: ['reason'],
  organisation: ['contact', 'name', 'notices_email', 'suspended_for'],
  review: ['answer', 'decided_by', 'request'],
  saved_view: ['name', 'query'],
  scheduled_report: ['query'],
  sitting: ['released_by', 'result', 'retake_reason', 'settings', 'supervision', 'supervisor', 'void_reason'],
  sitting_item: ['answer', 'choice', 'rendered'],
  user_account: ['email', 'full_name'],
  user_invitation: ['email'],
  webhook_endpoint: ['disabled_reason'],
};

/**
 * How each text column is redacted. If payloads show the column, the redaction also gives the record a new position, so
 * that clients receive the change (law 2). Columns that are missing here contain only generated text.
 */
export const redactions: Record<string, Redaction> = {
  ...Object.fromEntries(
    Object.entries(overwritten).flatMap(([table, columns]) =>
      columns.map((column) => [`${table}.${column}`, overwrite]),
    ),
  ),
  'assessment.body': (work, id, { key }) => redactBody(work, id, key.assessment_id!),
  'assessment.learner': async (work, id, { key }) => {
    await lockFeed(work, id);
    const row = await findLive(work.tx, id, key.assessment_id!);
    if (row !== undefined) await redactLearner(work, id, row.learner_id);
  },
  'evidence.input': async (work, id, { key }) => {
    await lockFeed(work, id);
    const sha256 = await redactEdition(work.tx, id, key.assessment_id!, Number(key.edition));
    if (sha256 !== null) await dropReport(work, id, key.assessment_id!, sha256);
  },
  'idempotency.reply': overwriteSealed('idempotency'),
  'learner.full_name': (work, id, { key }) => redactLearner(work, id, key.learner_id!),
  'learner.ref': (work, id, { key }) => redactLearner(work, id, key.learner_id!),
  'learner_alias.ref': (work, id, { key }) => redactAlias(work.tx, id, key.alias_id!),
  'learner_group.name': (work, id, { key }) => redactGroup(work, id, key.group_id!),
  'learner_group.ref': (work, id, { key }) => redactGroup(work, id, key.group_id!),
  'mail.sealed': overwriteSealed('mail'),
  'user_session.kept_form': overwriteSealed('form'),
};

/** Finds every stored text with a National Insurance number; in all organisations if `organisationId` is null. */
export async function findPersonalData(tx: Tx, secrets: Secrets, organisationId: number | null): Promise<Place[]> {
  const found: Place[] = [];
  for await (const { value, ...place } of storedTexts(tx, organisationId, byteReaders(secrets)))
    if (withoutNationalInsuranceNumbers(value) !== value) found.push(place);
  return found;
}

export function canRedact({ table, column }: Place): boolean {
  return Object.hasOwn(redactions, `${table}.${column}`);
}

/** Redacts a stored text in every record that shows it. A repeated call changes nothing. */
export async function redactPlace(work: UnitOfWork, place: Place): Promise<void> {
  const organisationId = Number(place.key.organisation_id ?? 0);
  // Every writer takes the feed's lock first. Organisation 0 has no feed.
  if (organisationId > 0) await lockFeed(work, organisationId);
  // The redaction of another place may already have redacted this place.
  const value = await readStoredText(work.tx, place);
  if (typeof value === 'string' && withoutNationalInsuranceNumbers(value) === value) return;
  await redactions[`${place.table}.${place.column}`]!(work, organisationId, place);
}
