import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openDatabase } from '../../src/platform/db/database.ts';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import type { Client } from '../contract/support/client.ts';
import { client } from '../contract/support/client.ts';
import { onCitus } from '../support/postgres.ts';
import { withService } from '../support/service.ts';
import type { MirrorOptions } from './world/mirror.ts';
import { Mirror, Shown } from './world/mirror.ts';
import { Model } from './world/model.ts';
import { secret, serviceProcess } from './world/processes.ts';
import { PositionWatch } from './world/watch.ts';
import { unsteadyClock } from './world/unsteady-clock.ts';
import { erasedRefs, World } from './world/world.ts';

/**
 * Random concurrent histories of every writer, over two processes and three pools of connections. The clocks disagree:
 * one is the machine's, the others step back and forth, and are set five minutes ahead and back again in the second
 * half. LAW_SEED repeats the choices of a run (the interleaving is the machine's), LAW_ROUNDS makes it longer: changes
 * of each writer.
 */
const seed = process.env.LAW_SEED ?? String(process.hrtime.bigint());
const rounds = Number(process.env.LAW_ROUNDS ?? 24);
const writers = 8;

/** What a consumer follows: its query, with what its key adds. */
function seenBy({ path, query, bounds }: MirrorOptions): string {
  return `${path}?${[query, bounds].filter((part) => part !== undefined).join('&')}`;
}

