import type { ErrorCode } from '../../platform/errors/errors.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { formatPosition, parseInstant, parseLowerBound } from '../../feed/time.ts';
import { limits } from '../../platform/config/limits.ts';
import { isUuid } from '../../platform/crypto/uuid.ts';
import { isOpaqueRef, refPattern } from '../../platform/validation/personal-data.ts';

/** A parsed value and the one text that stands for it, whatever way it was written. */
type Parsed<T> = { value: T; canonical: string };

export type WithSince = { is: 'Safe' | 'Unsafe' | 'Refused'; why: string };

/** One query parameter: how its values are read, and the error code when they aren't what was expected. */
export type Parameter<T = unknown> = {
  name: string;
  code: ErrorCode;
  description: string;
  /** JSON Schema of one value, for OpenAPI. */
  schema: Record<string, unknown>;
  list: boolean;
  /** Of a filter, where the list also takes `since`: whether a poll still tells of everything that stops matching. */
  withSince?: WithSince;
  /** Members that a list may have at most. */
  max?: number;
  /** @returns undefined when the values aren't valid; an ErrorCode's own error is thrown for a rule with a code of its own */
  parse(values: string[]): Parsed<T> | undefined;
};

/** A filter by what never changes: a record that matches once matches for good. */
export function safeWithSince<T>(parameter: Parameter<T>, why = 'it never changes'): Parameter<T> {
  return { ...parameter, withSince: { is: 'Safe', why } };
}

/** A filter by what changes: a poll doesn't tell of records that no longer match. */
export function unsafeWithSince<T>(parameter: Parameter<T>, why: string): Parameter<T> {
  return { ...parameter, withSince: { is: 'Unsafe', why } };
}

/** `limit` and `cursor` are read beside the table: one never fails, the other is bound to all the rest. */
export const limitSchema = { type: 'integer', minimum: 1, maximum: limits.pageMax, default: limits.pageDefault };

/** Splits a raw query string: decoded once, repeated keys gathered. A key or value with broken percent-encoding keeps it. */
export function splitQuery(raw: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const part of raw.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const key = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const values = found.get(key);
    if (values === undefined) found.set(key, [value]);
    else values.push(value);
  }
  return found;
}

function decode(text: string): string {
  if (!/[%+]/.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return '\uFFFD';
  }
}

/** Page size: moved to the nearest end of its range; anything that isn't one integer means the default. */
export function readLimit(values: string[] | undefined): number {
  if (values === undefined || values.length !== 1 || !/^-?\d+$/.test(values[0]!)) return limits.pageDefault;
  return Math.min(limits.pageMax, Math.max(1, Number(values[0])));
}

/** A query that passed its table; shared by all who ask the same, so nobody changes it. */
export type ParsedQuery = {
  values: Record<string, any>;
  /** Every parameter but limit and cursor, in the table's order, percent-encoded: what cursors are bound to and `next` repeats. */
  canonical: string;
  limit: number;
  cursor: string | null;
};

/**
 * Reads a query string by its table. Several faults: the first in the table's order is told, an unknown parameter before all.
 * @throws ApiError
 */
export function readQuery(raw: string, table: readonly Parameter[], options: { paged: boolean }): ParsedQuery {
  // Clients poll with the same query for minutes; reading it again gives the same, so what was read is kept for a while.
  let known = parsedQueries.get(table);
  if (known === undefined) parsedQueries.set(table, (known = new Map()));
  let parsed = known.get(raw);
  if (parsed === undefined) {
    parsed = parseQuery(raw, table, options);
    if (known.size >= maxKept) known.clear();
    if (raw.length <= longestKept) known.set(raw, parsed);
  }
  return parsed;
}

const parsedQueries = new WeakMap<readonly Parameter[], Map<string, ParsedQuery>>();
const maxKept = 1000;
const longestKept = 1000;

