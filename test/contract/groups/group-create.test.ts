import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { Group } from '../../../src/organisations/groups/schema.ts';
import { clientGroupTypes } from '../../../src/organisations/groups/types.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { assertRateHeaders, assertRefused, assertShape, nationalInsuranceNumbers } from '../support/expect.ts';
import { contractTarget, freshRef } from '../support/target.ts';

const target = await contractTarget();
const create = (body: unknown) => target.post('/groups', body);
const ok = (extra: object = {}) => ({ type: 'cohort', ref: freshRef('G'), name: 'A group', ...extra });

suite('POST /groups', () => {
  test('201: created', async () => {
    const body = ok({ name: 'Ångström & Söhne 🏗' });
    const answer = await create(body);
    assert.equal(answer.status, 201, answer.text);
    assertShape(Type.Object({ data: Group }), answer.body);
    const { type, ref, name, active } = answer.body.data;
    assert.deepEqual({ type, ref, name, active }, { ...body, active: true });
    assertRateHeaders(answer);
    const read = (await target.get(`/groups/${answer.body.data.id}`)).body.data;
    assert.deepEqual(read, { ...answer.body.data, member_count: 0 });
  });

  test('201: every type but team, each with its own reference space', async () => {
    const ref = freshRef('EVERY');
    const ids = new Set<string>();
    for (const type of clientGroupTypes) {
      const answer = await create({ type, ref, name: type });
      assert.equal(answer.status, 201, type);
      ids.add(answer.body.data.id);
    }
    assert.equal(ids.size, clientGroupTypes.length);
  });

  test('201: references are compared as they are sent', async () => {
    const ref = freshRef('Caf\u00e9');
    for (const one of [ref, `${ref} `, ref.normalize('NFD'), ref.toLowerCase()]) {
      const answer = await create(ok({ ref: one }));
      assert.equal(answer.status, 201, one);
      assert.equal(answer.body.data.ref, one);
    }
  });

  test('201: at the limits of length', async () => {
    assert.equal(
      (await create(ok({ ref: `${freshRef('L')}${'r'.repeat(100)}`.slice(0, 100), name: 'n'.repeat(200) }))).status,
      201,
    );
    assert.equal((await create(ok({ ref: `${freshRef('L')} with spaces, & more` }))).status, 201);
  });

  test('200: the group that exists is returned as it is: no rename, no reactivation, no new updated_at', async () => {
    const body = ok();
    const made = await create(body);
    await target.patch(`/groups/${made.body.data.id}`, { active: false });
    const before = await target.get('/groups');
    const again = await create({ ...body, name: 'Another name' });
    assert.equal(again.status, 200, again.text);
    assertShape(Type.Object({ data: Group }), again.body);
    assert.equal(again.body.data.id, made.body.data.id);
    assert.equal(again.body.data.name, body.name);
    assert.equal(again.body.data.active, false);
    assert.equal((await target.get('/groups')).headers.etag, before.headers.etag);
  });

  test('201 once, 200 else, of twelve at once', async () => {
    const body = ok();
    const answers = await Promise.all(Array.from({ length: 12 }, () => create(body)));
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [...Array<number>(11).fill(200), 201]);
    assert.equal(new Set(answers.map((answer) => answer.body.data.id)).size, 1);
  });

  test('400: invalid_json', async () => {
    for (const body of ['', '{', '{"type":"cohort",}', "{'type':'cohort'}"])
      assertRefused(await create(body), 400, 'invalid_json');
  });

  test(
    '409: 500 active groups, teams and archived ones not counted, whoever comes at once',
    { skip: target.local === null && 'needs an organisation of its own' },
    async () => {
      const full = await target.local!.service.organisation();
      const { createGroup } = await import('../../../src/organisations/groups/create.ts');
      await target.local!.service.withUnitOfWork((work) =>
        createGroup(work, full.id, { type: 'team', ref: 'T', name: 'Team' }),
      );
      const refs = Array.from({ length: limits.groupsPerOrganisation - 2 }, (_, i) => ({
        type: 'class',
        ref: `C${i}`,
        name: `Class ${i}`,
      }));
      await target.local!.service.withUnitOfWork(async (work) => {
        for (const group of refs) await createGroup(work, full.id, group);
      });
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          full.post('/groups', { type: 'cohort', ref: `LAST-${i}`, name: 'One of the last' }),
        ),
      );
      assert.equal(answers.filter((answer) => answer.status === 201).length, 2);
      for (const refused of answers.filter((answer) => answer.status !== 201))
        assertRefused(refused, 409, 'group_limit_exceeded');
      assert.equal((await full.post('/groups', { type: 'class', ref: 'C0', name: 'x' })).status, 200);
      const { id } = answers.find((answer) => answer.status === 201)!.body.data;
      assert.equal((await full.patch(`/groups/${id}`, { active: false })).status, 200);
      assert.equal((await full.post('/groups', { type: 'cohort', ref: 'INSTEAD', name: 'Instead' })).status, 201);
      assertRefused(await full.patch(`/groups/${id}`, { active: true }), 409, 'group_limit_exceeded');
      assert.equal((await full.get(`/groups/${id}`)).body.data.active, false);
    },
  );

  const faults: Record<string, unknown[]> = {
    invalid_ref: ['', ' ', null, 1, {}, 'r'.repeat(101), 'a\nb', '\u0000', ...nationalInsuranceNumbers]
      .map((ref) => ({ ...ok(), ref }))
      .concat([{ type: 'cohort', name: 'n' } as any, {} as any]),
    invalid_name: ['', '  ', null, 1, [], 'n'.repeat(201), 'a\u2029b', ...nationalInsuranceNumbers]
      .map((name) => ({ ...ok(), name }))
      .concat([{ type: 'cohort', ref: 'r' } as any]),
    invalid_type: ['', null, 1, 'gang', 'Cohort', 'cohort ', 'teams']
      .map((type) => ({ ...ok(), type }))
      .concat([{ ref: 'r', name: 'n' } as any]),
    unknown_field: [
      { ...ok(), active: true },
      { ...ok(), id: 'x' },
      '{"type":"cohort","ref":"r","name":"n","__proto__":{}}',
      { ...ok({ type: 'team' }), foo: 1 },
    ],
    invalid_body: ['[]', 'null', '"x"', '7'],
    team_group_managed: [ok({ type: 'team' })],
  };
  for (const [code, bodies] of Object.entries(faults)) {
    test(`422: ${code}`, async () => {
      for (const body of bodies) assertRefused(await create(body), 422, code);
    });
  }

  test('422: several faults: the first in the order of the fields', async () => {
    assertRefused(await create({ foo: 1, type: 1, name: 1, ref: 1 }), 422, 'invalid_ref');
    assertRefused(await create({ foo: 1, type: 1, name: 1, ref: 'r' }), 422, 'invalid_name');
    assertRefused(await create({ foo: 1, type: 1, name: 'n', ref: 'r' }), 422, 'invalid_type');
    assertRefused(await create({ foo: 1, type: 'cohort', name: 'n', ref: 'r' }), 422, 'unknown_field');
  });
});
