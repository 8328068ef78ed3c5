import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { formatMs } from '../../../src/platform/time/clock.ts';
import { pick, seededRandom } from '../../../src/platform/crypto/random.ts';
import { under } from '../../contract/support/expect.ts';
import { withService } from '../../support/service.ts';
import type { Filter } from './feed-model.ts';
import { FeedModel, shownOf } from './feed-model.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';

const startMs = Date.UTC(2026, 0, 1);
const dayMs = 24 * 3600_000;

type Size = { learners: number; groups: number; results: number; acts: number; days: number };

/** An organisation with a history, and the model of it. */
async function history(seed: string, size: Size) {
  const clock = manualClock(startMs);
  const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
  const org = await service.organisation();
  const model = new FeedModel(service, org, clock);
  const random = seededRandom(seed);
  const some = <T>(list: readonly T[], max: number): T[] => [
    ...new Set(Array.from({ length: 1 + Math.floor(random.float() * max) }, () => pick(random, list))),
  ];
  const result = () => ({
    learner: pick(random, model.learners),
    subject: pick(random, subjects),
    level: Math.floor(random.float() * 6),
    // Few instants, so that many dates are equal.
    assessed_at: formatMs(
      startMs - Math.floor(random.float() * size.days) * dayMs - Math.floor(random.float() * 3) * 3600_000,
    ),
  });
  for (let i = 0; i < size.groups; i++) await model.makesGroup(`G${i}`, pick(random, ['cohort', 'course', 'campus']));
  for (let i = 0; i < size.learners; i++) await model.provisions(`L${i}`, `Learner ${i}`);
  for (const group of model.groups) await model.joins(group, some(model.learners, size.learners / 3));
  await model.completes(Array.from({ length: size.results }, result));
  const acts: (() => Promise<void>)[] = [
    () => model.completes(Array.from({ length: 1 + Math.floor(random.float() * 4) }, result)),
    () => model.joins(pick(random, model.groups), some(model.learners, 5)),
    () => model.leaves(pick(random, model.groups), some(model.learners, 5)),
    () => model.leaves(pick(random, model.groups), some(model.learners, 5)),
    () => model.withdraws(pick(random, model.results)),
    () => model.amends(pick(random, model.results), `Framework ${Math.floor(random.float() * 3)}`),
    () => model.turns(pick(random, model.groups), random.float() < 0.5),
    () => model.provisions(pick(random, model.learners).ref, `Learner ${Math.floor(random.float() * 1000)}`),
  ];
  for (let i = 0; i < size.acts; i++) await pick(random, acts)();
  return { org, model, clock };
}

type History = Awaited<ReturnType<typeof history>>;

function anyFilter({ model, clock }: History): fc.Arbitrary<Filter> {
  const instant = (fromMs: number, toMs: number) => fc.integer({ min: fromMs, max: toMs }).map(formatMs);
  const list = (values: readonly string[], max: number) =>
    fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: max });
  const positions = model.results.map((result) => new Date(Math.floor(result.positionUs / 1000)).toISOString());
  const dates = model.results.map((result) => new Date(result.assessedUs / 1000).toISOString());
  const since = fc.oneof(fc.constantFrom(...positions), instant(startMs, clock.nowMs() + 2000));
  const sort = fc.constantFrom('updated_at', '-updated_at', 'assessed_at', '-assessed_at');
  const assessed = fc.oneof(fc.constantFrom(...dates), instant(startMs - 900 * dayMs, startMs));
  const others = fc.record(
    {
      learner_ref: fc.oneof(
        { weight: 5, arbitrary: fc.constantFrom(...model.learners.map((learner) => learner.ref)) },
        { weight: 1, arbitrary: fc.constant('nobody') },
      ),
      subject: list(subjects, 3),
      assessed_from: assessed,
      assessed_to: assessed,
      rqf_level_code: list(['1', '2', '3', '5'], 3),
      below_level_1: fc.constantFrom('true', 'false'),
      status: list(['completed', 'deleted'], 2),
    },
    { requiredKeys: [] },
  );
  const groups = list([...model.groups.map((group) => group.id), '00000000-0000-4000-8000-000000000000'], 5);
  // Each of them alone narrows much, so most filters have few; groups with since are the ones with exits.
  const few = others.chain((all) =>
    fc
      .subarray(Object.keys(all), { maxLength: Math.min(2, Object.keys(all).length) })
      .map((kept) => Object.fromEntries(Object.entries(all).filter(([name]) => kept.includes(name))) as Filter),
  );
  const scope = fc.oneof(
    fc.record({ since }),
    fc.record({ group_id: groups, since }),
    fc.record({ group_id: groups, since }),
    fc.record({ sort }),
    fc.record({ group_id: groups, sort }),
    fc.constant({}),
  );
  return fc.tuple(few, scope).map(([one, two]) => ({ ...one, ...two }));
}

/** Walks the service and compares with the model, page by page; a long walk is compared as far as it is walked. */
async function compare({ org, model }: History, filter: Filter, limit: number): Promise<void> {
  const expected = model.walk(filter);
  const query = Object.entries(filter)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .concat(`limit=${limit}`)
    .join('&');
  let path: string | null = `/assessments?${query}`;
  for (let at = 0, page = 0; path !== null && page < 6; page++) {
    const answer = await org.get(path);
    assert.equal(answer.status, 200, answer.text);
    const got = answer.body.data.map(shownOf);
    assert.deepEqual(got, expected.slice(at, at + limit), `page ${page + 1}`);
    at += got.length;
    path = answer.body.pagination.next === null ? null : under(answer.body.pagination.next);
    assert.equal(path === null, at >= expected.length);
  }
}

suite('any filter gives what a plain reading of the documents gives', () => {
  test('on a short history, walked in small pages', async () => {
    const short = await history('short', { learners: 40, groups: 12, results: 250, acts: 160, days: 40 });
    const kinds = short.model.groups.flatMap((group) =>
      short.model.walk({ group_id: [group.id], since: '2020-01-01T00:00:00Z' }).map((entry) => entry.kind),
    );
    for (const kind of ['completed', 'deleted', 'left'])
      assert.ok(kinds.filter((one) => one === kind).length > 5, `the history has ${kind} entries`);
    await fc.assert(
      fc.asyncProperty(anyFilter(short), fc.constantFrom(3, 17, 100, 500), (filter, limit) =>
        compare(short, filter, limit),
      ),
      { numRuns: 200 },
    );
  });

  test('on one that is longer than the rows looked at first, with more sets of groups than are merged', async () => {
    const long = await history('long', { learners: 150, groups: 20, results: 6000, acts: 60, days: 600 });
    await fc.assert(
      fc.asyncProperty(anyFilter(long), fc.constantFrom(40, 500), (filter, limit) => compare(long, filter, limit)),
      { numRuns: 60 },
    );
  });
});
