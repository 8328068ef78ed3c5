import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import {
  holdsNationalInsuranceNumber,
  isNameOf,
  isOpaqueRef,
  isPlainLines,
  isPlainText,
  letters,
  withoutNationalInsuranceNumbers,
  normalised,
} from '../../../src/platform/validation/personal-data.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { nationalInsuranceNumbers } from '../../contract/support/expect.ts';
import { processorMs } from '../../support/metrics/processor.ts';
import { worstTexts } from '../../support/worst-texts.ts';

const letter = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZ');
const digit = fc.constantFrom(...'0123456789');
const number = fc.tuple(letter, letter, digit, digit, digit, digit, digit, digit, fc.constantFrom(...'ABCD'));

/** Every decimal digit of Unicode. */
const digitsOfAnyScript: string[] = [];
/** What may stand between: every kind of character that is neither letter nor digit, or nothing at all. */
const between: string[] = ['', ''];
for (let code = 0; code <= 0x1ffff; code++) {
  const character = String.fromCodePoint(code);
  if (/\p{Nd}/u.test(character)) digitsOfAnyScript.push(character);
  else if (
    /[\p{P}\p{S}\p{Z}\p{C}]/u.test(character) &&
    !/[\p{L}\p{N}]/u.test(character.normalize('NFKD')) &&
    !latin(character)
  )
    between.push(character);
}

function latin(character: string): boolean {
  return character === '%' || /^[\u{1f130}-\u{1f1ff}]$/u.test(character);
}

/** The same letter as other scripts and styles draw it. */
const drawnAlike: Record<string, string> = {
  A: 'aÁāАаΑαᎪꓮᗅⲀＡａ𝐀𝔞𝖆Ⓐⓐ🅐🅰🇦ᴀ',
  B: 'bḂВвΒβᏴꓐＢｂ𝐁𝔟ⒷⓑⓑʙƁ',
  C: 'cÇćСсϹϲᏟꓚᑕⲤＣｃ𝐂𝔠ⒸⓒᴄⅭↅ'.replace('ↅ', ''),
  D: 'dĎđᎠꓓᗞԁＤｄ𝐃𝔡ⒹⓓᴅⅮ',
  H: 'hНнΗᎻꓧＨ',
  K: 'kКкΚKꓗ',
  N: 'nΝꓠＮñ',
  O: 'oОоΟοՕօØ',
  S: 'sЅѕՏꓢſ',
  T: 'tТтΤꓔ',
};

/** Whether characters stay what they are beside one another: two lone surrogates can become a letter. */
const staysApart = (gap: string[]) => [...gap.join('')].length === gap.filter((one) => one !== '').length;

/** A number with each letter and digit spelt in some way, and anything between. */
const spelt = fc
  .tuple(
    number,
    fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
    fc.array(
      fc
        .array(fc.oneof(fc.constantFrom('', '', ' ', '-', '.', '/', '_', ':'), fc.constantFrom(...between)), {
          maxLength: 3,
        })
        .filter(staysApart),
      { minLength: 8, maxLength: 8 },
    ),
  )
  .map(([parts, choices, gaps]) =>
    parts
      .map((part, i) => {
        const spellings = /\d/.test(part)
          ? [part, ...digitsOfAnyScript]
          : [part, ...(drawnAlike[part] ?? part.toLowerCase())];
        return spellings[choices[i]! % spellings.length]! + (gaps[i]?.join('') ?? '');
      })
      .join(''),
  );

