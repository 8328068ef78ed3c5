import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { lockFeed } from '../../../../src/feed/position.ts';
import { insertLearners } from '../../../../src/records/learners/learners.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import type { Answer } from '../../../contract/support/client.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import type { Person } from '../visitor.ts';
import { personOf } from '../visitor.ts';

/** The list of learners: who sees whom, what is looked for by name, and where names never stand. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const script = '<script>alert(1)</script>';
for (const [ref, name] of [
  ['LRN-1', 'Ana Silva'],
  ['LRN-2', 'Bo “Quote" O’Brien'],
  ['LRN-3', script],
] as const)
  await scene.learner(ref, name);
const cohort = await scene.group('C1');
await cohort.adds(await scene.learner('LRN-1', 'Ana Silva'));
const people = {
  owner: await personOf(service, org.id, 'owner'),
  auditor: await personOf(service, org.id, 'auditor'),
  tutor: await personOf(service, org.id, 'tutor'),
  developer: await personOf(service, org.id, 'developer'),
};
const finds = (person: Person, find: string, query = '') => person.post(`${base}/learners${query}`, { wanted: find });

function bytes({ status, headers, text }: Answer) {
  const { date: _, 'x-request-id': __, 'content-length': ___, ...rest } = headers;
  return { status, rest, text };
}

suite('the list of learners', () => {
  test('is found by a part of a name or a reference, with the filters of the address', async () => {
    for (const typed of ['silva', 'AN', 'lrn-1']) {
      const { status, text } = await finds(people.owner, typed);
      assert.equal(status, 200);
      assert.ok(text.includes('Ana Silva') && !text.includes('O’Brien'), typed);
    }
    const none = await finds(people.owner, 'obrien', `?group=${cohort.id}`);
    assert.match(none.text, /No learner matches/);
    assert.match(none.text, new RegExp(`action="${base}/learners\\?group=${cohort.id}"`), 'the filter stays');
    assert.match((await finds(people.auditor, 'ana', `?group=${cohort.id}&state=invited`)).text, /Ana Silva/);
    assert.equal((await finds(people.developer, 'ana')).status, 404);
  });

  test('shows what was stored and typed as text', async () => {
    const list = await people.owner.get(`${base}/learners?sort=%3Cb%3E&group=%22&after=%3Ci%3E`);
    assert.ok(list.text.includes('&lt;script&gt;alert(1)&lt;/script&gt;') && !list.text.includes('<script>'));
    const typed = await finds(people.owner, `"><img src=x onerror=alert(1)>`);
    assert.ok(!typed.text.includes('<img'));
  });

  test('takes no number of a person, and says what is expected', async () => {
    for (const typed of ['', '   ', 'AB 12 34 56 C', 'a\0b', 'x'.repeat(300)]) {
      const { status, text } = await finds(people.owner, typed);
      assert.equal(status, 422, typed);
      assert.match(text, /role="alert"/);
      assert.ok(typed.trim() === '' || !text.includes(typed));
    }
  });

  test('a name stands in no address and in no log', async () => {
    const answer = await finds(people.owner, 'silva');
    assert.doesNotMatch(answer.text, /(href|action)="[^"]*(?:ana|silva)/i);
    assert.doesNotMatch(answer.text, /\?sort=/, 'a link would lose the search');
    assert.match(answer.text, /Total \d/);
    assert.ok(!service.logged.join('').toLowerCase().includes('silva'));
    const rows = await service.app.db.query<{ text: string }>('select a::text as text from audit a where actor = $1', [
      people.owner.userId,
    ]);
    assert.ok(!rows.some(({ text }) => /silva/i.test(text)));
  });

  test('goes on in both directions, with filters and order, also of a search', async () => {
    const { learner } = await manyLearners();
    const first = await people.owner.get(`${base}/learners?group=${learner.group}&sort=-name`);
    assert.match(first.text, /Many 059/);
    const next = /rel="next" href="([^"]+)"/.exec(first.text)![1]!.replaceAll('&amp;', '&');
    assert.match(next, /group=.*sort=-name.*after=|after=.*sort=-name/);
    const second = await people.owner.get(next);
    assert.match(second.text, /Many 000/);
    assert.doesNotMatch(second.text, /rel="next"/);
    const back = /rel="prev" href="([^"]+)"/.exec(second.text)![1]!.replaceAll('&amp;', '&');
    assert.equal(rowsOf(await people.owner.get(back)), rowsOf(first));
    const searched = await finds(people.owner, 'many');
    const after = /name="after" value="([^"]+)"/.exec(searched.text)![1]!;
    const more = await people.owner.post(`${base}/learners`, { wanted: 'many', after });
    assert.match(more.text, /Many 059/);
    const before = /name="before" value="([^"]+)"/.exec(more.text)![1]!;
    assert.equal(rowsOf(await people.owner.post(`${base}/learners`, { wanted: 'many', before })), rowsOf(searched));
  });

  test('a tutor sees those who are in a team of theirs, and what is out of sight looks like nobody', async () => {
    const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
    assert.match((await people.tutor.get(`${base}/learners`)).text, /There is no learner yet/);
    await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [people.tutor.userId]));
    await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['LRN-2']));
    const { text } = await people.tutor.get(`${base}/learners`);
    assert.ok(text.includes('O’Brien') && !text.includes('Ana Silva'));
    const same = (answer: Answer, typed: string) => ({ ...bytes(answer), text: answer.text.replaceAll(typed, '') });
    const nobody = same(await finds(people.tutor, 'nobodyx'), 'nobodyx');
    for (const typed of ['silva', 'LRN-1']) assert.deepEqual(same(await finds(people.tutor, typed), typed), nobody);
    const stranger = (await org.get('/learners/LRN-1')).body.data.learner_id as string;
    const unknown = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';
    const at = async (query: string, id: string) =>
      (await people.tutor.get(`${base}/learners?${query}=${id}`)).text.replaceAll(id, '');
    for (const query of ['after', 'before', 'group', 'team'])
      assert.equal(await at(query, stranger), await at(query, unknown));
  });
});

const rowsOf = ({ text }: Answer) => /<tbody>.*<\/tbody>/s.exec(text)![0];

async function manyLearners() {
  const group = await scene.group('many');
  const refs = Array.from({ length: 60 }, (_, n) => `R-${String(n).padStart(3, '0')}`);
  await service.withUnitOfWork(async (work) => {
    const feed = await lockFeed(work, org.id);
    const rows = refs.map((ref) => ({
      learner_id: work.uuid(),
      ref,
      full_name: ref.replace('R-', 'Many '),
      email: null,
    }));
    await insertLearners(work, feed, rows);
  });
  await org.post(`/groups/${group.id}/members`, { learner_refs: refs });
  return { learner: { group: group.id } };
}
