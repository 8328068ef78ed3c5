import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import Type from 'typebox';
import { RegisteredWebhookEndpoint, WebhookEndpoint } from '../../src/integrations/webhooks/schema.ts';
import type { Client } from './support/client.ts';
import { assertRateHeaders, assertRefused, assertShape } from './support/expect.ts';
import { contractTarget, freshRef } from './support/target.ts';

const target = await contractTarget();
const url = 'https://portfolio.example.org/hooks?to=ars';
const register = (body: unknown, who: Client = target) => who.post('/webhooks', body);
const remove = async (id: string) => assert.equal((await target.delete(`/webhooks/${id}`)).status, 204);
const group = (await target.post('/groups', { type: 'cohort', ref: freshRef('hook'), name: 'Hooked' })).body.data
  .id as string;
const unknown = '00000000-0000-4000-8000-000000000000';

suite('GET /webhooks', () => {
  test('200: the endpoints, without their secrets', async () => {
    const made = (await register({ url })).body.data;
    const answer = await target.get('/webhooks');
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(Object.keys(answer.body), ['data', 'pagination']);
    assert.equal(answer.body.pagination.has_more, false);
    assert.equal(answer.body.pagination.next, null);
    for (const endpoint of answer.body.data) assertShape(WebhookEndpoint, endpoint);
    const { secret, ...record } = made;
    assert.deepEqual(
      answer.body.data.find((endpoint: any) => endpoint.id === made.id),
      record,
    );
    assert.doesNotMatch(answer.text, new RegExp(`secret|${secret}`));
    assertRateHeaders(answer);
    await remove(made.id);
  });

  test('400: unknown parameter', async () =>
    assertRefused(await target.get('/webhooks?status=active'), 400, 'unknown_parameter'));
});

