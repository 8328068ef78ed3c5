import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { unzipSync } from 'fflate';
import { placeHold, releaseHold } from '../../src/holds/holds.ts';
import { listLookups, pruneLookups } from '../../src/lookups/lookups.ts';
import { scenario } from '../scenario.ts';
import { withService } from '../service.ts';
import { personOf } from './visitor.ts';

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
  (await listLookups(service.app.db, org.id, id, { before: null, limit: 100 }))
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
    assert.deepEqual(await listLookups(service.app.db, elsewhere.id, id, { before: null, limit: 1 }), []);
  });

  test('a comparison of two shows both, and leaves a row of each', async () => {
    const other = await (await scene.learner('LRN-2', 'Ana da Silva')).read();
    assert.equal((await owner.get(`${base}/learners/${other.learner_id}/merge/${id}`)).status, 200);
    const page = '/learners/{learner_id}/merge/{other_id}';
    assert.deepEqual((await seen()).at(-1), [owner.userId, page]);
    const [row] = await listLookups(service.app.db, org.id, other.learner_id, { before: null, limit: 1 });
    assert.equal(row!.page, page);
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
    assert.match(page, /Where a result is/);
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
    await service.inWork((work) => placeHold(work, org.id, held));
    const count = (await seen()).length;
    await service.inWork((work) => pruneLookups(work, 0));
    assert.equal((await seen()).length, count);
    await service.inWork((work) => releaseHold(work, org.id, holdId, { actor: 'operator' }));
    await owner.post(`${base}/learners/${id}/erase`);
    assert.equal((await seen()).length, count);
    await service.inWork((work) => pruneLookups(work, 0));
    assert.equal((await seen()).length, 0);
  });
});