function parseQuery(raw: string, table: readonly Parameter[], options: { paged: boolean }): ParsedQuery {
  const given = splitQuery(raw);
  const values: Record<string, unknown> = {};
  const canonical: string[] = [];
  let fault: ApiError | null = null;
  const known = [...table.map((parameter) => parameter.name), ...(options.paged ? ['cursor', 'limit'] : [])];
  for (const key of given.keys()) {
    if (!known.includes(key)) throw new ApiError('unknown_parameter', unknownParameter(key, known));
  }
  const cursors = given.get('cursor');
  for (const parameter of table) {
    const texts = given.get(parameter.name);
    if (texts === undefined) continue;
    try {
      const parsed = parameter.parse(texts);
      if (parsed === undefined) throw new ApiError(parameter.code, hint(parameter, texts));
      values[parameter.name] = parsed.value;
      canonical.push(`${parameter.name}=${encodeURIComponent(parsed.canonical)}`);
    } catch (error) {
      fault ??= error as ApiError;
    }
    // `since` comes before the cursor in the list of codes, everything else after it.
    if (fault !== null && (parameter.name === 'since' || cursors === undefined)) throw fault;
  }
  // A cursor can't have been minted under parameters that aren't valid.
  if (cursors !== undefined && (fault !== null || cursors.length !== 1 || cursors[0] === ''))
    throw new ApiError('invalid_cursor');
  return { values, canonical: canonical.join('&'), limit: readLimit(given.get('limit')), cursor: cursors?.[0] ?? null };
}

function unknownParameter(name: string, known: readonly string[]): string {
  const which = isTelling(name) ? `the parameter ${name}` : 'a parameter';
  const those = known.length === 0 ? 'It takes none' : `It knows ${known.join(', ')}`;
  return `The query has ${which}, which this endpoint does not know. ${those}.`;
}

/**
 * Whether a name that isn't known can be repeated in a message: it is built like the name of a parameter, and holds no
 * run of digits. A value that was sent in the place of a name (an e-mail address, a number, a reference, a
 * name of a person in capitals or of two words) isn't repeated.
 */
function isTelling(name: string): boolean {
  return /^[a-z_][A-Za-z_]{0,39}\d{0,2}(\[[a-z_]{0,20}\])?$/.test(name);
}

function hint(parameter: Parameter, texts: string[]): string | undefined {
  if (
    parameter.schema.format === 'date-time' &&
    texts.length === 1 &&
    parseInstant(texts[0]!.replace(' ', '+')) !== null &&
    texts[0]!.includes(' ')
  ) {
    return `${parameter.name} has a space where its zone has a +: send + as %2B, or use Z.`;
  }
  return undefined;
}

const single =
  <T>(read: (text: string) => Parsed<T> | undefined) =>
  (values: string[]) =>
    values.length === 1 ? read(values[0]!) : undefined;

/**
 * All members of all values; undefined where a single one is wrong. Duplicates collapse, and order doesn't matter.
 * @param right none is empty
 * @throws ApiError that tells the first wrong one of several by its position
 */
function members(
  { name, code }: { name: string; code: ErrorCode },
  values: string[],
  right: { is: (one: string) => boolean; expected: string },
): string[] | undefined {
  const list = values.flatMap((value) => value.split(','));
  const at = list.findIndex((one) => !right.is(one));
  if (at >= 0 && list.length > 1) throw new ApiError(code, `${name}[${at}] must be ${right.expected}.`);
  return at >= 0 ? undefined : [...new Set(list)].sort();
}

export function instant(
  name: string,
  code: ErrorCode,
  description: string,
  bound: 'lower' | 'upper',
): Parameter<number> {
  return {
    name,
    code,
    description,
    list: false,
    schema: { type: 'string', format: 'date-time' },
    parse: single((text) => {
      const us = bound === 'lower' ? parseLowerBound(text) : parseInstant(text);
      return us === null ? undefined : { value: us, canonical: canonicalInstant(us, text) };
    }),
  };
}

