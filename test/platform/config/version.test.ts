import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { read, root } from '../../support/structure/source-tree.ts';

const files = ['package.json', 'src/platform/config/version.ts'];
const work = mkdtempSync(join(tmpdir(), 'ars-version-'));
after(() => rmSync(work, { recursive: true }));

const git = (cwd: string, ...words: string[]) =>
  execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...words], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

function program(name: string): string {
  const folder = join(work, name);
  for (const file of files) cpSync(join(root, file), join(folder, file));
  return folder;
}

let loads = 0;
async function commitOf(folder: string): Promise<string> {
  const url = `${pathToFileURL(join(folder, files[1]!)).href}?${(loads += 1)}`;
  return ((await import(url)) as { build: { commit: string } }).build.commit;
}

test('a program without a checkout has the commit of its file COMMIT, or none', async () => {
  const folder = program('image');
  assert.equal(await commitOf(folder), 'unknown');
  for (const [text, commit] of [
    [`${'a1'.repeat(20)}\n`, 'a1'.repeat(20)],
    ['a046f29', 'a046f29'],
    ['unknown\n', 'unknown'],
    ['', 'unknown'],
    ['not a commit', 'unknown'],
  ] as const) {
    writeFileSync(join(folder, 'COMMIT'), text);
    assert.equal(await commitOf(folder), commit, text);
  }
});

test('a checkout says what git rev-parse says: on a branch, packed, detached and in a linked worktree', async () => {
  const folder = program('checkout');
  git(folder, 'init', '-q', '-b', 'main');
  assert.equal(await commitOf(folder), 'unknown', 'nothing is committed yet');
  const commit = () => {
    git(folder, 'add', '.');
    git(folder, 'commit', '-q', '--allow-empty', '-m', 'One');
    return git(folder, 'rev-parse', 'HEAD');
  };
  const first = commit();
  assert.equal(await commitOf(folder), first);
  git(folder, 'pack-refs', '--all');
  assert.equal(await commitOf(folder), first, 'packed');
  const second = commit();
  assert.notEqual(second, first);
  assert.equal(await commitOf(folder), second, 'a loose branch goes before a packed one');
  git(folder, 'checkout', '-q', first);
  assert.equal(await commitOf(folder), first, 'detached');
  const linked = join(work, 'linked');
  git(folder, 'worktree', 'add', '-q', '-b', 'fix/one', linked, second);
  assert.equal(await commitOf(linked), second, 'a linked worktree');
  git(folder, 'pack-refs', '--all');
  assert.equal(await commitOf(linked), second, 'a linked worktree with a packed branch');
  writeFileSync(join(linked, 'COMMIT'), first);
  assert.equal(await commitOf(linked), first, 'a build says what it was made from');
});

test('every workspace and the lockfile have the version of the service', () => {
  type Manifest = { version: string; packages: Record<string, { version: string }> };
  const [service, client, tools, lock] = [
    'package.json',
    'client/package.json',
    'tools/item-bank/package.json',
    'package-lock.json',
  ].map((file) => JSON.parse(read(file)) as Manifest);
  const locked = ['', 'client', 'tools/item-bank'].map((path) => lock!.packages[path]!.version);
  for (const version of [client!.version, tools!.version, lock!.version, ...locked])
    assert.equal(version, service!.version);
});
