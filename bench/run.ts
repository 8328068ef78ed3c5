import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { isAfter, partOf, rowOf, summaryOf } from './document.ts';
import type { Figure } from './figures.ts';
import { endGroup, signalGroup, startGroup } from './group.ts';
import { beOnlyRun, databasePrefix } from './only-run.ts';
import { spent } from './spent.ts';
import type { Step } from './steps.ts';
import { steps } from './steps.ts';

/**
 * All benchmarks, one after the other, each on a database of its own on the server that DATABASE_URL names (its role makes and
 * drops databases), and docs/performance.md from what they measured. What is done at this commit is not done again, so an
 * interrupted run goes on where it was, also within what takes long to fill. What the document has from elsewhere, alone or of a
 * later commit, stays in it. Nothing is measured while files differ from their commit, or beside another run on this server. What
 * is running ends with this process, however that ends.
 * Needs DATABASE_URL and ARS_SECRET, a quiet machine, and hours; BENCH_RESTART, a shell command that starts PostgreSQL anew with
 * empty caches, for pages after a restart. Usage: npm run bench [-- --only NAME,NAME] [--again] [--list]
 */
const usage = 'Usage: npm run bench [-- --only NAME,NAME] [--again] [--list]';

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

function optionsOf(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        only: { type: 'string' },
        again: { type: 'boolean' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return refuse(`${(error as Error).message}\n${usage}`);
  }
}

const given = optionsOf(process.argv.slice(2));
if (given.help === true) {
  process.stdout.write(`${usage}\n`);
  process.exit(0);
}

const root = join(import.meta.dirname, '..');
const folder = join(import.meta.dirname, 'measured');
const document = join(root, 'docs/performance.md');
const [opens, closes] = ['<!-- measured by npm run bench -->', '<!-- end of what npm run bench measured -->'];

type Measured = { commit: string; date: string; machine: string; figures: Figure[] };
const fileOf = (step: Step, kind: 'json' | 'txt') => join(folder, `${step.name}.${kind}`);

