import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { App } from '../src/app.ts';
import type { Tx } from '../src/db/database.ts';
import type { Work } from '../src/db/work.ts';
import { feedLane, inWork } from '../src/db/work.ts';
import { createGroup } from '../src/groups/create.ts';
import { addMembers, moveMembers, removeMembers } from '../src/groups/members.ts';
import { importRecords } from '../src/imports/import.ts';
import { readyRecord } from '../src/imports/record.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { benchRecord } from './data.ts';
import { figure } from './figures.ts';
import { backendsCpuUs, firstJson, median, stop } from './process.ts';

/**
 * 500 learners with twenty results each join a group, move to another one, and leave it: how long that takes altogether, how
 * long the feed's lock is held, from its statement's reply to the commit, and where the time goes (statements that wait
 * behind others count from when they were sent). Then how long a page takes whoever reads beside such moves, and without them, in turns;
 * and whether many smaller moves to and fro make tables larger and larger. Needs DATABASE_URL (a
 * database of its own, on this machine) and ARS_SECRET.
 * Usage: node bench/moves.ts [rounds] [learners altogether] [seconds of a reader's turn; 0: none] [smaller moves; 0: none]
 */
const rounds = Number(process.argv[2] ?? 20);
const learners = Number(process.argv[3] ?? 10_000);
const turnMs = Number(process.argv[4] ?? 5) * 1000;
const smallMoves = Number(process.argv[5] ?? 1000);
const resultsEach = 20;
const moved = 500;
const movedAtOnce = 50;
const tables = ['assessment_feed', 'learner_feed', 'scope_exit', 'digest_cell', 'feed', 'membership'];
/** A round's first moves fill caches and make plans. */
const warming = 3;

const opened = await openApp({ ...readSettings(process.env), log: 'none' });

/** What the changes of one kind took, in ms; by statement, too. */
type Taken = { whole: number[]; locked: number[]; postgres: number[]; node: number[]; parts: Map<string, number[]> };
const newTaken = (): Taken => ({ whole: [], locked: [], postgres: [], node: [], parts: new Map() });

let lockedAt = 0;
let parts = new Map<string, number>();
const watched = (tx: Tx): Tx => ({
  ...tx,
  query: async (sql, values) => {
    const begun = performance.now();
    const rows = await tx.query(sql, values);
    const name = typeof sql === 'string' ? 'other' : sql.name;
    parts.set(name, (parts.get(name) ?? 0) + performance.now() - begun);
    if (name === 'feed.lock') lockedAt = performance.now();
    return rows as never;
  },
});
const app: App = {
  ...opened.app,
  db: {
    ...opened.app.db,
    transaction: (inside, turn) => opened.app.db.transaction((tx) => inside(watched(tx)), turn),
  },
};

async function take<T>(taken: Taken, inside: (work: Work) => Promise<T>): Promise<void> {
  parts = new Map();
  const [postgres, node] = [await backendsCpuUs(opened.app.db), process.cpuUsage()];
  const begun = performance.now();
  await inWork(app, feedLane(id), inside);
  const ended = performance.now();
  const used = process.cpuUsage(node);
  taken.whole.push(ended - begun);
  taken.locked.push(ended - lockedAt);
  taken.postgres.push(((await backendsCpuUs(opened.app.db)) - postgres) / 1000);
  taken.node.push((used.user + used.system) / 1000);
  for (const [name, ms] of parts) taken.parts.set(name, [...(taken.parts.get(name) ?? []), ms]);
}

const organisation = await inWork(app, null, (work) =>
  createOrganisation(work, { name: 'Bench moves', plan: 'unlimited', credits: 0, groupAutocreate: true }),
);
const id = organisation.organisation_id;
const refOf = (learner: number) => `LRN-${String(learner).padStart(8, '0')}`;
const results = learners * resultsEach;
for (let from = 0; from < results; from += 2000) {
  const records = Array.from({ length: Math.min(2000, results - from) }, (_, i) => {
    const learner = (from + i) % learners;
    const group = (type: string, count: number) => ({
      type,
      ref: `${type}-${learner % count}`,
      name: `${type} ${learner % count}`,
    });
    return readyRecord(
      {
        ...benchRecord(from + i, results),
        learner: { ref: refOf(learner), full_name: `Learner ${learner.toString(36)}` },
        groups: [group('campus', 5), group('cohort', 40), group('course', 15)],
      },
      organisation.public_id,
      app.clock.nowMs(),
    );
  });
  await inWork(app, feedLane(id), (work) => importRecords(work, id, records, { events: false, actor: 'bench' }));
}
await app.db.query('vacuum analyze');
const group = async (ref: string) =>
  (await inWork(app, feedLane(id), (work) => createGroup(work, id, { type: 'class', ref, name: ref }))).row.group_id;
