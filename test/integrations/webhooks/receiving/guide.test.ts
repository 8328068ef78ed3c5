import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { suite, test } from 'node:test';
import { read } from '../../../support/structure/source-tree.ts';
import type { Vector, Vectors, Verdict } from './vectors.ts';
import { vectorsFile } from './vectors.ts';

/** A verifier made of the guide's rules alone, each beside the words that state it. */

const { vectors }: Vectors = JSON.parse(readFileSync(vectorsFile, 'utf8'));

/** What the rules before have found in the header. */
type Delivery = Vector & { parts: string[]; times: string[]; signatures: string[] };
type Rule = { says: string; holds(delivery: Delivery): boolean; otherwise: Verdict };

const malformed = 'malformed_header';
const unsigned = 'no_matching_signature';
const rules: Rule[] = [
  {
    says: 'Each part has a `=`',
    holds: ({ parts }) => parts.every((part) => part === '' || part.includes('=')),
    otherwise: malformed,
  },
  {
    says: 'at least one character before it',
    holds: ({ parts }) => parts.every((part) => !part.startsWith('=')),
    otherwise: malformed,
  },
  {
    says: 'No part is empty, including the last one',
    holds: ({ parts }) => !parts.includes(''),
    otherwise: malformed,
  },
  {
    says: 'exactly one `t`: refuse two, even equal ones',
    holds: ({ times }) => times.length === 1,
    otherwise: malformed,
  },
  {
    says: '1 to 12 digits, each `0` to `9`',
    holds: ({ times: [t] }) => t === undefined || (t.length > 0 && t.length <= 12 && !/[^0-9]/.test(t)),
    otherwise: malformed,
  },
  { says: 'There is at least one `v1`', holds: ({ signatures }) => signatures.length > 0, otherwise: malformed },
  { says: 'The secret is not empty', holds: ({ secret }) => secret !== '', otherwise: unsigned },
  {
    says: 'At least one `v1` equals the result in 64 lower-case hex digits',
    holds: ({ secret, times: [t], signatures, body }) =>
      signatures.includes(createHmac('sha256', secret).update(`${t}.${body}`).digest('hex')),
    otherwise: unsigned,
  },
  {
    says: 'at most 300 seconds before your clock',
    holds: ({ times: [t], now }) => now - Number(t) <= 300,
    otherwise: 'timestamp_too_old',
  },
  {
    says: 'at most 300 seconds after your clock',
    holds: ({ times: [t], now }) => Number(t) - now <= 300,
    otherwise: 'timestamp_in_future',
  },
];

function verdictBy(given: readonly Rule[], vector: Vector): Verdict {
  const parts = vector.header.split(',');
  const of = (name: string) =>
    parts.filter((part) => part.startsWith(`${name}=`)).map((part) => part.slice(name.length + 1));
  const delivery = { ...vector, parts, times: of('t'), signatures: of('v1') };
  return given.find((rule) => !rule.holds(delivery))?.otherwise ?? 'valid';
}

const missed = (given: readonly Rule[]) =>
  vectors.filter((vector) => verdictBy(given, vector) !== vector.verdict).map(({ name }) => name);

suite("the guide's rules", () => {
  const guide = read('docs/webhooks/verify.md').replace(/\s+/g, ' ');
  for (const says of [
    ...rules.map((rule) => rule.says),
    'A missing header counts as an empty header',
    'Spaces belong to the name or value',
    'Parts come in any order',
    'Ignore every name except `t` and `v1`',
    'over `t` as written',
  ])
    test(`the guide says: ${says}`, () => assert.ok(guide.includes(says)));

  test('judge all vectors right', () => assert.deepEqual(missed(rules), []));

  test('are all needed', () => {
    for (const rule of rules) assert.notDeepEqual(missed(rules.filter((one) => one !== rule)), [], rule.says);
  });
});