function measuredOf(step: Step): Measured | null {
  const file = fileOf(step, 'json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Measured) : null;
}

async function output(command: string, args: string[]): Promise<string> {
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (part: Buffer) => {
    text += part.toString('utf8');
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
  return text.trim();
}

/** The commit that these files are. */
async function commitNow(): Promise<string> {
  const changed = await output('git', ['status', '--porcelain', '--', '.', ':!docs', ':!*.md']);
  if (changed !== '') throw new Error(`figures belong to a commit, and these files to none:\n${changed}`);
  return output('git', ['rev-parse', 'HEAD']);
}

/** One statement on a connection of its own: a benchmark may restart PostgreSQL. */
async function query<Row extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<Row[]> {
  const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await db.connect();
  try {
    return (await db.query<Row>(sql, values)).rows;
  } finally {
    await db.end();
  }
}

/** Its processors, memory and PostgreSQL with the settings that it was given: what a figure depends on. */
async function machineOf(): Promise<string> {
  const rows = await query<{ version: string; settings: string | null }>(
    `select current_setting('server_version') as version, (
       select string_agg(name || ' = ' || current_setting(name), ', ' order by name) from pg_settings
       where source = 'configuration file' and setting is distinct from boot_val
       and category ~ '^(Resource Usage|Write-Ahead Log|Autovacuum|Query Tuning)') as settings`,
  );
  const version = rows[0]!.version.split(' ')[0];
  const given = rows[0]!.settings === null ? '' : ` (${rows[0]!.settings})`;
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores, ${gib} GiB, PostgreSQL ${version}${given}, Node ${process.versions.node}`;
}

function databaseUrl(name: string): string {
  const url = new URL(process.env.DATABASE_URL!);
  url.pathname = `/${name}`;
  return url.href;
}

const databasesOf = (step: Step) =>
  [step.name, ...(step.other === true ? [`${step.name}-other`] : [])].map(
    (name) => `${databasePrefix}${name.replaceAll('-', '_')}`,
  );

/** Empty ones, or as an interrupted run has filled them. */
async function prepare(step: Step): Promise<void> {
  for (const name of databasesOf(step)) {
    const [there] = await query<{ said: string | null }>(
      "select shobj_description(oid, 'pg_database') as said from pg_database where datname = $1",
      [name],
    );
    if (there !== undefined && step.kept === true && there.said !== spent) continue;
    await query(`drop database if exists ${name} with (force)`);
    await query(`create database ${name} encoding 'UTF8' template template0`);
  }
}

/** Of this process, but none of the service's settings: everything is measured as it ships. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('ARS_') || name === 'ARS_SECRET'),
);

let running: ChildProcess | null = null;
const told: { signal: NodeJS.Signals | null } = { signal: null };
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    told.signal = signal;
    if (running !== null) signalGroup(running, signal);
  });

/** @returns whether it came to its end */
async function run(step: Step, commit: string, figuresFile: string): Promise<boolean> {
  const databases = databasesOf(step);
  const child = startGroup([join(import.meta.dirname, step.run[0]!), ...step.run.slice(1)], {
    stdio: ['pipe', 'inherit'],
    env: {
      ...environment,
      DATABASE_URL: databaseUrl(databases[0]!),
      ...(databases[1] === undefined ? {} : { OTHER_DATABASE_URL: databaseUrl(databases[1]) }),
      BENCH_FIGURES: figuresFile,
      BENCH_COMMIT: commit,
    },
  });
  running = child;
  const kept = createWriteStream(fileOf(step, 'txt'));
  child.stdout!.on('data', (part: Buffer) => {
    process.stdout.write(part);
    kept.write(part);
  });
  const [code] = await once(child, 'close');
  kept.end();
  await endGroup(child);
  running = null;
  return code === 0;
}

async function measure(step: Step, commit: string): Promise<boolean> {
  await prepare(step);
  if (told.signal !== null) return false;
  // Of this run alone.
  const figuresFile = join(folder, `${step.name}.${process.pid}.ndjson`);
  const isDone = await run(step, commit, figuresFile);
  const lines = existsSync(figuresFile) ? readFileSync(figuresFile, 'utf8').trim() : '';
  rmSync(figuresFile, { force: true });
  if (!isDone) return false;
  const figures = lines === '' ? [] : lines.split('\n').map((line) => JSON.parse(line) as Figure);
  if ((await commitNow()) !== commit) throw new Error(`the commit changed while ${step.name} was measured`);
  const measured: Measured = {
    commit,
    date: new Date().toISOString().slice(0, 10),
    machine: await machineOf(),
    figures,
  };
  writeFileSync(fileOf(step, 'json'), `${JSON.stringify(measured, null, 2)}\n`);
  for (const name of databasesOf(step)) await query(`drop database if exists ${name} with (force)`);
  return true;
}

const isBefore = (one: string, other: string) =>
  spawnSync('git', ['merge-base', '--is-ancestor', one, other], { cwd: root, stdio: 'ignore' }).status === 0;

/** What was measured, as tables. */
function write(): void {
  const text = readFileSync(document, 'utf8');
  const [before, after] = [text.indexOf(opens), text.indexOf(closes)];
  if (before < 0 || after < before)
    throw new Error(`docs/performance.md has no place between "${opens}" and "${closes}"`);
  const parts = steps.map((step) => {
    const found = measuredOf(step);
    const written = partOf(step.what, text.slice(before, after));
    if (found === null || isAfter(written, found.commit, isBefore)) return written;
    const peer = step.peer === '' ? '' : ` Beside it: ${step.peer}.`;
    return [
      `### ${step.what}`,
      `\`node bench/${step.run.join(' ')}\`, ${found.date}, commit ${found.commit.slice(0, 7)}; ${found.machine}.${peer}`,
      ['| | Goal | Measured |', '| --- | --- | --- |', ...found.figures.map(rowOf)].join('\n'),
    ];
  });
  const all = parts.filter((part) => part.length > 0);
  const measured = [...summaryOf(all), ...all.flat()].join('\n\n');
  writeFileSync(document, `${text.slice(0, before)}${opens}\n\n${measured}\n\n${text.slice(after)}`);
}

if (given.list === true) {
  for (const step of steps) console.log(`${step.name.padEnd(16)} ${step.what}`);
  process.exit(0);
}
const only = given.only?.split(',');
const unknown = only?.filter((name) => steps.every((step) => step.name !== name)) ?? [];
if (unknown.length > 0) refuse(`There is no benchmark ${unknown.join(', ')}; --list names all.`);
if (process.env.DATABASE_URL === undefined || process.env.ARS_SECRET === undefined)
  refuse('DATABASE_URL (a role that makes databases) and ARS_SECRET (32 characters or more) are needed.');

mkdirSync(folder, { recursive: true });
const marked = await beOnlyRun(process.env.DATABASE_URL);
const wanted = steps.filter((step) => only?.includes(step.name) ?? true);
const failed: string[] = [];
for (const [n, step] of wanted.entries()) {
  const commit = await commitNow();
  if (given.again !== true && measuredOf(step)?.commit === commit) {
    console.log(`${step.name}: measured at this commit already`);
    continue;
  }
  console.log(`\n== ${n + 1} of ${wanted.length}: ${step.what}`);
  if (await measure(step, commit)) write();
  else failed.push(step.name);
  if (told.signal !== null) {
    console.error(`\n${step.name} was interrupted by ${told.signal}.`);
    process.exit(told.signal === 'SIGINT' ? 130 : 143);
  }
}
await marked.end();
if (failed.length > 0) {
  console.error(`\nThese came to no end: ${failed.join(', ')}. What long filling took is kept for the next run.`);
  process.exit(1);
}