const [here, there] = [await group('here'), await group('there')];
const ids = new Map(
  (
    await app.db.query<{ ref: string; learner_id: string }>(
      'select ref, learner_id from learner where organisation_id = $1',
      [id],
    )
  ).map((row) => [row.ref, row.learner_id]),
);

const kinds = { join: newTaken(), move: newTaken(), leave: newTaken() };
for (let round = -warming; round < rounds; round++) {
  const whom = Array.from({ length: moved }, (_, n) => refOf((((round + warming) * moved) % learners) + n));
  const of = (kind: keyof typeof kinds) => (round < 0 ? newTaken() : kinds[kind]);
  await take(of('join'), (work) => addMembers(work, id, here, whom));
  const whomById = whom.map((ref) => ids.get(ref)!);
  await take(of('move'), (work) => moveMembers(work, id, whomById, { joins: there, leaves: here }));
  await take(of('leave'), (work) => removeMembers(work, id, there, whom));
}
for (const [kind, { whole, locked, postgres, node, parts: byName }] of Object.entries(kinds)) {
  const longest = [...byName].sort(([, x], [, y]) => median(y) - median(x)).slice(0, 6);
  console.log(
    `${moved} learners × ${resultsEach} results ${kind.padEnd(5)}  median ${median(whole).toFixed(0)} ms, under the lock ${median(locked).toFixed(0)} ` +
      `(longest ${Math.max(...whole).toFixed(0)} and ${Math.max(...locked).toFixed(0)}), processor PostgreSQL ${median(postgres).toFixed(0)}, Node ${median(node).toFixed(0)} ms`,
  );
  for (const [name, times] of longest) console.log(`  ${median(times).toFixed(1).padStart(7)} ms  ${name}`);
  figure(`${moved} learners × ${resultsEach} results ${kind}`, median(whole), 'ms', { atMost: 400 });
  figure(`the same under the lock, ${kind}`, median(locked), 'ms', { atMost: 150 });
}
if (turnMs > 0) await readBesideMoves();
if (smallMoves > 0) await moveToAndFro();
await opened.close();

/** Everybody is moved, 500 at a time, for as long as it takes. */
async function moveWhile(goesOn: () => boolean): Promise<void> {
  const everybody = [...ids.values()];
  for (let from = 0; goesOn(); from = (from + moved) % everybody.length) {
    const whom = everybody.slice(from, from + moved);
    await inWork(opened.app, feedLane(id), (work) => moveMembers(work, id, whom, { joins: here, leaves: null }));
    await inWork(opened.app, feedLane(id), (work) => moveMembers(work, id, whom, { joins: there, leaves: here }));
    await inWork(opened.app, feedLane(id), (work) => moveMembers(work, id, whom, { joins: null, leaves: there }));
  }
}

