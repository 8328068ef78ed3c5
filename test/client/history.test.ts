import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Filters } from '../../client/src/index.ts';
import { openMirror } from '../../client/src/index.ts';
import type { Random } from '../../src/random.ts';
import { pick, seededRandom } from '../../src/random.ts';
import { World } from '../laws/world.ts';
import { withService } from '../service.ts';
import type { DigestService } from './digest-service.ts';
import { digestService } from './digest-service.ts';
import type { TestStore } from './mirrors.ts';
import { assertSame, clientOf, heldBy, Killed, memoryStore, truth } from './mirrors.ts';

/**
 * Random histories of one organisation, followed by mirrors whose process is killed at any statement and whose service
 * ends in the middle of any answer. CLIENT_HISTORIES says how many, LAW_SEED repeats a run's choices.
 */
const seed = process.env.LAW_SEED ?? String(process.hrtime.bigint());
const histories = Number(process.env.CLIENT_HISTORIES ?? 8);

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

/** The service ends before it has heard the request, or after it has answered half of it, now and then. */
function breaking(front: DigestService, random: Random): void {
  front.interfere = (request) => {
    if (random.float() > 0.15) return false;
    request.socket.destroy();
    return true;
  };
}

async function follow(random: Random, world: World, front: DigestService, key: any, hasDigest: boolean): Promise<void> {
  const store: TestStore = memoryStore();
  const clock = { ms: 1_800_000_000_000 };
  const client = clientOf(front.url, key, { nowMs: () => clock.ms });
  let filters = filtersOf(random, world);
  const pageSize = pick(random, [3, 7, 20, 50, 500]);
  // What a process knows by heart is gone with it: each poll is one of another process.
  const mirror = () => openMirror({ client, store, filters, pageSize });
  for (let step = 0; step < 4; step++) {
    for (let changes = Math.floor(random.float() * 5); changes > 0; changes--) await world.change(random);
    const before = heldBy(store);
    const isFiltered = random.float() < 0.1;
    if (isFiltered) filters = filtersOf(random, world);
    store.left = Math.floor(random.float() * (pageSize < 7 ? 120 : 40));
    breaking(front, random);
    try {
      await mirror().poll();
    } catch (error) {
      // Only what was done to it on purpose may have ended it.
      assert.ok(error instanceof Killed || (error as Error).name === 'ConnectionError', String((error as Error).stack));
    }
    store.left = Infinity;
    front.interfere = null;
    const now = await truth(client, filters);
    const held = heldBy(store);
    for (const id of before.keys())
      if (now.has(id) && !isFiltered) assert.ok(held.has(id), `law 1: ${id} was lost while a walk was under way`);
  }
  await mirror().poll();
  await mirror().poll();
  const wanted = await truth(client, filters);
  assertSame(heldBy(store), wanted, `law 1: the mirror of ${JSON.stringify(filters)} by ${pageSize}`);

  if (!hasDigest || filters.learner_ref !== undefined || filters.assessed_from !== undefined || wanted.size === 0)
    return;
  const damage = pick(random, damages);
  store.database.prepare(damage).run(pick(random, [...wanted.keys()]));
  clock.ms += 8 * 86_400_000;
  const { isProven } = await mirror().poll();
  assert.equal(isProven, true, `law 1: the damage was not seen: ${damage}`);
  assertSame(heldBy(store), await truth(client, filters), `law 1: after ${damage}`);
}

test('law 1: a mirror of the client holds what a sweep shows, wherever its process or its service is killed', async (context) => {
  context.diagnostic(`LAW_SEED=${seed}`);
  const service = await withService({ settings: { ARS_RATE_LIMIT: '1000000', ARS_BASE_URL: 'http://results.test' } });
  const org = await service.organisation();
  const world = new World(org, [org], [service.inWork]);
  await world.begin(seededRandom(seed));
  const fronts = [await digestService(service.url, true), await digestService(service.url, false)];
  for (let number = 0; number < histories; number++) {
    const random = seededRandom(`${seed} history ${number}`);
    const hasDigest = number % 2 === 0;
    await follow(random, world, fronts[number % 2]!, org.key, hasDigest);
  }
  context.diagnostic(`${histories} histories, ${world.changes} changes`);
});
