import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import pg from 'pg';
import { openDatabase } from '../../src/db/database.ts';
import { inWork } from '../../src/db/work.ts';
import { olderProcessServes } from '../../src/feed/restamp.ts';
import { createKey } from '../../src/keys/keys.ts';
import { limits } from '../../src/limits.ts';
import { seededRandom } from '../../src/random.ts';
import { fillSlice } from '../../src/feed/digest.ts';
import { newRestamping, restampNext } from '../../src/restamp.ts';
import { client } from '../contract/client.ts';
import type { MirrorOptions } from './mirror.ts';
import { digestOf, Mirror, Shown } from './mirror.ts';
import { recordResults } from '../scenario.ts';
import { onCitus } from '../postgres.ts';
import type { TestService } from '../service.ts';
import { withService } from '../service.ts';
import { people, previousRelease, resultsEach } from './previous-release.ts';

const organisationId = 1;
const settings = { ARS_BASE_URL: 'http://results.test', ARS_RATE_LIMIT: '1000000' };

/** This release on a database of the one before, with consumers that hold what that one showed. */
async function upgraded() {
  const service = await withService({ database: await previousRelease(), settings });
  const key = await service.inWork((work) => createKey(work, organisationId, { label: null, kind: 'test' }));
  const consumer = client(service.url, key);
  const random = seededRandom('restamp');
  const shown = new Shown();
  const group = (await consumer.get('/groups')).body.data[0].id;
  const ways: MirrorOptions[] = [
    { path: '/assessments', limit: 7, manner: 'follow' },
    { path: '/assessments', limit: 100, manner: 'since only' },
    { path: '/assessments', limit: 7, manner: 'linger', query: `group_id=${group}` },
    { path: '/learners', limit: 7, manner: 'follow' },
    { path: '/learners', limit: 100, manner: 'since only' },
  ];
  const mirrors = ways.map((options) => new Mirror([consumer], random, shown, { ...options, uncounted: true }));
  // What the release before showed of learners has no ids to keep it by.
  for (const mirror of mirrors.slice(0, 3)) await mirror.poll();
  return { service, consumer, mirrors, url: service.databaseUrl };
}

const fresh = newRestamping;

async function drain(service: TestService, doing = fresh()): Promise<number> {
  let slices = 0;
  for (;;) {
    const step = await restampNext(service.app, doing);
    if (step === 'nothing left') return slices;
    if (step === 'moved') slices++;
  }
}

async function evidenceOf(service: TestService): Promise<unknown[]> {
  return service.app.db.query(
    'select assessment_id, edition, sha256, input from evidence order by assessment_id, edition',
  );
}

/** Every record is shown in the new shape, once, with an updated_at of its own. */
async function assertRestamped(consumer: { get(path: string): Promise<any> }): Promise<void> {
  const results = (await consumer.get('/assessments?limit=500')).body.data;
  assert.equal(results.length, people * resultsEach);
  for (const one of results.filter((entry: any) => entry.status === 'completed')) {
    assert.match(one.learner.learner_id, /^[0-9a-f-]{36}$/);
    assert.equal(one.level_probabilities, null);
    assert.deepEqual(Object.keys(one.learner), ['learner_id', 'ref', 'full_name']);
  }
  const learners = (await consumer.get('/learners?limit=500')).body.data;
  assert.equal(learners.length, people);
  assert.deepEqual(
    learners.filter((one: any) => one.status === 'deleted').length,
    1,
    'the learner without a reference of whom the release before left nothing but the name',
  );
  for (const one of learners) assert.match(one.learner_id, /^[0-9a-f-]{36}$/);
}