/** In UTC; as it was written where that wouldn't be read as the same instant: out of RFC 3339's years, or beyond 2255, where microseconds aren't exact. */
function canonicalInstant(us: number, text: string): string {
  const utc = formatPosition(us);
  return parseInstant(utc) === us ? utc : text;
}

export function oneOf(
  name: string,
  code: ErrorCode,
  description: string,
  allowed: readonly string[],
): Parameter<string> {
  return {
    name,
    code,
    description,
    list: false,
    schema: { type: 'string', enum: [...allowed] },
    parse: single((text) => (allowed.includes(text) ? { value: text, canonical: text } : undefined)),
  };
}

export function someOf(
  name: string,
  code: ErrorCode,
  description: string,
  allowed: readonly string[],
): Parameter<string[]> {
  return {
    name,
    code,
    description,
    list: true,
    schema: { type: 'string', enum: [...allowed] },
    parse: (values) => {
      const right = { is: (one: string) => allowed.includes(one), expected: `one of ${allowed.join(', ')}` };
      const list = members({ name, code }, values, right);
      return list === undefined ? undefined : { value: list, canonical: list.join(',') };
    },
  };
}

const wholeNumberIn = (text: string, min: number, max: number) =>
  /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max;

export function wholeNumber(
  name: string,
  code: ErrorCode,
  description: string,
  { min, max }: { min: number; max: number },
): Parameter<number> {
  return {
    name,
    code,
    description,
    list: false,
    schema: { type: 'integer', minimum: min, maximum: max },
    parse: single((text) =>
      wholeNumberIn(text, min, max) ? { value: Number(text), canonical: String(Number(text)) } : undefined,
    ),
  };
}

/** Whole numbers up to `most`, in one list or several. */
export function wholeNumbers(
  name: string,
  code: ErrorCode,
  description: string,
  { min, max, members: atMost }: { min: number; max: number; members: number },
): Parameter<number[]> {
  return {
    name,
    code,
    description,
    list: true,
    max: atMost,
    schema: { type: 'integer', minimum: min, maximum: max },
    parse: (values) => {
      const right = {
        is: (one: string) => wholeNumberIn(one, min, max),
        expected: `a whole number from ${min} to ${max}`,
      };
      const list = members({ name, code }, values, right);
      if (list === undefined) return undefined;
      const numbers = [...new Set(list.map(Number))];
      if (numbers.length > atMost) return undefined;
      return { value: numbers, canonical: numbers.join(',') };
    },
  };
}

export function groupIds(): Parameter<string[]> {
  const which = { name: 'group_id', code: 'invalid_group_id' } as const;
  return {
    ...which,
    list: true,
    max: limits.filterGroups,
    schema: { type: 'string', format: 'uuid' },
    description: `At most ${limits.filterGroups} group ids: assessments of the groups' active members.`,
    withSince: {
      is: 'Unsafe',
      why: 'a learner can leave: the poll then carries a scope exit, and a sweep is still needed',
    },
    parse: (values) => {
      const right = { is: isUuid, expected: "a group's UUID" };
      const lowered = values.map((value) => value.toLowerCase());
      const list = members(which, lowered, right);
      if (list === undefined) return undefined;
      if (list.length > limits.filterGroups) throw new ApiError('too_many_groups');
      return { value: list, canonical: list.join(',') };
    },
  };
}

export function learnerRef(): Parameter<string> {
  return {
    name: 'learner_ref',
    code: 'invalid_learner_ref',
    list: false,
    description: 'One learner by your own reference.',
    withSince: {
      is: 'Safe',
      why: 'a reference that reaches a learner once reaches them for good, after a change or a merge too',
    },
    schema: { type: 'string', maxLength: limits.learnerRefChars, pattern: refPattern },
    parse: single((text) => (isOpaqueRef(text) ? { value: text, canonical: text } : undefined)),
  };
}
