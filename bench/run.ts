import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import type { Figure } from './figures.ts';
import { isMet } from './figures.ts';

/**
 * All benchmarks, one after the other, each on a database of its own on the server that DATABASE_URL names (its role makes and
 * drops databases), and docs/performance.md from what they measured. What is done at this commit is not done again, so an
 * interrupted run goes on where it was; large data of an interrupted one are kept. What only the document has, measured elsewhere, stays in it.
 * Needs DATABASE_URL and ARS_SECRET, a quiet machine, and hours; BENCH_RESTART, a shell command that starts PostgreSQL anew with
 * empty caches, for pages after a restart. Usage: npm run bench [-- --only NAME,NAME] [--again] [--list]
 */
const { values: given } = parseArgs({
  options: { only: { type: 'string' }, again: { type: 'boolean' }, list: { type: 'boolean' } },
});

type Step = {
  name: string;
  what: string;
  /** The program of this folder, and its arguments. */
  run: string[];
  /** What it is measured beside. */
  peer: string;
  /** A second database, for a service beside the first. */
  other?: boolean;
};

const steps: Step[] = [
  {
    name: 'poll',
    what: 'Conditional poll that ends in 304; what the log keeps of it',
    run: ['poll.ts', '9', '4', 'without-detail'],
    peer: 'bare `node:http` that answers 304; the same service whose rows keep no detail',
    other: true,
  },
  ...[100_000, 1_000_000, 10_000_000].map((size) => ({
    name: `pages-${size}`,
    what: `Pages at ${size.toLocaleString('en-GB')} results`,
    run: ['pages.ts', String(size), '3'],
    peer: `the driver alone; the same page at ${size > 100_000 ? '100,000' : '10,000'} results`,
  })),
  {
    name: 'peers',
    what: 'Pages beside generated APIs, 1,000,000 results',
    run: ['peers.ts'],
    peer: 'PostGraphile 5 and Directus 12 on a flat table of the same results',
  },
  {
    name: 'organisations',
    what: '1,000 organisations of skewed size',
    run: ['organisations.ts'],
    peer: 'the same minutes without a poll',
  },
  {
    name: 'one-result',
    what: 'A result by its id',
    run: ['one-result.ts'],
    peer: 'bare `node:http` that makes one prepared lookup',
  },
  {
    name: 'exits',
    what: 'Pages of scope exits after everybody left a group',
    run: ['exits.ts'],
    peer: 'an unfiltered walk of the same positions, page by page',
  },
  {
    name: 'moves',
    what: '500 learners × 20 results join, move and leave',
    run: ['moves.ts'],
    peer: '',
  },
  { name: 'report', what: 'Stored report', run: ['report.ts'], peer: 'plain file of its size from bare `node:http`' },
  { name: 'evidence', what: 'Evidence packs made', run: ['evidence.ts'], peer: '' },
  {
    name: 'writes',
    what: 'Completions',
    run: ['writes.ts'],
    peer: "the same transactions without the feed's lock",
  },
  {
    name: 'import',
    what: 'Import from NDJSON, 400,000 results',
    run: ['import.ts'],
    peer: 'prepared inserts of 500 rows, and `COPY`, into tables with the same indexes',
  },
  {
    name: 'digest',
    what: 'What the digest costs',
    run: ['digest.ts'],
    peer: 'the same statements without it, in turns',
  },
  {
    name: 'first-sync',
    what: "First sync into PostgreSQL by the client's mirror",
    run: ['first-sync.ts'],
    peer: 'bare `COPY` of the same rows from the same pages',
  },
  {
    name: 'delivery',
    what: 'Webhook deliveries',
    run: ['delivery.ts'],
    peer: 'bare undici loop that signs and posts',
  },
  { name: 'invite', what: 'Learners invited in one run', run: ['invite.ts'], peer: 'one by one' },
  { name: 'xlsx', what: 'Results as files', run: ['xlsx.ts'], peer: 'the same rows read without being written' },
  { name: 'sitting', what: 'Next question, 200 sittings at once', run: ['sitting.ts'], peer: 'bare commit' },
  {
    name: 'refused',
    what: 'A million calls without valid credentials',
    run: ['refused.ts', '1000000'],
    peer: '',
  },
  {
    name: 'restamp',
    what: 'A tight writer beside a restamp',
    run: ['restamp.ts'],
    peer: 'the same writer without, in turns',
  },
  {
    name: 'beside',
    what: 'One organisation beside another at its worst',
    run: ['beside.ts', '100000', '6'],
    peer: 'the same organisation while nothing else happens',
  },
  {
    name: 'console',
    what: 'Every page of the console: 100,000 learners, 1,000,000 results, 10,000,000 rows of the log',
    run: ['console.ts'],
    peer: '',
  },
];

const root = join(import.meta.dirname, '..');
const folder = join(import.meta.dirname, 'measured');
const document = join(root, 'docs/performance.md');
const [opens, closes] = ['<!-- measured by npm run bench -->', '<!-- end of what npm run bench measured -->'];

type Measured = { commit: string; date: string; machine: string; figures: Figure[] };
const fileOf = (step: Step, kind: 'json' | 'txt' | 'ndjson') => join(folder, `${step.name}.${kind}`);

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
  await once(child, 'close');
  return text.trim();
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

