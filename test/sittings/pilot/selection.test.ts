import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { probability } from '../../../src/engine/scoring/irt.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { maxPilotMs, maxPilotsOf, selectPilot } from '../../../src/sittings/selection/pilot.ts';
import { type DeliveryItem, type DeliveryPool, preparePool } from '../../../src/sittings/selection/pool.ts';
import { type Asked, resumeSitting } from '../../../src/sittings/selection/selection.ts';
import { bankWithPilots } from './bank.ts';

const bank = bankWithPilots();
const pools = Object.fromEntries(subjects.map((subject) => [subject, preparePool(bank.subjects[subject].version)]));

type Options = { max?: number; msEach?: number; pilotMs?: number; limitMs?: number; seen?: string[] };

/** A sitting of a learner of this ability, with the estimate at each question. */
function sit(pool: DeliveryPool, seed: string, theta: number, options: Options = {}) {
  const { max = 3, msEach = 20_000, pilotMs = msEach, limitMs = 60 * 60_000, seen = [] } = options;
  const random = seededRandom(`answers ${seed}`);
  const items = new Map([...pool.bank.items, ...pool.pilots].map((item) => [item.id, item]));
  const asked: (Asked & { theta: number })[] = [];
  let usedMs = 0;
  for (;;) {
    const sitting = resumeSitting(pool, asked, { seed, seen });
    const next = sitting.next();
    if (next.kind === 'stop') return asked;
    const course = { seed, seen, max, usedMs, timeLimitMs: limitMs };
    const { itemId, kind } = selectPilot(sitting, asked, next, course) ?? next;
    const isPilot = kind === 'pilot';
    const workingMs = isPilot ? pilotMs : msEach;
    usedMs += workingMs;
    const outcome = random.float() < probability(items.get(itemId)!, theta) ? 'right' : 'wrong';
    asked.push({ itemId, outcome, isPilot, workingMs, theta: sitting.ability.theta });
  }
}

const pilotsOf = (asked: readonly Asked[]) => asked.flatMap((one, i) => (one.isPilot ? [i + 1] : []));

for (const subject of subjects) {
  suite(`questions on trial in ${subject}`, () => {
    const pool = pools[subject]!;
    const byId = new Map([...pool.bank.items, ...pool.pilots].map((item) => [item.id, item]));
    const sat = Array.from({ length: 40 }, (_, i) => sit(pool, `${subject} ${i}`, -2.4 + i * 0.12));

    test('there are at most three, at places that differ, and fit the learner', () => {
      const places = new Set<number>();
      let given = 0;
      for (const asked of sat) {
        const at = pilotsOf(asked);
        assert.ok(at.length <= 3 && at.every((place) => place >= 5 && place <= 20), at.join());
        for (const place of at) {
          const { theta, itemId } = asked[place - 1]!;
          const { b } = byId.get(itemId)!;
          assert.ok(b >= theta - 1.5 && b <= theta + 1, `b ${b} at ${theta}`);
          places.add(place);
        }
        given += at.length;
        assert.equal(new Set(asked.map(({ itemId }) => itemId)).size, asked.length);
      }
      assert.ok(given > 2 * sat.length, `${given} in ${sat.length} sittings`);
      assert.ok(places.size >= 10, [...places].join());
    });

    test('they change no scored question, unless one would give an answer away', () => {
      const enemies = (id: string): string[] => [...(byId.get(id)!.enemies ?? [])];
      let same = 0;
      for (const [i, asked] of sat.entries()) {
        const pilots = asked.filter(({ isPilot }) => isPilot);
        const shown = asked.map(({ itemId }) => itemId);
        for (const { itemId } of pilots)
          assert.deepEqual(
            enemies(itemId).filter((id) => shown.includes(id)),
            [],
          );
        if (pilots.some(({ itemId }) => enemies(itemId).length > 0)) continue;
        const scored = asked.filter(({ isPilot }) => !isPilot).map(({ itemId }) => itemId);
        // The answers are drawn in the order of the questions, so they are given again.
        const again = resumeSitting(pool, [], { seed: `${subject} ${i}` });
        for (const one of asked.filter(({ isPilot }) => !isPilot)) {
          const next = again.next();
          assert.equal(next.kind === 'item' && next.itemId, one.itemId);
          again.record(one);
        }
        assert.equal(again.next().kind, 'stop', scored.join());
        same++;
      }
      assert.ok(same > 0);
    });

    test('the questions on a text stay together', () => {
      for (const asked of sat)
        asked.forEach(({ isPilot }, i) => {
          if (!isPilot) return;
          const [before, after] = [asked[i - 1], asked[i + 1]].map((one) => one && byId.get(one.itemId)?.passage);
          assert.ok(!before || before !== after, `at ${i + 1}`);
        });
    });

    test('the same seed gives the same questions', () => {
      assert.deepEqual(sit(pool, `${subject} 7`, -1.56), sat[7]);
    });

    test('a learner who needs the time gets none, and one who was slow at one gets no more', () => {
      const slow = Array.from({ length: 10 }, (_, i) => sit(pool, `${subject} ${i}`, 0, { msEach: 65_000 }));
      assert.deepEqual(slow.flatMap(pilotsOf), []);
      const most = Array.from({ length: 10 }, (_, i) =>
        pilotsOf(sit(pool, `${subject} ${i}`, 0, { pilotMs: maxPilotMs })),
      );
      assert.equal(Math.max(...most.map((at) => at.length)), 1);
    });

    test('one that the learner saw lately is not given again', () => {
      const seen = pool.pilots.map(({ id }) => id).slice(1);
      const given = sat
        .slice(0, 12)
        .flatMap((_, i) => sit(pool, `${subject} ${i}`, 0, { seen }).filter(({ isPilot }) => isPilot));
      assert.ok(given.every(({ itemId }) => itemId === pool.pilots[0]!.id));
    });
  });
}

test('an organisation can switch them off, and a bank may have none', () => {
  const pool = pools.maths!;
  assert.equal(maxPilotsOf(pool, { pilot_items: true }), 3);
  assert.equal(maxPilotsOf(pool, { pilot_items: false }), 0);
  assert.equal(maxPilotsOf({ ...pool, pilots: [] }, { pilot_items: true }), 0);
  assert.deepEqual(pilotsOf(sit(pool, 'none', 0, { max: 0 })), []);
});

test('an item on trial is in no level, no cut and no score, and its text is its own', () => {
  for (const subject of subjects) {
    const { version, items } = bank.subjects[subject];
    assert.ok(version.pilots.length > 3);
    assert.ok(items.every(({ state }) => state !== 'pilot'));
    const scored = new Set(version.items.map(({ id }) => id));
    assert.ok(version.pilots.every(({ id }) => !scored.has(id)));
  }
  const { version } = bank.subjects.english;
  const passage = version.items.find((item) => item.passage)!.passage!;
  const [first, ...rest] = version.pilots as [DeliveryItem, ...DeliveryItem[]];
  assert.equal(preparePool({ ...version, pilots: [{ ...first, passage }, ...rest] }).pilots.length, rest.length);
});
