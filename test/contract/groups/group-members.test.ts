import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assertRefused, nationalInsuranceNumbers } from '../support/expect.ts';
import { contractTarget, freshRef } from '../support/target.ts';

const target = await contractTarget();
const [ana, bo, cy] = [freshRef('ana'), freshRef('bo'), freshRef('cy/1:x')];
for (const ref of [ana, bo, cy]) await target.post('/learners', { ref, full_name: 'A Member' });
const made = async () =>
  (await target.post('/groups', { type: 'cohort', ref: freshRef('G'), name: 'A group' })).body.data.id as string;
const stranger = freshRef('nobody');
const unknown = '/groups/00000000-0000-4000-8000-000000000000';
const etags = () =>
  Promise.all(['/assessments', '/learners', '/groups'].map(async (path) => (await target.get(path)).headers.etag));

suite('POST /groups/{id}/members', () => {
  test('200: every reference is answered for, in the order of the request', async () => {
    const id = await made();
    const first = await target.post(`/groups/${id}/members`, { learner_refs: [bo, stranger, ana, bo] });
    assert.equal(first.status, 200, first.text);
    assert.deepEqual(first.body, { added: [bo, ana], already_members: [], not_found: [stranger] });
    const again = await target.post(`/groups/${id}/members`, { learner_refs: [cy, ana] });
    assert.deepEqual(again.body, { added: [cy], already_members: [ana], not_found: [] });
    assert.equal((await target.get(`/groups/${id}`)).body.data.member_count, 3);
    const { groups } = (await target.get(`/learners/${cy}`)).body.data;
    assert.ok(groups.some((group: any) => group.id === id));
  });

  test('200: a repeat changes nothing, not even an ETag', async () => {
    const id = await made();
    await target.post(`/groups/${id}/members`, { learner_refs: [ana, bo] });
    const before = await etags();
    assert.deepEqual((await target.post(`/groups/${id}/members`, { learner_refs: [ana, bo, stranger] })).body, {
      added: [],
      already_members: [ana, bo],
      not_found: [stranger],
    });
    assert.deepEqual(await etags(), before);
  });

  test('200: an archived group takes members', async () => {
    const id = await made();
    await target.patch(`/groups/${id}`, { active: false });
    assert.deepEqual((await target.post(`/groups/${id}/members`, { learner_refs: [ana] })).body.added, [ana]);
    assert.ok(!(await target.get(`/learners/${ana}`)).body.data.groups.some((group: any) => group.id === id));
    assert.equal((await target.get(`/groups/${id}`)).body.data.member_count, 1);
  });

  test('200: 500 references after duplicates collapse', async () => {
    const refs = Array.from({ length: 500 }, (_, i) => `none-${i}`);
    const answer = await target.post(`/groups/${await made()}/members`, { learner_refs: [...refs, ...refs] });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.not_found.length, 500);
  });
});

suite('POST /groups/{id}/members/remove', () => {
  test('200: every reference is answered for', async () => {
    const id = await made();
    await target.post(`/groups/${id}/members`, { learner_refs: [ana, bo] });
    const answer = await target.post(`/groups/${id}/members/remove`, { learner_refs: [cy, ana, stranger] });
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.body, { removed: [ana], not_members: [cy, stranger] });
    assert.equal((await target.get(`/groups/${id}`)).body.data.member_count, 1);
  });

  test('200: a repeat changes nothing, not even an ETag', async () => {
    const id = await made();
    await target.post(`/groups/${id}/members`, { learner_refs: [ana] });
    await target.post(`/groups/${id}/members/remove`, { learner_refs: [ana] });
    const before = await etags();
    assert.deepEqual((await target.post(`/groups/${id}/members/remove`, { learner_refs: [ana] })).body, {
      removed: [],
      not_members: [ana],
    });
    assert.deepEqual(await etags(), before);
  });

  test('200: at once, each learner is added or removed once', async () => {
    const id = await made();
    for (const [path, done] of [
      ['members', 'added'],
      ['members/remove', 'removed'],
    ] as const) {
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => target.post(`/groups/${id}/${path}`, { learner_refs: [ana, bo, cy] })),
      );
      assert.deepEqual(answers.flatMap((answer) => answer.body[done]).sort(), [ana, bo, cy].sort());
    }
  });
});

for (const action of ['members', 'members/remove']) {
  suite(`POST /groups/{id}/${action}`, () => {
    test('400: invalid_json', async () =>
      assertRefused(await target.post(`${unknown}/${action}`, '{"learner_refs":["a",]}'), 400, 'invalid_json'));

    test('404: unknown, malformed, of another organisation, in the same bytes', async () => {
      const first = await target.post(`${unknown}/${action}`, { learner_refs: [ana] });
      const paths = [unknown, '/groups/x', '/groups/%zz'];
      if (target.local !== null)
        paths.push(
          `/groups/${(await target.local.foreign.post('/groups', { type: 'cohort', ref: 'F', name: 'Foreign' })).body.data.id}`,
        );
      for (const one of paths) {
        const answer = await target.post(`${one}/${action}`, { learner_refs: [ana] });
        assertRefused(answer, 404, 'not_found');
        assert.equal(answer.text, first.text);
      }
    });

    test('422: invalid_learner_refs, before 404', async () => {
      const many = Array.from({ length: 501 }, (_, i) => `none-${i}`);
      for (const learner_refs of [
        undefined,
        null,
        'a',
        {},
        [],
        [''],
        [1],
        [null],
        ['a', 1],
        ['ana@example.org'],
        ['Ana Silva'],
        ['-a'],
        ['a'.repeat(101)],
        many,
        ...nationalInsuranceNumbers.map((number) => [ana, number]),
      ]) {
        assertRefused(await target.post(`${unknown}/${action}`, { learner_refs, foo: 1 }), 422, 'invalid_learner_refs');
      }
    });

    test('422: unknown_field', async () =>
      assertRefused(await target.post(`${unknown}/${action}`, { learner_refs: [ana], foo: 1 }), 422, 'unknown_field'));

    test('422: invalid_body', async () =>
      assertRefused(await target.post(`${unknown}/${action}`, '["a"]'), 422, 'invalid_body'));

    test('422: team_group_managed', { skip: target.teamId === null && 'needs a team' }, async () => {
      assertRefused(
        await target.post(`/groups/${target.teamId}/${action}`, { learner_refs: [ana] }),
        422,
        'team_group_managed',
      );
    });
  });
}
