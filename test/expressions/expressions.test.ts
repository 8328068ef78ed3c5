import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { expressionsIn } from './find.ts';
import { faults, type Reviewed } from './judge.ts';

/** What the check says of a source; another file declares `shared`. */
function faultsOf(source: string, reviewed: Reviewed[] = []): string[] {
  const files: Record<string, string> = { 'src/a.ts': source, 'src/b.ts': "export const shared = '^(?:a|a)*$';" };
  return faults(
    expressionsIn('src/a.ts', source, (file) => files[file]),
    reviewed,
  );
}

/** Shown without the `String.raw` that keeps their backslashes. */
const vulnerable: Record<string, string> = {
  'a repetition in a repetition': String.raw`/^(a+)+$/`,
  'overlapping alternatives': String.raw`/^(\w|\d)*$/`,
  'an alternative that another begins with': String.raw`/^(?:a|b|ab)*c/`,
  'two repetitions that share characters': String.raw`/^\s*a\s*\s*$/`,
  'many beginnings': String.raw`/\s+$/`,
  'many beginnings of several characters': String.raw`/<!--[^]*?-->/g`,
  'with a look-ahead': String.raw`/ +(?=,)/`,
  'with a look-behind': String.raw`/(?<=x)(a|a)+$/`,
  'with a back-reference': String.raw`/^(a*)*\1$/`,
  'with classes of Unicode': String.raw`/^\p{L}*\p{Lu}*$/u`,
  'with sets': String.raw`/^[\w--a]*[\w]*$/v`,
  'with a modifier': String.raw`/^(?i:a+)+$/`,
};

suite('vulnerable regular expressions', () => {
  for (const [name, literal] of Object.entries(vulnerable))
    test(`${name} is reported with its file and line`, () => {
      const [fault, ...more] = faultsOf(`const x = 1;\n\nexport const y = ${literal};\n`);
      assert.ok(fault?.startsWith(`src/a.ts:3: ${literal} is vulnerable: `), fault ?? 'It is not reported.');
      assert.deepEqual(more, []);
    });

  test('what is linear is not reported', () => {
    for (const literal of [/^[a-z]+$/, /ab*c/, /(?<!\s)\s+$/, /^(?:[^"\\]|\\.)*$/, /^\d{1,3}(?:,\d{3})+$/])
      assert.deepEqual(faultsOf(`export const y = ${literal};`), []);
  });

  for (const [name, source] of Object.entries({
    'new RegExp': "new RegExp('^(a|a)*$')",
    'RegExp without new': "RegExp('^(a|a)*$', 'i')",
    'a global': "new globalThis.RegExp('^(a|a)*$')",
    'a template': "const part = '(a|a)';\nnew RegExp(`^${part}*$`)",
    'a sum': "new RegExp('^(a|' + 'a)*$')",
    'a raw text': 'new RegExp(String.raw`^(\\w|\\d)*$`)',
    'a joined list': "new RegExp(['^(a', 'a)*$'].join('|'))",
    'a literal with other flags': "const one = /^(a|a)*$/;\nnew RegExp(one, 'g')",
    'a constant of another file': "import { shared as pattern } from './b.ts';\nnew RegExp(pattern)",
    'a pattern of a schema': "Type.String({ pattern: '^(a|a)*$' })",
    'a script in a text': 'const script = `(function(){\nreturn /^(a|a)*$/.test(location.hash)})()`;',
  }))
    test(`${name} is read`, () => {
      const [fault] = faultsOf(source);
      assert.match(fault ?? '', /^src\/a\.ts:[12]: \/\^\S+ is vulnerable: /);
    });

  test('a pattern that is made at run time is reported, unless its input is escaped', () => {
    assert.match(
      faultsOf('const f = (text: string) =>\n  new RegExp(`^${text}$`);')[0]!,
      /^src\/a\.ts:2: new RegExp\(`\^\$\{text\}\$`\) is vulnerable: its pattern is made at run time\. /,
    );
    assert.deepEqual(faultsOf('const f = (text: string) => new RegExp(`^${RegExp.escape(text)}$`);'), []);
    assert.equal(faultsOf('const f = (text: string) => new RegExp(`^(${RegExp.escape(text)}+)+$`);').length, 1);
  });

  test('a reviewed exception is for one file and one expression, and fails when nothing needs it', () => {
    const exception = { file: 'src/a.ts', expression: String.raw`/\s+$/`, reason: 'At most 200 characters.' };
    assert.deepEqual(faultsOf(String.raw`export const y = /\s+$/;`, [exception]), []);
    assert.equal(faultsOf(String.raw`export const y = /\s+$/u;`, [exception]).length, 2);
    assert.deepEqual(faultsOf('export const y = /a/;', [exception]), [
      String.raw`test/expressions/reviewed.json: src/a.ts has no vulnerable /\s+$/. Remove the exception.`,
    ]);
  });
});
