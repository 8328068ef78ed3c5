import type { App } from '../src/app.ts';
import type { Tx } from '../src/db/database.ts';
import type { Work } from '../src/db/work.ts';
import { feedLane, inWork } from '../src/db/work.ts';
import { createGroup } from '../src/groups/create.ts';
import { addMembers, moveMembers, removeMembers } from '../src/groups/members.ts';
import { importRecords } from '../src/imports/import.ts';
import { readyRecord } from '../src/imports/record.ts';
import { openApp } from '../src/main.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { benchRecord } from './data.ts';
import { figure } from './figures.ts';
import { backendsCpuUs, median } from './process.ts';

/**
 * 500 learners with twenty results each join a group, move to another one, and leave it: how long that takes altogether, how
 * long the feed's lock is held, from its statement's reply to the commit, and where the time goes; and how large the tables
 * are afterwards. Needs DATABASE_URL (a database of its own, on this machine) and ARS_SECRET.
 * Usage: node bench/moves.ts [rounds] [learners altogether]
 */
const rounds = Number(process.argv[2] ?? 20);
const learners = Number(process.argv[3] ?? 10_000);
const resultsEach = 20;
const moved = 500;
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

const tables = ['assessment_feed', 'learner_feed', 'scope_exit', 'membership'];
const sizes = () =>
  app.db.query<{ name: string; mb: number }>(
    'select name, pg_total_relation_size(name::regclass) / 1e6::float8 as mb from unnest($1::text[]) name',
    [tables],
  );

const kinds = { join: newTaken(), move: newTaken(), leave: newTaken() };
const before = await sizes();
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
  figure(`the same under the lock, ${kind}`, median(locked), 'ms', { atMost: 400 });
}
for (const { name, mb } of await sizes())
  console.log(
    `${name.padEnd(16)} ${mb.toFixed(1)} MB after ${3 * (rounds + warming)} changes, ${before.find((one) => one.name === name)!.mb.toFixed(1)} before`,
  );
await opened.close();
