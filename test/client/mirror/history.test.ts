// Tier: full. Kills mirrors and the service in a long history.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Filters } from '../../../client/src/index.ts';
import { openMirror } from '../../../client/src/index.ts';
import type { Random } from '../../../src/platform/crypto/random.ts';
import { pick, seededRandom } from '../../../src/platform/crypto/random.ts';
import type { Client, Key } from '../../contract/support/client.ts';
import { secret } from '../../laws/world/processes.ts';
import { World } from '../../laws/world/world.ts';
import { withService } from '../../support/service.ts';
import type { FaultyFetch } from '../support/faulty-fetch.ts';
import { faultyFetch } from '../support/faulty-fetch.ts';
import type { KillableService } from '../support/mirror-process.ts';
import { heldIn, killableService, mirrorProcess } from '../support/mirror-process.ts';
import type { TestStore } from '../support/mirrors.ts';
import { assertSame, clientOf, heldBy, Killed, memoryStore, truth } from '../support/mirrors.ts';

/**
 * Random histories, each followed by a mirror whose process is killed at any statement and whose service ends before,
 * within or after any answer, while others write. CLIENT_HISTORIES says how many, or which (`2000-2500`), so that a run
 * that was broken off goes on; LAW_SEED repeats a run's choices. In longer runs, one history in a hundred has processes
 * that are killed in earnest; kill.test.ts always has.
 */
const seed = process.env.LAW_SEED ?? String(process.hrtime.bigint());
const [first, last] = rangeOf(process.env.CLIENT_HISTORIES ?? '8');
/** Histories of one organisation, one after the other: it grows, and the next ones get another. */
const chapter = 20;
/** Organisations whose histories go on at once. */
const lanes = 4;
const inEarnest = 100;

function rangeOf(text: string): [number, number] {
  const [from, to] = text.split('-').map(Number);
  return to === undefined ? [0, from!] : [from!, to];
}

const damages = [
  'delete from ars_assessment where assessment_id = ?',
  "update ars_assessment set updated_at = '2020-01-01T00:00:00.000Z' where assessment_id = ?",
  "update ars_assessment set record = json_set(record, '$.framework', 'x') where assessment_id = ?",
  `insert or ignore into ars_assessment select '10000000-0000-4000-8000-000000000000', updated_at, generation, checksum, record
   from ars_assessment where assessment_id = ?`,
];

function filtersOf(random: Random, world: World): Filters {
  const ways: (() => Filters)[] = [
    () => ({}),
    () => ({}),
    () => ({ subject: ['digital', 'maths'] }),
    () => ({ subject: ['english'], rqf_level_code: [1, 2], below_level_1: true }),
    () => ({ assessed_from: '2025-03-01T00:00:00.000Z', assessed_to: '2025-09-30T00:00:00.000Z' }),
    () => ({ learner_ref: pick(random, world.refs) }),
    () => ({ group_id: [pick(random, world.groups)] }),
    () => ({ group_id: [pick(random, world.groups), pick(random, world.groups), world.teams[0]!], subject: ['maths'] }),
  ];
  return pick(random, ways)();
}

/** The service ends before it has heard the request, after it has carried it out, or in the middle of the answer. */
function breaking(way: FaultyFetch, random: Random): void {
  way.fault = () => {
    const at = random.float();
    if (at < 0.05) return 'lost';
    if (at < 0.1) return 'cut';
    return at > 0.15 ? null : 'refused';
  };
}

async function changed(world: World, random: Random, max: number): Promise<void> {
  for (let changes = Math.floor(random.float() * (max + 1)); changes > 0; changes--) await world.change(random);
}

/** A machine that is busy for a long run may refuse a change: nothing was done, and it is sent again. */
function repeating(client: Client): Client {
  const api: Client['api'] = async (...given) => {
    for (;;) {
      const answer = await client.api(...given);
      if (answer.status !== 503) return answer;
      await pause(1000 * Number(answer.headers['retry-after'] ?? 1));
    }
  };
  return { ...client, api };
}

/** A whole walk is in, and what it did not show is going: also what has come back since. */
function isClearing(store: TestStore): boolean {
  const made = store.database
    .prepare("select count(*) as n from sqlite_master where name = 'ars_assessment_sync'")
    .get();
  if (made!.n === 0) return false;
  const row = store.database.prepare('select state from ars_assessment_sync').get();
  return JSON.parse((row?.state as string | null) ?? '{}').walk?.kind === 'clearing';
}

type History = { random: Random; world: World; key: Key };

