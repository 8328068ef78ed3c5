// Runs a tier of the tests with one PostgreSQL for the run: `npm run test:fast`, `npm test` (gate), `npm run test:full`.
// Paths choose files of every tier instead (`npm test -- test/feed`), each in its own process. Other flags go to Node's runner.
// `--list` prints each test file with its tier and the reason instead, `--list --json` as one JSON value.
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { proveBound } from './platform/db/bindings.ts';
import { passedFolder } from './support/passed-statements.ts';
import { portsVariable } from './support/ports.ts';
import { testServer } from './support/postgres.ts';
import { root } from './support/structure/source-tree.ts';
import type { Report } from './support/tiers/tier-reporter.ts';
import type { Processes, Tier } from './support/tiers/tiers.ts';
import {
  filesOf,
  filesUnder,
  loadedFirst,
  needsBrowser,
  placeOf,
  reporter,
  testFiles,
  tiers,
} from './support/tiers/tiers.ts';

const begunMs = performance.now();
const given = process.argv.slice(2);
const tier = tiers.find((one) => given.includes(`--tier=${one}`)) ?? 'gate';
const flags = given.filter((argument) => argument.startsWith('-') && !argument.startsWith('--tier='));
const paths = given.filter((argument) => !argument.startsWith('-'));

if (given.includes('--list')) {
  const files = paths.length === 0 ? await testFiles() : await filesUnder(paths);
  const list = files.map((file) => ({ file, ...placeOf(file) }));
  if (given.includes('--json')) console.log(JSON.stringify(list));
  else for (const { file, tier, reason } of list) console.log(`${tier}\t${file}\t${reason}`);
  process.exit(0);
}

const { together, workers, apart }: Processes =
  paths.length === 0
    ? await filesOf(tier satisfies Tier)
    : { together: [], workers: [], apart: await filesUnder(paths) };
if (together.length + workers.length + apart.length === 0) {
  console.error('There is no test file under these paths.');
  process.exit(2);
}

const reports = mkdtempSync(join(tmpdir(), 'ars-reports-'));
const runners = new Set<ReturnType<typeof spawn>>();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    for (const runner of runners) runner.kill(signal);
  });

/** Runs files with Node's runner. @returns its exit code */
async function runFiles(name: string, files: string[], how: string[], environment: NodeJS.ProcessEnv): Promise<number> {
  if (files.length === 0) return 0;
  const reported = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${reporter}`,
    `--test-reporter-destination=${join(reports, `${name}.json`)}`,
  ];
  const runner = spawn(process.execPath, ['--test', ...how, ...reported, ...flags, ...files], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  runners.add(runner);
  return new Promise((resolve) => {
    runner.once('error', () => resolve(1));
    runner.once('exit', (exit, signal) => resolve(exit ?? 128 + constants.signals[signal!]));
  });
}

/**
 * Writes the program of a worker, which Node's runner takes for a test file. Each file is one test of it: what the file
 * started has ended before the next one is loaded.
 */
function workerFile(files: string[], index: number): string {
  const address = (file: string) => JSON.stringify(pathToFileURL(join(root, file)));
  const program = join(reports, `worker-${String(index + 1).padStart(2, '0')}.mjs`);
  const text = `import assert from 'node:assert/strict';
import { test } from 'node:test';
${loadedFirst(files)
  .map((module) => `import ${address(module)};`)
  .join('\n')}
const run = (file, address) =>
  test(file, async (context) => {
    const before = { ...process.env };
    context.after(() => assert.deepEqual({ ...process.env }, before, 'Changes process.env. Add // Process: own. REASON.'));
    await import(address);
  });
${files.map((file) => `run(${JSON.stringify(file)}, ${address(file)});`).join('\n')}
`;
  writeFileSync(program, text);
  return program;
}

/** Processor seconds of the processes that ended below this one; null where the system does not tell. */
function processorSeconds(): number | null {
  try {
    const [utime, stime, cutime, cstime] = readFileSync('/proc/self/stat', 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
      .slice(11, 15)
      .map(Number) as [number, number, number, number];
    return (utime + stime + cutime + cstime) / 100;
  } catch {
    return null;
  }
}

function summary(): string {
  const all = ['together', 'services'].flatMap((name) => {
    try {
      return [JSON.parse(readFileSync(join(reports, `${name}.json`), 'utf8')) as Report];
    } catch {
      return [];
    }
  });
  const failures = all.flatMap((one) => one.failures);
  const skipped = all.flatMap((one) => one.skipped);
  const slowest = all.flatMap((one) => Object.entries(one.files)).sort(([, a], [, b]) => b - a);
  const sum = (of: (one: Report) => number) => all.reduce((total, one) => total + of(one), 0);
  const processor = processorSeconds();
  return [
    '',
    'Ten slowest files:',
    ...slowest.slice(0, 10).map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(8)} s  ${file}`),
    '',
    `Time: ${((performance.now() - begunMs) / 1000).toFixed(0)} s. ` +
      `Processor time: ${processor === null ? 'not known on this system' : `${processor.toFixed(0)} s`}.`,
    '',
    ...(failures.length === 0 ? [] : [`Failed (${failures.length}):`, ...failures.map((one) => `  ${one}`), '']),
    ...(skipped.length === 0 ? [] : [`Skipped (${skipped.length}):`, ...skipped.map((one) => `  ${one}`), '']),
    `${sum((one) => one.passed)} passed, ${sum((one) => one.failed)} failed, ${skipped.length} skipped`,
  ].join('\n');
}

const cache = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? join(root, 'node_modules/.cache/compile') };
let code = await runFiles('together', together, ['--test-isolation=none'], cache);
const services = [...workers.map(workerFile), ...apart];
if (services.length > 0) {
  const server = await testServer();
  const passed = passedFolder();
  // Playwright takes half a second to load.
  const opensPages = [...workers.flat(), ...apart].some(needsBrowser);
  const browser = opensPages ? await (await import('./browser/server.ts')).startBrowser() : null;
  // One more than two cores: a test that waits leaves its core to another.
  const servicesCode = await runFiles('services', services, ['--test-concurrency=4'], {
    ...cache,
    ...passed.environment,
    ...browser?.environment,
    [portsVariable]: reports,
    ARS_TEST_DATABASE_URL: server.url,
    ARS_TEST_DATABASE_DISPOSABLE: server.disposable ? 'yes' : 'no',
  });
  code ||= servicesCode;
  await browser?.stop();
  const statements = passed.take();
  if (code === 0 && statements.size > 0 && !(await proveBound(server, statements))) code = 1;
  await server.stop();
}
console.log(summary());
rmSync(reports, { recursive: true });
process.exit(code);
