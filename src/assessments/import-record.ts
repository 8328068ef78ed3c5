import { Compile } from 'typebox/compile';
import { parseInstant } from '../feed/time.ts';
import type { GroupInput } from '../groups/schema.ts';
import { clientGroupTypes } from '../groups/types.ts';
import { limits } from '../limits.ts';
import { holdsNationalInsuranceNumber, isNameOf, isOpaqueRef, isPlainText } from '../personal-data.ts';
import { uuidOf } from '../random.ts';
import { learnerJson, storedTexts } from './body.ts';
import { facetOf } from './facet.ts';
import { ImportRecord } from './schema.ts';

/** A record that may be imported, with its texts ready to store. */
export type ReadyRecord = {
  assessmentId: string;
  learnerRef: string | null;
  fullName: string;
  assessedAtUs: number;
  facet: number;
  body: string;
  learnerJson: string;
  groups: GroupInput[];
};

const shape = Compile(ImportRecord);
const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Instants before this are mistakes, not assessments: 1990-01-01. */
const earliestUs = 631_152_000_000_000;

/** Why a record is refused: what was expected, never what was found. */
export class RecordRefused extends Error {}

function refuseUnlessPlain(what: string, text: string, most: number): void {
  if (!isPlainText(text, most)) throw new RecordRefused(`${what} must be text of 1 to ${most} characters on one line`);
  if (holdsNationalInsuranceNumber(text)) throw new RecordRefused(`${what} must not hold a National Insurance number`);
}

/** The texts of a result that are given freely, in a record or in an amendment. @throws RecordRefused */
export function refuseUnlessTextsArePlain(
  given: Partial<
    Pick<ImportRecord, 'framework' | 'working_level' | 'recommended_next_level' | 'domains' | 'level_probabilities'>
  >,
): void {
  if (given.framework !== undefined) refuseUnlessPlain('framework', given.framework, 200);
  for (const field of ['working_level', 'recommended_next_level'] as const) {
    const text = given[field];
    if (text !== null && text !== undefined) refuseUnlessPlain(field, text, 100);
  }
  for (const { name, status } of given.domains ?? []) {
    refuseUnlessPlain('domains.name', name, 100);
    if (status !== null && status !== undefined) refuseUnlessPlain('domains.status', status, 40);
  }
  refuseUnlessProbabilities(given.level_probabilities ?? null);
}

/** Probabilities of levels add up to 1, whatever was rounded. */
function refuseUnlessProbabilities(given: Record<string, number> | null): void {
  if (given === null) return;
  const levels = Object.keys(given);
  for (const level of levels) refuseUnlessPlain('level_probabilities', level, 40);
  const sum = Object.values(given).reduce((total, one) => total + one, 0);
  if (levels.length > limits.levelsPerResult || Math.abs(sum - 1) > 0.01)
    throw new RecordRefused(
      `level_probabilities must be null or name at most ${limits.levelsPerResult} levels whose probabilities add up to 1`,
    );
}

/**
 * Checks one import record. Without an assessment_id the record gets the id that its learner, subject, framework and
 * time always have, so that importing a file again finds what it imported before.
 * @param namespace keeps equal records of two organisations apart
 * @throws RecordRefused
 */
export function readyRecord(value: unknown, namespace: string, nowMs: number): ReadyRecord {
  if (!shape.Check(value)) {
    // A field that isn't known names itself in its own fault: what was given is never repeated.
    const fault = shape.Errors(value).find((one) => one.keyword !== 'boolean');
    const where =
      fault === undefined || fault.instancePath === ''
        ? 'the record'
        : fault.instancePath.slice(1).replaceAll('/', '.');
    const what = fault?.keyword === 'additionalProperties' ? 'has a field that is not known' : fault?.message;
    throw new RecordRefused(`${where} ${what ?? 'is not an import record'}`);
  }
  const record = value as ImportRecord;
  const ref = record.learner.ref ?? null;
  const fullName = record.learner.full_name;
  refuseUnlessPlain('learner.full_name', fullName, limits.fullNameChars);
  if (ref !== null && (!isOpaqueRef(ref) || isNameOf(ref, fullName)))
    throw new RecordRefused(
      `learner.ref must be an opaque reference of up to ${limits.learnerRefChars} letters, digits, . _ : / or -`,
    );
  const assessedAtUs = parseInstant(record.assessed_at);
  if (assessedAtUs === null) throw new RecordRefused('assessed_at must be an RFC 3339 date-time with a zone');
  if (assessedAtUs < earliestUs || assessedAtUs > (nowMs + 86_400_000) * 1000)
    throw new RecordRefused('assessed_at must lie between 1990 and now');
  if (record.assessment_id !== undefined && !uuidForm.test(record.assessment_id))
    throw new RecordRefused('assessment_id must be a UUID');
  refuseUnlessTextsArePlain(record);
  const domains = (record.domains ?? []).map(({ name, score_pct, status }) => ({
    name,
    score_pct: score_pct ?? null,
    status: status ?? null,
  }));
  const groups = readGroups(record, ref);
  if (facetOf(record.subject, record) === undefined) {
    throw new RecordRefused(
      'rqf_level, rqf_level_code and below_level_1 contradict each other: Entry Level is 1 and below, Level 1 is 2, Level 2 is 3, Level 3 is 5',
    );
  }
  const assessmentId =
    record.assessment_id?.toLowerCase() ??
    uuidOf(namespace, JSON.stringify([ref ?? ['', fullName], record.subject, record.framework, assessedAtUs]));
  return {
    assessmentId,
    learnerRef: ref,
    fullName,
    assessedAtUs,
    groups,
    learnerJson: learnerJson(ref, fullName),
    ...storedTexts({
      assessed_at_us: assessedAtUs,
      subject: record.subject,
      framework: record.framework,
      rqf_level: record.rqf_level,
      rqf_level_code: record.rqf_level_code,
      below_level_1: record.below_level_1,
      working_level: record.working_level ?? null,
      recommended_next_level: record.recommended_next_level ?? null,
      is_borderline: record.is_borderline ?? false,
      needs_review: record.needs_review ?? false,
      domains,
      level_probabilities: record.level_probabilities ?? null,
    }),
  };
}

function readGroups(record: ImportRecord, ref: string | null): GroupInput[] {
  const groups = record.groups ?? [];
  if (groups.length > 0 && ref === null) throw new RecordRefused('groups needs a learner.ref');
  for (const group of groups) {
    if (!(clientGroupTypes as readonly string[]).includes(group.type))
      throw new RecordRefused(`groups.type must be one of ${clientGroupTypes.join(', ')}`);
    refuseUnlessPlain('groups.ref', group.ref, limits.groupRefChars);
    refuseUnlessPlain('groups.name', group.name, limits.groupNameChars);
  }
  return groups;
}
