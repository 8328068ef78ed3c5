import { type ErrorCode, ApiError, errorTable } from '../../platform/errors/errors.ts';
import { formatPosition, parseInstant, parseLowerBound } from '../../feed/time.ts';
import { limits } from '../../platform/config/limits.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { faults, refusal, unknownName } from '../../platform/validation/faults.ts';
import { personalFault } from '../../platform/validation/fields.ts';
import { isOpaqueRef, refPattern } from '../../platform/validation/personal-data.ts';

/** A parsed value, and the canonical text that all spellings of the value share. */
type Parsed<T> = { value: T; canonical: string };

export type WithSince = { is: 'Safe' | 'Unsafe' | 'Rejected'; why: string };

/** The names for which an error code `invalid_<name>` exists. */
type ParameterName = ErrorCode extends infer Code ? (Code extends `invalid_${infer Name}` ? Name : never) : never;

export type Parameter<T = unknown> = {
  name: ParameterName;
  description: string;
  /** JSON Schema of one value, for OpenAPI. */
  schema: Record<string, unknown>;
  isList: boolean;
  /** For a filter: whether a client that polls with `since` still learns of every record that stops matching. */
  withSince?: WithSince;
  max?: number;
  /** The error code for a list with more than `max` members. */
  tooMany?: ErrorCode;
  /** @throws ApiError when a value is not what the parameter expects */
  parse(values: string[]): Parsed<T>;
};

export const codeOf = (name: ParameterName): ErrorCode => `invalid_${name}`;

/** Marks a filter by a field that never changes, so a record that matches keeps matching. */
export function safeWithSince<T>(parameter: Parameter<T>, why = 'it never changes'): Parameter<T> {
  return { ...parameter, withSince: { is: 'Safe', why } };
}

/** Marks a filter by a field that can change. A poll does not report records that no longer match. */
export function unsafeWithSince<T>(parameter: Parameter<T>, why: string): Parameter<T> {
  return { ...parameter, withSince: { is: 'Unsafe', why } };
}

/**
 * `limit` and `cursor` are in no table, because `limit` is never refused and `cursor` depends on all other parameters.
 */
export const limitSchema = { type: 'integer', minimum: 1, maximum: limits.pageMax, default: limits.pageDefault };

/** Splits a raw query string, decodes it once and groups the values by name. Broken percent-encoding becomes U+FFFD. */
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

/** The page size, limited to its range. Any text that is not a single integer gives the default. */
export function readLimit(values: string[] | undefined): number {
  if (values === undefined || values.length !== 1 || !/^-?\d+$/.test(values[0]!)) return limits.pageDefault;
  return Math.min(limits.pageMax, Math.max(1, Number(values[0])));
}

/** A valid query. Requests with the same query string share one object. */
export type ParsedQuery = {
  values: Record<string, any>;
  /**
   * All parameters except `limit` and `cursor`, in the table's order, percent-encoded. Cursors are bound to this text,
   * and `next` repeats it.
   */
  canonical: string;
  limit: number;
  cursor: string | null;
};

/**
 * Reads a query string by its table.
 * @throws ApiError for an unknown parameter, otherwise for the first fault in the table's order
 */
export function readQuery(raw: string, table: readonly Parameter[], options: { paged: boolean }): ParsedQuery {
  // Clients poll with the same query for minutes, so parsed queries are cached.
  let cache = parsedQueries.get(table);
  if (cache === undefined) parsedQueries.set(table, (cache = new Map()));
  let parsed = cache.get(raw);
  if (parsed === undefined) {
    parsed = parseQuery(raw, table, options);
    if (cache.size >= maxKept) cache.clear();
    if (raw.length <= maxKeptLength) cache.set(raw, parsed);
  }
  return parsed;
}

const parsedQueries = new WeakMap<readonly Parameter[], Map<string, ParsedQuery>>();
const maxKept = 1000;
const maxKeptLength = 1000;

function parseQuery(raw: string, table: readonly Parameter[], options: { paged: boolean }): ParsedQuery {
  const sent = splitQuery(raw);
  const values: Record<string, unknown> = {};
  const canonical: string[] = [];
  let fault: ApiError | null = null;
  const names = [...table.map((parameter) => parameter.name), ...(options.paged ? ['cursor', 'limit'] : [])];
  const unknown = unknownName('The query', 'parameter', [...sent.keys()], names);
  if (unknown !== null) throw new ApiError('unknown_parameter', unknown);
  const cursors = sent.get('cursor');
  for (const parameter of table) {
    const texts = sent.get(parameter.name);
    if (texts === undefined) continue;
    try {
      const parsed = parameter.parse(texts);
      values[parameter.name] = parsed.value;
      canonical.push(`${parameter.name}=${encodeURIComponent(parsed.canonical)}`);
    } catch (error) {
      fault ??= error as ApiError;
    }
    // The order of the specification: a fault of `since`, then a fault of the cursor, then all other faults.
    if (fault !== null && (parameter.name === 'since' || cursors === undefined)) throw fault;
  }
  // The service issues no cursor for invalid parameters, so the cursor is not valid either.
  if (cursors !== undefined && fault !== null) throw new ApiError('invalid_cursor');
  if (cursors !== undefined && (cursors.length > 1 || cursors[0] === ''))
    throw refused('cursor', cursors.length > 1 ? faults.repeated : faults.noValue);
  return { values, canonical: canonical.join('&'), limit: readLimit(sent.get('limit')), cursor: cursors?.[0] ?? null };
}

