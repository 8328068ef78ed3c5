import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { routes } from '../../../src/api/route-table.ts';
import { hashSecret } from '../../../src/integrations/access-keys/keys.ts';
import type { Answer, Client } from '../../contract/support/client.ts';
import { assertRefused } from '../../contract/support/expect.ts';
import type { Group, Result } from '../../support/scenario.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

/** A key with bounds reads as if they stood in every query; what lies outside does not exist for it. */

const service = await withService();
const unknown = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';

/** What of a reply may tell two apart: everything but the moment and the count of requests. */
function bytes({ status, headers, text }: Answer) {
  const { date: _, ratelimit: __, 'x-request-id': _id, ...rest } = headers;
  return { status, headers: rest, text };
}

async function world() {
  const scene = await scenario(service);
  const [ours, also, theirs] = await Promise.all(['ours', 'also', 'theirs'].map((ref) => scene.group(ref)));
  const [ana, bo, cy] = await Promise.all(['ana', 'bo', 'cy'].map((ref) => scene.learner(ref)));
  await ours!.adds(ana!);
  await also!.adds(ana!, bo!);
  await theirs!.adds(bo!, cy!);
  const results: Result[] = [];
  for (const learner of [ana!, bo!, cy!])
    for (const subject of ['maths', 'english', 'digital'] as const) results.push(await learner.completes({ subject }));
  return { scene, org: scene.org, ours: ours!, also: also!, theirs: theirs!, ana: ana!, bo: bo!, cy: cy!, results };
}

/** The same walk by both, page by page. */
async function assertSameWalk(bounded: Client, org: Client, query: string, keyScope: string): Promise<number> {
  const join = (...parts: string[]) => parts.filter((part) => part !== '').join('&');
  let [here, there] = [`/assessments?${join(query, 'limit=2')}`, `/assessments?${join(query, keyScope, 'limit=2')}`];
  let entries = 0;
  for (;;) {
    const [a, b] = [await bounded.get(here), await org.get(there)];
    assert.equal(a.status, 200, a.text);
    assert.deepEqual(a.body.data, b.body.data, query);
    assert.notEqual(a.headers.etag, b.headers.etag);
    assert.equal(a.headers['x-sync-through'], b.headers['x-sync-through']);
    entries += a.body.data.length;
    const [next, other] = [a.body.pagination.next, b.body.pagination.next];
    assert.equal(next === null, other === null);
    if (next === null) return entries;
    const after = (address: string) => address.slice(address.indexOf('/api/v1') + '/api/v1'.length);
    // The cursor of one is none of the other's.
    assertRefused(await org.get(after(next)), 400, 'invalid_cursor');
    assertRefused(await bounded.get(after(other)), 400, 'invalid_cursor');
    [here, there] = [after(next), after(other)];
  }
}

