import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { invited } from '../../../sittings/learner.ts';
import { personOf } from '../visitor.ts';

/** Erasing a learner in the console: said in numbers, done once, and told what mirrors get. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const owner = await personOf(service, org.id, 'owner');
const admin = await personOf(service, org.id, 'admin');

/** Names and values of a page's list of facts. */
const facts = (text: string) =>
  Object.fromEntries(
    [...text.matchAll(/<dt>(.*?)<\/dt><dd>(.*?)<\/dd>/g)].map((found) => [
      found[1]!,
      found[2]!.replace(/<[^>]+>/g, ''),
    ]),
  );

suite('erasing a learner in the console', () => {
  test('says in numbers what would go and changes nothing; then it is done, audited, and shown again to whoever is second', async () => {
    await org.post('/webhooks', { url: 'https://platform.example/hook' });
    const ana = await scene.learner('LRN-1', 'Ana & Silva');
    const maths = await ana.completes();
    await maths.readReport();
    await ana.completes({ subject: 'english' });
    await ana.joins(await scene.group('C1'));
    const sitter = await invited(service, org, { ref: 'LRN-1', name: 'Ana & Silva' });
    await sitter.starts();
    const { learner_id: id } = (await org.get('/learners/LRN-1')).body.data;
    const here = `${base}/learners/${id}`;

    const asked = await admin.get(`${here}/erase`);
    assert.match(asked.text, /Ana &amp; Silva/);
    assert.deepEqual(facts(asked.text), {
      'Results that platforms delete (tombstones)': '2 results',
      'Evidence packs that are deleted': '1 evidence pack',
      'Invitations that end': '1 open invitation, of 1 in all',
      'Credits that are returned': '0 credits',
      'Sittings that end without a result': '1 sitting',
      'Webhook events whose content is deleted': '3 events',
      'Waiting deliveries that are cancelled': '2 deliveries',
    });
    assert.equal((await org.get('/learners/LRN-1')).status, 200);
    assert.equal((await admin.get(`${here}/erased`)).status, 404, 'not yet');

    const [one, other] = await Promise.all([admin.post(`${here}/erase`), owner.post(`${here}/erase`)]);
    for (const answer of [one, other]) assert.equal(answer.headers.location, `${here}/erased`);
    const told = await owner.get(`${here}/erased`);
    assert.equal(facts(told.text)['Tombstones of results'], '2');
    assert.match(told.text, /2 tombstones/);
    assert.doesNotMatch(told.text, /Silva|LRN-1/);
    assert.equal((await org.get('/learners/LRN-1')).status, 404);
    assert.equal((await owner.get(`${here}/erase`)).status, 404);
    const acts = await service.app.db.query<{ actor: string }>(
      "select actor from audit where organisation_id = $1 and action like '%/erase' and resource = $2",
      [org.id, id],
    );
    assert.equal(acts.length, 1, 'one act, whoever was first');
    assert.ok([owner.userId, admin.userId].includes(acts[0]!.actor));
  });

  test("only for who manages people's data, and only their own organisation's", async () => {
    const ben = await scene.learner('LRN-2', 'Ben Okafor');
    const { learner_id: id } = await ben.read();
    for (const role of ['developer', 'reviewer', 'tutor', 'auditor'] as const) {
      const person = await personOf(service, org.id, role);
      for (const path of ['erase', 'erased'])
        assert.equal((await person.get(`${base}/learners/${id}/${path}`)).status, 404, role);
      assert.equal((await person.post(`${base}/learners/${id}/erase`)).status, 404);
    }
    const elsewhere = await service.organisation();
    const stranger = await personOf(service, elsewhere.id, 'owner');
    assert.equal((await stranger.post(`/console/${elsewhere.publicId}/learners/${id}/erase`)).status, 404);
    assert.equal((await ben.read()).full_name, 'Ben Okafor');
  });
});
