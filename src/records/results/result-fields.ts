import { clientGroupTypes } from '../../organisations/groups/types.ts';
import { isJsonObject } from '../../platform/formats/json.ts';
import { isErrorValue, nameFault } from '../../platform/validation/person-name.ts';
import { limits } from '../../platform/config/limits.ts';
import { isOpaqueRef, isStorableText } from '../../platform/validation/personal-data.ts';
import { levelCodes, levels } from './facet.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { subjects } from '../../engine/scoring/levels.ts';
import type { Subject } from '../../engine/scoring/levels.ts';

/** What is wrong with a given result: where, what was expected there and an example of it; never what was found. */
export type Fault = { field: string; expected: string; example: string };

/** A fault as people read it. */
export function sentenceOf(fault: Fault): string {
  return `${fault.field} must be ${fault.expected}, such as ${fault.example}`;
}

/** A given result isn't taken, with everything that is wrong with it. */
export class RecordRefused extends Error {
  readonly faults: Fault[];

  constructor(faults: Fault[], message = faults.map(sentenceOf).join('; ')) {
    super(message);
    this.faults = faults;
  }
}

/** What a field may hold, in words and as a test. */
type Field = {
  expected: string;
  example: string;
  is(value: unknown): boolean;
  /** What a value of the right shape must be and isn't. */
  also?(value: string): string | null;
  optional?: true;
  /** The fields of the object, or of each object in the list. */
  inside?: Fields;
};
type Fields = Record<string, Field>;

type Domain = { name: string; score_pct?: number | null; status?: string | null };

/** One result of an import: an Assessment without what the service itself makes. */
export type ImportRecord = {
  assessment_id?: string;
  learner: { ref?: string | null; full_name: string };
  assessed_at: string;
  subject: Subject;
  framework: string;
  rqf_level: string | null;
  rqf_level_code: number | null;
  below_level_1: boolean | null;
  working_level?: string | null;
  recommended_next_level?: string | null;
  is_borderline?: boolean;
  needs_review?: boolean;
  domains?: Domain[];
  level_probabilities?: Record<string, number> | null;
  groups?: { type: string; ref: string; name: string }[];
};

/** What of a result an amendment may change: subject, assessed_at and the level codes can't be. */
export type Amendment = Partial<
  Pick<
    ImportRecord,
    'framework' | 'working_level' | 'recommended_next_level' | 'is_borderline' | 'needs_review' | 'level_probabilities'
  >
> & { domains?: Required<Domain>[] };

const isBoolean = (value: unknown) => typeof value === 'boolean';
const orNull = (is: (value: unknown) => boolean) => (value: unknown) => value === null || is(value);
const isText = (maxChars: number) => (value: unknown) => typeof value === 'string' && isStorableText(value, maxChars);
const text = (maxChars: number) =>
  `text of 1 to ${maxChars} characters on one line, without a National Insurance number`;
/** A cell of a group may have become an error of the spreadsheet, too. */
const notAnError = (value: string) =>
  isErrorValue(value) ? 'a text: an error value of a spreadsheet is in its place' : null;
const isListOf = (max: number) => (value: unknown) => Array.isArray(value) && value.length <= max;

/** Probabilities of levels add up to 1, whatever was rounded. */
function isProbabilities(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const levels = Object.keys(value);
  const shares = Object.values(value).map((share) =>
    typeof share === 'number' && share >= 0 && share <= 1 ? share : NaN,
  );
  const sum = shares.reduce((total, share) => total + share, 0);
  return levels.length <= limits.levelsPerResult && levels.every(isText(40)) && Math.abs(sum - 1) <= 0.01;
}

const levelNames = levels.flatMap(({ rqf_level }) => (rqf_level === null ? [] : [rqf_level]));