suite('a key with bounds', () => {
  test('reads as if they stood in every query, scope exits included', async () => {
    const { org, ours, also, theirs, ana, bo, results } = await world();
    const since = (await org.get('/assessments')).headers['x-sync-through']!;
    const kinds: [Group[], string[]][] = [
      [[ours], []],
      [
        [ours, theirs],
        ['maths', 'digital'],
      ],
      [[], ['english']],
    ];
    const keys = await Promise.all(
      kinds.map(async ([groups, subjects]) => ({
        client: await org.another({ groupIds: groups.map(({ id }) => id), subjects }),
        keyScope: [
          ...(groups.length === 0 ? [] : [`group_id=${groups.map(({ id }) => id).join()}`]),
          ...(subjects.length === 0 ? [] : [`subject=${subjects.join()}`]),
        ].join('&'),
      })),
    );
    await ana.leaves(ours);
    await bo.leaves(theirs);
    await results[0]!.isWithdrawn();
    await bo.joins(ours);
    const queries = [
      '',
      `since=${since}`,
      `since=2020-01-01T00:00:00Z`,
      'sort=-assessed_at',
      'sort=-updated_at',
      'learner_ref=bo',
      `learner_ref=ana&since=${since}`,
      'status=deleted',
      'rqf_level_code=2&below_level_1=false',
      'assessed_from=2026-01-01T00:00:00Z&assessed_to=2026-02-01T00:00:00Z',
    ];
    let entries = 0;
    for (const { client, keyScope } of keys)
      for (const query of queries) entries += await assertSameWalk(client, org, query, keyScope);
    assert.ok(entries > 50);
    // Its own filters narrow them further, and never widen them.
    const [, both] = keys;
    const ids = async (client: Client, query: string) =>
      (await client.get(`/assessments?${query}`)).body.data.map((one: any) => one.assessment_id);
    assert.deepEqual(
      await ids(both!.client, `group_id=${ours.id},${also.id}`),
      await ids(org, `group_id=${ours.id}&subject=maths,digital`),
    );
    assert.deepEqual(
      await ids(both!.client, 'subject=maths,english'),
      await ids(org, `${both!.keyScope.split('&')[0]}&subject=maths`),
    );
    for (const nothing of [
      `group_id=${also.id}`,
      'subject=english',
      `group_id=${also.id}&since=${since}`,
      `group_id=${unknown}`,
    ])
      assert.deepEqual(await ids(both!.client, nothing), []);
  });

  test('finds nothing outside by its id: the same bytes as for what is unknown', async () => {
    const { org, ours, theirs, ana, results } = await world();
    const key = await org.another({ groupIds: [ours.id], subjects: ['maths'] });
    const [inside, otherSubject] = results;
    const elsewhere = results.find((one) => one.learner.ref === 'bo')!;
    assert.deepEqual(
      (await key.get(`/assessments/${inside!.id}`)).body,
      (await org.get(`/assessments/${inside!.id}`)).body,
    );
    const report = await key.get(`/assessments/${inside!.id}/report.pdf`);
    assert.equal(report.status, 200);
    await elsewhere.readReport();
    for (const { id } of [otherSubject!, elsewhere]) {
      assert.deepEqual(bytes(await key.get(`/assessments/${id}`)), bytes(await key.get(`/assessments/${unknown}`)));
      assert.deepEqual(
        bytes(await key.get(`/assessments/${id}/report.pdf`)),
        bytes(await key.get(`/assessments/${unknown}/report.pdf`)),
      );
    }
    assert.deepEqual(bytes(await key.get(`/groups/${theirs.id}`)), bytes(await key.get(`/groups/${unknown}`)));
    assert.equal((await key.get(`/groups/${ours.id}`)).body.data.member_count, 1);
    assert.deepEqual(
      (await key.get('/groups')).body.data.map((one: any) => one.id),
      [ours.id],
    );
    // A stored report is remembered by address: when its learner leaves, it is gone for this key.
    assert.equal((await key.get(`/assessments/${inside!.id}/report.pdf`)).status, 200);
    await ana.leaves(ours);
    assertRefused(await key.get(`/assessments/${inside!.id}/report.pdf`), 404, 'not_found');
    assertRefused(await key.get(`/assessments/${inside!.id}`), 404, 'not_found');
    assert.equal((await org.get(`/assessments/${inside!.id}/report.pdf`)).status, 200);
    // Archived groups keep their members.
    await ana.joins(ours);
    await ours.isArchived();
    assert.equal((await key.get(`/assessments/${inside!.id}`)).status, 200);
    assert.equal((await key.get('/groups?active=false')).body.data.length, 1);
  });

  test('has no other address, and changes nothing', async () => {
    const { org, ours, ana } = await world();
    const key = await org.another({ groupIds: [ours.id] });
    const before = (await org.get('/learners')).text;
    const asked = routes.filter((route) => route.allowsRestrictedKeys !== true);
    assert.ok(asked.length > 8);
    for (const { method, path } of asked) {
      const address = path.replace('{ref}', ana.ref).replace(/\{\w+\}/, ours.id);
      const answer = await key.api(
        method,
        address,
        method === 'GET' ? {} : { body: { name: 'Changed', full_name: 'X Y' } },
      );
      assert.deepEqual(bytes(answer), bytes(await key.get('/nowhere')), `${method} ${path}`);
    }
    assert.equal((await org.get('/learners')).text, before);
    for (const { path } of routes.filter((route) => route.allowsRestrictedKeys === true))
      assert.notEqual((await key.api('HEAD', path.replace(/\{\w+\}/, ours.id))).status, 405);
    const put = await key.api('PUT', '/groups');
    assert.deepEqual([put.status, put.headers.allow], [405, 'GET, HEAD']);
    assertRefused(await key.api('PUT', '/webhooks'), 404, 'not_found');
  });

  test('is never answered with what was remembered for another', async () => {
    const { org, ours, theirs } = await world();
    const keys = [org, await org.another({ groupIds: [ours.id] }), await org.another({ groupIds: [theirs.id] })];
    for (const path of ['/assessments', '/groups']) {
      const pages = await Promise.all(keys.map((key) => key.get(path)));
      const etags = pages.map(({ headers }) => headers.etag!);
      assert.equal(new Set(etags).size, 3);
      for (let round = 0; round < 3; round++)
        for (const [i, key] of keys.entries())
          for (const [j, etag] of etags.entries()) {
            const answer = await key.get(path, { 'if-none-match': etag });
            assert.equal(answer.status, i === j ? 304 : 200);
            if (i !== j) assert.equal(answer.text, pages[i]!.text);
          }
    }
  });

  test('is unknown to a version that knows no bounds, and to this one when they are taken away', async () => {
    const { org, ours } = await world();
    const key = await org.another({ groupIds: [ours.id] });
    const { db } = service.app;
    const asBefore = 'select key_id from access_key where key_id = $1 and secret_sha256 = $2 and revoked_at is null';
    const pair = [key.key.access_key_id, hashSecret(key.key.secret_access_key)];
    assert.deepEqual(await db.query(asBefore, pair), []);
    assert.equal((await key.get('/health')).status, 200);
    await db.query('update access_key set group_ids = null where key_id = $1', pair.slice(0, 1));
    assertRefused(await key.get('/health'), 401, 'invalid_credentials');
  });
});