suite('POST /webhooks', () => {
  test('201: the defaults are echoed, with a secret', async () => {
    const answer = await register({ url });
    assert.equal(answer.status, 201, answer.text);
    assertShape(Type.Object({ data: RegisteredWebhookEndpoint }), answer.body);
    const { data } = answer.body;
    assert.equal(data.url, url);
    assert.deepEqual(data.event_types, ['assessment.completed']);
    assert.equal(data.group_ids, null);
    assert.equal(data.status, 'active');
    assert.equal(data.disabled_reason, null);
    assert.match(data.secret, /^whsec_[A-Za-z0-9_-]{43}$/);
    assert.equal(answer.headers['cache-control'], 'no-store');
    await remove(data.id);
  });

  test('201: what is given is echoed, duplicates collapsed', async () => {
    const types = ['learner.groups.updated', 'assessment.completed'];
    const { data } = (
      await register({ url, event_types: [...types, ...types], group_ids: [group, group.toUpperCase()] })
    ).body;
    assert.deepEqual(data.event_types, types);
    assert.deepEqual(data.group_ids, [group]);
    await remove(data.id);
  });

  test('201: the same address may be registered twice, with a secret each', async () => {
    const [one, two] = [(await register({ url })).body.data, (await register({ url })).body.data];
    assert.notEqual(one.id, two.id);
    assert.notEqual(one.secret, two.secret);
    await remove(one.id);
    await remove(two.id);
  });

  test(
    '409: 20 endpoints, whoever comes at once; after 422',
    { skip: target.local === null && 'needs an organisation of its own' },
    async () => {
      const org = await target.local!.service.organisation();
      const answers = await Promise.all(
        Array.from({ length: 24 }, (_, i) => register({ url: `https://portfolio.example.org/${i}` }, org)),
      );
      assert.equal(answers.filter((answer) => answer.status === 201).length, 20);
      for (const refused of answers.filter((answer) => answer.status !== 201))
        assertRefused(refused, 409, 'webhook_limit_exceeded');
      assertRefused(await register({ url, group_ids: [unknown] }, org), 422, 'unknown_group');
      const { data } = (await org.get('/webhooks')).body;
      assert.equal(data.length, 20);
      await org.delete(`/webhooks/${data[0].id}`);
      assert.equal((await register({ url }, org)).status, 201);
    },
  );

  test('201: an address with letters that no URI has is echoed as it will be asked for, any other as it was given', async () => {
    for (const [given, echoed] of [
      [
        'https://b\u00fccher.example.org/caf\u00e9?q={\u00e9}',
        'https://xn--bcher-kva.example.org/caf%C3%A9?q=%7B%C3%A9%7D',
      ],
      ['https://portfolio.example.org/a|b^c', 'https://portfolio.example.org/a%7Cb%5Ec'],
      ['https://Portfolio.example.org', 'https://Portfolio.example.org'],
      [
        'https://portfolio.example.org:443/x/../y%2f?a=[1]&b=2+3',
        'https://portfolio.example.org:443/x/../y%2f?a=[1]&b=2+3',
      ],
    ] as const) {
      const answer = await register({ url: given });
      assert.equal(answer.status, 201, answer.text);
      assert.equal(answer.body.data.url, echoed);
      await target.delete(`/webhooks/${answer.body.data.id}`);
    }
  });

  const uuids = (n: number) =>
    Array.from({ length: n }, (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`);
  const faults: Record<string, unknown[]> = {
    invalid_url: [
      undefined,
      null,
      '',
      1,
      'portfolio.example.org',
      'http://portfolio.example.org/',
      'ftp://portfolio.example.org/',
      'https://',
      'https:///x',
      'https://user@portfolio.example.org/',
      'https://u:p@portfolio.example.org/',
      'https://portfolio.example.org/#x',
      'https://portfolio.example.org/#',
      ' https://portfolio.example.org/',
      'https://portfolio.example.org/a b',
      'https://localhost/',
      'https://127.0.0.1/',
      'https://[::1]/',
      'https://10.0.0.1/',
      'https://192.168.1.1/',
      'https://169.254.169.254/',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://\u2460\u2461\u2466.0.0.1/',
      'https://[::ffff:10.0.0.1]/',
      'https://168.63.129.16/',
      'https://service.internal/',
      'https://intranet/',
      'https://portfolio.example.org:22/',
      `https://portfolio.example.org/${'a'.repeat(2048)}`,
      'https://portfolio.example.org/AB123456C',
      'https://portfolio.example.org/?ni=AB%2012%2034%2056%20C',
      'https://portfolio.example.org/?ni=AB+12+34+56+C',
      'https://portfolio.example.org/%41B123456C',
      `https://portfolio.example.org/${'\u4e16'.repeat(300)}`,
      'javascript:alert(1)',
    ].map((one) => ({ url: one, event_types: [], foo: 1 })),
    invalid_event_types: [
      [],
      null,
      'assessment.completed',
      [1],
      ['assessment.deleted'],
      ['assessment.completed', ''],
      ['*'],
    ].map((event_types) => ({ url, event_types, group_ids: [], foo: 1 })),
    invalid_group_ids: [[], null, unknown, [1], ['x'], [''], uuids(51)].map((group_ids) => ({
      url,
      group_ids,
      foo: 1,
    })),
    unknown_field: [
      { url, foo: 1 },
      { url, secret: 'whsec_x' },
      { url, status: 'paused' },
      '{"url":"https://portfolio.example.org/","__proto__":1}',
    ],
    invalid_body: ['[]', 'null'],
    unknown_group: [
      { url, group_ids: [unknown] },
      { url, group_ids: [group, unknown] },
      { url, group_ids: uuids(50) },
    ],
  };
  for (const [code, bodies] of Object.entries(faults)) {
    test(`422: ${code}`, async () => {
      for (const body of bodies) assertRefused(await register(body), 422, code);
    });
  }

  test(
    "422: unknown_group, for another organisation's",
    { skip: target.local === null && 'needs another organisation' },
    async () => {
      const foreign = (await target.local!.foreign.post('/groups', { type: 'cohort', ref: 'F', name: 'Foreign' })).body
        .data.id;
      const [theirs, nobodys] = [
        await register({ url, group_ids: [foreign] }),
        await register({ url, group_ids: [unknown] }),
      ];
      assertRefused(theirs, 422, 'unknown_group');
      assert.equal(theirs.text, nobodys.text);
    },
  );

  test('400: invalid_json', async () => assertRefused(await register('{"url":'), 400, 'invalid_json'));
});

suite('DELETE /webhooks/{id}', () => {
  test('204: removed; then 404', async () => {
    const { id } = (await register({ url })).body.data;
    const answer = await target.delete(`/webhooks/${id.toUpperCase()}`);
    assert.equal(answer.status, 204);
    assert.equal(answer.text, '');
    assert.equal(answer.headers['content-type'], undefined);
    assertRefused(await target.delete(`/webhooks/${id}`), 404, 'not_found');
    assert.ok(!(await target.get('/webhooks')).body.data.some((endpoint: any) => endpoint.id === id));
  });

  test('400: unknown parameter', async () =>
    assertRefused(await target.delete(`/webhooks/${unknown}?force=1`), 400, 'unknown_parameter'));

  test('404: unknown, malformed, of another organisation, in the same bytes', async () => {
    const ids = [unknown, 'x', '%00', '%zz'];
    if (target.local !== null) ids.push((await register({ url }, target.local.foreign)).body.data.id);
    const first = await target.delete(`/webhooks/${ids[0]}`);
    for (const id of ids) {
      const answer = await target.delete(`/webhooks/${id}`);
      assertRefused(answer, 404, 'not_found');
      assert.equal(answer.text, first.text);
    }
    if (target.local !== null) assert.equal((await target.local.foreign.get('/webhooks')).body.data.length, 1);
  });
});
