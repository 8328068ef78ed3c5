import { setTimeout as pause } from 'node:timers/promises';
import { inWork, feedLane } from '../src/db/work.ts';
import { addMembers, removeMembers } from '../src/groups/members.ts';
import { currentShape } from '../src/db/shape.ts';
import { lockFeed } from '../src/feed/position.ts';
import { ensureGroups } from '../src/groups/create.ts';
import { openApp } from '../src/open-app.ts';
import { newRestamping, restampNext } from '../src/restamp.ts';
import { upgradePauseMs } from '../src/upgrade.ts';
import { readSettings } from '../src/settings.ts';
import { fillOrganisation } from './data.ts';
import { figure } from './figures.ts';

/**
 * What a tight writer notices of a restamp of its organisation, in turns with and without one, and how fast a restamp is
 * beside that writer and alone. Uses DATABASE_URL and ARS_SECRET, or a database of its own in ARS_DATA_DIR.
 * Usage: node bench/restamp.ts [results] [seconds of a turn]
 */
const results = Number(process.argv[2] ?? 40_000);
const turnMs = Number(process.argv[3] ?? 5) * 1000;

const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });
try {
  const { organisation_id: id } = await fillOrganisation(app, results);
  const [group] = await inWork(app, null, async (work) =>
    ensureGroups(work, await lockFeed(work, id), [{ type: 'cohort', ref: 'bench', name: 'Bench' }], {
      autocreate: true,
    }),
  );
  await app.db.query('vacuum analyze');

  let over = false;
  async function write(): Promise<number[]> {
    const times: number[] = [];
    for (let n = 0; !over; n++) {
      const ref = `LRN-${String(Math.floor(n / 2) % 200).padStart(8, '0')}`;
      const started = performance.now();
      const change = n % 2 === 0 ? addMembers : removeMembers;
      await inWork(app, feedLane(id), async (work) => void (await change(work, id, group!.row.group_id, [ref])));
      times.push(performance.now() - started);
    }
    return times;
  }

  /** @returns records a second */
  async function restamp(): Promise<number> {
    // As a release with a newer shape finds what the one before has left.
    await app.db.query('update feed set shape = $2, shape_position = 0 where organisation_id = $1', [
      id,
      currentShape - 1,
    ]);
    const doing = newRestamping();
    const started = performance.now();
    while (!over) {
      const began = performance.now();
      if ((await restampNext(app, doing)) === 'nothing left') break;
      await pause(upgradePauseMs(performance.now() - began));
    }
    const [row] = await app.db.query<{ moved: number }>(
      `select (select count(*) from assessment_feed f where f.organisation_id = v.organisation_id and f.position > v.shape_position)
            + (select count(*) from learner_feed f where f.organisation_id = v.organisation_id and f.position > v.shape_position) as moved
         from feed v where organisation_id = $1`,
      [id],
    );
    await app.db.query('update feed set shape = $2, shape_position = 0 where organisation_id = $1', [id, currentShape]);
    return row!.moved / ((performance.now() - started) / 1000);
  }

  const p99 = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)]!;
  async function turn(what: string, doing: (() => Promise<unknown>)[]): Promise<any[]> {
    over = false;
    const running = doing.map((one) => one());
    await pause(turnMs);
    over = true;
    const outcomes = await Promise.all(running);
    console.log(
      what.padEnd(20),
      outcomes
        .map((one) =>
          Array.isArray(one)
            ? `${one.length} writes, p50 ${one.sort((a, b) => a - b)[one.length >> 1].toFixed(1)} p99 ${p99(one).toFixed(1)} ms`
            : `${Math.round(one as number)} records a second`,
        )
        .join('  '),
    );
    return outcomes;
  }
  await turn('warming up', [write]);
  const ratios: number[] = [];
  for (let n = 0; n < 4; n++) {
    const [without] = await turn('without', [write]);
    const [beside] = await turn('beside a restamp', [write, restamp]);
    ratios.push(p99(beside) / p99(without));
  }
  console.log(`p99 beside a restamp by without: ${ratios.map((one) => one.toFixed(2)).join(', ')}`);
  figure('p99 of a writer beside a restamp, worst of four turns', Math.max(...ratios), 'times', { atMost: 1.5 });
  await turn('a restamp alone', [restamp]);
} finally {
  await close();
}
