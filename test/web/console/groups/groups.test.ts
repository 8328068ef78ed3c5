import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { membershipRuns } from '../../../../src/organisations/groups/runs.ts';
import { limits } from '../../../../src/platform/config/limits.ts';
import { readPastedRefs } from '../../../../src/organisations/groups/pasted-refs.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

/** Groups and teams on their pages: made, renamed, archived, their learners pasted, chosen and moved. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const [admin, auditor, developer] = await Promise.all([
  personOf(service, org.id, 'admin'),
  personOf(service, org.id, 'auditor'),
  personOf(service, org.id, 'developer'),
]);
const hidden = (text: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';
const membersOf = async (id: string) => (await org.get(`/groups/${id}`)).body.data.member_count as number;

/** Confirms what a page has asked. */
async function confirm(path: string, text: string, more: Record<string, string> = {}) {
  const fields = ['how', 'learners', 'once'].map((name) => [name, hidden(text, name)] as [string, string]);
  return admin.follow(await admin.post(path, [...fields, ...Object.entries(more)]));
}

async function createGroup(fields: Record<string, string>): Promise<string> {
  const made = await admin.post(`${base}/groups/create`, fields);
  assert.equal(made.status, 303, made.text);
  return /groups\/([0-9a-f-]{36})/.exec(made.headers.location!)![1]!;
}

suite('groups', () => {
  test('are made once, listed by type and state, renamed, archived in numbers and brought back', async () => {
    const faulty = await admin.post(`${base}/groups/create`, { type: 'team', ref: '', group_name: 'QQ123456C' });
    assert.equal(faulty.status, 422);
    for (const sentence of ['Choose a type', 'Enter a reference', 'Enter a name'])
      assert.match(faulty.text, new RegExp(sentence));
    const id = await createGroup({ type: 'campus', ref: 'NORTH', group_name: 'North <campus>' });
    const again = await admin.post(`${base}/groups/create`, { type: 'campus', ref: 'NORTH', group_name: 'Other' });
    assert.match(again.text, /A group of this type with this reference exists/);
    const listed = await auditor.get(`${base}/groups?type=campus&active=yes`);
    assert.match(listed.text, /North &lt;campus&gt;/);
    assert.doesNotMatch((await auditor.get(`${base}/groups?type=cohort`)).text, /North/);

    const ana = await scene.learner('ana', 'Ana Silva');
    await ana.completes();
    await org.post(`/groups/${id}/members`, { learner_refs: ['ana'] });
    const asked = await admin.get(`${base}/groups/${id}/archive`);
    assert.match(asked.text, /Platforms read 1 learner and 1 result again/);
    const feed = scene.follow();
    await feed.poll();
    const archived = await admin.follow(await admin.post(`${base}/groups/${id}/archive`));
    assert.match(archived.text, /The group is archived/);
    assert.deepEqual(await feed.poll(), ['ana maths: completed']);
    assert.match((await admin.get(`${base}/groups?active=no`)).text, /North/);
    await admin.post(`${base}/groups/${id}/bring-back`);
    const renamed = await admin.follow(await admin.post(`${base}/groups/${id}/rename`, { group_name: 'South' }));
    assert.match(renamed.text, /<h1><bdi>South<\/bdi><\/h1>/);
    assert.equal((await org.get(`/groups/${id}`)).body.data.name, 'South');
    const acts = await service.app.db.query(
      'select action from audit where organisation_id = $1 and actor = $2 and resource = $3 order by audit_id',
      [org.id, admin.userId, id],
    );
    assert.deepEqual(
      acts.map((row) => row.action),
      ['create', '{group_id}/archive', '{group_id}/bring-back', '{group_id}/rename'].map(
        (act) => `POST /console/groups/${act}`,
      ),
    );
  });

  test('are refused beyond the limit, when made and when brought back', async () => {
    const other = await scenario(service);
    const owner = await personOf(service, other.org.id, 'owner');
    const there = `/console/${other.org.publicId}/groups`;
    const old = await other.group('old');
    await old.isArchived();
    await service.app.db.query(
      `insert into learner_group (organisation_id, group_id, type, ref, name, created_at, position)
       select $1, md5(n::text)::uuid, 'cohort', 'C' || n, 'Cohort ' || n, to_timestamp(0), n from generate_series(1, $2) n`,
      [other.org.id, limits.groupsPerOrganisation],
    );
    const made = await owner.post(`${there}/create`, { type: 'cohort', ref: 'more', group_name: 'More' });
    assert.equal(made.status, 422);
    assert.match(made.text, /Your organisation has 500 active groups, the maximum/);
    const back = await owner.post(`${there}/${old.id}/bring-back`);
    assert.equal(back.status, 422);
    let page = await owner.get(there);
    const seen = new Set<string>();
    for (let pages = 0; pages < 20; pages++) {
      for (const [, ref] of page.text.matchAll(/<code>([^<]+)<\/code>/g)) seen.add(ref!);
      const next = /rel="next" href="([^"]+)"/.exec(page.text)?.[1];
      if (next === undefined) break;
      page = await owner.get(next.replaceAll('&amp;', '&'));
    }
    assert.equal(seen.size, limits.groupsPerOrganisation + 1);
  });

  test('developers see them without who is in them', async () => {
    const id = await createGroup({ type: 'course', ref: 'SEEN', group_name: 'Seen by developers' });
    await scene.learner('canary-ref', 'Canary Person');
    await org.post(`/groups/${id}/members`, { learner_refs: ['canary-ref'] });
    const page = await developer.get(`${base}/groups/${id}`);
    assert.match(page.text, /Seen by developers/);
    assert.doesNotMatch(page.text, /canary/i);
    assert.match((await auditor.get(`${base}/groups/${id}`)).text, /Canary Person/);
    assert.equal((await developer.get(`${base}/groups/${id}/history`)).status, 404);
  });
});

