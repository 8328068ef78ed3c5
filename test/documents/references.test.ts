import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { mutations } from '../laws/mutations/mutations.ts';
import { projectFiles, read, root } from '../support/structure/source-tree.ts';

/** What comments and pages name is there. */

const files = projectFiles();
/** Tests that make files of other names. */
const makers = [
  'test/expressions/expressions.test.ts',
  'test/prose/prose.test.ts',
  'test/support/tiers/tier-reporter.test.ts',
];
const texts = files.filter(
  (file) => /^(src|cli|tools|test|docs)\/.*\.(ts|sql|md)$/.test(file) && !makers.includes(file),
);

/** What a pattern finds in every text and `isThere` doesn't, with the file that says so. */
function missing(pattern: RegExp, isThere: (name: string) => boolean): string[] {
  return texts.flatMap((file) =>
    [...read(file).matchAll(pattern)].filter(([, name]) => !isThere(name!)).map(([found]) => `${file}: ${found}`),
  );
}

suite('what is named', () => {
  test('files', () => {
    const path = /(?<![\w./-])((?:src|cli|tools|test|docs)\/[\w./-]+\.(?:ts|sql|md|json|css|js|svg))\b/g;
    assert.deepEqual(
      missing(path, (name) => existsSync(join(root, name))),
      [],
    );
  });

  test('decisions', () => {
    const decision = /\b(?:decisions? |docs\/decisions\/)(\d{4})\b/g;
    assert.deepEqual(
      missing(decision, (number) => files.some((file) => file.startsWith(`docs/decisions/${number}-`))),
      [],
    );
  });

  test('what a mutation of the laws replaces, just once', () => {
    const bare = (text: string) => text.replace(/\s+/g, ' ');
    const misfits = mutations.flatMap(({ name, changes }) =>
      changes
        .filter(({ file, from }) => bare(read(file)).split(bare(from)).length !== 2)
        .map(({ file }) => `${name}: ${file}`),
    );
    assert.deepEqual(misfits, []);
  });
});
