import assert from 'node:assert/strict';
import type Type from 'typebox';
import Value from 'typebox/value';
import type { Answer } from './client.ts';

/** What the contract says of every reply. */

const uuid = '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$';
const utcMillis = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$';

/** The schema without room: no field beside those it names, and date-times in the one form that the service writes. */
function strict(schema: any): any {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy: any = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, strict(value)]));
  // An object whose names are data says what their values are.
  if (copy.type === 'object') copy.additionalProperties ??= false;
  if (copy.format === 'date-time') {
    delete copy.format;
    copy.pattern = utcMillis;
  }
  if (copy.format === 'uuid') {
    delete copy.format;
    copy.pattern = uuid;
  }
  return copy;
}

const made = new Map<Type.TSchema, Type.TSchema>();

/** The value is exactly what the schema describes: every required field, and no field more. */
export function assertShape(schema: Type.TSchema, value: unknown): void {
  let exact = made.get(schema);
  if (exact === undefined) made.set(schema, (exact = strict(schema) as Type.TSchema));
  const [fault] = Value.Errors(exact, value) as unknown as { instancePath?: string; message?: string }[];
  assert.ok(
    Value.Check(exact, value),
    `${fault?.instancePath ?? ''} ${fault?.message ?? 'does not fit'}: ${JSON.stringify(value)?.slice(0, 500)}`,
  );
}

/** The one error shape, with this status and code. */
export function assertRefused(answer: Answer, status: number, code: string): void {
  assert.equal(`${answer.status} ${answer.body?.error?.code}`, `${status} ${code}`, answer.text);
  assert.match(answer.headers['content-type'] ?? '', /^application\/json\b/);
  assert.deepEqual(Object.keys(answer.body), ['error']);
  assert.deepEqual(Object.keys(answer.body.error), ['code', 'message']);
  assert.match(answer.body.error.message, /^[A-Za-z].{8,}[.!]$/s);
}

/** Headers of every reply that shows an organisation's data. */
export function assertPrivate(answer: Answer): void {
  assert.equal(answer.headers['cache-control'], 'private, no-cache');
  assert.deepEqual(
    (answer.headers.vary ?? '')
      .split(/, */)
      .map((name) => name.toLowerCase())
      .sort(),
    ['accept-encoding', 'x-access-key-id'],
  );
}

export function assertRateHeaders(answer: Answer): void {
  assert.match(answer.headers['ratelimit-policy'] ?? '', /^"[\w-]+";q=\d+;w=60$/);
  assert.match(answer.headers.ratelimit ?? '', /^"[\w-]+";r=\d+;t=\d+$/);
}

/** A list reply: its envelope, its headers, and that what it says of further pages agrees everywhere. */
export function assertList(answer: Answer, limit: number): void {
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['data', 'pagination']);
  const { pagination } = answer.body;
  assert.deepEqual(Object.keys(pagination), ['limit', 'has_more', 'next']);
  assert.equal(pagination.limit, limit);
  assert.equal(typeof pagination.has_more, 'boolean');
  assert.equal(pagination.next !== null, pagination.has_more);
  assert.ok(answer.body.data.length <= limit);
  if (pagination.has_more) assert.equal(answer.body.data.length, limit);
  assert.equal(answer.headers.link, pagination.next === null ? undefined : `<${pagination.next}>; rel="next"`);
  assert.match(answer.headers['x-sync-through'] ?? '', new RegExp(utcMillis));
  assert.match(answer.headers.etag ?? '', /^W\/"[\x21\x23-\x7e]+"$/);
  assertPrivate(answer);
  assertRateHeaders(answer);
}

/** The path and query of an absolute address, under the API's base. */
export function under(address: string): string {
  const url = new URL(address);
  assert.ok(url.pathname.startsWith('/api/v1/'), address);
  return address.slice(url.origin.length + '/api/v1'.length);
}

/** National Insurance numbers in the guises in which they must not be stored. */
export const nationalInsuranceNumbers = [
  'AB123456C',
  'ab123456c',
  'AB 12 34 56 C',
  'AB-12-34-56-C',
  'AB.12.34.56.C',
  'A B 1 2 3 4 5 6 C',
  'ＡＢ１２３４５６Ｃ',
  'AB\u00a012\u00a034\u00a056\u00a0C',
  'AB\u201312\u201334\u201356\u2013C',
  'AB\u200b123456C',
  'No. AB123456C (copy)',
  'QQ:12:34:56:C',
  'QQ\u221212\u221234\u221256\u2212C',
  'QQ,12,34,56,C',
  'QQ\u00b712\u00b734\u00b756\u00b7C',
  '(QQ)[12]{34}<56>"C"',
  '\u201cQQ\u201d 12 34 56 \u2018C\u2019',
  'QQ\u0661\u0662\u0663\u0664\u0665\u0666C',
  'QQ123456\u0421',
];