suite('members', () => {
  test('are pasted: every row is counted or has its fault, and nothing is written before', async () => {
    const id = await createGroup({ type: 'cohort', ref: 'PASTED', group_name: 'Pasted' });
    for (const ref of ['p1', 'p2', 'p3']) await scene.learner(ref);
    await org.post(`/groups/${id}/members`, { learner_refs: ['p3'] });
    const references = 'Name\tReference\nA B\tp1\nC D\tp2\nE F\tp3\nG H\tp1\nI J\tnobody\nK L\tx@y.example\n\nM N\t';
    const asked = await admin.post(`${base}/groups/${id}/add`, { references });
    assert.match(asked.text, /Add 2 learners to <bdi>Pasted<\/bdi>\?/);
    for (const row of [
      /To be added<\/dt><dd>2/,
      /Already in the group<\/dt><dd>1/,
      /Repeated<\/dt><dd>1/,
      /Skipped<\/dt><dd>3/,
      /No learner has the reference nobody/,
      /This is an email address/,
      /There is no reference in this row/,
    ])
      assert.match(asked.text, row);
    assert.doesNotMatch(asked.text, /y\.example/, 'what may name a person is not repeated');
    assert.equal(await membersOf(id), 1);
    const done = await confirm(`${base}/groups/${id}/members`, asked.text);
    assert.match(done.text, /2 of 2 learners/);
    assert.equal(await membersOf(id), 3);
    const twice = await confirm(`${base}/groups/${id}/members`, asked.text);
    assert.match(twice.text, /2 of 2 learners/, 'the same form is one order');
    const upload = async (content: Buffer) => {
      const form = new FormData();
      form.set('file', new Blob([Uint8Array.from(content)]), 'sheet.csv');
      const sent = await fetch(`${service.url}${base}/groups/${id}/add`, {
        method: 'POST',
        body: form,
        headers: { cookie: admin.cookie!, 'sec-fetch-site': 'same-origin' },
      });
      return sent.text();
    };
    const sheet = '\uFEFFReference;Name\r\np1;Zoë\r\nunknown-1;X\r\n';
    const ofFile = await upload(Buffer.from(sheet));
    assert.match(ofFile, /Already in the group<\/dt><dd>1/);
    assert.match(ofFile, /No learner has the reference unknown-1/);
    assert.match(
      await upload(Buffer.from(sheet, 'utf16le')),
      /can’t be read: the file is not text in UTF-8, but UTF-16/,
    );
    const nothing = await admin.post(`${base}/groups/${id}/add`, { references: 'p1\np2' });
    assert.match(nothing.text, /Nothing would change/);

    const chosen = [...(await admin.get(`${base}/groups/${id}`)).text.matchAll(/name="learner" value="([^"]+)"/g)];
    assert.equal(chosen.length, 3);
    const leaving = await admin.post(`${base}/groups/${id}/chosen`, [
      ['press', 'leave'],
      ['learner', chosen[0]![1]!],
      ['learner', chosen[1]![1]!],
    ]);
    assert.match(leaving.text, /Remove 2 learners from <bdi>Pasted<\/bdi>\?/);
    await confirm(`${base}/groups/${id}/members`, leaving.text);
    assert.equal(await membersOf(id), 1);
    const history = await auditor.get(`${base}/groups/${id}/history`);
    assert.equal([...history.text.matchAll(/>Joined</g)].length, 3);
    assert.equal([...history.text.matchAll(/>Left</g)].length, 2);
    const told = (await admin.get(`${base}/groups/${id}/history`)).text;
    const whose = [...told.matchAll(/data-head="By"><span>([^<]*)</g)].map(([, by]) => by!);
    assert.equal(whose.length, 5);
    assert.ok(whose.filter((by) => /^Person \d+$/.test(by)).length >= 4, whose.join());
    assert.equal((await admin.post(`${base}/groups/${id}/chosen`, { press: 'leave' })).status, 422);
  });

  test('thousands go on in the background, from where they were broken off', async () => {
    const id = await createGroup({ type: 'cohort', ref: 'MANY', group_name: 'Many' });
    const count = 3 * limits.membershipsAtOnce - 1;
    await service.app.db.query(
      `with made as (
         insert into learner (organisation_id, learner_id, ref, full_name, created_at)
         select $1, md5('many' || n)::uuid, 'many-' || n, 'Many ' || n, to_timestamp(0) from generate_series(1, $2) n returning learner_id)
       insert into learner_feed (organisation_id, learner_id, position, group_set_id)
       select $1, learner_id, row_number() over (), md5('{}')::uuid from made`,
      [org.id, count],
    );
    const references = Array.from({ length: count }, (_, n) => `many-${n + 1}`).join('\n');
    const asked = await admin.post(`${base}/groups/${id}/add`, { references });
    assert.match(asked.text, /The change runs in the background/);
    await confirm(`${base}/groups/${id}/members`, asked.text);
    await membershipRuns.run(service.app);
    assert.equal(await membersOf(id), count);
    const run = await admin.get(`${base}/membership-runs/${hidden(asked.text, 'once')}`);
    assert.match(run.text, /1,499 of 1,499 learners/);
    let page = await auditor.get(`${base}/groups/${id}/history`);
    const joined = new Set<string>();
    for (let pages = 0; pages < 40; pages++) {
      for (const [, ref] of page.text.matchAll(/<code>(many-\d+)<\/code>/g)) joined.add(ref!);
      const next = /rel="next" href="([^"]+)"/.exec(page.text)?.[1];
      if (next === undefined) break;
      page = await auditor.get(next.replaceAll('&amp;', '&'));
    }
    assert.equal(joined.size, count, 'every page of the history goes on where the one before ended');
  });

  test('move from one group to another in one step: one event each, and feeds of both converge', async () => {
    const [from, to] = [await scene.group('FROM'), await scene.group('TO')];
    const [ana, bo] = [await scene.learner('mover', 'Cy Novak'), await scene.learner('stayer', 'Di Novak')];
    await ana.completes();
    await bo.completes({ subject: 'english' });
    await from.adds(ana, bo);
    const [ofFrom, ofTo] = [scene.follow({}, { of: [from] }), scene.follow({}, { of: [to] })];
    await ofFrom.poll();
    await ofTo.poll();
    const page = await admin.get(`${base}/groups/${from.id}`);
    const learner = new RegExp(`value="([^"]+)"><span class="unseen">Choose mover`).exec(page.text)![1]!;
    const asked = await admin.post(`${base}/groups/${from.id}/chosen`, { press: 'move', learner });
    assert.match(asked.text, /Platforms read 1 learner and 1 result again/);
    const path = `${base}/groups/${from.id}/members`;
    assert.equal((await confirm(path, asked.text, { target: from.id })).status, 422);
    const foreign = await scenario(service);
    assert.equal((await confirm(path, asked.text, { target: (await foreign.group('X')).id })).status, 422);
    await confirm(path, asked.text, { target: to.id });
    assert.deepEqual(await ofFrom.poll(), ['mover maths: left']);
    assert.deepEqual(await ofTo.poll(), ['mover maths: completed']);
    await ofFrom.assertConverged();
    await ofTo.assertConverged();
    await scene.follow().assertConverged();
    const events = await service.app.db.query(
      `select payload from event where organisation_id = $1 and type = 'learner.groups.updated' and payload like '%"mover"%' order by number desc limit 1`,
      [org.id],
    );
    const { added, removed } = JSON.parse(events[0]!.payload);
    assert.deepEqual([added, removed], [[to.id], [from.id]]);
  });

  test('of another organisation are never touched', async () => {
    const other = await scenario(service);
    const theirs = await other.learner('theirs');
    const { learner_id: learner } = await theirs.read();
    const id = await createGroup({ type: 'cohort', ref: 'OURS', group_name: 'Ours' });
    const done = await admin.follow(
      await admin.post(`${base}/groups/${id}/members`, {
        how: 'join',
        learners: learner,
        once: service.app.random.uuid(),
      }),
    );
    assert.match(done.text, /0 of 1 learner/);
    assert.equal(await membersOf(id), 0);
  });
});

suite('what is pasted', () => {
  test('is read by line, by the column that says it is the reference, and by the first otherwise', () => {
    const refsOf = (text: string) => readPastedRefs(text).refs;
    assert.deepEqual(refsOf('a\r\nb\n\n  c  '), ['a', 'b', 'c']);
    assert.deepEqual(refsOf('Name,Learner ref\n"Silva, Ana",a/1\n'), ['a/1']);
    assert.deepEqual(refsOf('ref\nREF-001\nREF-002'), ['REF-001', 'REF-002']);
    assert.deepEqual(refsOf('REF-001\nREF-002'), ['REF-001', 'REF-002']);
    assert.deepEqual(refsOf('\uFEFFa;x\nb;y'), ['a', 'b']);
    assert.deepEqual(refsOf('sep=;\r\nName;Ref\r\nx;\u200ba\u00a0\r\n'), ['a']);
    const { faults } = readPastedRefs('a\nAna Silva\nQQ123456C\n=1+1');
    assert.deepEqual(
      faults.map((fault) => fault.row),
      [2, 3, 4],
    );
    assert.ok(!JSON.stringify(faults).includes('QQ'));
  });
});
