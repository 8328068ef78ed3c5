import { nilUuid } from '../src/uuid.ts';
import { inWork } from '../src/db/work.ts';
import type { Tx } from '../src/db/database.ts';
import { openApp } from '../src/open-app.ts';
import { readSettings } from '../src/settings.ts';
import { complete, organisationsOfWriters } from './completions.ts';
import { figure } from './figures.ts';
import { median } from './process.ts';

/**
 * Completions a second with the feed's lock, beside the same transactions without it (the lock's statement reads
 * nothing that waits, positions are handed out by this process): one hot organisation, then a hundred.
 * Needs DATABASE_URL and ARS_SECRET. Usage: node bench/writes.ts [rounds] [seconds]
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 3);
const writers = 8;
const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });

const organisations = await organisationsOfWriters(app, 100);
await app.db.query('analyze');

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
        // The cells of the digest are locked as well.
        return [{ ...row, position, digest_through: nilUuid }];
      }
      if (name === 'feed.move')
        return tx.query(`select ${values!.map((_, i) => `$${i + 1}::text`).join()}`, values!.map(String));
      return tx.query(sql, values);
    }) as Tx['query'],
  };
}

async function measure(count: number, locked: boolean): Promise<number> {
  let done = 0;
  const stopMs = performance.now() + seconds * 1000;
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (performance.now() < stopMs) {
        const organisation = organisations[Math.floor(app.random.float() * count)]!;
        await inWork(app, null, (work) =>
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
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const without = await measure(count, false);
    const locked = await measure(count, true);
    ratios.push(locked / without);
    console.log(
      `${String(count).padStart(3)} organisations  locked ${locked.toFixed(0)}/s  without ${without.toFixed(0)}/s  ratio ${(locked / without).toFixed(2)}`,
    );
  }
  console.log(`${String(count).padStart(3)} organisations  median ratio ${median(ratios).toFixed(2)} (goal ${goal})`);
  figure(
    `completions, ${count} organisation${count === 1 ? '' : 's'}, of those without the lock`,
    median(ratios),
    'times',
    {
      atLeast: goal,
    },
  );
}
await close();
