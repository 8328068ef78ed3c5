import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { unzipSync } from 'fflate';
import { placeHold, releaseHold } from '../../../../src/governance/legal-holds/holds.ts';
import { readAccessLog, pruneAccessLog } from '../../../../src/governance/access-log/access-log.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { fieldsOf, personOf } from '../visitor.ts';

/** Who looked at whom: every page about a learner leaves a row, and what isn't there leaves none. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const ana = await scene.learner('LRN-1', 'Ana Silva');
const maths = await ana.completes();
const { learner_id: id } = await ana.read();
const owner = await personOf(service, org.id, 'owner', { name: 'Olga Ruiz' });
const auditor = await personOf(service, org.id, 'auditor');
const tutor = await personOf(service, org.id, 'tutor');

const seen = async () =>
  (await readAccessLog(service.app.db, org.id, id, { before: null, limit: 100 }))
    .toReversed()
    .map((one) => [one.user_id, one.page]);

suite('who looked at whom', () => {
  test('a page, a file and a result found by a query; not what was refused, missing, or only asks for a proof', async () => {
    assert.equal((await owner.get(`${base}/learners/${id}`)).status, 200);
    assert.equal((await auditor.get(`${base}/trace?assessment_id=${maths.id}`)).status, 200);
    await tutor.get(`${base}/learners/${id}/lookups`);
    await owner.get(`${base}/learners/${service.app.random.uuid()}`);
    await owner.get(`${base}/learners/not-an-id`);
    await owner.get(base);
    const elsewhere = await service.organisation();
    const stranger = await personOf(service, elsewhere.id, 'owner');
    await stranger.get(`/console/${elsewhere.publicId}/trace?assessment_id=${maths.id}`);
    await stranger.get(`/console/${elsewhere.publicId}/learners/${id}`);
    assert.deepEqual(await seen(), [
      [owner.userId, '/learners/{learner_id}'],
      [auditor.userId, '/trace'],
    ]);
    assert.deepEqual(await readAccessLog(service.app.db, elsewhere.id, id, { before: null, limit: 1 }), []);
  });

  test('a comparison of two shows both, and leaves a row of each', async () => {
    const other = await (await scene.learner('LRN-2', 'Ana da Silva')).read();
    assert.equal((await owner.get(`${base}/learners/${other.learner_id}/merge/${id}`)).status, 200);
    const page = '/learners/{learner_id}/merge/{other_id}';
    assert.deepEqual((await seen()).at(-1), [owner.userId, page]);
    const [row] = await readAccessLog(service.app.db, org.id, other.learner_id, { before: null, limit: 1 });
    assert.equal(row!.page, page);
  });

  test('a form that comes back with what is wrong shows the learner again, and leaves a row', async () => {
    const here = `${base}/review/${maths.id}`;
    const fields = fieldsOf((await owner.get(here)).text);
    const sent = [...fields.filter(([name]) => name !== 'reason'), ['reason', 'x'.repeat(100_000)]];
    assert.equal((await owner.post(`${here}/confirm`, sent as [string, string][])).status, 422);
    assert.deepEqual((await seen()).at(-1), [owner.userId, '/review/{assessment_id}/confirm']);
    assert.equal((await owner.post(`${base}/learners/${id}/reference`, { ref: '' })).status, 422);
    assert.deepEqual((await seen()).at(-1), [owner.userId, '/learners/{learner_id}/reference']);
  });

  test('a case about the learner, and what was sent of them to an endpoint, are looks, too', async () => {
    const once = service.app.random.uuid();
    const asked = { kind: 'access', learner: id, about: '', received: '2026-01-05', note: 'By letter', once };
    assert.equal((await owner.post(`${base}/data-protection/open`, asked)).status, 303);
    const other = service.app.random.uuid();
    const stranger = { ...asked, learner: '', about: 'Somebody', once: other };
    assert.equal((await owner.post(`${base}/data-protection/open`, stranger)).status, 303);
    const before = (await seen()).length;
    assert.equal((await auditor.get(`${base}/data-protection/cases/${once}`)).status, 200);
    assert.equal((await auditor.get(`${base}/data-protection/cases/${other}`)).status, 200);
    assert.deepEqual((await seen()).slice(before), [[auditor.userId, '/data-protection/cases/{case_id}']]);
    const hook = [
      ['once', service.app.random.uuid()],
      ['url', 'https://platform.example/hook'],
      ['eventTypes', 'assessment.completed'],
      ['eventTypes', 'learner.groups.updated'],
    ] as [string, string][];
    assert.equal((await owner.post(`${base}/webhooks/create`, hook)).status, 200);
    await ana.completes({ subject: 'english' });
    await (await scene.group('looked')).adds(ana);
    const deliveries = await service.app.db.query<{ delivery_id: string; type: string }>(
      'select d.delivery_id, e.type from delivery d join event e using (organisation_id, event_id) where organisation_id = $1',
      [org.id],
    );
    assert.deepEqual(deliveries.map((one) => one.type).sort(), ['assessment.completed', 'learner.groups.updated']);
    for (const { delivery_id: deliveryId, type } of deliveries) {
      const count = (await seen()).length;
      assert.equal((await owner.get(`${base}/deliveries/${deliveryId}`)).status, 200);
      assert.deepEqual((await seen()).slice(count), [[owner.userId, '/deliveries/{delivery_id}']], type);
    }
  });

  test('a hundred pages at once leave a hundred rows, or one where they are the same to the millisecond', async () => {
    const people = await Promise.all(Array.from({ length: 20 }, () => personOf(service, org.id, 'auditor')));
    const before = (await seen()).length;
    await Promise.all(people.map((one) => one.get(`${base}/learners/${id}`)));
    assert.equal((await seen()).length, before + 20);
  });

  test('is shown to owners, admins and auditors by name, and is in the export; an erasure leaves ids only', async () => {
    const page = (await owner.get(`${base}/learners/${id}/lookups`)).text;
    assert.match(page, /Olga Ruiz/);
    assert.match(page, /Trace result/);
    assert.match((await auditor.get(`${base}/learners/${id}`)).text, /\/lookups">Access log/);
    assert.match((await auditor.get(`${base}/trace`)).text, /pattern="/, 'the field refuses a name');
    assert.equal((await owner.get(`${base}/learners/${id}/lookups?before=999999999999999`)).status, 200);
    assert.equal(
      (await (await personOf(service, org.id, 'developer')).get(`${base}/learners/${id}/lookups`)).status,
      404,
    );
    const answer = await fetch(`${service.url}${base}/learners/${id}/export`, {
      method: 'POST',
      headers: { cookie: owner.cookie!, 'sec-fetch-site': 'same-origin' },
    });
    const files = unzipSync(new Uint8Array(await answer.arrayBuffer()));
    const rows = JSON.parse(Buffer.from(files['data/lookup.json']!).toString()) as any[];
    assert.ok(rows.some((row) => row.user_id === owner.userId && row.page === '/learners/{learner_id}'));
    assert.ok(!JSON.stringify(rows).includes('Olga'));
    assert.deepEqual((await seen()).at(-1), [owner.userId, '/learners/{learner_id}/export'], 'the file is a look, too');
    // Nothing goes that is held, and then what is older than two years.
    const holdId = service.app.random.uuid();
    const held = { holdId, learnerId: id, reason: 'a claim', actor: 'operator', endsAt: null };
    await service.withUnitOfWork((work) => placeHold(work, org.id, held));
    const count = (await seen()).length;
    await service.withUnitOfWork((work) => pruneAccessLog(work, 0));
    assert.equal((await seen()).length, count);
    await service.withUnitOfWork((work) => releaseHold(work, org.id, holdId, { actor: 'operator' }));
    await owner.post(`${base}/learners/${id}/erase`);
    assert.equal((await seen()).length, count);
    await service.withUnitOfWork((work) => pruneAccessLog(work, 0));
    assert.equal((await seen()).length, 0);
  });
});
