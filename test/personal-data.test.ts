import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { holdsNationalInsuranceNumber, isNameOf, isOpaqueRef, isPlainText } from '../src/personal-data.ts';
import { nationalInsuranceNumbers } from './contract/expect.ts';

const letter = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ');
const digit = fc.constantFrom(...'0123456789');
const number = fc.tuple(letter, letter, digit, digit, digit, digit, digit, digit, fc.constantFrom(...'ABCD'));

suite('National Insurance numbers', () => {
  test('in every guise', () => {
    for (const text of nationalInsuranceNumbers) assert.ok(holdsNationalInsuranceNumber(text), text);
  });

  test('any, with any separators, in either case, alone or inside a text', () => {
    const separator = fc.constantFrom('', ' ', '-', '.', '/', '_', '\u00a0', '\u2013', '  ', '\u200b', '\t');
    fc.assert(
      fc.property(
        number,
        fc.array(separator, { minLength: 8, maxLength: 8 }),
        fc.boolean(),
        fc.constantFrom('', 'Name ', '(', 'ref:'),
        fc.constantFrom('', ' x', ')', '.'),
        (parts, between, lower, before, behind) => {
          const text = parts
            .map((part, i) => part + (between[i] ?? ''))
            .join('')
            .trimEnd();
          assert.ok(holdsNationalInsuranceNumber(before + (lower ? text.toLowerCase() : text) + behind));
        },
      ),
    );
  });

  test('references and names as they are used are not taken for one', () => {
    for (const text of [
      'LRN-000017',
      'C-2026-01',
      '2026/27-A',
      'Ana Silva',
      '123456',
      'AB12345C',
      'AB1234567C',
      'AB123456E',
      'ABC123456D',
      'XAB123456CX',
      'b0d7f0e2-2c1f-4a7e-9d53-7f6f2a1c9e10',
      'E1-123456',
      'Group 12 34 56 C',
    ]) {
      assert.equal(holdsNationalInsuranceNumber(text), false, text);
    }
  });
});

suite('isOpaqueRef', () => {
  test('the pattern, its length, and no National Insurance number', () => {
    for (const text of ['a', '9', 'A/b:c.d_e-f', 'x'.repeat(100)]) assert.ok(isOpaqueRef(text), text);
    for (const text of [
      '',
      '-a',
      '.a',
      '_a',
      '/a',
      ':a',
      'a b',
      'a@b',
      'a,b',
      'é',
      'a\n',
      'x'.repeat(101),
      'AB123456C',
      'ab/12/34/56/c',
    ])
      assert.equal(isOpaqueRef(text), false, JSON.stringify(text));
  });
});

suite('isNameOf', () => {
  test('the same letters, whatever stands between them', () => {
    for (const [ref, name] of [
      ['ana.silva', 'Ana Silva'],
      ['ANA-SILVA', 'Ana Silva'],
      ['AnaSilva', 'Ana Silva'],
      ['zoe.obrien', 'Zoë O\u2019Brien'],
      ['ana.silva.1', 'Ana Silva'],
    ] as const)
      assert.ok(isNameOf(ref, name), ref);
    for (const [ref, name] of [
      ['ana', 'Ana Silva'],
      ['silva.ana', 'Ana Silva'],
      ['L-17', 'Ana Silva'],
      ['17', '\u674e'],
    ] as const)
      assert.equal(isNameOf(ref, name), false, ref);
  });
});

suite('isPlainText', () => {
  test('one line that is not blank or invisible', () => {
    for (const text of ['x', ' x ', 'a\u200db', '😀'.repeat(200), '李小龍']) assert.ok(isPlainText(text, 200), text);
    for (const text of [
      '',
      ' ',
      '\u00a0',
      'a\nb',
      'a\tb',
      '\u0000',
      '\u0085',
      '\u2028',
      '\ud83d',
      '\u200b',
      '\u00ad \u2060',
      '\u3164',
      'x'.repeat(201),
      '😀'.repeat(201),
    ])
      assert.equal(isPlainText(text, 200), false, JSON.stringify(text));
  });
});
