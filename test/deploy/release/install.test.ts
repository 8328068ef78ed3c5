import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { read, root } from '../../support/structure/source-tree.ts';

type Manifest = { repository: { type: string; url: string; directory?: string }; license: string; files: string[] };
const manifests = ['package.json', 'client/package.json', 'tools/item-bank/package.json'];

test('each package names its repository, licence and files', () => {
  for (const path of manifests) {
    const { repository, license, files } = JSON.parse(read(path)) as Manifest;
    const directory = dirname(path) === '.' ? {} : { directory: dirname(path) };
    assert.deepEqual(repository, { type: 'git', url: 'git+https://git.example.org/ars.git', ...directory }, path);
    assert.equal(license, 'MIT', path);
    assert.ok(files.length > 0, path);
  }
});

/** The version of Node that a page promises `npm ci` without warnings for. */
const namedIn = (page: string) => /You need Node (\d+\.\d+) or later and npm 10 or later/.exec(read(page))![1]!;

test('npm ci warns of no engine with the Node that the README names, and does with the one before it', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ars-install-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const path of [...manifests, 'package-lock.json', '.npmrc']) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  /** What npm says when it takes itself to run on this version of Node. */
  const warningsOn = (version: string): string => {
    const spoofed = `Object.defineProperty(process,'version',{value:'v${version}'})`;
    const env = { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${spoofed}` };
    // The level is named because `npm run --silent` hands its own on to every npm below it.
    const words = ['ci', '--dry-run', '--offline', '--no-audit', '--no-fund', '--loglevel=warn'];
    const { status, stdout, stderr } = spawnSync('npm', words, { cwd: folder, env, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /added \d+ packages/);
    return stderr.includes('EBADENGINE') ? stderr : '';
  };
  const named = namedIn('README.md');
  assert.equal(namedIn('docs/start/quickstart.md'), named);
  const [major, minor] = named.split('.').map(Number) as [number, number];
  assert.equal(warningsOn(`${named}.0`), '');
  assert.match(warningsOn(`${major}.${minor - 1}.0`), /EBADENGINE/);
  assert.equal(warningsOn(read('.nvmrc').trim()), '');
});
