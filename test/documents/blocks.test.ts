import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse as parseCsv } from 'csv-parse/sync';
import { parseSync } from 'oxc-parser';
import { parseAllDocuments } from 'yaml';
import { settingsTable } from '../../src/platform/config/settings.ts';
import { ars } from '../support/ars.ts';
import { blocksOf, misfit, valuesIn } from '../support/documents/blocks.ts';
import { userPages } from '../support/documents/documents.ts';
import { read } from '../support/structure/source-tree.ts';

/** Every code block of the pages for users that no shell runs. */

const blocks = userPages.flatMap(blocksOf);
const of = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));

/** What a check says about blocks of a language, with the place of each. */
function faults(languages: string[], check: (text: string) => void): string[] {
  return of(...languages).flatMap(({ page, line, text }) => {
    try {
      check(text);
      return [];
    } catch (error) {
      return [`${page}:${line}: ${(error as Error).message}`];
    }
  });
}

/** The languages that this test or the one of shell sessions knows. */
const known = 'sh console json http yaml ini nginx sql csv text ts python php csharp java'.split(' ');

/** The command lines of `ars` in a block: each from the word after `ars`. */
function commandLines(text: string, nouns: ReadonlySet<string>): string[][] {
  const lines = text
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .flatMap((line) => line.split(/\s(?:&&|\|\|?|;)\s|\s[<>]\s?|\s2?>&?|;$|&$/));
  return lines.flatMap((line) => {
    const words = (line.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []).map((word) => word.replaceAll(/["']/g, ''));
    const at = words.findLastIndex((word, i) => /(^|\/)ars(\.ts)?$/.test(word) && /^-|^[a-z]/.test(words[i + 1] ?? ''));
    if (at === -1) return [];
    const after = words.slice(words[at + 1] === '--' ? at + 2 : at + 1);
    return at === 0 || nouns.has(after[0]!) ? [after] : [];
  });
}

suite('code blocks of the pages', () => {
  test('have languages that a test knows', () => {
    const others = blocks.filter(({ language }) => !known.includes(language));
    assert.deepEqual(
      others.map(({ page, line, language }) => `${page}:${line}: ${language}`),
      [],
    );
  });

  test('JSON, YAML and CSV parse', () => {
    assert.deepEqual(
      [
        ...faults(['json'], (text) => void JSON.parse(text)),
        ...faults(['yaml'], (text) => {
          for (const { errors } of parseAllDocuments(text)) assert.deepEqual(errors, []);
        }),
        ...faults(['csv'], (text) => void parseCsv(text)),
      ],
      [],
    );
  });

  test('HTTP messages have a first line, headers and a JSON body', () => {
    const check = (text: string) => {
      const [head = '', ...body] = text.split('\n\n');
      const [first = '', ...headers] = head.split('\n');
      if (!/^[\w-]+: /.test(first))
        assert.match(first, /^(HTTP\/1\.1 \d{3}( [\w ]+)?|(GET|POST|PATCH|DELETE|HEAD) \S+( HTTP\/1\.1)?)$/);
      for (const header of headers) assert.match(header, /^[\w-]+: .+$/);
      if (body.length > 0) JSON.parse(body.join('\n\n'));
    };
    assert.deepEqual(faults(['http'], check), []);
  });

  test('INI files have sections, settings and comments only; NGINX and SQL end their statements', () => {
    const ini = (text: string) => {
      for (const line of text.split('\n'))
        assert.match(line, /^\s*([#;].*|\[[\w ".:*/-]+\]|[\w.]+ ?=.*|host .*|local .*)?$/, line);
    };
    const braced = (text: string) => {
      assert.equal(text.split('{').length, text.split('}').length);
      for (const line of text.split('\n')) if (/^\s*[a-z_]+ /.test(line)) assert.match(line, /[;{},]\s*(#.*)?$/, line);
    };
    const sql = (text: string) => assert.match(text.replaceAll(/--.*/g, '').trim(), /;$/);
    assert.deepEqual([...faults(['ini'], ini), ...faults(['nginx'], braced), ...faults(['sql'], sql)], []);
  });

  test('TypeScript parses', () => {
    const check = (text: string) => assert.deepEqual(parseSync('block.ts', text).errors, []);
    assert.deepEqual(faults(['ts'], check), []);
  });

  test('every command of ars exists, with its options', async () => {
    const nouns = new Set((await ars(['--help'])).out.match(/(?<=^ {2}ars )[\w-]+/gm));
    assert.ok(nouns.size > 20);
    const wrong: string[] = [];
    for (const { page, line, text } of of('sh', 'console', 'yaml', 'ini'))
      for (const words of commandLines(text, nouns)) {
        const { code, said } = await ars([...words.filter((word) => word !== '--json'), '--help']);
        if (code !== 0) wrong.push(`${page}:${line}: ars ${words.join(' ')}: ${said.trim()}`);
      }
    assert.deepEqual(wrong, []);
  });

  test('every setting on a page exists', () => {
    const names = new Set(
      settingsTable.flatMap(({ name, secret }) => [name, ...(secret === true ? [`${name}_FILE`] : [])]),
    );
    const wrong = userPages.flatMap((page) =>
      [...read(page).matchAll(/\b(?:ARS|DATABASE)_[A-Z_]*[A-Z]\b/g)]
        .filter(([name]) => !names.has(name))
        .map(([name]) => `${page}: ${name}`),
    );
    assert.deepEqual([...new Set(wrong)], []);
  });
});

test('an example fits a real value with the same keys and types', () => {
  assert.deepEqual(valuesIn('HTTP/1.1 200 OK\nETag: "1"\n\n{"a": [1]}'), [{ a: [1] }]);
  assert.deepEqual(valuesIn('{"a":1}\n{"b":2}\nthen\n'), [{ a: 1 }, { b: 2 }]);
  assert.equal(misfit({ a: [{ b: 1, c: null }] }, { a: [{ b: 'x' }, { b: 2, c: 'text' }] }), null);
  assert.equal(misfit({ a: 1 }, { a: 1, b: 2 }), ' has a, b, not a');
  assert.equal(misfit({ a: [1] }, { a: ['1'] }), '.a[] is string, not number');
  assert.equal(misfit({ a: [1] }, { a: [] }), '.a is empty');
});
