import { parseInstant } from '../../feed/time.ts';
import type { GroupInput } from '../../organisations/groups/schema.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { isNameOf, isStorableText } from '../../platform/validation/personal-data.ts';
import { uuidOf, isUuid } from '../../platform/crypto/random.ts';
import { type OptionalField, learnerJson, storedColumns } from '../results/body.ts';
import { facetOf } from '../results/facet.ts';
import type { ReviewFlag } from '../results/reviews.ts';
import type { Fault, ImportRecord } from '../results/result-fields.ts';
import { faultsOfRecord, RecordRefused, refFault, wholeDomains } from '../results/result-fields.ts';
import { parseUkInstant } from './uk-dates.ts';

export type ReadyRecord = {
  assessmentId: string;
  /** Returns the record's ID if its learner had this reference. Null if the file gives the record an ID. */
  idUnder: ((ref: string | null) => string) | null;
  learnerRef: string | null;
  fullName: string;
  assessedAtUs: number;
  facet: number;
  body: string;
  /** Fields that the record leaves out. A stored result keeps them. */
  absent: readonly OptionalField[];
  flags: ReviewFlag[];
  learnerJson: string;
  groups: GroupInput[];
};

/** The date-times that an import accepts: only RFC 3339, or also the British form. */
export type Dates = 'rfc3339' | 'uk';

/** 1990-01-01. An earlier date-time is treated as a mistake. */
const earliestUs = 631_152_000_000_000;

const forms: Record<Dates, Omit<Fault, 'field'>> = {
  rfc3339: { expected: 'an RFC 3339 date-time with a zone', example: '2026-01-31T09:00:00Z' },
  uk: {
    expected:
      'DD/MM/YYYY, DD/MM/YYYY HH:MM or DD/MM/YYYY HH:MM:SS (time zone Europe/London), ' +
      'or an RFC 3339 date-time with a zone',
    example: '31/01/2026 09:30',
  },
};

/** Matches dates in which the order of day and month, the century or the zone is ambiguous. */
const dayFirst = /^\s*\d{1,2}[/.-]\d{1,2}[/.-]\d/;

function readAssessedAt(value: unknown, dates: Dates, nowMs: number): number | Omit<Fault, 'field'> {
  const form = forms[dates];
  if (typeof value !== 'string') return form;
  const uk = dates === 'uk' ? parseUkInstant(value) : null;
  if (uk === 'never' || uk === 'twice') {
    const why =
      uk === 'twice'
        ? 'the clocks of Europe/London show this time twice that night'
        : 'the clocks of Europe/London leave this time out that night';
    return { expected: `a date-time with a zone, because ${why}`, example: '2026-10-25T01:30:00Z' };
  }
  const us = uk ?? parseInstant(value);
  if (us === null && dates === 'rfc3339' && dayFirst.test(value))
    return { ...form, expected: `${form.expected} (--dates uk reads DD/MM/YYYY, which could be MM/DD/YYYY)` };
  if (us === null) return form;
  if (us < earliestUs || us > (nowMs + 86_400_000) * 1000)
    return { expected: 'a date-time between 1990 and now', example: form.example };
  return us;
}

/** Faults that appear only when several valid fields are compared. */
function faultsBetween(value: Record<string, unknown>, faults: readonly Fault[]): Fault[] {
  const right = (...names: string[]) =>
    names.every((name) => !faults.some(({ field }) => field === name || field.startsWith(`${name}[`)));
  const record = value as unknown as ImportRecord;
  const found: Fault[] = [];
  const ref = right('learner') ? (record.learner.ref ?? null) : null;
  if (ref !== null && right('learner.ref', 'learner.full_name') && isNameOf(ref, record.learner.full_name))
    found.push(refFault());
  if (right('learner', 'groups') && (record.groups ?? []).length > 0 && ref === null)
    found.push({
      field: 'learner.ref',
      expected: 'given where there are groups, so that the learner can be found again',
      example: refFault().example,
    });
  if (
    right('subject', 'rqf_level', 'rqf_level_code', 'below_level_1') &&
    facetOf(record.subject, record) === undefined
  ) {
    found.push({
      field: 'rqf_level',
      expected:
        'the level of rqf_level_code and below_level_1: Entry Level is 1 and true, Level 1 is 2, Level 2 is 3, Level 3 is 5. Below Entry Level has no level and no code',
      example: 'Level 1 with 2 and false',
    });
  }
  return found;
}

