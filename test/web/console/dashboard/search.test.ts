import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sealNow } from '../../../platform/audit/sealed.ts';
import type { Answer } from '../../../contract/support/client.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

/** Search by reference and id, from every page: it goes where the thing belongs, for whoever may open that. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const endpoint: string = (await org.post('/webhooks', { url: 'https://platform.example/hook' })).body.data.id;
const group = await scene.group('C1');
const ana = await scene.learner('LRN:ana/17', 'Ana Silva');
await ana.joins(group);
const result = await ana.completes();
const asked = (await org.get('/assessments?subject=maths')).headers['x-request-id']!;
const { learner_id: learnerId } = (await org.get(`/assessments/${result.id}`)).body.data.learner;
const [event] = await service.app.db.query<{ event_id: string; delivery_id: string }>(
  `select e.event_id, d.delivery_id from event e join delivery d on d.organisation_id = e.organisation_id and d.event_id = e.event_id
    where e.organisation_id = $1 and e.type = 'assessment.completed'`,
  [org.id],
);
const people = {
  developer: await personOf(service, org.id, 'developer'),
  owner: await personOf(service, org.id, 'owner'),
  auditor: await personOf(service, org.id, 'auditor'),
};

type Role = keyof typeof people;

const finds = (role: Role, reference: string) => people[role].post(`${base}/search`, { reference });

async function leadsTo(role: Role, reference: string): Promise<string | null> {
  const answer = await finds(role, reference);
  if (answer.status === 422) return null;
  assert.equal(answer.status, 303, reference);
  const location = answer.headers.location!;
  assert.equal((await people[role].get(location)).status, 200, reference);
  return location.slice(base.length);
}

suite('search by reference or id', () => {
  test('goes where it belongs', async () => {
    const { access_key_id: key } = org.key;
    const trace = `/trace?assessment_id=${result.id}`;
    const cases: [what: string, developer: string, auditor: string | null][] = [
      [result.id, trace, trace],
      [` ${result.id.toUpperCase()} `, trace, trace],
      ['LRN:ana/17', `/learners/${learnerId}`, `/learners/${learnerId}`],
      [learnerId, `/learners/${learnerId}`, `/learners/${learnerId}`],
      [key, `/keys/${key}`, `/log?key=${key}`],
      [key.toLowerCase(), `/keys/${key}`, `/log?key=${key}`],
      [event!.event_id, trace, trace],
      [event!.delivery_id, `/deliveries/${event!.delivery_id}`, null],
      [endpoint, `/webhooks/${endpoint}`, null],
    ];
    for (const [what, developer, auditor] of cases) {
      assert.equal(await leadsTo('developer', what), developer, what);
      assert.equal(await leadsTo('owner', what), developer, what);
      assert.equal(await leadsTo('auditor', what), auditor, what);
    }
  });

  test('finds a call by its X-Request-Id, sealed or not', async () => {
    const of = async (requestId: string) =>
      (
        await service.app.db.query<{ audit_id: number }>('select audit_id from audit where request_id = $1', [
          requestId,
        ])
      )[0]!.audit_id;
    assert.equal(await leadsTo('auditor', asked), `/log/${await of(asked)}`);
    // A read that repeats one is answered on another way.
    const { etag } = (await org.get('/assessments?limit=1')).headers;
    for (let i = 0; i < 2; i++) await org.get('/assessments?limit=1', { 'if-none-match': etag! });
    const again = (await org.get('/assessments?limit=1', { 'if-none-match': etag! })).headers['x-request-id']!;
    await sealNow(service.app);
    for (const one of [asked, again]) assert.equal(await leadsTo('developer', one), `/log/${await of(one)}`);
  });

  test('what is unknown and what is another organisation’s look alike, and nothing that was typed comes back', async () => {
    const bytes = ({ status, headers, text }: Answer) => {
      const { date: _, 'x-request-id': __, ...rest } = headers;
      return { status, rest, text };
    };
    const other = await scenario(service);
    const bo = await other.learner('bo-in-elsewhere');
    const theirs = await bo.completes();
    const theirEndpoint: string = (await other.org.post('/webhooks', { url: 'https://elsewhere.example/hook' })).body
      .data.id;
    const call = (await other.org.get('/health')).headers['x-request-id']!;
    const unknown = bytes(await finds('developer', '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d'));
    assert.equal(unknown.status, 422);
    for (const what of [
      theirs.id,
      'bo-in-elsewhere',
      other.org.key.access_key_id,
      theirEndpoint,
      call,
      'nobody',
      '%',
      "' or 1=1",
      'x'.repeat(5000),
    ])
      assert.deepEqual(bytes(await finds('developer', what)), unknown, what.slice(0, 40));
    const { learner_id: theirLearner } = (await other.org.get(`/assessments/${theirs.id}`)).body.data.learner;
    const missing = (await people.developer.get(`${base}/no-such-page`)).text;
    for (const id of [theirLearner, '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d', 'x'])
      assert.equal((await people.developer.get(`${base}/learners/${id}`)).text, missing);
  });

  test('takes no name, e-mail address or number of a person, and keeps a reference out of addresses and logs', async () => {
    for (const what of ['', '  ', 'ana@college.example', 'AB 12 34 56 C']) {
      const { status, text } = await finds('owner', what);
      assert.equal(status, 422);
      assert.ok(what.trim() === '' || !text.includes(what));
    }
    assert.equal((await finds('owner', 'Ana Silva')).status, 422);
    assert.ok(!(await finds('owner', 'LRN:ana/17')).headers.location!.includes('ana'));
    assert.ok(!service.logged.join('').includes('LRN:ana'));
    const rows = await service.app.db.query<{ text: string }>('select a::text as text from audit a where actor = $1', [
      people.owner.userId,
    ]);
    assert.ok(!rows.some(({ text }) => text.includes('ana')));
  });

  test('a learner’s results: references and ids for a developer, names and levels for those who see them', async () => {
    for (const role of ['developer', 'owner', 'auditor'] as const) {
      const { text } = await people[role].get(`${base}/learners/${learnerId}`);
      assert.ok(text.includes('LRN:ana/17') && text.includes(result.id) && /cohort C1/.test(text));
      assert.equal(text.includes('Ana Silva'), role !== 'developer');
      assert.equal(text.includes('Level 1'), role !== 'developer');
    }
  });

  test('stands on every page of those who may search, and on no other', async () => {
    const field = /<form class="find" role="search" method="post"/;
    assert.match((await people.auditor.get(`${base}/log`)).text, field);
    const tutor = await personOf(service, org.id, 'tutor');
    assert.doesNotMatch((await tutor.get(base)).text, field);
    assert.doesNotMatch((await people.owner.get(`${base}/no-such-page`)).text, field);
    assert.doesNotMatch((await people.owner.get('/console/account')).text, field);
  });
});