/** A consumer of the same organisation that asks for a page by each request, by another process. */
async function readBesideMoves(): Promise<void> {
  const service = spawn(process.execPath, [new URL('service.ts', import.meta.url).pathname], {
    env: { ...process.env, ARS_LOG: 'none', BENCH_ORGANISATION: organisation.public_id },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  type Serving = { port: number; access_key_id: string; secret_access_key: string };
  const { port, access_key_id, secret_access_key } = await firstJson<Serving>(service);
  const page = `http://127.0.0.1:${port}/api/v1/assessments?limit=100`;
  const script = new URL('paced-polls.ts', import.meta.url).pathname;
  const reader = spawn(process.execPath, [script, page, access_key_id, secret_access_key, '5', 'always'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const times = { warming: [] as number[], without: [] as number[], beside: [] as number[] };
  let now: keyof typeof times = 'warming';
  createInterface({ input: reader.stdout! }).on('line', (line) => {
    const { ms, status } = JSON.parse(line) as { ms: number; status: number };
    if (status !== 200) throw new Error(`a page was answered by ${status}`);
    times[now].push(ms);
  });
  const pause = () => new Promise((resolve) => setTimeout(resolve, turnMs));
  await pause();
  for (let turn = 0; turn < 4; turn++) {
    now = 'without';
    await pause();
    now = 'beside';
    const until = performance.now() + turnMs;
    await moveWhile(() => performance.now() < until);
  }
  now = 'warming';
  await stop(reader);
  await stop(service);
  const of = (all: number[], share: number) => all.sort((a, b) => a - b)[Math.floor(all.length * share)]!;
  const [p99, alone] = [of(times.beside, 0.99), of(times.without, 0.99)];
  console.log(
    `pages of 100 beside moves: p50 ${of(times.beside, 0.5).toFixed(1)} ms, p99 ${p99.toFixed(1)} (${times.beside.length} pages), ` +
      `without p50 ${of(times.without, 0.5).toFixed(1)}, p99 ${alone.toFixed(1)}: ${(p99 / alone).toFixed(2)} times`,
  );
  figure('p99 of a page beside moves', p99 / alone, 'times without', { atMost: 1.5 });
}

/**
 * Tables and indexes are packed as tightly as they can be, then learners are moved there and back, without a pause. Rows of before
 * take room until autovacuum has come round, so a table grows by what is moved in between; what counts is that it then stays as
 * it is.
 */
async function moveToAndFro(): Promise<void> {
  const everybody = [...ids.values()];
  const between = async (whom: string[], joins: string | null, leaves: string | null) =>
    void (await inWork(opened.app, feedLane(id), (work) => moveMembers(work, id, whom, { joins, leaves })));
  for (let from = 0; from < everybody.length; from += moved) {
    const whom = everybody.slice(from, from + moved);
    await between(whom, here, null);
    await between(whom, there, here);
    await between(whom, here, there);
  }
  for (const table of tables) await app.db.query(`vacuum (full, analyze) ${table}`);
  const seen = [await sizes()];
  const slices = Math.floor(everybody.length / movedAtOnce);
  const begun = performance.now();
  for (let move = 0; move < smallMoves; move++) {
    const slice = move % slices;
    const whom = everybody.slice(slice * movedAtOnce, (slice + 1) * movedAtOnce);
    if (Math.floor(move / slices) % 2 === 0) await between(whom, there, here);
    else await between(whom, here, there);
    if ((move + 1) % Math.ceil(smallMoves / 4) === 0) seen.push(await sizes());
  }
  const seconds = (performance.now() - begun) / 1000;
  const [looks] = await app.db.query<{ every: string }>("select current_setting('autovacuum_naptime') as every");
  console.log(
    `${smallMoves} moves of ${movedAtOnce} learners in ${seconds.toFixed(0)} s, where autovacuum looks every ${looks!.every}:` +
      ' MB of tables with their indexes, packed and after each quarter',
  );
  for (const table of tables)
    console.log(`  ${table.padEnd(16)} ${seen.map((of) => of.get(table)!.toFixed(1).padStart(7)).join('')}`);
  // Who was a member when is kept, one row for each learner that is moved; so of that table nothing else is said.
  const [packed, half, end] = [seen[0]!, seen[2]!, seen.at(-1)!].map((of) =>
    [...of].reduce((sum, [table, mb]) => sum + (table === 'membership' ? 0 : mb), 0),
  );
  figure(`tables after ${smallMoves} moves`, end! / half!, 'times as large as after half of them', { atMost: 1.1 });
  figure(`tables after ${smallMoves} moves`, end! / packed!, 'times as large as packed');
}

async function sizes(): Promise<Map<string, number>> {
  const rows = await app.db.query<{ name: string; mb: number }>(
    'select name, pg_total_relation_size(name::regclass) / 1e6::float8 as mb from unnest($1::text[]) name',
    [tables],
  );
  return new Map(rows.map(({ name, mb }) => [name, mb]));
}
