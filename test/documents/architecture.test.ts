import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { read, root } from '../support/structure/source-tree.ts';

suite('the page on architecture', () => {
  const page = read('docs/engineering/architecture.md');

  const [, table = ''] = page.split('## Kinds of change');
  const rows = table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2);

  test('names files that exist', () => {
    const paths = [...page.matchAll(/`((?:src|cli|test|docs|bench)\/[^`]+)`/g)].map(([, path]) => path!);
    assert.ok(paths.length > 60);
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(root, path))),
      [],
    );
  });

  test('has twenty kinds of change or more, each with its files', () => {
    assert.ok(rows.length >= 20);
    for (const row of rows) assert.match(row, /`(src|cli)\//);
  });
});
