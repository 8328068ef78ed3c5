import { clientGroupTypes } from '../../organisations/groups/types.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { isErrorValue, nameFault } from '../../platform/validation/person-name.ts';
import { limits } from '../../platform/config/limits.ts';
import { isOpaqueRef, isStorableText } from '../../platform/validation/personal-data.ts';
import type { OptionalField, ResultContent, ShownDomain } from './body.ts';
import { levelCodes, levels } from './facet.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { subjects } from '../../engine/scoring/levels.ts';

/** A fault of a record. It never repeats the value, because the value may be personal. */
export type Fault = { field: string; expected: string; example: string };

export function sentenceOf(fault: Fault): string {
  return `${fault.field} must be ${fault.expected}, such as ${fault.example}`;
}

export class RecordRefused extends Error {
  readonly faults: Fault[];

  constructor(faults: Fault[], message = faults.map(sentenceOf).join('; ')) {
    super(message);
    this.faults = faults;
  }
}

type Field = {
  expected: string;
  example: string;
  is(value: unknown): boolean;
  /** A further rule for values that pass `is`. Returns what is expected, or null if the value is valid. */
  also?(value: string): string | null;
  optional?: true;
  inside?: Fields;
};
type Fields = Record<string, Field>;

type Domain = Pick<ShownDomain, 'name'> & Partial<ShownDomain>;

/** One result of an import. A record has the fields of an assessment, but not those that the service makes. */
export type ImportRecord = Pick<
  ResultContent,
  'subject' | 'framework' | 'rqf_level' | 'rqf_level_code' | 'below_level_1'
> &
  Partial<Pick<ResultContent, Exclude<OptionalField, 'domains'>>> & {
    assessment_id?: string;
    learner: { ref?: string | null; full_name: string };
    assessed_at: string;
    domains?: Domain[];
    groups?: { type: string; ref: string; name: string }[];
  };

export type Amendment = Partial<Pick<ResultContent, 'framework' | OptionalField>>;

const text = (maxChars: number, example: string): Field => ({
  expected: `text of 1 to ${maxChars} characters on one line, without a National Insurance number`,
  example,
  is: (value) => typeof value === 'string' && isStorableText(value, maxChars),
});
const flag: Field = { expected: 'true or false', example: 'false', is: (value) => typeof value === 'boolean' };
const oneOf = (values: readonly (string | number)[], example: string): Field => ({
  expected: `${typeof values[0] === 'number' ? 'a number: ' : ''}one of ${values.join(', ')}`,
  example,
  is: (value) => (values as readonly unknown[]).includes(value),
});
const listOf = (max: number, example: string, inside: Fields): Field => ({
  expected: `a JSON list of at most ${max} objects`,
  example,
  is: (value) => Array.isArray(value) && value.length <= max,
  inside,
});
const orNull = (field: Field): Field => ({
  ...field,
  expected: `null or ${field.expected}`,
  is: (value) => value === null || field.is(value),
});
const optional = (field: Field): Field => ({ ...field, optional: true });

/** A spreadsheet may have put an error value into a group's cell. */
const notAnError = (value: string) =>
  isErrorValue(value) ? 'a text: an error value of a spreadsheet is in its place' : null;

function isProbabilities(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const names = Object.keys(value);
  const shares = Object.values(value).map((share) =>
    typeof share === 'number' && share >= 0 && share <= 1 ? share : NaN,
  );
  const sum = shares.reduce((total, share) => total + share, 0);
  return names.length <= limits.levelsPerResult && names.every(text(40, '').is) && Math.abs(sum - 1) <= 0.01;
}

const percentage: Field = {
  expected: 'a whole number from 0 to 100',
  example: '70',
  is: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 100,
};
const levelsApart = (min: number): Field => ({
  expected: `a number from ${min} to 10`,
  example: '0.4',
  is: (value) => typeof value === 'number' && value >= min && value <= 10,
});

const levelNames = levels.flatMap(({ rqf_level }) => rqf_level ?? []);

const amendable = {
  framework: text(200, 'Functional Skills subject content'),
  working_level: optional(orNull(text(100, 'Level 1'))),
  recommended_next_level: optional(orNull(text(100, 'Level 2'))),
  is_borderline: optional(flag),
  needs_review: optional(flag),
  domains: optional(
    listOf(limits.domainsPerResult, '[{"name": "Punctuation", "score_pct": 70, "status": "secure"}]', {
      name: text(100, 'Punctuation'),
      score_pct: optional(orNull(percentage)),
      status: optional(orNull(text(40, 'secure'))),
      next_level_pct: optional(orNull(percentage)),
      compared: optional(orNull(text(40, 'same'))),
      difference: optional(orNull(levelsApart(-10))),
      difference_se: optional(orNull(levelsApart(0))),
    }),
  ),
  level_probabilities: optional(
    orNull({
      expected: `an object of at most ${limits.levelsPerResult} levels whose probabilities, from 0 to 1, add up to 1`,
      example: '{"Entry Level": 0.07, "Level 1": 0.81, "Level 2": 0.12}',
      is: isProbabilities,
    }),
  ),
};

