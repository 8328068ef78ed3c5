import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { olderProcessServes } from '../../../src/feed/restamp.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { newRestamping, restampNext } from '../../../src/governance/upgrade/restamp.ts';
import type { Client } from '../../contract/support/client.ts';
import { client } from '../../contract/support/client.ts';
import { onCitus } from '../../support/postgres.ts';
import { recordResults } from '../../support/scenario.ts';
import type { TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import type { MirrorOptions } from '../world/mirror.ts';
import { Mirror, Shown } from '../world/mirror.ts';
import { startNextRelease } from './next-process.ts';
import { filled, people, previousRelease, resultsEach, settings } from './previous-release.ts';

/** Consumers that hold what they were shown. */
async function followed(consumers: Client[], groupId: string) {
  const random = seededRandom('restamp');
  const shown = new Shown();
  const ways: MirrorOptions[] = [
    { path: '/assessments', limit: 7, manner: 'follow' },
    { path: '/assessments', limit: 100, manner: 'since only' },
    { path: '/assessments', limit: 7, manner: 'linger', query: `group_id=${groupId}` },
    { path: '/learners', limit: 7, manner: 'follow' },
    { path: '/learners', limit: 100, manner: 'since only' },
  ];
  const mirrors = ways.map((options) => new Mirror(consumers, random, shown, options));
  for (const mirror of mirrors) await mirror.poll();
  return mirrors;
}

/** This release on a database of one before. */
async function upgraded() {
  const { service, scene, group } = await previousRelease();
  return { service, scene, consumer: scene.org, mirrors: await followed([scene.org], group.id) };
}

async function drain(service: TestService, doing = newRestamping()): Promise<number> {
  let slices = 0;
  for (;;) {
    const step = await restampNext(service.app, doing);
    if (step === 'nothing left') return slices;
    if (step === 'moved') slices++;
  }
}

const allOf = async (consumer: { get(path: string): Promise<any> }, path: string): Promise<any[]> =>
  (await consumer.get(`${path}?limit=500`)).body.data;

/** Every live record has moved since, once, to an updated_at of its own. */
async function assertRestamped(consumer: Client, through: string): Promise<void> {
  for (const [path, expected] of [
    ['/assessments', people * resultsEach],
    ['/learners', people],
  ] as const) {
    const all = await allOf(consumer, path);
    assert.equal(all.length, expected);
    for (const one of all) if (one.status !== 'deleted') assert.ok(one.updated_at > through, one.updated_at);
  }
}

suite('law 2 across releases', async () => {
  const evidenceOf = (service: TestService) =>
    service.app.db.query('select assessment_id, edition, sha256, input from evidence order by assessment_id, edition');

  test('law 2: a mirror equals a sweep after each delta walk, at every slice', async () => {
    const { consumer, scene, service, mirrors } = await upgraded();
    for (const one of (await allOf(consumer, '/assessments')).slice(0, 9))
      if (one.status === 'completed') await consumer.get(`/assessments/${one.assessment_id}/report.pdf`);
    for (const mirror of mirrors) await mirror.poll();
    const evidence = await evidenceOf(service);
    assert.ok(evidence.length > 0);
    const { 'x-sync-through': through } = (await consumer.get('/assessments')).headers;
    // Until the restamp begins, this release shows what the one before showed, also of what is new.
    await service.withUnitOfWork((work) => recordResults(work, scene.org.id, [{ ref: 'L-1', subject: 'english' }]));
    const doing = newRestamping();
    let slices = 0;
    for (;;) {
      for (const mirror of mirrors) await mirror.assertConverged();
      if ((await restampNext(service.app, doing)) === 'nothing left') break;
      slices++;
    }
    assert.ok(slices > (people * resultsEach) / limits.restampRecords);
    const results = await allOf(consumer, '/assessments');
    assert.equal(results.length, people * resultsEach + 1);
    for (const one of results) if (one.status === 'completed') assert.ok(one.updated_at > through!);
    assert.deepEqual(await evidenceOf(service), evidence);
    const before = (await consumer.get('/assessments')).headers.etag;
    assert.equal(await drain(service), 0);
    assert.equal((await consumer.get('/assessments')).headers.etag, before, 'law 2: nothing changed, and the ETag did');
  });

  test('law 2: killed before and after the commit of any slice, the next process goes on', async () => {
    const { consumer, mirrors, service } = await upgraded();
    const { 'x-sync-through': through } = (await consumer.get('/learners')).headers;
    for (const [slice, when] of [
      [1, 'before'],
      [1, 'after'],
      [1, 'before'],
    ] as const) {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'die-restamping.ts'), String(slice), when], {
        env: { ...process.env, ...settings, ...service.environment },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      await once(child, 'exit');
      assert.equal(child.signalCode, 'SIGKILL');
      for (const mirror of mirrors) await mirror.assertConverged();
    }
    await drain(service);
    for (const mirror of mirrors) await mirror.assertConverged();
    await assertRestamped(consumer, through!);
  });

  test('law 2: two processes at once and a writer beside them', async () => {
    const { consumer, mirrors, scene, service } = await upgraded();
    const { 'x-sync-through': through } = (await consumer.get('/learners')).headers;
    const other = openDatabase(service.databaseUrl, service.app.log, 4, undefined, onCitus);
    try {
      const ids: string[] = [];
      const writing = (async () => {
        for (let i = 0; i < 6; i++) {
          ids.push(
            ...(await withUnitOfWork({ ...service.app, db: other }, null, (work) =>
              recordResults(work, scene.org.id, [{ ref: `L-${i + 1}`, subject: 'digital' }]),
            )),
          );
          for (const mirror of mirrors) await mirror.poll();
        }
      })();
      await Promise.all([
        drain(service),
        (async () => {
          const doing = newRestamping();
          while ((await restampNext({ ...service.app, db: other }, doing)) !== 'nothing left');
        })(),
        writing,
      ]);
      for (const mirror of mirrors) await mirror.assertConverged();
      const data = await allOf(consumer, '/assessments');
      assert.equal(data.length, people * resultsEach + ids.length);
      for (const one of data) if (one.status === 'completed') assert.ok(one.updated_at > through!);
    } finally {
      await other.close();
    }
  });

  test('an older process is known by its connection, and one of this release is not taken for one', async () => {
    const service = await withService();
    assert.equal(await olderProcessServes(service.app.db), false);
    const old = new pg.Client({ connectionString: service.databaseUrl, application_name: 'ars/0' });
    await old.connect();
    assert.equal(await olderProcessServes(service.app.db), true);
    await old.end();
    while (await olderProcessServes(service.app.db));
  });
});

