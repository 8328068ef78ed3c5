import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { createGroup } from '../../src/organisations/groups/create.ts';
import { moveMembers } from '../../src/organisations/groups/members.ts';
import { importRecords } from '../../src/records/import/import.ts';
import { readyRecord } from '../../src/records/import/record.ts';
import { benchRecord, groupsOf, makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { median, openBench, program, quantile, startBenchService, stop } from '../support/process.ts';

/**
 * 500 learners with 20 results each join a group, move to another one and leave it: how long each takes, how long a page
 * takes beside such moves and without them, in turns, and whether many smaller moves make the tables larger and larger.
 * Usage: node bench/scenarios/moves.ts [rounds] [learners] [seconds of a reader's turn] [smaller moves]
 */
const rounds = Number(process.argv[2] ?? 20);
const learners = Number(process.argv[3] ?? 10_000);
const turnMs = Number(process.argv[4] ?? 5) * 1000;
const smallMoves = Number(process.argv[5] ?? 1000);
const resultsEach = 20;
const atOnce = 500;
/** A round's first moves fill caches and make plans. */
const warming = 3;

const { app, close } = await openBench();
const organisation = await makeOrganisation(app);
const id = organisation.organisation_id;
const results = learners * resultsEach;
for (let from = 0; from < results; from += 2000) {
  const records = Array.from({ length: Math.min(2000, results - from) }, (_, i) => {
    const learner = (from + i) % learners;
    return readyRecord(
      {
        ...benchRecord(from + i, results),
        learner: { ref: `LRN-${learner}`, full_name: `Learner ${learner.toString(36)}` },
        groups: groupsOf(learner),
      },
      organisation.public_id,
      app.clock.nowMs(),
    );
  });
  await withUnitOfWork(app, feedQueue(id), (work) =>
    importRecords(work, id, records, { events: false, actor: 'bench' }),
  );
}
await app.db.query('vacuum analyze');
const group = async (ref: string) =>
  (await withUnitOfWork(app, feedQueue(id), (work) => createGroup(work, id, { type: 'class', ref, name: ref }))).row
    .group_id;
const [here, there] = [await group('here'), await group('there')];
const everybody = (
  await app.db.query<{ learner_id: string }>(
    'select learner_id from learner where organisation_id = $1 order by learner_id',
    [id],
  )
).map((row) => row.learner_id);

/** @returns how long it took, in ms */
async function change(some: string[], joins: string | null, leaves: string | null): Promise<number> {
  const begunMs = performance.now();
  await withUnitOfWork(app, feedQueue(id), (work) => moveMembers(work, id, some, { joins, leaves }));
  return performance.now() - begunMs;
}

const slice = (n: number, size: number) => {
  const from = (n * size) % everybody.length;
  return everybody.slice(from, from + size);
};

const took = { join: [] as number[], move: [] as number[], leave: [] as number[] };
for (let round = -warming; round < rounds; round++) {
  const some = slice(round + warming, atOnce);
  const [join, move, leave] = [
    await change(some, here, null),
    await change(some, there, here),
    await change(some, null, there),
  ];
  if (round < 0) continue;
  took.join.push(join);
  took.move.push(move);
  took.leave.push(leave);
}
for (const [kind, all] of Object.entries(took)) figure(kind, median(all), 'ms', { atMost: 400 });
await readBesideMoves();
await moveToAndFro();
await close();

/** A platform asks for a page every 5 ms by another process. */
async function readBesideMoves(): Promise<void> {
  const service = await startBenchService(organisation.public_id);
  const page = `http://127.0.0.1:${service.port}/api/v1/assessments?limit=100`;
  const reader = spawn(process.execPath, [program('paced-reads.ts'), page, service.keyId, service.secret, '5'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const times = { warming: [] as number[], without: [] as number[], beside: [] as number[] };
  let now: keyof typeof times = 'warming';
  createInterface({ input: reader.stdout! }).on('line', (line) => times[now].push(Number(line)));
  await wait(turnMs);
  for (let turn = 0; turn < 4; turn++) {
    now = 'without';
    await wait(turnMs);
    now = 'beside';
    const endMs = performance.now() + turnMs;
    for (let n = 0; performance.now() < endMs; n++) {
      const some = slice(n, atOnce);
      await change(some, here, null);
      await change(some, there, here);
      await change(some, null, there);
    }
  }
  await stop(reader);
  await stop(service.child);
  const [beside, without] = [quantile(times.beside, 0.99), quantile(times.without, 0.99)];
  figure('page beside moves, p99', beside, 'ms');
  figure('page beside moves, p99 by that without', beside / without, 'times', { atMost: 1.5 });
}

/** A table grows until autovacuum has come round. Then it has to keep its size. */
async function moveToAndFro(): Promise<void> {
  const size = 50;
  const slices = Math.floor(everybody.length / size);
  for (let n = 0; n < slices; n++) await change(slice(n, size), here, null);
  // Memberships are a history: that table grows by each move.
  const sizeSql = `select sum(pg_total_relation_size(name::regclass))::float8 as bytes
    from unnest('{assessment_feed,learner_feed,scope_exit,digest_cell,feed}'::text[]) name`;
  const bytes = async () => (await app.db.query<{ bytes: number }>(sizeSql))[0]!.bytes;
  let half = 0;
  for (let n = 0; n < smallMoves; n++) {
    const isAway = Math.floor(n / slices) % 2 === 0;
    await change(slice(n % slices, size), isAway ? there : here, isAway ? here : there);
    if (n === Math.floor(smallMoves / 2)) half = await bytes();
  }
  figure(`tables after ${smallMoves} moves, by half of them`, (await bytes()) / half, 'times', {
    atMost: 1.1,
  });
}
