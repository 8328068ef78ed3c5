// What `npm test` runs: every test/**/*.test.ts beside one PostgreSQL of the run's own, or those under the paths given
// (`npm test -- test/feed`); flags go on to node's runner.
import { spawn } from 'node:child_process';
import { glob } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, relative } from 'node:path';
import { proveBound } from './db/bindings.ts';
import { passedFolder } from './passed-statements.ts';
import { testServer } from './postgres.ts';

const root = join(import.meta.dirname, '..');

/** Test files under the given files and folders, or all. */
async function testFiles(wanted: string[]): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob('test/**/*.test.ts', { cwd: root })) files.push(file.replaceAll('\\', '/'));
  const paths = wanted.map((path) => relative(root, join(process.cwd(), path)).replaceAll('\\', '/'));
  return files
    .filter(
      (file) =>
        paths.length === 0 || paths.some((path) => file === path || file.startsWith(`${path.replace(/\/$/, '')}/`)),
    )
    .sort();
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const files = await testFiles(process.argv.slice(2).filter((argument) => !argument.startsWith('-')));
if (files.length === 0) {
  console.error('There is no test file under these paths.');
  process.exit(2);
}

const server = await testServer();
const passed = passedFolder();
const runner = spawn(process.execPath, ['--test', '--test-concurrency=2', '--test-reporter=spec', ...flags, ...files], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    ...passed.environment,
    ARS_TEST_DATABASE_URL: server.url,
    ARS_TEST_DATABASE_DISPOSABLE: server.disposable ? 'yes' : 'no',
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules/.cache/compile'),
  },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => runner.kill(signal));
let code = await new Promise<number>((resolve) => {
  runner.once('error', () => resolve(1));
  runner.once('exit', (exit, signal) => resolve(exit ?? 128 + constants.signals[signal!]));
});
const statements = passed.take();
if (code === 0 && statements.size > 0 && !(await proveBound(server, statements))) code = 1;
await server.stop();
process.exit(code);