test('law 1, 2 and 3: every mirror converges, everything shown is stamped, positions follow commits', async (context) => {
  context.diagnostic(`LAW_SEED=${seed}`);
  const settings = { ARS_BASE_URL: 'http://results.test', ARS_RATE_LIMIT: '1000000', ARS_SECRET: secret };
  const clock = unsteadyClock(seededRandom(`${seed} clock`));
  const service = await withService({ own: 'Moves the clock.', settings, clock });
  // Durability is another law's matter: without waiting for the disk more happens at once.
  await service.app.db.query(
    `do $$ begin execute format('alter database %I set synchronous_commit = off', current_database()); end $$`,
  );
  await service.restart();
  const org = await service.organisation();
  const other = await serviceProcess({ ...settings, DATABASE_URL: service.databaseUrl });
  const own = openDatabase(service.databaseUrl, service.app.log, 4, undefined, onCitus);
  const clients = [org, client(other.url, org.key)];
  const operator = { ...service.app, db: own, clock: unsteadyClock(seededRandom(`${seed} operator's clock`)) };
  const random = seededRandom(seed);
  const world = new World(org, clients, [service.withUnitOfWork, (inside) => withUnitOfWork(operator, null, inside)]);
  // What is under way; nothing that it uses may be closed before it has ended, whatever it ends with.
  const all: Promise<unknown>[] = [];
  try {
    await world.begin(random);

    const [g, h, i, j] = world.groups;
    const [ref, second, third, later] = world.watched;
    // Consumers with bounds: what their key adds to every query.
    const bounded = new Map<string, Client[]>();
    for (const bounds of [{ groupIds: [g!, h!], subjects: ['maths', 'english'] }, { groupIds: [i!, j!] }]) {
      const key = await org.another(bounds);
      const text = new URLSearchParams({ group_id: bounds.groupIds.join() });
      if (bounds.subjects !== undefined) text.set('subject', bounds.subjects.join());
      bounded.set(decodeURIComponent(text.toString()), [key, client(other.url, key.key)]);
    }
    const [narrow, wide] = [...bounded.keys()];
    const consumers: MirrorOptions[] = [
      { path: '/assessments', limit: 7, manner: 'linger' },
      { path: '/assessments', limit: 100, manner: 'follow' },
      { path: '/assessments', limit: 500, manner: 'sweep' },
      { path: '/assessments', limit: 100, manner: 'since only' },
      { path: '/assessments', limit: 7, manner: 'follow', query: 'subject=digital,maths' },
      {
        path: '/assessments',
        limit: 7,
        manner: 'linger',
        query: 'subject=english&rqf_level_code=1,2&below_level_1=true',
      },
      { path: '/assessments', limit: 100, manner: 'since only', query: 'rqf_level_code=2,3,5' },
      {
        path: '/assessments',
        limit: 7,
        manner: 'follow',
        query: 'assessed_from=2025-03-01T00:00:00.000Z&assessed_to=2025-09-30T00:00:00.000Z',
      },
      { path: '/assessments', limit: 7, manner: 'follow', query: `group_id=${g}` },
      { path: '/assessments', limit: 1, manner: 'linger', query: `group_id=${h}` },
      { path: '/assessments', limit: 7, manner: 'linger', query: `group_id=${g},${h},${i},${world.teams[0]}` },
      { path: '/assessments', limit: 100, manner: 'since only', query: `group_id=${i},${j}` },
      { path: '/assessments', limit: 7, manner: 'sweep', query: `group_id=${j}` },
      {
        path: '/assessments',
        limit: 7,
        manner: 'follow',
        query: `group_id=${h},${j}&subject=maths,digital&assessed_from=2025-02-01T00:00:00.000Z`,
      },
      { path: '/assessments', limit: 100, manner: 'linger', query: `group_id=${world.groups.join(',')}` },
      { path: '/assessments', limit: 7, manner: 'follow', query: `learner_ref=${ref}` },
      { path: '/assessments', limit: 1, manner: 'linger', query: `learner_ref=${second}` },
      { path: '/assessments', limit: 100, manner: 'since only', query: `learner_ref=${third}` },
      { path: '/assessments', limit: 2, manner: 'follow', query: `learner_ref=${later}` },
      { path: '/assessments', limit: 7, manner: 'linger', query: `learner_ref=${ref}&group_id=${g},${i}` },
      { path: '/assessments', limit: 3, manner: 'linger', query: `learner_ref=${erasedRefs[0]}` },
      { path: '/learners', limit: 7, manner: 'follow' },
      { path: '/learners', limit: 500, manner: 'sweep' },
      { path: '/learners', limit: 100, manner: 'since only' },
      { path: '/groups', limit: 1, manner: 'follow' },
      { path: '/groups', limit: 7, manner: 'linger' },
      { path: '/assessments', limit: 7, manner: 'follow', bounds: narrow },
      { path: '/assessments', limit: 100, manner: 'since only', bounds: narrow },
      { path: '/assessments', limit: 7, manner: 'linger', bounds: wide },
      { path: '/assessments', limit: 7, manner: 'follow', bounds: wide, query: 'below_level_1=false' },
      { path: '/groups', limit: 1, manner: 'follow', bounds: wide },
    ];
    const shown = new Shown();
    const mirrors = consumers.map(
      (options, n) =>
        new Mirror(bounded.get(options.bounds ?? '') ?? clients, seededRandom(`${seed} mirror ${n}`), shown, options),
    );
    const watch = new PositionWatch(own, org.id, 500_000);

    const work = Array.from({ length: writers }, async (_, n) => {
      const choices = seededRandom(`${seed} writer ${n}`);
      for (let round = 0; round < rounds && !world.over; round++) await world.change(choices, n + round * writers);
    });
    const following = mirrors.map(async (mirror, n) => {
      const choices = seededRandom(`${seed} restarts ${n}`);
      while (!world.over) {
        await mirror.poll(choices.float() < 0.8);
        if (choices.float() < 0.1) mirror.restart();
        await world.until(world.changes + Math.floor(choices.float() * 30));
      }
    });
    const setting = (async () => {
      await world.until((writers * rounds) / 2);
      clock.leap(300_000);
      await world.until(writers * rounds * 0.75);
      clock.leap(-300_000);
    })();
    const watching = (async () => {
      while (!world.over) await watch.look();
    })();
    // The first fault ends the history, so that a run with a mutation fails at once.
    all.push(
      ...following,
      watching,
      setting,
      Promise.all(work).finally(() => world.end()),
    );
    await Promise.all(all).finally(() => world.end());
    await watch.look();

    assert.deepEqual(world.untried, []);
    const sweeps = new Map<string, Map<string, string>>();
    await Promise.all(
      mirrors.map(async (mirror) => {
        const sweep = await mirror.assertConverged();
        sweeps.set(seenBy(mirror.options), sweep);
      }),
    );
    const model = await Model.read(own, org.id, sweeps.get('/assessments?')!, sweeps.get('/learners?')!);
    model.assertOneTruth();
    const reached = await world.assertReached(async (one) => {
      const answer = await org.get(`/learners/${one}`);
      return answer.status === 404 ? null : answer.body.data.learner_id;
    });
    for (const options of consumers) {
      const seen = seenBy(options);
      if (options.path === '/assessments' && seen !== '/assessments?')
        model.assertFiltered(seen.slice('/assessments?'.length), sweeps.get(seen)!, reached);
    }
    context.diagnostic(
      `${writers * rounds} changes, ${mirrors.reduce((sum, mirror) => sum + mirror.polls, 0)} polls in ${mirrors.reduce((sum, mirror) => sum + mirror.requests, 0)} requests, ${shown.entries} entries, ${watch.looks} looks, ${sweeps.get('/assessments?')!.size} results`,
    );
  } finally {
    await Promise.allSettled(all);
    await own.close();
    await other.kill();
  }
});
