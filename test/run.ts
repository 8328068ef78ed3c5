// What `npm test` runs: every test/**/*.test.ts beside one PostgreSQL of the run's own, or those under the paths given
// (`npm test -- test/feed`); flags go on to node's runner.
import { spawn } from 'node:child_process';
import { chmod, glob, mkdtemp, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { startEmbedded } from '../src/db/embedded.ts';

const root = join(import.meta.dirname, '..');

/** Test files under the given files and folders, or all. */
async function testFiles(wanted: string[]): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob('test/**/*.test.ts', { cwd: root })) files.push(file.replaceAll('\\', '/'));
  const paths = wanted.map((path) => relative(root, join(process.cwd(), path)).replaceAll('\\', '/'));
  return files.filter((file) => paths.length === 0 || paths.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`))).sort();
}

/** A server for this run: the one that the environment names, or an embedded one in a folder that goes with it. */
async function testServer(): Promise<{ url: string; disposable: boolean; stop(): Promise<void> }> {
  const given = process.env.ARS_TEST_DATABASE_URL;
  if (given !== undefined && given !== '') return { url: given, disposable: false, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), 'ars-test-'));
  try {
    // Started by root, PostgreSQL runs as a system user, who has to get through to its data.
    await chmod(folder, 0o755);
    const server = await startEmbedded({ dataDir: folder });
    return { url: server.url, disposable: true, stop: async () => { await server.stop(); await rm(folder, { recursive: true, force: true }); } };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const files = await testFiles(process.argv.slice(2).filter((argument) => !argument.startsWith('-')));
if (files.length === 0) {
  console.error('There is no test file under these paths.');
  process.exit(2);
}

const server = await testServer();
const runner = spawn(process.execPath, ['--test', '--test-concurrency=2', '--test-reporter=spec', ...flags, ...files], {
  cwd: root, stdio: 'inherit',
  env: { ...process.env, ARS_TEST_DATABASE_URL: server.url, ARS_TEST_DATABASE_DISPOSABLE: server.disposable ? 'yes' : 'no', NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules/.cache/compile') },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal));
const code = await new Promise<number>((resolve) => {
  runner.once('error', () => resolve(1));
  runner.once('exit', (exit, signal) => resolve(exit ?? 128 + constants.signals[signal!]));
});
await server.stop();
process.exit(code);
