import type { App } from '../../src/platform/app.ts';
import { learnerJson, storedColumns } from '../../src/records/results/body.ts';
import { recordAssessments } from '../../src/records/results/record.ts';
import type { Tx } from '../../src/platform/db/database.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { insertLearners } from '../../src/records/learners/learners.ts';
import { makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { median, openBench } from '../support/process.ts';

/**
 * Completions a second, as sittings make them, in one organisation and in a hundred, beside the same transactions without
 * the feed's lock (positions come from this process). Usage: node bench/scenarios/writes.ts [rounds] [seconds]
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 3);
const writers = 8;
const { app, close } = await openBench();

type Writers = { id: number; learners: { learner_id: string; ref: string; full_name: string; email: null }[] };

/** An organisation with 200 learners. */
async function writersOf(app: App): Promise<Writers> {
  const { organisation_id: id } = await makeOrganisation(app);
  return withUnitOfWork(app, null, async (work) => {
    const learners = Array.from({ length: 200 }, (_, l) => ({
      learner_id: work.uuid(),
      ref: `L-${l}`,
      full_name: `Learner ${l}`,
      email: null,
    }));
    await insertLearners(work, await lockFeed(work, id), learners);
    return { id, learners };
  });
}

const content = {
  assessed_at_us: 1_760_000_000_000_000,
  subject: 'maths' as const,
  framework: 'Functional Skills subject content',
  rqf_level: 'Level 1',
  rqf_level_code: 2,
  below_level_1: false,
  working_level: 'Level 1',
  recommended_next_level: 'Level 2',
  is_borderline: false,
  needs_review: false,
  domains: ['Number and the number system', 'Common measures, shape and space', 'Handling information and data'].map(
    (name) => ({ name, score_pct: 61, status: 'developing' }),
  ),
  level_probabilities: null,
};

/** A learner of the organisation completes an assessment. */
async function complete(work: UnitOfWork, { id, learners }: Writers): Promise<void> {
  const learner = learners[Math.floor(work.random.float() * learners.length)]!;
  const feed = await lockFeed(work, id);
  await recordAssessments(
    work,
    feed,
    [
      {
        assessment_id: work.uuid(),
        learner_id: learner.learner_id,
        source: 'sitting',
        assessed_at: content.assessed_at_us,
        learner: learnerJson(learner.ref, learner.full_name),
        report_sha256: null,
        ...storedColumns(content),
      },
    ],
    { events: true },
  );
}

const organisations = await Promise.all(Array.from({ length: 100 }, () => writersOf(app)));
await app.db.query('analyze');

await app.db.query(`create function keep_no_cell() returns trigger language plpgsql as $$ begin return null; end $$`);

let unlockedPosition = 4_000_000_000_000_000 + app.clock.nowMs();

/** The same statements and round trips, but nothing waits: each transaction gets positions of its own. */
function withoutLock(tx: Tx): Tx {
  return {
    query: (async (sql, values) => {
      const name = typeof sql === 'string' ? '' : sql.name;
      if (name === 'feed.lock') {
        const position = (unlockedPosition += 1000);
        const [row] = await tx.query<{ shape: number }>(
          'select position, shape from feed where organisation_id = $1',
          values,
        );
        return [{ ...row, position }];
      }
      if (name === 'feed.move')
        return tx.query(`select ${values!.map((_, i) => `$${i + 1}::text`).join()}`, values!.map(String));
      return tx.query(sql, values);
    }) as Tx['query'],
  };
}

async function measure(count: number, locked: boolean): Promise<number> {
  let done = 0;
  // The cells of the digest are locked as well.
  await app.db.query('drop trigger if exists keep_no_cell on digest_cell');
  if (!locked)
    await app.db.query(
      'create trigger keep_no_cell before insert on digest_cell for each row execute function keep_no_cell()',
    );
  const stopMs = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (performance.now() < stopMs) {
        const organisation = organisations[Math.floor(app.random.float() * count)]!;
        await withUnitOfWork(app, null, (work) =>
          complete(locked ? work : { ...work, tx: withoutLock(work.tx) }, organisation),
        );
        done++;
      }
    }),
  );
  return done / seconds;
}

await measure(100, true);
for (const [count, goal] of [
  [1, 0.3],
  [100, 0.85],
] as const) {
  const [ratios, rates]: number[][] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const without = await measure(count, false);
    rates!.push(await measure(count, true));
    ratios!.push(rates!.at(-1)! / without);
  }
  const name = `${count} organisation${count === 1 ? '' : 's'}`;
  figure(name, median(rates!), 'a second');
  figure(`${name}, by those unlocked`, median(ratios!), 'times', { atLeast: goal });
}
await close();
