import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { read, root } from '../source-tree.ts';

/** The files of src and cli that a commit touched, the new migration as its folder; null where the commit isn't known. */
function filesOf(commit: string): string[] | null {
  const git = spawnSync('git', ['show', '--name-only', '--format=', commit], { cwd: root, encoding: 'utf8' });
  assert.equal(git.signal, null, 'a signal has ended git, or its output is cut');
  if (git.status !== 0) return null;
  return git.stdout
    .split('\n')
    .filter((file) => /^(src|cli)\//.test(file))
    .map((file) => file.replace(/(?<=^src\/db\/migrations)\/.+/, ''))
    .sort();
}

suite('the page on architecture', () => {
  const page = read('docs/architecture.md');

  const [, table = ''] = page.split('## Twenty kinds of change');
  const rows = table.split('\n').filter((line) => /\| [0-9a-f]{7,} \|$/.test(line));

  test('names files that exist', () => {
    const paths = [...page.matchAll(/`((?:src|cli|test|docs|bench)\/[^`]+)`/g)].map(([, path]) => path!);
    assert.ok(paths.length > 60);
    assert.deepEqual(
      paths.filter((path) => !existsSync(join(root, path))),
      [],
    );
  });

  test('has twenty kinds of change, each with its files and a commit of its own', () => {
    assert.equal(rows.length, 20);
    assert.equal(new Set(rows.map((row) => row.slice(-9))).size, 20);
    for (const row of rows) assert.match(row, /`(src|cli)\//);
  });

  test('whose commits touched just those files', () => {
    for (const row of rows) {
      const touched = filesOf(/\| ([0-9a-f]+) \|$/.exec(row)![1]!);
      // A copy of the project without its history has nothing to compare with.
      if (touched === null) continue;
      const named = [...row.matchAll(/`((?:src|cli)\/[^`]+)`/g)].map(([, path]) => path!);
      assert.deepEqual(touched, named.sort(), row);
    }
  });
});
