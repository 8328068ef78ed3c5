import { setImmediate } from 'node:timers/promises';
import { inWork } from '../src/db/work.ts';
import type { App } from '../src/app.ts';
import { importRecords } from '../src/imports/import.ts';
import type { ReadyRecord } from '../src/imports/record.ts';
import { readyRecord } from '../src/imports/record.ts';
import { lockFeed } from '../src/feed/position.ts';
import { ensureGroups } from '../src/groups/create.ts';
import type { Organisation } from '../src/organisations/organisations.ts';
import { createOrganisation, findOrganisation } from '../src/organisations/organisations.ts';

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

/** An organisation that was filled to its end; at which commit, where `bench/run.ts` did it. */
export type Filled = { organisation: Organisation; seconds: number; commit: string | null };

/** What an earlier run filled to its end in a kept database, by name and size: what was interrupted in between is never found. */
export async function findFilled(app: App, name: string, results: number): Promise<Filled | null> {
  await app.db.query(
    'create table if not exists bench_filled (organisation_id int8 primary key, results int8 not null, seconds float8 not null, commit text)',
  );
  const [row] = await app.db.query<{ public_id: string; seconds: number; commit: string | null }>(
    `select o.public_id, f.seconds, f.commit from bench_filled f join organisation o using (organisation_id)
      where o.name = $1 and f.results = $2 order by organisation_id desc limit 1`,
    [name, results],
  );
  if (row === undefined) return null;
  return {
    organisation: (await findOrganisation(app.db, row.public_id))!,
    seconds: row.seconds,
    commit: row.commit,
  };
}

export async function noteFilled(app: App, { organisation_id }: Organisation, results: number, seconds: number) {
  await app.db.query('insert into bench_filled (organisation_id, results, seconds, commit) values ($1, $2, $3, $4)', [
    organisation_id,
    results,
    seconds,
    process.env.BENCH_COMMIT ?? null,
  ]);
}

/** An organisation of an earlier run with so many results, or one that is filled now. */
export async function filledOrganisation(app: App, n: number): Promise<Filled> {
  const name = `Bench ${n}`;
  const known = await findFilled(app, name, n);
  if (known !== null) return known;
  const begunMs = performance.now();
  const organisation = await fillOrganisation(app, n, (done) => {
    if (process.stderr.isTTY)
      process.stderr.write(`\r${done} of ${n} results\u001b[K${done === n ? '\r\u001b[K' : ''}`);
  });
  await noteFilled(app, organisation, n, (performance.now() - begunMs) / 1000);
  return (await findFilled(app, name, n))!;
}

/** An organisation with n results and 60 groups, committed in batches. */
export async function fillOrganisation(
  app: App,
  n: number,
  onProgress: (done: number) => void = () => {},
): Promise<Organisation> {
  const organisation = await inWork(app, null, (work) =>
    createOrganisation(work, { name: `Bench ${n}`, plan: 'unlimited', credits: 0, groupAutocreate: true }),
  );
  const group = (type: string, count: number, learner: number) => ({
    type,
    ref: `${type}-${learner % count}`,
    name: `${type} ${learner % count}`,
  });
  await inWork(app, null, async (work) => {
    const feed = await lockFeed(work, organisation.organisation_id);
    const all = [...Array(5).keys()]
      .map((k) => group('campus', 5, k))
      .concat(
        [...Array(40).keys()].map((k) => group('cohort', 40, k)),
        [...Array(15).keys()].map((k) => group('course', 15, k)),
      );
    await ensureGroups(work, feed, all, { autocreate: true });
  });
  const recordAt = (i: number): ReadyRecord => {
    const record = benchRecord(i, n);
    const learner = Number(record.learner.ref.slice(4));
    const groups = [group('campus', 5, learner), group('cohort', 40, learner), group('course', 15, learner)];
    return readyRecord({ ...record, groups }, organisation.public_id, app.clock.nowMs());
  };
  // Nobody waits for the lock that a batch holds, and a large one meets each cell of the digest fewer times.
  const batch = 10_000;
  let nextAnalyze = batch;
  let stored: Promise<unknown> = Promise.resolve();
  for (let from = 0; from < n; from += batch) {
    const records: ReadyRecord[] = [];
    for (let i = from; i < Math.min(n, from + batch); i++) {
      records.push(recordAt(i));
      // The batch before is being stored meanwhile: what the database answers is let in.
      if (i % 16 === 0) await setImmediate();
    }
    await stored;
    if (from > 0) onProgress(from);
    if (from >= nextAnalyze) {
      nextAnalyze = from * 8;
      await app.db.query('analyze');
    }
    stored = inWork(app, null, (work) =>
      importRecords(work, organisation.organisation_id, records, { events: false, actor: 'bench' }),
    );
    // A failure is thrown by the next await; until then it must not count as unhandled.
    stored.catch(() => {});
  }
  await stored;
  onProgress(n);
  await app.db.query('vacuum analyze');
  return organisation;
}

/** Results whose ids are made from their numbers, so that a load can ask for them in turn. */
export async function fillNumbered(
  app: App,
  { organisation_id: id, public_id }: Organisation,
  count: number,
  idOf: (n: number) => string,
): Promise<void> {
  for (let from = 0; from < count; from += 1000) {
    const records = Array.from({ length: Math.min(1000, count - from) }, (_, i) =>
      readyRecord({ ...benchRecord(from + i, count), assessment_id: idOf(from + i) }, public_id, app.clock.nowMs()),
    );
    await inWork(app, null, (work) => importRecords(work, id, records, { events: false, actor: 'bench' }));
  }
}