const isText = (value: unknown) => typeof value === 'string' && isStorableText(value, 2000);
const teamFields: ReadonlySet<string> = new Set(['type', 'ref', 'name']);
const isId = (value: unknown) => typeof value === 'string' && isUuid(value);
const isInstant = (value: unknown) => typeof value === 'string' && parseInstant(value) !== null;

/** Fields of an API result that imports ignore if their values are valid. */
const ignored = new Map<string, (value: unknown) => boolean>([
  ['status', (value) => value === 'completed'],
  ['updated_at', isInstant],
  ['reviewed_at', isInstant],
  ['evidence_pack_url', isText],
  ['report_sha256', (value) => value === null || (typeof value === 'string' && /^[0-9a-f]{64}$/.test(value))],
]);

function without(object: Record<string, unknown>, name: string, is: (value: unknown) => boolean) {
  if (!Object.hasOwn(object, name) || !is(object[name])) return object;
  const { [name]: _, ...rest } = object;
  return rest;
}

/**
 * Turns a result of the API into a record. The result's teams are dropped, because the organisation manages its teams
 * itself.
 */
function recordOf(input: unknown): unknown {
  if (!isJsonObject(input)) return input;
  let record = input;
  for (const [name, is] of ignored) record = without(record, name, is);
  const { learner, groups } = record;
  if (isJsonObject(learner) && Object.hasOwn(learner, 'learner_id'))
    record = { ...record, learner: without(learner, 'learner_id', isId) };
  if (!Array.isArray(groups) || !groups.some((group) => isJsonObject(group) && Object.hasOwn(group, 'id')))
    return record;
  const isTeam = (group: unknown) =>
    isJsonObject(group) &&
    group.type === 'team' &&
    isId(group.id) &&
    Object.entries(group).every(([name, value]) => (teamFields.has(name) ? isText(value) : name === 'id'));
  return {
    ...record,
    groups: groups
      .filter((group) => !isTeam(group))
      .map((group: unknown) => (isJsonObject(group) ? without(group, 'id', isId) : group)),
  };
}

const optionalFields: readonly OptionalField[] = [
  'working_level',
  'recommended_next_level',
  'is_borderline',
  'needs_review',
  'domains',
  'level_probabilities',
];

/**
 * Checks one import record, or a result from the API. A missing ID is made from the learner, subject, framework and
 * time, so that importing the file again finds the same result.
 * @param namespace the organisation's ID, so that equal records of two organisations get different IDs
 * @throws RecordRefused with every fault
 */
export function readyRecord(input: unknown, namespace: string, nowMs: number, dates: Dates = 'rfc3339'): ReadyRecord {
  const value = recordOf(input);
  const faults = faultsOfRecord(value);
  if (!isJsonObject(value)) throw new RecordRefused(faults);
  const assessedAt = readAssessedAt(value.assessed_at, dates, nowMs);
  if (typeof assessedAt !== 'number' && !faults.some(({ field }) => field === 'assessed_at'))
    faults.push({ field: 'assessed_at', ...assessedAt });
  faults.push(...faultsBetween(value, faults));
  if (faults.length > 0 || typeof assessedAt !== 'number') throw new RecordRefused(faults);

  const record = value as unknown as ImportRecord;
  const ref = record.learner.ref ?? null;
  const fullName = record.learner.full_name;
  const idUnder = (other: string | null) =>
    uuidOf(namespace, JSON.stringify([other ?? ['', fullName], record.subject, record.framework, assessedAt]));
  const ownId = record.assessment_id?.toLowerCase();
  return {
    assessmentId: ownId ?? idUnder(ref),
    idUnder: ownId === undefined ? idUnder : null,
    learnerRef: ref,
    fullName,
    assessedAtUs: assessedAt,
    groups: record.groups ?? [],
    learnerJson: learnerJson(ref, fullName),
    absent: optionalFields.filter((name) => record[name] === undefined),
    ...storedColumns({
      working_level: null,
      recommended_next_level: null,
      is_borderline: false,
      needs_review: false,
      level_probabilities: null,
      ...record,
      assessed_at_us: assessedAt,
      domains: wholeDomains(record.domains ?? []),
    }),
  };
}
