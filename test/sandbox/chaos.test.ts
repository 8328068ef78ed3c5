import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { inWork } from '../../src/db/work.ts';
import { createKey } from '../../src/keys/keys.ts';
import { openApp, startService } from '../../src/main.ts';
import { createOrganisation } from '../../src/organisations/organisations.ts';
import { seededRandom } from '../../src/random.ts';
import type { Fault } from '../../src/sandbox/chaos.ts';
import { disturb, faultShares } from '../../src/sandbox/chaos.ts';
import { readSettings } from '../../src/settings.ts';
import { client, hangUp } from '../contract/client.ts';
import { freshDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';

const database = await freshDatabase(await thisServer());
const opened = await openApp(
  readSettings({
    ARS_PORT: '0',
    DATABASE_URL: database.url,
    ARS_SECRET: 'a secret of the tests, longer than 32 characters',
    ARS_LOG: 'none',
  }),
);
const service = await startService(opened, 'web');
const { key, organisationId } = await inWork(service.app, null, async (work) => {
  const { organisation_id: organisationId } = await createOrganisation(work, {
    name: 'Test College',
    plan: 'unlimited',
    credits: 0,
    groupAutocreate: true,
  });
  return { organisationId, key: await createKey(work, organisationId, { label: 'test', kind: 'test' }) };
});
const org = client(service.url, key);

/** A stream that draws the fault, or none, as long as it is wanted. */
let wanted: Fault | null = null;
const faults: Fault[] = [];
disturb(
  service.http!.fastify.server,
  '/api/v1',
  {
    ...seededRandom('chaos'),
    float() {
      let sum = 0;
      for (const [fault, share] of faultShares) {
        if (fault === wanted) return sum + share / 1000;
        sum += share;
      }
      return 0.999;
    },
  },
  (fault) => faults.push(fault),
);

after(async () => {
  await hangUp(service.url);
  await service.stop();
  await database.drop();
});

async function withFault<T>(fault: Fault, inside: () => Promise<T>): Promise<T> {
  wanted = fault;
  try {
    return await inside();
  } finally {
    wanted = null;
  }
}

const audited = async () =>
  (
    await service.app.db.query<{ count: number }>('select count(*) as count from audit where organisation_id = $1', [
      organisationId,
    ])
  )[0]!.count;
const learner = { full_name: 'Ana Silva', ref: 'CHAOS-1' };

suite('a sandbox that was told to fail', () => {
  test('a request that is reset or refused has done nothing', async () => {
    await assert.rejects(withFault('reset', () => org.post('/learners', learner)));
    const refused = await withFault('unavailable', () => org.post('/learners', learner));
    assert.deepEqual(
      [refused.status, refused.headers['retry-after'], refused.body.error.code],
      [503, '1', 'service_unavailable'],
    );
    assert.equal(await audited(), 0);
    assert.equal((await org.get('/learners/CHAOS-1')).status, 404);
  });

  test('a request whose answer is lost was carried out, and its Idempotency-Key gives the answer', async () => {
    const headers = { 'idempotency-key': 'chaos-1' };
    await assert.rejects(withFault('lost', () => org.post('/learners', learner, headers)));
    const again = await org.post('/learners', learner, headers);
    assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true']);
  });

  test('an answer that is cut is not taken for a whole one', async () => {
    await assert.rejects(withFault('cut', () => org.get('/learners')));
    assert.equal((await org.get('/learners')).body.data.length, 1);
  });

  test('a late answer is the ordinary one', async () => {
    assert.equal((await withFault('late', () => org.get('/health'))).status, 200);
    assert.deepEqual(faults, ['reset', 'unavailable', 'lost', 'cut', 'late']);
  });

  test('pages beside the API are left alone', async () => {
    assert.equal((await withFault('reset', () => fetch(`${service.url}/healthz`))).status, 200);
  });
});