async function follow({ random, world, key }: History, url: string, hasDigest: boolean): Promise<void> {
  const store: TestStore = memoryStore();
  const clock = { ms: 1_800_000_000_000 };
  const way = faultyFetch(url, hasDigest);
  const surroundings = { nowMs: () => clock.ms, fetch: way.fetch };
  const client = clientOf(url, key, surroundings);
  const patient = clientOf(url, key, surroundings, 120_000);
  let filters = filtersOf(random, world);
  const pageSize = pick(random, [3, 7, 20, 50, 500]);
  // What a process knows by heart is gone with it.
  const started = (by = client) => openMirror({ client: by, store, filters, pageSize });
  let mirror = started();
  for (let step = 0; step < 4; step++) {
    await changed(world, random, 4);
    const before = heldBy(store);
    const isCleared = isClearing(store);
    const isFiltered = random.float() < 0.1;
    if (isFiltered) filters = filtersOf(random, world);
    if (isFiltered || random.float() < 0.5) mirror = started();
    store.left = Math.floor(random.float() * (pageSize < 7 ? 120 : 40));
    breaking(way, random);
    const written = world.changes;
    // Others write meanwhile, and a second engine may be at work on the same mirror.
    const engines = random.float() < 0.1 ? [mirror, started()] : [mirror];
    const writing = changed(world, seededRandom(random.uuid()), 2);
    const ended = await Promise.allSettled(engines.map((one) => one.poll()));
    await writing;
    way.fault = null;
    for (const one of ended) {
      if (one.status === 'fulfilled') continue;
      const { reason } = one;
      // Only what was done to it on purpose may have ended it, or a machine that is too busy.
      const isMeant = reason instanceof Killed || reason.name === 'ConnectionError' || reason.status === 503;
      assert.ok(isMeant, String(reason.stack));
      if (reason instanceof Killed) mirror = started();
    }
    store.left = Infinity;
    // Somebody who left the groups and came back while it walked, or after it, may be between the two.
    if (isFiltered || isCleared || world.changes > written) continue;
    const now = await truth(patient, filters);
    const held = heldBy(store);
    for (const id of before.keys())
      if (now.has(id)) assert.ok(held.has(id), `law 1: ${id} was lost while a walk was under way`);
  }
  mirror = started(patient);
  await mirror.poll();
  await started(patient).poll();
  const wanted = await truth(patient, filters);
  assertSame(heldBy(store), wanted, `law 1: the mirror of ${JSON.stringify(filters)} by ${pageSize}`);

  if (!hasDigest || filters.learner_ref !== undefined || filters.assessed_from !== undefined || wanted.size === 0)
    return;
  const damage = pick(random, damages);
  store.database.prepare(damage).run(pick(random, [...wanted.keys()]));
  clock.ms += 8 * 86_400_000;
  const { isProven } = await mirror.poll();
  assert.equal(isProven, true, `law 1: the damage was not seen: ${damage}`);
  assertSame(heldBy(store), wanted, `law 1: after ${damage}`);
}

/** The same with processes: `kill -9` of the mirror at any statement, and of the service within any answer. */
async function followProcesses({ random, world, key }: History, service: KillableService, file: string): Promise<void> {
  const filters = filtersOf(random, world);
  const mirror = { url: service.front.url, key, file, filters, pageSize: pick(random, [3, 7, 50]) };
  for (let step = 0; step < 3; step++) {
    await changed(world, random, 5);
    if (step === 1) service.killAt(Math.floor(random.float() * 3));
    const writing = changed(world, seededRandom(random.uuid()), 2);
    const ended = await mirrorProcess({ ...mirror, dieAt: 5 + Math.floor(random.float() * 80) });
    await writing;
    await service.settled();
    assert.ok(ended === 'SIGKILL' || ended === 0, String(ended));
  }
  for (let polls = 0; polls < 2; polls++) assert.equal(await mirrorProcess(mirror), 0);
  const wanted = await truth(clientOf(service.front.url, key, {}, 120_000), filters);
  assertSame(heldIn(file), wanted, `law 1: the mirror in ${file} of ${JSON.stringify(filters)}`);
}

test('law 1: a mirror of the client holds what a sweep shows, wherever its process or its service is killed', async (context) => {
  context.diagnostic(`LAW_SEED=${seed}`);
  const settings = { ARS_SECRET: secret, ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' };
  const service = await withService({ own: 'Has a public address.', settings });
  const folder = await mkdtemp(join(tmpdir(), 'ars-histories-'));
  after(() => rm(folder, { recursive: true, force: true }));
  const killable =
    last - first < inEarnest ? null : await killableService({ ...settings, DATABASE_URL: service.databaseUrl });
  let done = 0;
  let changes = 0;
  let ofProcesses = 0;

  let next = first;
  let isOver = false;
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  };
  const lane = async (): Promise<void> => {
    while (next < last && !isOver) {
      const begin = next;
      const end = Math.min(last, begin + chapter);
      next = end;
      const org = await service.organisation();
      const world = new World(org, [repeating(org)], [service.withUnitOfWork]);
      await world.begin(seededRandom(`${seed} organisation ${begin}`));
      for (let number = begin; number < end && !isOver; number++) {
        const history = { random: seededRandom(`${seed} history ${number}`), world, key: org.key };
        try {
          if (killable !== null && number % inEarnest === inEarnest - 1) {
            ofProcesses++;
            await inTurn(() => followProcesses(history, killable, join(folder, `${number}.sqlite`)));
          } else await follow(history, service.url, number % 2 === 0);
        } catch (error) {
          isOver = true;
          throw new Error(`history ${number} of LAW_SEED=${seed}`, { cause: error });
        }
        if (++done % 500 === 0) console.log(`${done} histories from ${first} on, without a difference`);
      }
      changes += world.changes;
    }
  };
  // The service is still needed by the others when one has failed.
  const ended = await Promise.allSettled(Array.from({ length: lanes }, lane));
  await killable?.end();
  for (const one of ended) if (one.status === 'rejected') throw one.reason;
  context.diagnostic(`${done} histories, ${changes} changes, ${ofProcesses} with processes killed by kill -9`);
});
