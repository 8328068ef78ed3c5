import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, suite, test } from 'node:test';
import { commands } from '../../cli/commands/server/sandbox.ts';
import type { Assessment } from '../../client/src/index.ts';
import { Client, openMirror } from '../../client/src/index.ts';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { importRecords } from '../../src/records/import/import.ts';
import { readyRecord } from '../../src/records/import/record.ts';
import { createKey } from '../../src/integrations/access-keys/keys.ts';
import { startService } from '../../src/main.ts';
import { openApp } from '../../src/server/open-app.ts';
import { createOrganisation } from '../../src/organisations/organisations.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { ChaosChanges } from '../../src/sandbox/chaos/troubles.ts';
import type { ChaosKind } from '../../src/sandbox/chaos/chaos.ts';
import { chaosKinds, disturb, disturbSender, faultShares, readKinds } from '../../src/sandbox/chaos/chaos.ts';
import type { Fault } from '../../src/sandbox/chaos/faults.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import { registerEndpoint } from '../../src/integrations/webhooks/endpoints/endpoints.ts';
import type { Attempt, Sender } from '../../src/integrations/webhooks/http/send.ts';
import { heldBy, memoryStore } from '../client/support/mirrors.ts';
import { client, hangUp } from '../contract/support/client.ts';
import { freshDatabase } from '../support/postgres.ts';
import { contentOf } from '../support/scenario.ts';
import { thisServer } from '../support/service.ts';

const database = await freshDatabase(await thisServer());
const opened = await openApp(
  readSettings({
    ARS_PORT: '0',
    DATABASE_URL: database.url,
    ARS_SECRET: 'a secret of the tests, longer than 32 characters',
    ARS_LOG: 'none',
    ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
  }),
);
const service = await startService(opened, 'web');
const { app } = service;
const { key, organisation } = await withUnitOfWork(app, null, async (work) => {
  const made = await createOrganisation(work, {
    name: 'Test College',
    plan: 'unlimited',
    credits: 0,
    groupAutocreate: true,
  });
  return { organisation: made, key: await createKey(work, made.organisation_id, { label: 'test', kind: 'test' }) };
});
const organisationId = organisation.organisation_id;
const org = client(service.url, key);
const keys = { 'x-access-key-id': key.access_key_id, 'x-secret-access-key': key.secret_access_key };

/** A stream that draws these faults one after the other, and then none. */
const wanted: Fault['kind'][] = [];
const faults: Fault['kind'][] = [];
const kinds = new Set<ChaosKind>(faultShares.map(([kind]) => kind));
let isFaultNext = true;
disturb(
  service.http!.fastify.server,
  kinds,
  {
    ...seededRandom('chaos'),
    float() {
      isFaultNext = !isFaultNext;
      if (isFaultNext) return 0.01;
      const next = wanted.shift();
      let sum = 0;
      for (const [kind, share] of faultShares) {
        if (kind === next) return sum + share / 2;
        sum += share;
      }
      return 0.999;
    },
  },
  (fault) => faults.push(fault),
);

after(async () => {
  await changes.close();
  await hangUp(service.url);
  await service.stop();
  await database.drop();
});

async function withFault<T>(fault: Fault['kind'], inside: () => Promise<T>): Promise<T> {
  wanted.push(fault);
  return inside();
}

const changes = new ChaosChanges(app, organisation, new Set(Object.keys(chaosKinds) as ChaosKind[]), seededRandom('c'));
const store = memoryStore();
/** The library as a consumer uses it; its waits are remembered, and over at once. */
const waits: number[] = [];
const library = new Client({
  baseUrl: service.url,
  accessKeyId: key.access_key_id,
  secretAccessKey: key.secret_access_key,
  surroundings: {
    wait: async (ms) => {
      waits.push(ms);
    },
  },
});
const mirror = openMirror({ client: library, store });