/** Its processors, memory and PostgreSQL: what a figure depends on. */
async function machineOf(): Promise<string> {
  const rows = await query<{ version: string }>("select current_setting('server_version') as version");
  const version = rows[0]!.version.split(' ')[0];
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} cores, ${gib} GiB, PostgreSQL ${version}, Node ${process.versions.node}`;
}

function databaseUrl(name: string): string {
  const url = new URL(process.env.DATABASE_URL!);
  url.pathname = `/${name}`;
  return url.href;
}

const databasesOf = (step: Step) =>
  [step.name, ...(step.other === true ? [`${step.name}-other`] : [])].map(
    (name) => `ars_bench_${name.replaceAll('-', '_')}`,
  );

async function measure(step: Step, commit: string): Promise<boolean> {
  const databases = databasesOf(step);
  for (const name of databases) {
    const rows = await query('select from pg_database where datname = $1', [name]);
    if (rows.length === 0) await query(`create database ${name}`);
  }
  rmSync(fileOf(step, 'ndjson'), { force: true });
  const child = spawn(process.execPath, [join(import.meta.dirname, step.run[0]!), ...step.run.slice(1)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl(databases[0]!),
      ...(databases[1] === undefined ? {} : { OTHER_DATABASE_URL: databaseUrl(databases[1]) }),
      BENCH_FIGURES: fileOf(step, 'ndjson'),
    },
  });
  const kept = createWriteStream(fileOf(step, 'txt'));
  child.stdout.on('data', (part: Buffer) => {
    process.stdout.write(part);
    kept.write(part);
  });
  const [code] = await once(child, 'close');
  kept.end();
  if (code !== 0) return false;
  const figures = existsSync(fileOf(step, 'ndjson'))
    ? readFileSync(fileOf(step, 'ndjson'), 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Figure)
    : [];
  const measured: Measured = {
    commit,
    date: new Date().toISOString().slice(0, 10),
    machine: await machineOf(),
    figures,
  };
  writeFileSync(fileOf(step, 'json'), `${JSON.stringify(measured, null, 2)}\n`);
  for (const name of databases) await query(`drop database if exists ${name} with (force)`);
  return true;
}

const digits = (value: number) =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString('en-GB') : String(Number(value.toPrecision(2)));

function rowOf(figure: Figure): string {
  const { what, value, unit, goal } = figure;
  const measured = `${digits(value)} ${unit}`;
  const wanted = goal === undefined ? '' : 'atLeast' in goal ? `≥ ${digits(goal.atLeast)}` : `≤ ${digits(goal.atMost)}`;
  return `| ${what} | ${wanted} | ${isMet(figure) ? measured : `**${measured}**`} |`;
}

/** The part about a step as the document has it: its heading, and what follows up to the next one. */
function writtenOf(step: Step, written: string): string[] {
  const part = written.split(/^(?=### )/m).find((text) => text.startsWith(`### ${step.what}\n`));
  return part === undefined ? [] : part.trim().split('\n\n');
}

/** What was measured, as tables; a figure that misses its goal is printed in bold. */
function write(): void {
  const text = readFileSync(document, 'utf8');
  const [before, after] = [text.indexOf(opens), text.indexOf(closes)];
  if (before < 0 || after < before)
    throw new Error(`docs/performance.md has no place between "${opens}" and "${closes}"`);
  const parts = steps.flatMap((step) => {
    const found = measuredOf(step);
    if (found === null) return writtenOf(step, text.slice(before, after));
    const peer = step.peer === '' ? '' : ` Beside it: ${step.peer}.`;
    return [
      `### ${step.what}`,
      `\`node bench/${step.run.join(' ')}\`, ${found.date}, commit ${found.commit.slice(0, 7)}; ${found.machine}.${peer}`,
      ['| | Goal | Measured |', '| --- | --- | --- |', ...found.figures.map(rowOf)].join('\n'),
    ];
  });
  writeFileSync(document, `${text.slice(0, before)}${opens}\n\n${[...parts, ''].join('\n\n')}${text.slice(after)}`);
}

if (given.list === true) {
  for (const step of steps) console.log(`${step.name.padEnd(16)} ${step.what}`);
  process.exit(0);
}
const only = given.only?.split(',');
const unknown = only?.filter((name) => steps.every((step) => step.name !== name)) ?? [];
if (unknown.length > 0) throw new Error(`there is no benchmark ${unknown.join(', ')}; --list names all`);
if (process.env.DATABASE_URL === undefined || process.env.ARS_SECRET === undefined)
  throw new Error('DATABASE_URL (a role that makes databases) and ARS_SECRET (32 characters or more) are needed');

mkdirSync(folder, { recursive: true });
const commit = await output('git', ['rev-parse', 'HEAD']);
const wanted = steps.filter((step) => only?.includes(step.name) ?? true);
const failed: string[] = [];
for (const [n, step] of wanted.entries()) {
  if (given.again !== true && measuredOf(step)?.commit === commit) {
    console.log(`${step.name}: measured at this commit already`);
    continue;
  }
  console.log(`\n== ${n + 1} of ${wanted.length}: ${step.what}`);
  if (!(await measure(step, commit))) failed.push(step.name);
  write();
}
if (failed.length > 0) {
  console.error(`\nThese came to no end: ${failed.join(', ')}. Their databases are kept.`);
  process.exit(1);
}
