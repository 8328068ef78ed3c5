import type { Random } from '../../src/platform/crypto/random.ts';
import { pick } from '../../src/platform/crypto/random.ts';

/** Values for requests: some as a JSON Schema of the OpenAPI document asks, others hostile. */

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  format?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  minimum?: number;
  maximum?: number;
};

export type { Schema };

/** Texts that programs often handle wrongly. */
export const hostileTexts = [
  '',
  ' ',
  '0',
  '-1',
  '1e400',
  'NaN',
  'null',
  'true',
  '[]',
  '{}',
  '\u0000',
  '\u001b[31m',
  '\ud800',
  '\ufeff',
  '\u202eabc',
  'ﬀ',
  'é'.normalize('NFD'),
  '👩‍👩‍👧‍👦'.repeat(30),
  'a'.repeat(201),
  'ü'.repeat(3000),
  '%00',
  '%zz',
  '../../etc/passwd',
  '..%2f..%2f',
  "' or '1'='1",
  '"; drop table learners; --',
  '${7*7}{{7*7}}',
  '<script>alert(1)</script>',
  '\r\nset-cookie: a=b',
  '9999-12-31T23:59:59Z',
  '0000-01-01T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-01-01T00:00:00+99:99',
  '00000000-0000-0000-0000-000000000000',
  '__proto__',
  'constructor',
  'QQ123456C',
  '-9223372036854775808',
  '99999999999999999999999',
  '*',
  ',',
  ',,,,',
];

const hostileValues: unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  [],
  {},
  [[[[[[[[]]]]]]]],
  [null],
  { a: { b: { c: {} } } },
];

export function chance(random: Random, probability: number): boolean {
  return random.float() < probability;
}

export const hostile = (random: Random): unknown =>
  chance(random, 0.5) ? pick(random, hostileTexts) : pick(random, hostileValues);

/** @param known values that the service has, by the name of a field, such as IDs */
export type Known = (name: string) => string | undefined;

/** A value that the schema allows, mostly. */
export function valueOf(
  random: Random,
  schema: Schema,
  name: string,
  known: Known,
  resolve: (ref: string) => Schema,
): unknown {
  if (schema.$ref !== undefined) return valueOf(random, resolve(schema.$ref), name, known, resolve);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return pick(random, schema.enum);
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return valueOf(random, pick(random, choices), name, known, resolve);
  const type = Array.isArray(schema.type) ? pick(random, schema.type) : schema.type;
  const inside = (one: Schema, key: string) => valueOf(random, one, key, known, resolve);
  switch (type) {
    case 'null':
      return null;
    case 'boolean':
      return chance(random, 0.5);
    case 'integer':
    case 'number': {
      const [low, high] = [schema.minimum ?? 0, schema.maximum ?? 20];
      return low + Math.floor(random.float() * (high - low + 1));
    }
    case 'array':
      return Array.from({ length: Math.floor(random.float() * 3) + 1 }, () => inside(schema.items ?? {}, name));
    case 'object': {
      const required = new Set(schema.required);
      const entries = Object.entries(schema.properties ?? {}).filter(
        ([key]) => required.has(key) || chance(random, 0.5),
      );
      return Object.fromEntries(entries.map(([key, one]) => [key, inside(one, key)]));
    }
    default:
      return known(name) ?? textOf(random, schema.format, name);
  }
}

function textOf(random: Random, format: string | undefined, name: string): string {
  const number = Math.floor(random.float() * 500);
  switch (format) {
    case 'uuid':
      return random.uuid();
    case 'date-time':
      return new Date(Date.UTC(2026, 0, 1) + number * 86_400_000).toISOString();
    case 'email':
      return `learner-${number}@college.example`;
    case 'uri':
      return `https://receiver-${number}.example/hook`;
    default:
      return `${name.replaceAll(/[^a-z]/gi, '') || 'text'}-${number}`;
  }
}

/** Changes one place of a JSON value: another type, no value, one more field, or a hostile text. */
export function mutated(random: Random, value: unknown): unknown {
  if (Array.isArray(value) && value.length > 0 && chance(random, 0.8)) {
    if (chance(random, 0.1)) return Array.from({ length: 600 }, () => value[0]);
    const at = Math.floor(random.float() * value.length);
    return value.map((one, i) => (i === at ? mutated(random, one) : one));
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && chance(random, 0.9)) {
    const entries = Object.entries(value);
    if (entries.length === 0 || chance(random, 0.15))
      return Object.fromEntries([...entries, [String(pick(random, hostileTexts)), hostile(random)]]);
    const at = Math.floor(random.float() * entries.length);
    if (chance(random, 0.15)) return Object.fromEntries(entries.filter((_, i) => i !== at));
    return Object.fromEntries(entries.map(([key, one], i) => [key, i === at ? mutated(random, one) : one]));
  }
  return hostile(random);
}

/** Changes the text of a body: cuts it, repeats a part, or puts any byte somewhere. */
export function damaged(random: Random, text: string): string {
  const at = Math.floor(random.float() * (text.length + 1));
  switch (Math.floor(random.float() * 4)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(Math.max(0, at - 20));
    case 2:
      return text.slice(0, at) + String.fromCharCode(Math.floor(random.float() * 256)) + text.slice(at);
    default:
      return '['.repeat(2000) + text;
  }
}
