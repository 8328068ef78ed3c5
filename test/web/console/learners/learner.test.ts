import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { suite, test } from 'node:test';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam, removeFromTeam } from '../../../support/teams.ts';
import { eraseLearner } from '../../../../src/governance/erasure/erase.ts';
import type { Answer } from '../../../contract/support/client.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { invited } from '../../../sittings/learner.ts';
import { personOf } from '../visitor.ts';

/** A learner's page, evidence, name and e-mail address: what each role sees and may do. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const people = {
  owner: await personOf(service, org.id, 'owner', { name: 'Olga Owner' }),
  admin: await personOf(service, org.id, 'admin'),
  auditor: await personOf(service, org.id, 'auditor'),
  tutor: await personOf(service, org.id, 'tutor'),
  developer: await personOf(service, org.id, 'developer'),
};
const idOf = async (ref: string): Promise<string> => (await org.get(`/learners/${ref}`)).body.data.learner_id;
const acts = (resource: string) =>
  service.app.db.query<{ action: string; actor: string }>(
    'select action, actor from audit where organisation_id = $1 and resource = $2 order by audit_id',
    [org.id, resource],
  );

function bytes({ status, headers, text }: Answer) {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, rest, text };
}

suite('a learner’s page', () => {
  test('shows results over time with their interval, invitations, groups of now and earlier, and changes with their reasons', async () => {
    const sitter = await invited(service, org, { ref: 'LRN-1', name: 'Ana <b>Silva</b>', theta: 0 });
    const { subject } = await sitter.sits();
    const ana = await scene.learner('LRN-1', 'Ana <b>Silva</b>');
    const first = await ana.completes({ subject, level: 2, assessed_at: '2025-01-15T10:00:00Z' });
    const gone = await ana.completes({ subject: subject === 'english' ? 'maths' : 'english' });
    const [before, now] = [await scene.group('C1'), await scene.group('C2')];
    await ana.joins(before);
    await ana.leaves(before);
    await ana.joins(now);
    await first.isAmended();
    await gone.isWithdrawn();
    const here = `${base}/learners/${await idOf('LRN-1')}`;
    const { status, text } = await people.owner.get(here);
    assert.equal(status, 200);
    assert.ok(!text.includes('<b>Silva') && text.includes('&lt;b&gt;Silva'));
    assert.equal([...text.matchAll(/<circle class="dot"/g)].length, 2);
    assert.equal([...text.matchAll(/<line class="interval"/g)].length, 1, 'the imported one has none');
    const chart = `chart-${subject}`;
    assert.match(
      text,
      new RegExp(`<svg class="chart"[^>]* role="img" aria-labelledby="${chart}"><title id="${chart}">`),
    );
    assert.doesNotMatch(text, /style=|<script>/);
    assert.match(text, /Not recorded/);
    assert.match(text, /Level 1 to|Entry Level \d to|>Level \d</);
    assert.match(text, /Withdrawn results/);
    assert.match(text, /Started/);
    assert.match(text, /<bdi>The cohort C2<\/bdi>.*Now.*<bdi>The cohort C1<\/bdi>/s);
    assert.match(text, /Result withdrawn.*a scenario.*Result amended.*a scenario/s);
    assert.ok(text.includes(`${base}/results/${first.id}/evidence`) && !text.includes(`${gone.id}/evidence`));
    // Each thing leads to its own page, and each page back to the learner.
    const links = (page: string) => [...page.matchAll(/ href="([^"]+)"/g)].map(([, to]) => to!);
    const invitation = links(text).find((to) => to.startsWith(`${base}/invitations/`))!;
    assert.equal((await people.auditor.get(invitation)).status, 200);
    const learnerId = here.split('/').at(-1)!;
    const group = `${base}/groups/${now.id}`;
    for (const path of [invitation, `${base}/results/${first.id}`, `${base}/review/${first.id}`, group]) {
      const page = (await people.owner.get(path)).text;
      assert.ok(links(page).includes(here), path);
      if (path === group)
        for (const to of links(page).filter((one) => one.startsWith(base)))
          assert.equal((await people.owner.get(to)).status, 200, to);
    }
    assert.ok(links((await people.owner.get(`${base}/results/progress?group=${now.id}`)).text).includes(here));
    const form = (await people.owner.get(links(text).find((to) => to.startsWith(`${base}/invite/one`))!)).text;
    assert.ok(form.includes('value="LRN-1"') && form.includes('value="Ana &lt;b&gt;Silva&lt;/b&gt;"'));
    assert.equal((await people.tutor.get(`${base}/invite/one?learner_id=${learnerId}`)).status, 404);
    // From the learner and from the result, to how far it has come.
    for (const path of [here, `${base}/results/${first.id}`, `${base}/results/${gone.id}`]) {
      const id = path === here ? first.id : path.split('/').at(-1)!;
      for (const who of ['owner', 'admin', 'auditor'] as const)
        assert.ok(links((await people[who].get(path)).text).includes(`${base}/trace?assessment_id=${id}`), path);
      assert.doesNotMatch((await people.tutor.get(path)).text, /trace\?/);
    }
    assert.ok(links((await people.owner.get(`${base}/trace?assessment_id=${first.id}`)).text).includes(here));
    // A developer finds ids and references there, and nobody's name, level or evidence.
    const seen = (await people.developer.get(here)).text;
    assert.ok(seen.includes('LRN-1') && seen.includes(first.id));
    assert.doesNotMatch(seen, /Silva|Level|evidence|class="chart"/);
  });

  test('evidence is the file that the API gives, and its taking is audited', async () => {
    const bo = await scene.learner('LRN-2', 'Bo Ek');
    const result = await bo.completes();
    const path = `${base}/results/${result.id}/evidence`;
    const sha256 = (await result.readReport()).headers['x-report-sha256'];
    for (const who of ['owner', 'admin', 'auditor'] as const) {
      const file = await people[who].get(path);
      assert.deepEqual(
        [file.status, file.headers['content-type'], file.headers['content-disposition']],
        [200, 'application/pdf', `attachment; filename="evidence-${result.id}.pdf"`],
      );
      assert.equal(hash('sha256', file.bytes), sha256);
    }
    const took = (await acts(result.id)).filter(
      ({ action }) => action === 'GET /console/results/{assessment_id}/evidence',
    );
    assert.deepEqual(
      took.map(({ actor }) => actor),
      [people.owner.userId, people.admin.userId, people.auditor.userId],
    );
    for (const who of ['developer', 'tutor'] as const) assert.equal((await people[who].get(path)).status, 404);
    await result.isWithdrawn();
    assert.equal((await people.owner.get(path)).status, 404);
  });

  test('out of a tutor’s sight, page and evidence are the page that isn’t there', async () => {
    const cy = await scene.learner('LRN-3', 'Cy Tan');
    const result = await cy.completes();
    const paths = [`${base}/learners/${await idOf('LRN-3')}`, `${base}/results/${result.id}/evidence`];
    const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
    await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [people.tutor.userId]));
    const missing = bytes(await people.tutor.get(`${base}/no-such-page`));
    for (const path of paths) assert.deepEqual(bytes(await people.tutor.get(path)), missing);
    await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['LRN-3']));
    for (const path of paths) assert.equal((await people.tutor.get(path)).status, 200);
    const { text } = await people.tutor.get(paths[0]!);
    assert.doesNotMatch(text, /\/name"|\/email"|\/erase"|\/trace/, 'a tutor changes no learner');
    await service.withUnitOfWork((work) => removeFromTeam(work, org.id, team, ['LRN-3']));
    for (const path of paths) assert.deepEqual(bytes(await people.tutor.get(path)), missing);
  });

  test('of somebody who was erased it says so, and names nobody', async () => {
    const dee = await scene.learner('LRN-4', 'Dee Gone');
    await dee.completes();
    const id = await idOf('LRN-4');
    await service.withUnitOfWork((work) => eraseLearner(work, org.id, id, { actor: people.owner.userId }));
    for (const who of ['owner', 'auditor', 'developer'] as const) {
      const { status, text } = await people[who].get(`${base}/learners/${id}`);
      assert.equal(status, 200);
      assert.match(text, /This learner was erased/);
      assert.doesNotMatch(text, /Dee|Gone|LRN-4/);
    }
    assert.equal((await people.tutor.get(`${base}/learners/${id}`)).status, 404);
    for (const path of ['name', 'email'])
      assert.equal((await people.owner.get(`${base}/learners/${id}/${path}`)).status, 404);
  });
});

suite('a learner’s name and e-mail address', () => {
  test('a name is corrected after a look at what that does, with a reason that the history keeps', async () => {
    const eve = await scene.learner('LRN-5', 'Eve Wrnog');
    await eve.completes();
    const mirror = scene.follow({ learner_ref: 'LRN-5' });
    await mirror.poll();
    const id = await idOf('LRN-5');
    const here = `${base}/learners/${id}`;
    const credits = await service.app.db.query('select count(*) from invitation where organisation_id = $1', [org.id]);
    assert.match((await people.admin.get(`${here}/name`)).text, /value="Eve Wrnog"/);
    const given = { full_name: 'Eve Right', reason: 'Misspelt on enrolment' };
    const asked = await people.admin.post(`${here}/name`, given);
    assert.match(asked.text, /Eve Wrnog.*Eve Right.*1 result shows the new name/s);
    assert.equal((await eve.read()).full_name, 'Eve Wrnog', 'nothing is done yet');
    const done = await people.admin.post(`${here}/name`, { ...given, confirmed: 'yes' });
    assert.equal(done.headers.location, `${here}?did=renamed`);
    assert.equal((await eve.read()).full_name, 'Eve Right');
    assert.deepEqual(await mirror.poll(), ['LRN-5 maths: completed']);
    assert.deepEqual(
      await service.app.db.query('select count(*) from invitation where organisation_id = $1', [org.id]),
      credits,
    );
    const { text } = await people.owner.get(here);
    assert.match(text, /Name corrected.*Misspelt on enrolment/s);
    assert.doesNotMatch(text, /Wrnog/);
    const renames = (await acts(id)).filter(({ action }) => action === 'POST /console/learners/{learner_id}/name');
    assert.deepEqual(renames, [{ action: renames[0]!.action, actor: people.admin.userId }]);
    // The same again changes nothing, and leaves no trace.
    const again = await people.admin.post(`${here}/name`, { ...given, confirmed: 'yes' });
    assert.equal(again.headers.location, `${here}?did=same`);
    assert.deepEqual(await mirror.poll(), []);
  });

  test('what must not be a name, and a reason that is missing, are said at their fields', async () => {
    await scene.learner('LRN-6', 'Fay Lund');
    const here = `${base}/learners/${await idOf('LRN-6')}/name`;
    for (const full_name of ['', '\u200b', 'AB123456C', 'x'.repeat(201), 'a\nb', 'L R N', '\0']) {
      const { status, text } = await people.owner.post(here, { full_name, reason: 'x', confirmed: 'yes' });
      assert.equal(status, 422, JSON.stringify(full_name));
      assert.match(text, /aria-describedby="full_name-fault"/);
    }
    for (const reason of ['', 'QQ 12 34 56 C', 'x'.repeat(501)])
      assert.equal((await people.owner.post(here, { full_name: 'Fay Lund-Ek', reason, confirmed: 'yes' })).status, 422);
    assert.equal((await org.get('/learners/LRN-6')).body.data.full_name, 'Fay Lund');
  });

  test('an address is given, changed and removed; the history keeps none of them', async () => {
    await scene.learner('LRN-7', 'Gil Ives');
    const id = await idOf('LRN-7');
    const here = `${base}/learners/${id}`;
    const emailOf = async () =>
      (
        await service.app.db.query<{ email: string | null }>('select email from learner where learner_id = $1', [id])
      )[0]!.email;
    const position = (await org.get('/learners/LRN-7')).body.data.updated_at;
    const send = (email: string, confirmed = 'yes') =>
      people.owner.post(`${here}/email`, { email, reason: 'Asked by telephone', confirmed });
    assert.match((await send('gil@home.example', '')).text, /gil@home\.example/);
    assert.equal(await emailOf(), null);
    assert.equal((await send('gil@home.example')).headers.location, `${here}?did=email`);
    assert.equal(await emailOf(), 'gil@home.example');
    for (const who of ['owner', 'admin'] as const) assert.match((await people[who].get(here)).text, /gil@home/);
    for (const who of ['auditor', 'developer'] as const)
      assert.doesNotMatch((await people[who].get(here)).text, /gil@home/);
    assert.match((await send('', '')).text, /is deleted/);
    assert.equal((await send('')).headers.location, `${here}?did=email`);
    assert.equal(await emailOf(), null);
    assert.equal((await send('')).headers.location, `${here}?did=same`);
    for (const wrong of ['gil', 'gil@', '<gil@home.example>', 'a@b.example\r\nBcc: c@d.example'])
      assert.equal((await send(wrong)).status, 422, wrong);
    const { text } = await people.owner.get(here);
    assert.equal([...text.matchAll(/Email address changed/g)].length, 2);
    assert.ok(text.includes('Asked by telephone') && text.includes('Olga Owner'));
    const [kept] = await service.app.db.query<{ text: string }>(
      `select (select string_agg(c::text, ' ') from learner_change c where organisation_id = $1) || (select string_agg(a::text, ' ') from audit a where organisation_id = $1) as text`,
      [org.id],
    );
    assert.ok(!kept!.text.includes('gil@home') && !service.logged.join('').includes('gil@home'));
    assert.equal((await org.get('/learners/LRN-7')).body.data.updated_at, position, 'no payload shows it');
  });

  test('neither can be done by who may not, nor to somebody else’s learner', async () => {
    const elsewhere = await scenario(service);
    await elsewhere.learner('LRN-1', 'Ada Elsewhere');
    const theirs = (await elsewhere.org.get('/learners/LRN-1')).body.data.learner_id as string;
    const ours = await idOf('LRN-7');
    for (const path of ['name', 'email'])
      for (const [who, id] of [
        ['auditor', ours],
        ['tutor', ours],
        ['developer', ours],
        ['owner', theirs],
      ] as const) {
        const fields = { full_name: 'Mal Ory', email: 'mal@ory.example', reason: 'x', confirmed: 'yes' };
        assert.equal((await people[who].get(`${base}/learners/${id}/${path}`)).status, 404);
        assert.equal((await people[who].post(`${base}/learners/${id}/${path}`, fields)).status, 404);
      }
    assert.equal((await elsewhere.org.get('/learners/LRN-1')).body.data.full_name, 'Ada Elsewhere');
  });
});
