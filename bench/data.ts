import { setImmediate } from 'node:timers/promises';
import type { Tx } from '../src/db/database.ts';
import type { Work } from '../src/db/work.ts';
import { inWork } from '../src/db/work.ts';
import type { App } from '../src/app.ts';
import { importRecords } from '../src/imports/import.ts';
import { emptyMemory } from '../src/imports/known.ts';
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

/** An organisation that is filled, or was until an interruption. */
export type Filled = {
  organisation: Organisation;
  /** How many of its results are stored; null: all, and nothing else is to be done. */
  done: number | null;
  /** What its filling took so far, without what an interruption undid. */
  seconds: number;
  /** At which commit, where `bench/run.ts` filled all of it at one. */
  commit: string | null;
};

/** What is in a kept database by this name, and of this size once it is filled: each part was committed with its note. */
async function findFilled(app: App, name: string, results: number): Promise<Filled | null> {
  await app.db.query(
    'create table if not exists bench_filled (organisation_id int8 primary key, results int8 not null, seconds float8 not null, commit text)',
  );
  await app.db.query('alter table bench_filled add column if not exists done int8');
  const [row] = await app.db.query<{ public_id: string; done: number | null; seconds: number; commit: string | null }>(
    `select o.public_id, f.done, f.seconds, f.commit from bench_filled f join organisation o using (organisation_id)
      where o.name = $1 and f.results = $2 order by organisation_id desc limit 1`,
    [name, results],
  );
  if (row === undefined) return null;
  const { public_id, ...rest } = row;
  return { organisation: (await findOrganisation(app.db, public_id))!, ...rest };
}

/** Goes into the transaction of what it speaks of. */
async function noteFilled(tx: Tx, { organisation, done, seconds, commit }: Filled, results: number): Promise<void> {
  await tx.query(
    `insert into bench_filled (organisation_id, results, done, seconds, commit) values ($1, $2, $3, $4, $5)
     on conflict (organisation_id) do update set done = excluded.done, seconds = excluded.seconds, commit = excluded.commit`,
    [organisation.organisation_id, results, done, seconds, commit],
  );
}

/**
 * An organisation of this name with so many results: as an earlier run left it, gone on with where that was interrupted, or
 * a new one. @param fill stores the results from this number on, in order, and notes in each transaction how many are stored
 */
export async function filledBy(
  app: App,
  name: string,
  results: number,
  fill: (organisation: Organisation, from: number, note: Note) => Promise<void>,
): Promise<Filled> {
  const known = await findFilled(app, name, results);
  if (known?.done === null) return known;
  const now = process.env.BENCH_COMMIT ?? null;
  const begun: Filled =
    known ??
    (await inWork(app, null, async (work) => {
      const made = { organisation: await makeOrganisation(work, name), done: 0, seconds: 0, commit: now };
      await noteFilled(work.tx, made, results);
      return made;
    }));
  const begunMs = performance.now();
  const noted = (done: number | null): Filled => ({
    organisation: begun.organisation,
    done,
    seconds: begun.seconds + (performance.now() - begunMs) / 1000,
    commit: begun.commit === now ? now : null,
  });
  await fill(begun.organisation, begun.done!, (tx, done) => noteFilled(tx, noted(done), results));
  const filled = noted(null);
  await noteFilled(app.db, filled, results);
  return filled;
}

/** Says in a transaction how many results are stored once it is committed. */
export type Note = (tx: Tx, done: number) => Promise<void>;

type OnProgress = (done: number, organisation: Organisation) => void;

/** An organisation of an earlier run with so many results, the rest of an interrupted one, or one that is filled now. */
export function filledOrganisation(
  app: App,
  n: number,
  onProgress: OnProgress = (done) => {
    if (process.stderr.isTTY)
      process.stderr.write(`\r${done} of ${n} results\u001b[K${done === n ? '\r\u001b[K' : ''}`);
  },
): Promise<Filled> {
  return filledBy(app, `Bench ${n}`, n, (organisation, from, note) =>
    fillFrom(app, organisation, n, { from, note, onProgress }),
  );
}

const makeOrganisation = (work: Work, name: string) =>
  createOrganisation(work, { name, plan: 'unlimited', credits: 0, groupAutocreate: true });

/** An organisation with n results and 60 groups, committed in batches. */
export async function fillOrganisation(app: App, n: number): Promise<Organisation> {
  const organisation = await inWork(app, null, (work) => makeOrganisation(work, `Bench ${n}`));
  await fillFrom(app, organisation, n, { from: 0, note: async () => {}, onProgress: () => {} });
  return organisation;
}

async function fillFrom(
  app: App,
  organisation: Organisation,
  n: number,
  { from: begin, note, onProgress }: { from: number; note: Note; onProgress: OnProgress },
): Promise<void> {
  if (begin > 0) onProgress(begin, organisation);
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
  let nextAnalyze = begin + batch;
  const memory = emptyMemory();
  let stored: Promise<unknown> = Promise.resolve();
  for (let from = begin; from < n; from += batch) {
    const records: ReadyRecord[] = [];
    const end = Math.min(n, from + batch);
    for (let i = from; i < end; i++) {
      records.push(recordAt(i));
      // The batch before is being stored meanwhile: what the database answers is let in.
      if (i % 16 === 0) await setImmediate();
    }
    await stored;
    if (from > begin) onProgress(from, organisation);
    if (from >= nextAnalyze) {
      nextAnalyze = from * 8;
      await app.db.query('analyze');
    }
    stored = inWork(app, null, async (work) => {
      await importRecords(work, organisation.organisation_id, records, { events: false, actor: 'bench', memory });
      await note(work.tx, end);
    });
    // A failure is thrown by the next await; until then it must not count as unhandled.
    stored.catch(() => {});
  }
  await stored;
  onProgress(n, organisation);
  await app.db.query('vacuum analyze');
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
