import { setImmediate } from 'node:timers/promises';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import type { App } from '../../src/platform/app.ts';
import { importRecords } from '../../src/records/import/import.ts';
import { emptyLearnerCache } from '../../src/records/import/learner-cache.ts';
import type { ReadyRecord } from '../../src/records/import/record.ts';
import { readyRecord } from '../../src/records/import/record.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { ensureGroups } from '../../src/organisations/groups/create.ts';
import type { Organisation } from '../../src/organisations/organisations.ts';
import { createOrganisation } from '../../src/organisations/organisations.ts';

const levels = [
  [null, null, true, 'Working towards Entry Level', 'Entry Level 1'],
  ['Entry Level', 1, true, 'Entry Level 2', 'Entry Level 3'],
  ['Level 1', 2, false, 'Level 1', 'Level 2'],
  ['Level 2', 3, false, 'Level 2', 'Level 3'],
  ['Level 3', 5, false, 'Level 3', null],
] as const;
const domains: Record<string, string[]> = {
  digital: [
    'Using devices and handling information',
    'Creating and editing',
    'Communicating',
    'Transacting',
    'Being safe and responsible online',
  ],
  english: ['Reading', 'Spelling', 'Punctuation', 'Grammar', 'Writing composition'],
  maths: ['Number and the number system', 'Common measures, shape and space', 'Handling information and data'],
};

/** No record is of a later time. */
const lastMs = 1_763_072_000_000;

/** Spreads a counter over its range, so that neighbours have nothing in common. */
const mix = (i: number) => Math.imul(i ^ (i >>> 15), 0x2c1b3c6d) >>> 0;

/** The i-th of n plausible records: ten results a learner, two years, each learner in a cohort, a campus and a class. */
export function benchRecord(i: number, n: number) {
  const learner = mix(i) % Math.max(1, Math.floor(n / 10));
  const subject = ['digital', 'english', 'maths'][mix(i + 1) % 3]!;
  const [rqf_level, rqf_level_code, below_level_1, working_level, recommended_next_level] =
    levels[mix(i + 2) % levels.length]!;
  return {
    learner: {
      ref: `LRN-${String(learner).padStart(8, '0')}`,
      full_name: `Learner ${['Ana', 'Ben', 'Chi', 'Dev', 'Eve'][learner % 5]} ${learner.toString(36)}`,
    },
    assessed_at: new Date(1_700_000_000_000 + (mix(i + 3) % 63_072_000) * 1000).toISOString(),
    subject,
    framework: 'Functional Skills subject content',
    rqf_level,
    rqf_level_code,
    below_level_1,
    working_level,
    recommended_next_level,
    is_borderline: i % 9 === 0,
    needs_review: i % 13 === 0,
    domains: domains[subject]!.map((name, d) => ({ name, score_pct: (i + 17 * d) % 101, status: 'developing' })),
  };
}

/** An organisation without limits, in which nothing is stored yet. */
export const makeOrganisation = (app: App, name = 'Benchmark'): Promise<Organisation> =>
  withUnitOfWork(app, null, (work) =>
    createOrganisation(work, { name, plan: 'unlimited', credits: 0, groupAutocreate: true }),
  );

const groupOf = (type: string, count: number, learner: number) => ({
  type,
  ref: `${type}-${learner % count}`,
  name: `${type} ${learner % count}`,
});

/** Every learner is in one group of each type. */
export const groupsOf = (learner: number) => [
  groupOf('campus', 5, learner),
  groupOf('cohort', 40, learner),
  groupOf('course', 15, learner),
];

/** An organisation with n results and 60 groups, committed in batches. `untilNow`: the last result is of these days. */
export async function fillOrganisation(app: App, n: number, { untilNow = false } = {}): Promise<Organisation> {
  const organisation = await makeOrganisation(app, `Bench ${n}`);
  const id = organisation.organisation_id;
  await withUnitOfWork(app, null, async (work) => {
    const all = Array.from({ length: 120 }, (_, learner) => groupsOf(learner)).flat();
    const each = [...new Map(all.map((group) => [group.ref, group])).values()];
    await ensureGroups(work, await lockFeed(work, id), each, { autocreate: true });
  });
  const laterMs = untilNow ? app.clock.nowMs() - lastMs : 0;
  const recordAt = (i: number): ReadyRecord => {
    const record = benchRecord(i, n);
    const groups = groupsOf(Number(record.learner.ref.slice(4)));
    const assessed_at = new Date(Date.parse(record.assessed_at) + laterMs).toISOString();
    return readyRecord({ ...record, assessed_at, groups }, organisation.public_id, app.clock.nowMs());
  };
  // A large batch changes each cell of the digest fewer times, and nobody waits for its lock here.
  const batch = 10_000;
  let nextAnalyze = batch;
  const memory = emptyLearnerCache();
  let stored: Promise<unknown> = Promise.resolve();
  for (let from = 0; from < n; from += batch) {
    const records: ReadyRecord[] = [];
    for (let i = from; i < Math.min(n, from + batch); i++) {
      records.push(recordAt(i));
      // Lets in what the database answers about the batch that is stored meanwhile.
      if (i % 16 === 0) await setImmediate();
    }
    await stored;
    if (process.stderr.isTTY && from > 0) process.stderr.write(`\r${from} of ${n} results\u001b[K`);
    if (from >= nextAnalyze) {
      nextAnalyze = from * 8;
      await app.db.query('analyze');
    }
    stored = withUnitOfWork(app, null, (work) =>
      importRecords(work, id, records, { events: false, actor: 'bench', memory }),
    );
    // The next await throws a failure. Until then it must not count as unhandled.
    stored.catch(() => {});
  }
  await stored;
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  await app.db.query('vacuum analyze');
  return organisation;
}

/** The ID of a numbered result. A load puts numbers in turn into `############`. */
export const idOf = (n: number | string) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Results with IDs made from their numbers. */
export async function fillNumbered(
  app: App,
  { organisation_id: id, public_id }: Organisation,
  count: number,
): Promise<void> {
  for (let from = 0; from < count; from += 1000) {
    const records = Array.from({ length: Math.min(1000, count - from) }, (_, i) =>
      readyRecord({ ...benchRecord(from + i, count), assessment_id: idOf(from + i) }, public_id, app.clock.nowMs()),
    );
    await withUnitOfWork(app, null, (work) => importRecords(work, id, records, { events: false, actor: 'bench' }));
  }
  await app.db.query('vacuum analyze');
}