/** Polls, and looks whether mirror and service show the same. */
async function survives(): Promise<Map<string, Assessment>> {
  await mirror.poll();
  const held = heldBy(store);
  const shown = (await library.assessments.list({ status: ['completed'] }).toArray()) as Assessment[];
  assert.deepEqual([...held].sort(), shown.map((one) => [one.assessment_id, one] as const).sort());
  return held;
}

const audited = async () =>
  (
    await app.db.query<{ count: number }>('select count(*) as count from audit where organisation_id = $1', [
      organisationId,
    ])
  )[0]!.count;
const learner = { full_name: 'Ana Silva', ref: 'CHAOS-1' };

suite('requests to a sandbox that was told to fail', () => {
  test('one that is reset or refused has done nothing', async () => {
    await assert.rejects(withFault('reset', () => org.post('/learners', learner)));
    for (const [kind, status, code] of [
      ['unavailable', 503, 'service_unavailable'],
      ['rate-limited', 429, 'rate_limited'],
    ] as const) {
      const refused = await withFault(kind, () => org.post('/learners', learner));
      assert.deepEqual([refused.status, refused.headers['retry-after'], refused.body.error.code], [status, '1', code]);
    }
    assert.equal(await audited(), 0);
    assert.equal((await org.get('/learners/CHAOS-1')).status, 404);
  });

  test('one whose answer is lost was carried out, and its Idempotency-Key gives the answer', async () => {
    const headers = { 'idempotency-key': 'chaos-1' };
    await assert.rejects(withFault('lost', () => org.post('/learners', learner, headers)));
    const again = await org.post('/learners', learner, headers);
    assert.deepEqual([again.status, again.headers['idempotency-replayed']], [201, 'true']);
  });

  test('an answer that is cut is not taken for a whole one', async () => {
    await assert.rejects(withFault('cut', () => org.get('/learners')));
    assert.equal((await org.get('/learners')).body.data.length, 1);
  });

  test('a slow answer is the ordinary one', async () => {
    const ordinary = await org.get('/learners');
    const slow = await withFault('slow', () => org.get('/learners'));
    assert.deepEqual([slow.status, slow.text], [200, ordinary.text]);
  });

  test('with unknown values, too, slow answers and those that are cut have their head', async () => {
    kinds.add('unknown-values');
    const ask = () => fetch(`${service.url}/api/v1/learners`, { headers: keys });
    const slow = await withFault('slow', ask);
    assert.match(await slow.text(), /sandbox_note/);
    const cut = await withFault('cut', ask);
    assert.deepEqual([cut.status, cut.headers.get('content-type')], [200, slow.headers.get('content-type')]);
    await assert.rejects(cut.text());
    kinds.delete('unknown-values');
  });

  test('with unknown values, too, events are listened to', async () => {
    kinds.add('unknown-values');
    const { status, body } = await fetch(`${service.url}/api/v1/events`, { headers: keys });
    const { value } = await body!.pipeThrough(new TextDecoderStream()).getReader().read();
    assert.equal(status, 200);
    assert.match(value!, /^{"type":"open"/);
    kinds.delete('unknown-values');
  });

  test('pages beside the API are left alone', async () => {
    wanted.push('reset');
    assert.equal((await fetch(`${service.url}/healthz`)).status, 200);
    wanted.length = 0;
  });

  for (const [kind] of faultShares) {
    test(`the library survives: ${kind}`, async () => {
      faults.length = 0;
      waits.length = 0;
      // A slow answer is one; the others are met twice.
      const met = kind === 'slow' ? [kind] : [kind, kind];
      wanted.push(...met);
      const provisioned = await library.learners.provision({ full_name: `Learner ${kind}`, ref: `L-${kind}` });
      assert.equal(provisioned.ref, `L-${kind}`);
      assert.deepEqual(faults, met);
      if (kind === 'rate-limited' || kind === 'unavailable')
        assert.ok(waits.every((ms) => ms >= 1000) && waits.length === 2, 'Retry-After was kept to');
      wanted.push(kind);
      const found = (await library.learners.list().toArray()).filter(({ learner_id }) => learner_id !== '');
      assert.equal(found.filter((one) => 'ref' in one && one.ref === `L-${kind}`).length, 1);
    });
  }

  test('the same seed gives the same faults', async () => {
    const servers = ['one', 'one', 'other'].map((seed) => {
      const server = createServer((_request, response) => {
        response.writeHead(200).end();
      });
      disturb(server, new Set(['rate-limited', 'unavailable']), seededRandom(seed), () => {});
      return server.listen(0, '127.0.0.1');
    });
    const statuses = await Promise.all(
      servers.map(async (server) => {
        await once(server, 'listening');
        const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/health`;
        const seen: number[] = [];
        for (let i = 0; i < 60; i++) seen.push((await fetch(url)).status);
        server.close();
        server.closeAllConnections();
        return seen.join();
      }),
    );
    assert.equal(statuses[0], statuses[1]);
    assert.notEqual(statuses[0], statuses[2]);
    assert.match(statuses[0]!, /429/);
  });
});

suite('data of a sandbox that was told to be difficult', () => {
  const groups = [{ type: 'cohort', ref: 'C-1', name: 'Cohort' }];
  before(async () => {
    await withUnitOfWork(app, null, async (work) => {
      const records = Array.from({ length: 12 }, (_one, i) => {
        const { assessed_at_us: _, ...content } = contentOf({});
        const named = { ref: `D-${i % 6}`, full_name: `Dana ${i % 6}` };
        const record = { assessment_id: work.uuid(), learner: named, assessed_at: '2026-01-15T10:00:00Z', groups };
        return readyRecord({ ...record, ...content } as never, organisation.public_id, work.nowMs);
      });
      await importRecords(work, organisationId, records, { events: true, actor: 'test' });
    });
  });
  const step = async (kind: Parameters<ChaosChanges['step']>[0]) => {
    const before = await survives();
    assert.equal(await changes.step(kind), kind);
    const held = await survives();
    return {
      before,
      after: held,
      changed: [...held.values()].filter((one) => before.get(one.assessment_id)?.updated_at !== one.updated_at),
    };
  };

  test('amended', async () => {
    const { before, changed } = await step('amended');
    assert.equal(changed.length, 1);
    assert.notEqual(changed[0]!.needs_review, before.get(changed[0]!.assessment_id)!.needs_review);
  });

  test('withdrawn', async () => {
    const { before, after: held } = await step('withdrawn');
    assert.equal(held.size, before.size - 1);
  });

  test('renamed-learner', async () => {
    const { before, changed } = await step('renamed-learner');
    assert.ok(changed.length > 0);
    for (const one of changed) assert.notEqual(one.learner.full_name, before.get(one.assessment_id)!.learner.full_name);
  });

  test('null-references', async () => {
    const { changed } = await step('null-references');
    const [one] = changed;
    assert.deepEqual([one!.learner.ref, one!.rqf_level, one!.working_level, one!.groups], [null, null, null, []]);
  });

  test('scope-exits', async () => {
    const group = (await library.groups.list().toArray()).find(({ ref }) => ref === 'C-1')!;
    const filtered = memoryStore();
    const followed = openMirror({ client: library, store: filtered, filters: { group_id: [group.id] } });
    await followed.poll();
    const before = heldBy(filtered).size;
    await step('scope-exits');
    await followed.poll();
    assert.ok(heldBy(filtered).size < before);
  });

  test('unknown-values', async () => {
    kinds.add('unknown-values');
    const { data } = (await org.get('/assessments')).body;
    assert.ok(data.length > 5 && data.every((one: object) => 'sandbox_note' in one));
    assert.match(JSON.stringify(data), /sandbox_study_pod.*sandbox_emerging|sandbox_emerging.*sandbox_study_pod/);
    const byId = (await org.get(`/assessments/${data[0].assessment_id}`)).body.data;
    assert.deepEqual(byId, data[0], 'the same record is the same, however it is read');
    assert.equal((await org.get('/assessments', { 'if-none-match': '*' })).status, 304);
    const strange = memoryStore();
    await openMirror({ client: library, store: strange }).poll();
    assert.equal(heldBy(strange).size, heldBy(store).size);
    kinds.delete('unknown-values');
  });

  test('restored-backup', async () => {
    await changes.step('restored-backup');
    const [kept] = [await survives()];
    await changes.step('null-references');
    await changes.step('amended');
    assert.notDeepEqual(await survives(), kept);
    assert.equal(await changes.step('restored-backup'), 'restored-backup');
    assert.deepEqual(await survives(), kept);
  });

  test('repeated-webhooks', async () => {
    await withUnitOfWork(app, null, (work) =>
      registerEndpoint(work, organisationId, {
        url: 'https://127.0.0.1:9/',
        eventTypes: ['assessment.completed'],
        groupIds: null,
      }),
    );
    await changes.step('null-references');
    await app.db.query("update delivery set status = 'succeeded', next_attempt_at = null where organisation_id = $1", [
      organisationId,
    ]);
    assert.equal(await changes.step('repeated-webhooks'), 'repeated-webhooks');
    const [row] = await app.db.query<{ n: number }>(
      "select count(*) as n from delivery where organisation_id = $1 and status = 'pending'",
      [organisationId],
    );
    assert.equal(row!.n, 1);
    assert.equal(await changes.step('unknown-values'), 'unknown-values');
  });
});

suite('deliveries of a sandbox that was told to be difficult', () => {
  const sent: string[] = [];
  const inner: Sender = {
    async send({ body }) {
      sent.push(String(body));
      return { outcome: 'succeeded', status_code: 204, duration_ms: 1, error: null, retry_after_ms: null } as Attempt;
    },
    close: async () => {},
  };
  const drawing = (...floats: number[]) => ({ ...seededRandom('x'), float: () => floats.shift() ?? 0.999 });
  const request = (body: string, signal?: AbortSignal) => ({ url: 'https://a.example/', headers: {}, body, signal });

  test('late-webhooks: one is held back, and others go before it', async () => {
    sent.length = 0;
    const told: ChaosKind[] = [];
    const sender = disturbSender(inner, new Set(['late-webhooks']), drawing(0.1, 0.01), (kind) => told.push(kind));
    await Promise.all([sender.send(request('first')), sender.send(request('second'))]);
    assert.deepEqual([sent, told], [['second', 'first'], ['late-webhooks']]);
  });

  test('disordered-webhooks: one waits until it is overtaken', async () => {
    sent.length = 0;
    const sender = disturbSender(inner, new Set(['disordered-webhooks']), drawing(0.3, 0.5), () => {});
    const first = sender.send(request('first'));
    await sender.send(request('second'));
    await first;
    assert.deepEqual(sent, ['second', 'first']);
  });

  test('what is held back goes at once when the service stops', async () => {
    sent.length = 0;
    const stop = new AbortController();
    const sender = disturbSender(inner, new Set(['disordered-webhooks']), drawing(0.3, 0.5), () => {});
    const first = sender.send(request('first', stop.signal));
    stop.abort();
    await first;
    assert.deepEqual(sent, ['first']);
  });
});

suite('--chaos', () => {
  test('takes every kind by its name, and none that there is not', async () => {
    assert.deepEqual([...readKinds('')], Object.keys(chaosKinds));
    assert.deepEqual([...readKinds('cut, slow')], ['cut', 'slow']);
    assert.throws(() => readKinds('cut,thunder'), /must be one or more of slow, rate-limited/);
    const signal = new AbortController().signal;
    const call = { positionals: [], json: true, progress() {}, step() {}, signal };
    await assert.rejects(commands[0]!.run({ ...call, options: { chaos: 'thunder' } }), /^Error: --chaos must be/);
    await assert.rejects(commands[0]!.run({ ...call, options: { seed: 'x' } }), /--seed goes with --chaos/);
  });
});