export const amendableNames = Object.keys(amendable);

const ref = orNull({
  expected: `an opaque reference of up to ${limits.learnerRefChars} letters, digits, . _ : / or -, which is no name and no National Insurance number`,
  example: 'LRN-00042',
  is: (value) => typeof value === 'string' && isOpaqueRef(value),
});

const recordFields: Fields = {
  assessment_id: optional({
    expected: 'a UUID',
    example: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
    is: (value) => typeof value === 'string' && isUuid(value),
  }),
  learner: {
    expected: 'a JSON object',
    example: '{"ref": "LRN-00042", "full_name": "Ana Silva"}',
    is: isJsonObject,
    inside: {
      ref: optional(ref),
      full_name: { ...text(limits.fullNameChars, 'Ana Silva'), also: nameFault },
    },
  },
  // readyRecord checks `assessed_at`, because the accepted forms depend on an option of the import.
  assessed_at: optional({ expected: 'a date-time', example: '2026-01-31T09:00:00Z', is: () => true }),
  subject: oneOf(subjects, subjects[2]),
  rqf_level: orNull(oneOf(levelNames, levelNames[1]!)),
  rqf_level_code: orNull(oneOf(levelCodes, '2')),
  below_level_1: { ...orNull(flag), expected: 'null, true or false' },
  ...amendable,
  groups: optional(
    listOf(limits.groupsPerProvisioning, '[{"type": "cohort", "ref": "2026-A", "name": "Autumn 2026"}]', {
      type: oneOf(clientGroupTypes, 'cohort'),
      ref: { ...text(limits.groupRefChars, '2026-A'), also: notAnError },
      name: { ...text(limits.groupNameChars, 'Autumn 2026'), also: notAnError },
    }),
  ),
};

const amendmentFields: Fields = Object.fromEntries(
  Object.entries(amendable).map(([name, field]) => [name, optional(field)]),
);

function addFaults(faults: Fault[], record: Record<string, unknown>, fields: Fields, path: string): void {
  const first = faults.length;
  let present = 0;
  for (const [name, { expected: rule, example, is, also, optional: isOptional, inside }] of Object.entries(fields)) {
    const field = path + name;
    if (!Object.hasOwn(record, name)) {
      if (isOptional !== true) faults.push({ field, expected: rule, example });
      continue;
    }
    present++;
    const value = record[name];
    const expected = is(value) ? (also?.(value as string) ?? null) : rule;
    if (expected !== null) faults.push({ field, expected, example });
    else if (inside === undefined) continue;
    else if (isJsonObject(value)) addFaults(faults, value, inside, `${field}.`);
    else
      (value as unknown[]).forEach((one, i) => {
        if (isJsonObject(one)) addFaults(faults, one, inside, `${field}[${i}].`);
        else faults.push({ field: `${field}[${i}]`, expected: 'a JSON object', example: example.slice(1, -1) });
      });
  }
  if (Object.keys(record).length === present) return;
  // The message does not repeat an unknown field's name, because the name may contain personal data.
  const names = Object.keys(fields);
  faults.splice(first, 0, {
    field: path === '' ? 'the record' : path.slice(0, -1),
    expected: `an object with no other fields than ${names.join(', ')}`,
    example: `{"${names[0]}": …}`,
  });
}

const wholeRecord: Fault = {
  field: 'the record',
  expected: 'one JSON object',
  example: '{"learner": {"full_name": "Ana Silva"}, "assessed_at": "2026-01-31T09:00:00Z", …}',
};

export function faultsOfRecord(value: unknown): Fault[] {
  if (!isJsonObject(value)) return [wholeRecord];
  const faults: Fault[] = [];
  addFaults(faults, value, recordFields, '');
  return faults;
}

export function faultsOfAmendment(value: Record<string, unknown>): Fault[] {
  const faults: Fault[] = [];
  addFaults(faults, value, amendmentFields, '');
  return faults;
}

export function wholeDomains(domains: Domain[]): ShownDomain[] {
  return domains.map(({ name, score_pct = null, status = null, ...others }) => ({
    name,
    score_pct,
    status,
    ...others,
  }));
}

/** The fault of a reference that another field of its record makes invalid. */
export const refFault = (): Fault => ({ field: 'learner.ref', expected: ref.expected, example: ref.example });
