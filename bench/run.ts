import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Step } from './steps.ts';
import { steps } from './steps.ts';
import { documentWith, isMeasuredAt } from './support/document.ts';
import type { Figure } from './support/figures.ts';
import { rowOf } from './support/figures.ts';

/**
 * Runs the benchmarks one after the other, each on a new database of the server that DATABASE_URL names, and writes their
 * figures into docs/engineering/performance.md. A benchmark that was measured at this commit is left out unless --again is given.
 */
const usage = `Usage: npm run bench [-- --only NAME,NAME] [--again] [--list]
  DATABASE_URL   PostgreSQL, with a role that may create databases
  ARS_SECRET     32 characters or more
  BENCH_RESTART  optional shell command that restarts PostgreSQL with empty caches`;

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

function optionsOf(args: string[]) {
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({ args, options: { only: { type: 'string' }, again: flag, list: flag, help: flag } }).values;
  } catch (error) {
    return refuse(`${(error as Error).message}\n${usage}`);
  }
}

const root = join(import.meta.dirname, '..');
const document = join(root, 'docs/engineering/performance.md');
const read = () => readFileSync(document, 'utf8');

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')} failed: ${stderr}`);
  return stdout.trim();
}

/** The commit of these files, shortened. */
function commitNow(): string {
  const changed = git('status', '--porcelain', '--', '.', ':!docs', ':!*.md');
  if (changed !== '') throw new Error(`These files differ from their commit. Commit them first:\n${changed}`);
  return git('rev-parse', 'HEAD').slice(0, 7);
}

/** One connection for each use: a benchmark may restart PostgreSQL. */
async function onServer<T>(inside: (db: pg.Client) => Promise<T>): Promise<T> {
  const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await db.connect();
  try {
    return await inside(db);
  } finally {
    await db.end();
  }
}

async function machine(): Promise<string> {
  const { rows } = await onServer((db) =>
    db.query<{ version: string }>(`select current_setting('server_version') as version`),
  );
  const version = rows[0]!.version.split(' ')[0];
  return `${cpus().length} cores, PostgreSQL ${version}`;
}

/** The service's settings are left out, except the secret: benchmarks measure it as shipped. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('ARS_') || name === 'ARS_SECRET'),
);

/** @returns its figures, or null if it failed */
async function run({ name, run: [program, ...args] }: Step): Promise<Figure[] | null> {
  const database = `ars_bench_${name.replaceAll('-', '_')}`;
  const url = new URL(process.env.DATABASE_URL!);
  url.pathname = `/${database}`;
  // Fails if another run is still connected to this database.
  await onServer(async (db) => {
    await db.query(`drop database if exists ${database}`);
    await db.query(`create database ${database} encoding 'UTF8' template template0`);
  });
  const folder = join(root, 'bench/measured');
  const figures = join(folder, `${name}.ndjson`);
  mkdirSync(folder, { recursive: true });
  rmSync(figures, { force: true });
  // Its own group, so that a signal ends the benchmark with everything that it has started.
  const child = spawn(process.execPath, [join(root, 'bench/scenarios', program!), ...args], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...environment, DATABASE_URL: url.href, BENCH_FIGURES: figures },
    detached: true,
  });
  const end = (signal: NodeJS.Signals) => {
    process.kill(-child.pid!, signal);
    process.exit(1);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, end);
  const [code] = await once(child, 'exit');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, end);
  if (code !== 0 || !existsSync(figures)) return null;
  await onServer((db) => db.query(`drop database ${database}`));
  const lines = readFileSync(figures, 'utf8').trim().split('\n');
  return lines.map((line) => JSON.parse(line) as Figure);
}

const options = optionsOf(process.argv.slice(2));
if (options.help === true) {
  process.stdout.write(`${usage}\n`);
  process.exit(0);
}
if (options.list === true) {
  for (const { name, what } of steps) console.log(`${name.padEnd(16)} ${what}`);
  process.exit(0);
}
const only = options.only?.split(',');
const unknown = only?.filter((name) => steps.every((step) => step.name !== name)) ?? [];
if (unknown.length > 0) refuse(`There is no benchmark ${unknown.join(', ')}. --list names all.`);
if (process.env.DATABASE_URL === undefined || process.env.ARS_SECRET === undefined)
  refuse('DATABASE_URL (a role that may create databases) and ARS_SECRET (32 characters or more) are needed.');

const failed: string[] = [];
for (const step of steps.filter(({ name }) => only?.includes(name) ?? true)) {
  const commit = commitNow();
  if (options.again !== true && isMeasuredAt(read(), step.what, commit)) {
    console.log(`${step.name}: already measured at this commit. --again measures it again.`);
    continue;
  }
  console.log(`\n== ${step.name}: ${step.what}`);
  const figures = await run(step);
  if (figures === null) {
    failed.push(step.name);
    continue;
  }
  if (commitNow() !== commit) throw new Error(`The commit changed while ${step.name} was measured.`);
  const measured = `${new Date().toISOString().slice(0, 10)}, commit ${commit}, ${await machine()}.`;
  const part = { heading: step.what, measured, rows: figures.map(rowOf) };
  writeFileSync(
    document,
    documentWith(
      read(),
      part,
      steps.map(({ what }) => what),
    ),
  );
}
if (failed.length > 0) refuse(`These benchmarks failed: ${failed.join(', ')}.`);