suite('law 2 across releases', async () => {
  const first = await upgraded();

  test('law 2: until the restamp begins, this release shows what the one before showed', async () => {
    const { consumer, service } = first;
    const { data } = (await consumer.get('/assessments?limit=500')).body;
    const one = data.find((entry: any) => entry.learner?.ref === 'L-1');
    assert.equal(
      JSON.stringify(one),
      `{"assessment_id":"${one.assessment_id}","status":"completed","updated_at":"2026-01-01T00:00:00.500Z",` +
        '"learner":{"ref":"L-1","full_name":"Learner 1"},"assessed_at":"2026-01-10T09:00:00.000Z","subject":"maths",' +
        '"framework":"F","rqf_level":"Level 1","rqf_level_code":2,"below_level_1":false,"working_level":"Level 1",' +
        '"recommended_next_level":"Level 2","is_borderline":false,"needs_review":false,' +
        '"domains":[{"name":"Number","score_pct":60,"status":"developing"}],' +
        `"evidence_pack_url":"http://results.test/api/v1/assessments/${one.assessment_id}/report.pdf","report_sha256":null,` +
        `"groups":${JSON.stringify(one.groups)}}`,
    );
    const [learner] = (await consumer.get('/learners?limit=1')).body.data;
    assert.deepEqual(Object.keys(learner), [
      'ref',
      'full_name',
      'last_assessed_at',
      'last_assessed',
      'groups',
      'updated_at',
    ]);
    // What an older process may still show beside this one stays as it shows it, when it changes too.
    await service.inWork((work) => recordResults(work, organisationId, [{ ref: 'L-1', subject: 'english' }]));
    const [newest] = (await consumer.get('/assessments?sort=-updated_at&limit=1')).body.data;
    assert.deepEqual(Object.keys(newest.learner), ['ref', 'full_name']);
  });

  test('law 2: a mirror of the release before equals a sweep after each delta walk, at every slice', async () => {
    const { consumer, service, mirrors } = await upgraded();
    const packs = (await consumer.get('/assessments?limit=3&learner_ref=L-1')).body.data;
    for (const one of packs.filter((entry: any) => entry.status === 'completed'))
      await consumer.get(`/assessments/${one.assessment_id}/report.pdf`);
    const evidence = await evidenceOf(service);
    assert.ok(evidence.length > 0);
    const { 'x-sync-through': through } = (await consumer.get('/learners')).headers;
    const doing = fresh();
    for (;;) {
      for (const mirror of mirrors.slice(0, 3)) await mirror.assertConverged();
      if ((await restampNext(service.app, doing)) === 'nothing left') break;
    }
    for (let more = true; more;) {
      assert.equal((await consumer.get('/assessments?limit=500')).headers['x-sync-digest'], undefined);
      more = await service.inWork((work) => fillSlice(work, organisationId, 20));
      await mirrors[0]!.assertConverged();
    }
    const { held, options } = mirrors[0]!;
    const last = await consumer.get(`${options.path}?limit=500`);
    assert.equal(last.headers['x-sync-digest'], digestOf(held));
    for (const mirror of mirrors) await mirror.assertConverged();
    await assertRestamped(consumer);
    assert.deepEqual(
      (await consumer.get(`/learners?since=${through}&limit=500`)).body.data,
      (await consumer.get('/learners?limit=500')).body.data,
    );
    assert.deepEqual(await evidenceOf(service), evidence);
    const before = (await consumer.get('/assessments')).headers.etag;
    assert.equal(await drain(service), 0);
    assert.equal((await consumer.get('/assessments')).headers.etag, before, 'law 2: nothing changed, and the ETag did');
  });

  test('what a result that the release before withdrew was told by is taken back, and nothing else', async () => {
    const { service } = await upgraded();
    const ids = await service.app.db.query<{ assessment_id: string }>(
      'select assessment_id from assessment where body is not null order by assessment_id limit 2',
    );
    const [gone, stays] = ids.map((row) => row.assessment_id) as [string, string];
    for (const id of [gone, stays])
      await service.app.db.query(
        `insert into event (organisation_id, event_id, type, payload, occurred_at)
         values ($1, $2, 'assessment.completed', $3, to_timestamp(1767225600))`,
        [organisationId, id, `{"data":{"assessment_id":"${id}","learner":{"full_name":"Learner 1"}}}`],
      );
    // As that release withdraws, which knows nothing of emptied events.
    for (const sql of [
      'update assessment set learner = null, body = null where assessment_id = $1',
      'update assessment_feed set deleted = true where assessment_id = $1',
    ])
      await service.app.db.query(sql, [gone]);
    await drain(service);
    const events = await service.app.db.query<{ event_id: string; payload: string; emptied: string | null }>(
      'select event_id, payload, emptied from event',
    );
    const of = (id: string) => events.find((event) => event.event_id === id)!;
    assert.deepEqual([of(gone).payload, of(gone).emptied], ['', 'withdrawn']);
    assert.match(of(stays).payload, /Learner 1/);
  });

  test('law 2: killed before and after the commit of any slice, the next process goes on', async () => {
    const { consumer, mirrors, url, service } = await upgraded();
    for (const [slice, when] of [
      [1, 'before'],
      [1, 'after'],
      [1, 'before'],
    ] as const) {
      const child = spawn(process.execPath, [join(import.meta.dirname, 'die-restamping.ts'), String(slice), when], {
        env: {
          ...process.env,
          ...settings,
          DATABASE_URL: url,
          ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      await once(child, 'exit');
      assert.equal(child.signalCode, 'SIGKILL');
      for (const mirror of mirrors.slice(0, 3)) await mirror.assertConverged();
    }
    await drain(service);
    for (const mirror of mirrors) await mirror.assertConverged();
    await assertRestamped(consumer);
  });

  test('law 2: two processes at once and a writer beside them', async () => {
    const { consumer, mirrors, service } = await upgraded();
    const other = openDatabase(service.databaseUrl, service.app.log, 4, undefined, onCitus);
    try {
      const ids: string[] = [];
      const writing = (async () => {
        for (let i = 0; i < 6; i++) {
          ids.push(
            ...(await inWork({ ...service.app, db: other }, null, (work) =>
              recordResults(work, organisationId, [{ ref: `L-${i + 1}`, subject: 'digital' }]),
            )),
          );
          for (const mirror of mirrors.slice(0, 3)) await mirror.poll();
        }
      })();
      await Promise.all([
        drain(service),
        (async () => {
          const doing = fresh();
          while ((await restampNext({ ...service.app, db: other }, doing)) !== 'nothing left');
        })(),
        writing,
      ]);
      for (const mirror of mirrors) await mirror.assertConverged();
      const data = (await consumer.get('/assessments?limit=500')).body.data;
      assert.equal(data.length, people * resultsEach + ids.length);
      for (const one of data) if (one.status === 'completed') assert.ok(one.learner.learner_id !== undefined);
    } finally {
      await other.close();
    }
  });

  test('an older process is known by its connection, and one of this release is not taken for one', async () => {
    const { service, url } = first;
    assert.equal(await olderProcessServes(service.app.db), false);
    for (const name of ['ars', 'ars/1']) {
      const old = new pg.Client({ connectionString: url, application_name: name });
      await old.connect();
      assert.equal(await olderProcessServes(service.app.db), true, name);
      await old.end();
      while (await olderProcessServes(service.app.db));
    }
    assert.ok(limits.upgradeAloneMs > 30_000 + limits.upgradeLookMs);
  });
});