suite('National Insurance numbers', () => {
  test('in every guise', () => {
    for (const text of nationalInsuranceNumbers) assert.ok(holdsNationalInsuranceNumber(text), text);
  });

  test('any, with anything between, in either case, alone or inside a text', () => {
    fc.assert(
      fc.property(
        spelt,
        fc.constantFrom('', 'Name ', '(', 'ref:', '李 ', '🙂'),
        fc.constantFrom('', ' x', ')', '.', ' 9', '\u{1f642}'),
        (text, before, behind) => {
          assert.ok(holdsNationalInsuranceNumber(before + text + behind), JSON.stringify(before + text + behind));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('percent-encoded, whole or in part, once or twice, beside what is badly encoded', () => {
    fc.assert(
      fc.property(spelt, fc.constantFrom(1, 2), (text, times) => {
        let encoded = text.isWellFormed() ? text : 'QQ123456C';
        for (let i = 0; i < times; i++) encoded = encodeURIComponent(encoded);
        assert.ok(holdsNationalInsuranceNumber(`https://consumer.example/%zz/%e2/${encoded}?a=%`), encoded);
      }),
    );
  });

  test('glued to letters or digits, or without its last letter, nothing is taken for one', () => {
    fc.assert(
      fc.property(number, fc.constantFrom('x', '7', 'é', 'Ж', '李', '٣'), fc.boolean(), (parts, glued, before) => {
        const text = parts.join('');
        assert.equal(holdsNationalInsuranceNumber(before ? glued + text : text + glued), false);
        assert.equal(holdsNationalInsuranceNumber(text.slice(0, -1)), false);
      }),
    );
  });

  test('10,000 UUIDs, in either case, with hyphens and without', () => {
    const random = seededRandom('UUIDs that are not National Insurance numbers');
    for (let i = 0; i < 10_000; i++) {
      const uuid = random.uuid();
      for (const text of [uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `urn:uuid:${uuid}`])
        assert.equal(holdsNationalInsuranceNumber(text), false, text);
    }
  });

  test('in time that is linear: a hundred thousand characters of any kind cost one pass', () => {
    // Were it quadratic, a single one of these would take minutes.
    for (const part of [
      'A',
      'A ',
      ' ',
      '-',
      '1',
      'AB1',
      'AB 1 2 3 4 5 6 ',
      'A\u0301',
      '%41',
      '\u0421.',
      '\u200b',
      '\ufdfa',
    ])
      assert.equal(holdsNationalInsuranceNumber(part.repeat(100_000)), false, part);
    for (const part of ['A', 'AB', 'AB1', 'AB12345', 'AB123456'])
      assert.equal(holdsNationalInsuranceNumber(part + ' '.repeat(1_000_000)), false, part);
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
      'AB123456',
      '020 7946 0958',
      '+44 (0)20 7946 0958',
      '07700 900123',
      '20/11/2026',
      '2026-11-20T10:30:00Z',
      'SW1A 1AA',
      'EC1A 1BB, 12.30',
      'AB12 3CD',
      '60180972',
      '603/1234/5',
      'QN 601/5088/6',
      'ENG-L1-2026',
      'ED-2026-27',
      'BTEC/2026/27/A1',
      'ESFA-10012345',
      'UKPRN 10012345',
      'ULN 9876543210',
      'Z/123/4567',
      'H/506/1234 A',
      'MA-E3-000123-B',
      'CRN000017A',
      'CAMPUS-02-ROOM-114',
      'jo.bloggs2@college.example.org',
      'Sat at 10:30 on 20 November 2026, room B12.',
      'Re-marked on 20/11/2026: question 12 of 34 was right.',
      'Scored 12 of 30, then 18 of 30; 56 % of learners do better.',
      'Moved from cohort 2025-26 to 2026-27 at 09:15',
      'Domain 3.2.1 – Data handling (A to D)',
    ]) {
      assert.equal(holdsNationalInsuranceNumber(text), false, text);
    }
  });
});

suite('redaction', () => {
  test('takes as few words as hold a number, and the mark for each', () => {
    for (const [text, redacted] of [
      ['AB123456C', '[redacted]'],
      ['Ana AB 12 34 56 C Silva', 'Ana [redacted] Silva'],
      ['a b AB123456C, c QQ123456C', 'a b [redacted] c [redacted]'],
      ['AB123456C  AB123456C\nx', '[redacted]  [redacted]\nx'],
      ['AB123456 C D123456A', '[redacted] D123456A'],
      ['AB123456C,DE12 3456F', '[redacted] 3456F'],
      ['%41B12345%36C Ω', '[redacted] Ω'],
      ['e\u0301 \u0410\u0412 12-34-56 \u0421 e\u0301', 'e\u0301 [redacted] e\u0301'],
    ] as const)
      assert.equal(withoutNationalInsuranceNumbers(text), redacted, text);
  });

  test('leaves none, whatever stands around and between', () => {
    const word = fc.oneof(spelt, fc.string(), fc.constantFrom('A', 'AB', '12', '3456', 'C', '%20', '\ufeff'));
    const space = fc.constantFrom(' ', '\n', '\u00a0', '\ufeff', '\u3000');
    fc.assert(
      fc.property(fc.array(fc.tuple(word, space), { maxLength: 12 }), (words) => {
        const redacted = withoutNationalInsuranceNumbers(words.flat().join(''));
        assert.equal(holdsNationalInsuranceNumber(redacted), false, JSON.stringify(words));
      }),
      { numRuns: 1000 },
    );
  });
});

test('64 KB of the worst texts cost at most 50 ms, whatever is asked about them', () => {
  for (const [name, text] of Object.entries(worstTexts(64 * 1024)))
    for (const act of [
      withoutNationalInsuranceNumbers,
      holdsNationalInsuranceNumber,
      isOpaqueRef,
      letters,
      (one: string) => isNameOf(one, one),
      (one: string) => isPlainText(one, 200),
      (one: string) => isPlainLines(one, one.length),
      (one: string) => normalised(one, 'NFKC'),
    ]) {
      const ms = processorMs(() => act(text), 50);
      assert.ok(ms <= 50, `${name}: ${act.name || String(act)} takes ${ms} ms`);
    }
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
  test('not of a name or reference that is too long to be stored', () => {
    assert.ok(isNameOf('a'.repeat(100), 'a'.repeat(100)));
    assert.ok(!isNameOf('a'.repeat(101), 'a'.repeat(101)));
  });

  test('the same letters, whatever stands between them', () => {
    for (const [ref, name] of [
      ['ana.silva', 'Ana Silva'],
      ['ANA-SILVA', 'Ana Silva'],
      ['AnaSilva', 'Ana Silva'],
      ['zoe.obrien', 'Zoë O\u2019Brien'],
      ['ana.silva.1', 'Ana Silva'],
      ['michal.kowalski', 'Michał Kowalski'],
      ['lukasz-zak', 'Łukasz Żak'],
      ['soren-strauss', 'Søren Strauß'],
      ['soeren-strauss', 'Søren Strauß'],
      ['dincer-yildiz', 'Dinçer Yıldız'],
      ['dincer-yildiz', 'DİNÇER YILDIZ'],
      ['juergen.mueller', 'Jürgen Müller'],
      ['jurgen.muller', 'Ju\u0308rgen Mu\u0308ller'],
      ['thora.aegisdottir', 'Þóra Ægisdóttir'],
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
