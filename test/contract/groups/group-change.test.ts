import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { GroupDetail } from '../../../src/organisations/groups/schema.ts';
import { assertPrivate, assertRefused, assertShape, nationalInsuranceNumbers } from '../support/expect.ts';
import { contractTarget, freshRef } from '../support/target.ts';

const target = await contractTarget();
const made = async () =>
  (await target.post('/groups', { type: 'cohort', ref: freshRef('G'), name: 'A group' })).body.data;
const group = await made();
const path = `/groups/${group.id}`;
const unknown = '/groups/00000000-0000-4000-8000-000000000000';

async function strangers(): Promise<string[]> {
  const paths = [
    unknown,
    '/groups/x',
    '/groups/%00',
    '/groups/%zz',
    `${path}0`,
    `/groups/${group.id.replaceAll('-', '')}`,
  ];
  if (target.local !== null)
    paths.push(
      `/groups/${(await target.local.foreign.post('/groups', { type: 'cohort', ref: 'F', name: 'Foreign' })).body.data.id}`,
    );
  return paths;
}

suite('GET /groups/{id}', () => {
  test('200: the group with its member count', async () => {
    const answer = await target.get(path);
    assert.equal(answer.status, 200, answer.text);
    assertShape(Type.Object({ data: GroupDetail }), answer.body);
    assertPrivate(answer);
    assert.equal((await target.get(path.toUpperCase().replace('/GROUPS', '/groups'))).text, answer.text);
  });

  test('304: unchanged; a new member is a change', async () => {
    const { id } = await made();
    const { etag } = (await target.get(`/groups/${id}`)).headers;
    assert.equal((await target.get(`/groups/${id}`, { 'if-none-match': etag! })).status, 304);
    const ref = freshRef('member');
    await target.post('/learners', { ref, full_name: 'New Member' });
    await target.post(`/groups/${id}/members`, { learner_refs: [ref] });
    const after = await target.get(`/groups/${id}`, { 'if-none-match': etag! });
    assert.equal(after.status, 200);
    assert.equal(after.body.data.member_count, 1);
  });

  test('400: unknown parameter', async () =>
    assertRefused(await target.get(`${path}?members=1`), 400, 'unknown_parameter'));

  test('404: unknown, malformed, of another organisation, in the same bytes', async () => {
    const first = await target.get(unknown);
    for (const one of await strangers()) {
      const answer = await target.get(one);
      assertRefused(answer, 404, 'not_found');
      assert.equal(answer.text, first.text, one);
    }
  });
});

suite('PATCH /groups/{id}', () => {
  test('200: renamed, archived, reactivated', async () => {
    const { id } = await made();
    let before = (await target.get(`/groups/${id}`)).body.data;
    for (const change of [{ name: 'Renamed' }, { active: false }, { active: true }, { name: 'Both', active: false }]) {
      const answer = await target.patch(`/groups/${id}`, change);
      assert.equal(answer.status, 200, answer.text);
      assertShape(Type.Object({ data: GroupDetail }), answer.body);
      assert.deepEqual({ ...answer.body.data, updated_at: '' }, { ...before, ...change, updated_at: '' });
      assert.ok(answer.body.data.updated_at > before.updated_at);
      before = (await target.get(`/groups/${id}`)).body.data;
      assert.deepEqual(before, answer.body.data);
    }
  });

  test('200: what already is changes nothing', async () => {
    const { id, name } = await made();
    const before = [(await target.get(`/groups/${id}`)).text, (await target.get('/groups')).headers.etag];
    for (const change of [{ name }, { active: true }, { name, active: true }])
      assert.equal((await target.patch(`/groups/${id}`, change)).status, 200);
    assert.deepEqual([(await target.get(`/groups/${id}`)).text, (await target.get('/groups')).headers.etag], before);
  });

  test('400: invalid_json', async () =>
    assertRefused(await target.patch(path, '{"active":fals}'), 400, 'invalid_json'));

  test("404: unknown, malformed, of another organisation, in the same bytes, after the body's shape", async () => {
    const first = await target.patch(unknown, { active: false });
    for (const one of await strangers()) {
      const answer = await target.patch(one, { active: false });
      assertRefused(answer, 404, 'not_found');
      assert.equal(answer.text, first.text, one);
      assertRefused(await target.patch(one, {}), 422, 'invalid_body');
      assertRefused(await target.patch(one, { name: '' }), 422, 'invalid_name');
    }
  });

  const faults: Record<string, unknown[]> = {
    invalid_name: ['', ' ', null, 1, 'n'.repeat(201), 'a\nb', ...nationalInsuranceNumbers]
      .map((name) => ({ name }))
      .concat([{ name: '', active: 'x', foo: 1 } as any]),
    invalid_active: ['true', 1, null, []]
      .map((active) => ({ active }))
      .concat([{ name: 'n', active: 'x', foo: 1 } as any]),
    unknown_field: [{ type: 'course' }, { ref: 'x' }, { name: 'n', foo: 1 }, '{"__proto__":{"active":false}}'],
    invalid_body: [{}, '[]', 'null', '0'],
  };
  for (const [code, bodies] of Object.entries(faults)) {
    test(`422: ${code}`, async () => {
      for (const body of bodies) assertRefused(await target.patch(path, body), 422, code);
    });
  }

  test('422: team_group_managed, for any change', { skip: target.teamId === null && 'needs a team' }, async () => {
    for (const change of [{ name: 'Other' }, { active: false }, { active: true }])
      assertRefused(await target.patch(`/groups/${target.teamId}`, change), 422, 'team_group_managed');
  });
});