test('law 2: beside an old process a new one shows old payloads, and restamps once it is alone', async () => {
  const old = await withService({ own: 'Is left to a later release.', settings });
  const { scene, group } = await filled(old);
  const next = await startNextRelease(old);
  try {
    const ofNext = client(next.url, scene.org.key);
    const mirrors = await followed([scene.org, ofNext], group.id);
    const editions = async () => (await allOf(ofNext, '/assessments')).filter((one) => one.edition !== undefined);
    // Both write and show the same, however long they run beside each other.
    const until = systemClock.monotonicMs() + 3 * 500;
    for (let i = 1; i < people || systemClock.monotonicMs() < until; i++) {
      await (i % 2 === 0 ? ofNext : scene.org).post('/learners', {
        ref: `L-${1 + (i % people)}`,
        full_name: `Name ${i}`,
      });
      for (const mirror of mirrors) await mirror.poll();
    }
    for (const mirror of mirrors) await mirror.assertConverged();
    assert.deepEqual(await editions(), []);
    const { 'x-sync-through': through } = (await ofNext.get('/assessments')).headers;

    await old.stop();
    // From here on they ask the new one alone.
    for (const mirror of mirrors) mirror.asks([ofNext]);
    const live = (await allOf(ofNext, '/assessments')).filter((one) => one.status === 'completed').length;
    while ((await editions()).length < live) for (const mirror of mirrors) await mirror.poll();
    // Learners and groups are restamped after the results.
    const database = new pg.Client({ connectionString: old.databaseUrl, application_name: 'test' });
    await database.connect();
    while ((await database.query('select from feed where shape_position > 0')).rowCount !== 0) await delay(50);
    await database.end();
    for (const mirror of mirrors) await mirror.assertConverged();
    await assertRestamped(ofNext, through!);
    // The new release has migrated, and the old one doesn't start on the database any more.
    const refused = await old.sibling().catch((error: Error) => error.message);
    assert.match(String(refused), /has migration 9001, which this version of the service does not know/);
  } finally {
    await next.stop();
  }
});
