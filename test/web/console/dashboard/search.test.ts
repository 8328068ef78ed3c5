import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sealNow } from '../../../platform/audit/sealed.ts';
import type { Answer } from '../../../contract/support/client.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { createKey } from '../../../../src/integrations/access-keys/keys.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { otherPages } from '../../../../src/web/console/menu.ts';
import { consoleRoutes } from '../../../../src/web/console/routes.ts';
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

  test('takes no National Insurance number, and keeps names and references out of URLs, titles and logs', async () => {
    for (const what of ['', '  ', 'ana@college.example', 'AB 12 34 56 C']) {
      const { status, text } = await finds('owner', what);
      assert.equal(status, 422);
      assert.ok(what.trim() === '' || !text.includes(what));
    }
    assert.ok(!(await finds('owner', 'LRN:ana/17')).headers.location!.includes('ana'));
    const { status, text, headers } = await finds('owner', 'ana sil');
    assert.deepEqual([status, headers.location], [200, undefined]);
    assert.doesNotMatch(/<title>[^<]*/.exec(text)![0], /ana/i);
    for (const [, to] of text.matchAll(/(?:href|action)="([^"]*)"/g)) assert.doesNotMatch(to!, /ana/i);
    assert.doesNotMatch(service.logged.join(''), /LRN:ana|ana sil/i);
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

  test('a name, an email address or words lead to a page with sections, each for the roles that may read it', async () => {
    const { app } = service;
    await app.db.query(
      `update learner set email = 'Ana.Silva@post.example' where organisation_id = $1 and learner_id = $2`,
      [org.id, learnerId],
    );
    await org.post('/groups', { type: 'cohort', ref: 'SILVER-1', name: 'Silver cohort' });
    await service.withUnitOfWork((work) => createKey(work, org.id, { label: 'Silver platform', kind: 'test' }));
    const sectionsOf = async (role: Role, what: string) => {
      const { status, text } = await finds(role, what);
      return status === 422 ? [] : [...text.matchAll(/<h2>(\w+)<\/h2>/g)].map(([, head]) => head);
    };
    assert.deepEqual(await sectionsOf('owner', 'sil'), ['Learners', 'Groups', 'Keys']);
    assert.deepEqual(await sectionsOf('auditor', 'SIL'), ['Learners', 'Groups', 'Keys']);
    assert.deepEqual(await sectionsOf('developer', 'sil'), ['Groups', 'Keys']);
    assert.deepEqual(await sectionsOf('developer', 'ana sil'), []);
    for (const what of ['ana.silva@post.example', 'ana.si', 'ANA.SILVA@'])
      assert.deepEqual(await sectionsOf('owner', what), ['Learners'], what);
    // The role does not see email addresses.
    assert.deepEqual(await sectionsOf('auditor', 'ana.silva@'), []);
    const pages = (await finds('owner', 'crea ke')).text;
    assert.match(
      pages,
      new RegExp(`<h2>Pages</h2><ul class="choices"><li><a href="${base}/keys/create">Create key</a>`),
    );
    assert.deepEqual(await sectionsOf('auditor', 'crea ke'), []);
    for (const path of Object.keys(otherPages))
      assert.ok(
        consoleRoutes.some((route) => route.path === path && route.method === 'GET'),
        path,
      );
    assert.match((await finds('owner', 'SILVER-1')).headers.location!, /\/groups\//);
  });

  test('sections show 10 rows, and a button sends the name on to the list of learners', async () => {
    for (let i = 0; i < 11; i++) await scene.learner(`many-${i}`, `Manyfold Person ${i}`);
    const { text } = await finds('owner', 'manyf');
    assert.equal(text.match(/Manyfold Person/g)!.length, 10);
    assert.match(text, /<button class="second">Show all learners found<\/button>/);
    const all = await people.owner.post(`${base}/learners`, { wanted: 'manyf' });
    assert.equal(all.text.match(/>Manyfold Person/g)!.length, 11);
  });

  test('a tutor finds learners, results and groups of their teams only', async () => {
    const tutor = await personOf(service, org.id, 'tutor');
    const bo = await scene.learner('bo-7', 'Silvia Seen');
    const theirs = await bo.completes();
    await service.withUnitOfWork(async (work) => {
      const team = await ensureTeam(work, org.id, { ref: 'T1', name: 'Silver team' });
      await addTeamStaff(work, org.id, team, [tutor.userId]);
      await addToTeam(work, org.id, team, ['bo-7']);
    });
    const of = (reference: string) => tutor.post(`${base}/search`, { reference });
    const { text } = await of('sil');
    assert.match(text, /Silvia Seen/);
    assert.match(text, /Silver team/);
    assert.doesNotMatch(text, /Ana Silva|Silver cohort|Silver platform|<h2>Keys/);
    assert.equal((await of(theirs.id)).headers.location, `${base}/results/${theirs.id}`);
    assert.match((await of('bo-7')).headers.location!, /\/learners\//);
    const unknown = (await of('not-there-at-all')).text;
    for (const hidden of [
      'LRN:ana/17',
      result.id,
      learnerId,
      org.key.access_key_id,
      endpoint,
      asked,
      'Ana',
      'SILVER-1',
    ])
      assert.equal((await of(hidden)).text, unknown, hidden);
  });

  test('is on every page of an organisation, and on no other', async () => {
    const field = /<form class="find" role="search" method="post"/;
    const tutor = await personOf(service, org.id, 'tutor');
    for (const person of [...Object.values(people), tutor]) assert.match((await person.get(base)).text, field);
    assert.doesNotMatch((await people.owner.get(`${base}/no-such-page`)).text, field);
    assert.doesNotMatch((await people.owner.get('/console/account')).text, field);
  });
});