const amendable = {
  framework: { expected: text(200), example: 'Functional Skills subject content', is: isText(200) },
  working_level: {
    expected: `null or ${text(100)}`,
    example: 'Level 1',
    is: orNull(isText(100)),
    optional: true,
  },
  recommended_next_level: {
    expected: `null or ${text(100)}`,
    example: 'Level 2',
    is: orNull(isText(100)),
    optional: true,
  },
  is_borderline: { expected: 'true or false', example: 'false', is: isBoolean, optional: true },
  needs_review: { expected: 'true or false', example: 'false', is: isBoolean, optional: true },
  domains: {
    expected: `a JSON list of at most ${limits.domainsPerResult} objects`,
    example: '[{"name": "Punctuation", "score_pct": 70, "status": "secure"}]',
    is: isListOf(limits.domainsPerResult),
    optional: true,
    inside: {
      name: { expected: text(100), example: 'Punctuation', is: isText(100) },
      score_pct: {
        expected: 'null or a whole number from 0 to 100',
        example: '70',
        is: orNull((value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 100),
        optional: true,
      },
      status: { expected: `null or ${text(40)}`, example: 'secure', is: orNull(isText(40)), optional: true },
    },
  },
  level_probabilities: {
    expected: `null or an object of at most ${limits.levelsPerResult} levels whose probabilities, from 0 to 1, add up to 1`,
    example: '{"Entry Level": 0.07, "Level 1": 0.81, "Level 2": 0.12}',
    is: orNull(isProbabilities),
    optional: true,
  },
} satisfies Fields;

export const amendableNames = Object.keys(amendable);

const recordFields: Fields = {
  assessment_id: {
    expected: 'a UUID',
    example: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
    is: (value) => typeof value === 'string' && isUuid(value),
    optional: true,
  },
  learner: {
    expected: 'a JSON object',
    example: '{"ref": "LRN-00042", "full_name": "Ana Silva"}',
    is: isJsonObject,
    inside: {
      ref: {
        expected: `null or an opaque reference of up to ${limits.learnerRefChars} letters, digits, . _ : / or -, which is no name and no National Insurance number`,
        example: 'LRN-00042',
        is: orNull((value) => typeof value === 'string' && isOpaqueRef(value)),
        optional: true,
      },
      full_name: {
        expected: text(limits.fullNameChars),
        example: 'Ana Silva',
        is: isText(limits.fullNameChars),
        also: nameFault,
      },
    },
  },
  // How a date-time may be written is for the import to say: readyRecord reads it.
  assessed_at: { expected: 'a date-time', example: '2026-01-31T09:00:00Z', is: () => true, optional: true },
  subject: {
    expected: `one of ${subjects.join(', ')}`,
    example: subjects[2],
    is: (value) => (subjects as readonly unknown[]).includes(value),
  },
  rqf_level: {
    expected: `null or one of ${levelNames.join(', ')}`,
    example: levelNames[1]!,
    is: orNull((value) => (levelNames as unknown[]).includes(value)),
  },
  rqf_level_code: {
    expected: `null or one of ${levelCodes.join(', ')}`,
    example: '2',
    is: orNull((value) => (levelCodes as readonly unknown[]).includes(value)),
  },
  below_level_1: { expected: 'null, true or false', example: 'false', is: orNull(isBoolean) },
  ...amendable,
  groups: {
    expected: `a JSON list of at most ${limits.groupsPerProvisioning} objects`,
    example: '[{"type": "cohort", "ref": "2026-A", "name": "Autumn 2026"}]',
    is: isListOf(limits.groupsPerProvisioning),
    optional: true,
    inside: {
      type: {
        expected: `one of ${clientGroupTypes.join(', ')}`,
        example: 'cohort',
        is: (value) => (clientGroupTypes as readonly unknown[]).includes(value),
      },
      ref: {
        expected: text(limits.groupRefChars),
        example: '2026-A',
        is: isText(limits.groupRefChars),
        also: notAnError,
      },
      name: {
        expected: text(limits.groupNameChars),
        example: 'Autumn 2026',
        is: isText(limits.groupNameChars),
        also: notAnError,
      },
    },
  },
};

const amendmentFields: Fields = Object.fromEntries(
  Object.entries(amendable).map(([name, field]) => [name, { ...field, optional: true }]),
);

function addFaults(faults: Fault[], given: Record<string, unknown>, fields: Fields, path: string): void {
  const first = faults.length;
  let known = 0;
  for (const name in fields) {
    const field = fields[name]!;
    if (!Object.hasOwn(given, name)) {
      if (field.optional !== true)
        faults.push({ field: path + name, expected: field.expected, example: field.example });
      continue;
    }
    known++;
    const value = given[name];
    const expected = field.is(value) ? (field.also?.(value as string) ?? null) : field.expected;
    if (expected !== null) faults.push({ field: path + name, expected, example: field.example });
    else if (field.inside !== undefined) {
      if (Array.isArray(value))
        value.forEach((one, i) => {
          const own = `${path}${name}[${i}]`;
          if (isJsonObject(one)) addFaults(faults, one, field.inside!, `${own}.`);
          else faults.push({ field: own, expected: 'a JSON object', example: field.example.slice(1, -1) });
        });
      else addFaults(faults, value as Record<string, unknown>, field.inside, `${path}${name}.`);
    }
  }
  if (Object.keys(given).length === known) return;
  // A field that isn't known is never named: people put names and numbers there.
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

/** Everything that is wrong with the fields of an import record, each by itself. */
export function faultsOfRecord(value: unknown): Fault[] {
  if (!isJsonObject(value)) return [wholeRecord];
  const faults: Fault[] = [];
  addFaults(faults, value, recordFields, '');
  return faults;
}

/** Everything that is wrong with the fields of an amendment. */
export function faultsOfAmendment(value: Record<string, unknown>): Fault[] {
  const faults: Fault[] = [];
  addFaults(faults, value, amendmentFields, '');
  return faults;
}

/** Domains with every field that they have in payloads. */
export function wholeDomains(domains: Domain[]): Required<Domain>[] {
  return domains.map(({ name, score_pct, status }) => ({ name, score_pct: score_pct ?? null, status: status ?? null }));
}

/** A reference that is wrong beside something else in its record. */
export function refFault(): Fault {
  const { expected, example } = recordFields.learner!.inside!.ref!;
  return { field: 'learner.ref', expected, example };
}