/** The error for a parameter. All sentences after the first come from the default message of the error code. */
function refused(name: ParameterName, fault: string): ApiError {
  const code = codeOf(name);
  const [, message] = errorTable[code];
  return new ApiError(code, `${name} ${fault}${message.slice(message.indexOf('. '))}`);
}

type Kind<T> = {
  schema: Record<string, unknown>;
  /** Completes the error message for a member of a list: "group_id[1] must be <expected>." */
  expected: string;
  /** @returns undefined if the text is not a valid value */
  read(text: string): T | undefined;
  /** What is wrong with an invalid text that has the right form. */
  fault?(text: string): string | null;
};

const faultOf = <T>({ fault }: Kind<T>, text: string): string =>
  text === '' ? faults.noValue : (fault?.(text) ?? faults.malformed);

export const digits = /^\d+$/;

export const among = (allowed: readonly string[], wellFormed = /^[\w.-]+$/): Kind<string> => ({
  schema: { type: 'string', enum: [...allowed] },
  expected: `one of ${allowed.join(', ')}`,
  read: (text) => (allowed.includes(text) ? text : undefined),
  fault: (text) => (wellFormed.test(text) ? faults.notAllowed : null),
});

export const wholeNumber = (min: number, max: number): Kind<number> => ({
  schema: { type: 'integer', minimum: min, maximum: max },
  expected: `a whole number from ${min} to ${max}`,
  read: (text) => (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined),
  fault: (text) => (digits.test(text) ? faults.notAllowed : null),
});

export const yesOrNo = among(['true', 'false']);

const groupId: Kind<string> = {
  schema: { type: 'string', format: 'uuid' },
  expected: "a group's UUID",
  read: (text) => (isUuid(text) ? text.toLowerCase() : undefined),
};

const opaqueRef: Kind<string> = {
  schema: { type: 'string', maxLength: limits.learnerRefChars, pattern: refPattern },
  expected: 'a reference',
  read: (text) => (isOpaqueRef(text) ? text : undefined),
  fault: personalFault,
};

export function one<T extends string | number>(name: ParameterName, description: string, kind: Kind<T>): Parameter<T> {
  return {
    name,
    description,
    isList: false,
    schema: kind.schema,
    parse: ([text, ...others]) => {
      if (others.length > 0) throw refused(name, faults.repeated);
      const value = kind.read(text!);
      if (value === undefined) throw refused(name, faultOf(kind, text!));
      return { value, canonical: String(value) };
    },
  };
}

/** A parameter with a list of values. Duplicates are removed, and the order does not matter. */
export function some<T extends string | number>(
  name: ParameterName,
  description: string,
  kind: Kind<T>,
  { max, tooMany = codeOf(name) }: { max?: number; tooMany?: ErrorCode } = {},
): Parameter<T[]> {
  return {
    name,
    description,
    isList: true,
    schema: kind.schema,
    max,
    tooMany,
    parse: (texts) => {
      const members = texts.flatMap((text) => text.split(','));
      const values = members.map(kind.read);
      const wrong = values.indexOf(undefined);
      if (wrong >= 0) {
        const fault = faultOf(kind, members[wrong]!);
        if (members.length === 1) throw refused(name, fault);
        throw new ApiError(codeOf(name), refusal(`${name}[${wrong}]`, fault, kind.expected));
      }
      const value = [...new Set(values as T[])].sort();
      if (max !== undefined && value.length > max)
        throw tooMany === codeOf(name) ? refused(name, 'has too many values') : new ApiError(tooMany);
      return { value, canonical: value.join(',') };
    },
  };
}

/** Matches RFC 3339 date-times, including date-times that do not exist. */
const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

export function instant(name: ParameterName, description: string, bound: 'lower' | 'upper'): Parameter<number> {
  const read = bound === 'lower' ? parseLowerBound : parseInstant;
  return {
    name,
    description,
    isList: false,
    schema: { type: 'string', format: 'date-time' },
    parse: ([text = '', ...others]) => {
      if (others.length > 0) throw refused(name, faults.repeated);
      const us = read(text);
      if (us !== null) return { value: us, canonical: canonicalInstant(us, text) };
      if (text.includes(' ') && parseInstant(text.replace(' ', '+')) !== null)
        throw new ApiError(codeOf(name), `${name} has a space where its zone has a +. Send + as %2B, or use Z.`);
      const fault = dateTime.test(text) ? 'has a date or time that does not exist' : faults.malformed;
      throw refused(name, text === '' ? faults.noValue : fault);
    },
  };
}

/**
 * The text of an instant in UTC. The text stays as sent if UTC text would be read as another instant (outside RFC
 * 3339's years or after 2255).
 */
function canonicalInstant(us: number, text: string): string {
  const utc = formatPosition(us);
  return parseInstant(utc) === us ? utc : text;
}

export const groupIds: Parameter<string[]> = unsafeWithSince(
  some('group_id', `At most ${limits.filterGroups} group IDs: assessments of the groups' active members.`, groupId, {
    max: limits.filterGroups,
    tooMany: 'too_many_groups',
  }),
  'a learner can leave a group: the response then contains a scope exit. If X-Sync-Digest differs, run a full sync',
);

export const learnerRef: Parameter<string> = safeWithSince(
  one('learner_ref', 'One learner by your own learner reference.', opaqueRef),
  'the reference names the same learner, also after a change or a merge',
);
