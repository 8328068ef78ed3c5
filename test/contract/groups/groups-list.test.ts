import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Group } from '../../../src/organisations/groups/schema.ts';
import { groupTypes } from '../../../src/organisations/groups/types.ts';
import { assertList, assertRefused, assertShape, under } from '../support/expect.ts';
import { contractTarget, freshRef } from '../support/target.ts';

const target = await contractTarget();
const archived = await target.post('/groups', {
  type: 'employer',
  ref: freshRef('archived'),
  name: 'Archived employer',
});
await target.patch(`/groups/${archived.body.data.id}`, { active: false });
const query = (text: string) => target.get(`/groups?${text}`);

suite('GET /groups', () => {
  test('200: groups in the order of updated_at', async () => {
    const answer = await query('limit=500');
    assertList(answer, 500);
    for (const group of answer.body.data) assertShape(Group, group);
    const stamps = answer.body.data.map((group: any) => group.updated_at);
    assert.deepEqual(stamps, [...stamps].sort());
  });

  test('200: type and active', async () => {
    const { data: all } = (await query('limit=500')).body;
    const ids = (groups: any[]) => groups.map((group) => group.id);
    for (const type of groupTypes)
      assert.deepEqual(
        ids((await query(`limit=500&type=${type}`)).body.data),
        ids(all.filter((group: any) => group.type === type)),
      );
    for (const same of ['type=course,cohort', 'type=cohort&type=course', 'type=cohort,course,cohort']) {
      assert.deepEqual(
        ids((await query(`limit=500&${same}`)).body.data),
        ids(all.filter((group: any) => /^(cohort|course)$/.test(group.type))),
      );
    }
    assert.deepEqual(
      ids((await query('limit=500&active=true')).body.data),
      ids(all.filter((group: any) => group.active)),
    );
    assert.deepEqual(
      ids((await query('limit=500&active=false&type=employer')).body.data),
      ids(all.filter((group: any) => !group.active && group.type === 'employer')),
    );
    assert.ok(ids((await query('limit=500&active=false')).body.data).includes(archived.body.data.id));
  });

  test('200: since is inclusive', async () => {
    const { updated_at, id } = (await target.get(`/groups/${archived.body.data.id}`)).body.data;
    assert.ok((await query(`since=${updated_at}`)).body.data.some((group: any) => group.id === id));
    assert.deepEqual((await query('since=2999-01-01T00:00:00Z')).body.data, []);
  });

  for (const [given, limit] of [
    ['1', 1],
    ['500', 500],
    ['501', 500],
    ['0', 1],
    ['x', 100],
  ] as const) {
    test(`200: limit=${given} means ${limit}`, async () => assertList(await query(`limit=${given}`), limit));
  }

  test('200: next goes on where the page ended', async () => {
    const first = await query('limit=1&type=cohort,course,employer');
    assertList(first, 1);
    assert.deepEqual([...new URL(first.body.pagination.next).searchParams.keys()].sort(), ['cursor', 'limit', 'type']);
    assert.notDeepEqual((await target.get(under(first.body.pagination.next))).body.data, first.body.data);
  });

  test('304: unchanged', async () => {
    const { etag } = (await query('limit=3')).headers;
    assert.equal((await target.get('/groups?limit=3', { 'if-none-match': etag! })).status, 304);
  });

  test('400: invalid_type', async () => {
    for (const type of ['', 'gang', 'Cohort', 'cohort,', 'cohort,gang', 'cohort%20'])
      assertRefused(await query(`type=${type}`), 400, 'invalid_type');
  });

  test('400: invalid_active', async () => {
    for (const active of ['', '1', 'True', 'true,false', 'true&active=true'])
      assertRefused(await query(`active=${active}`), 400, 'invalid_active');
  });

  test('400: unknown_parameter, invalid_since, invalid_cursor, in this order', async () => {
    assertRefused(await query('ref=x'), 400, 'unknown_parameter');
    assertRefused(await query('sort=updated_at'), 400, 'unknown_parameter');
    assertRefused(await query('active=x&type=x&cursor=x&since=x&foo=1'), 400, 'unknown_parameter');
    assertRefused(await query('active=x&type=x&cursor=x&since=x'), 400, 'invalid_since');
    assertRefused(await query('active=x&type=x&cursor=x'), 400, 'invalid_cursor');
    assertRefused(await query('active=x&type=x'), 400, 'invalid_type');
  });
});
