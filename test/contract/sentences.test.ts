import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { sentencesOf } from './support/sentences.ts';

type Row = { section: string; sentence: string; tests?: string[]; untested?: string };

const root = join(import.meta.dirname, '../..');
const rows = JSON.parse(readFileSync(join(import.meta.dirname, 'support/sentences.json'), 'utf8')) as Row[];
/** The specification stands beside the checkout, where there is one; the rows hold its sentences either way. */
const specification = join(root, '../shared/api-spec.md');

const sources = new Map<string, string>();

/** Names of tests and suites as they stand in the source, those made of a template included. */
function hasTest(file: string, name: string): boolean {
  if (!existsSync(join(root, file))) return false;
  let source = sources.get(file);
  if (source === undefined) sources.set(file, (source = readFileSync(join(root, file), 'utf8')));
  for (const [, , text] of source.matchAll(/\b(?:test|suite)\(\s*(["'`])((?:\\.|(?!\1)[^])*)\1/g))
    if (text!.replaceAll(/\\(['"])/g, '$1') === name) return true;
  return false;
}

suite('every sentence of the specification', () => {
  test('has a row that names its tests, or says why there can be none', () => {
    assert.ok(rows.length > 200);
    for (const { sentence, tests, untested } of rows) {
      assert.ok((tests === undefined) !== (untested === undefined), sentence);
      assert.ok(untested === undefined ? tests!.length > 0 : untested.length > 10, sentence);
    }
  });

  test('is proved by tests that exist', () => {
    const missing = new Set<string>();
    for (const named of new Set(rows.flatMap((row) => row.tests ?? []))) {
      const [file, ...name] = named.split(': ');
      if (!hasTest(file!, name.join(': '))) missing.add(named);
    }
    assert.deepEqual([...missing], []);
  });

  const absent = !existsSync(specification) && 'the specification is not beside the checkout';
  test('is the one that stands in the specification, in its order', { skip: absent }, () => {
    assert.deepEqual(
      rows.map(({ section, sentence }) => ({ section, sentence })),
      sentencesOf(readFileSync(specification, 'utf8')),
    );
  });
});

test('a specification is read sentence by sentence', () => {
  const text =
    '# Title\n\nOne. Two `x.y` here. `Three`.\n\n## Part\n\n1. Four; Five.\n\n### Inner\n\n| A | B |\n|---|---|\n| a | b. C |\n';
  assert.deepEqual(sentencesOf(text), [
    { section: 'Title', sentence: 'One.' },
    { section: 'Title', sentence: 'Two `x.y` here.' },
    { section: 'Title', sentence: '`Three`.' },
    { section: 'Part', sentence: 'Four;' },
    { section: 'Part', sentence: 'Five.' },
    { section: 'Part › Inner', sentence: '| a | b. C |' },
  ]);
});
