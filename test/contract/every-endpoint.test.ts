import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { revokeKey } from '../../src/integrations/access-keys/keys.ts';
import { limits } from '../../src/platform/config/limits.ts';
import type { Answer } from './support/client.ts';
import { ask, client, credentials } from './support/client.ts';
import { assertRateHeaders, assertRefused } from './support/expect.ts';
import { contractTarget } from './support/target.ts';

const target = await contractTarget();
const id = '00000000-0000-4000-8000-000000000000';

/** Every endpoint of the specification, with the methods that its path has. */
const endpoints: [path: string, ...methods: string[]][] = [
  ['/health', 'GET', 'HEAD'],
  ['/assessments', 'GET', 'HEAD'],
  [`/assessments/${id}`, 'GET', 'HEAD'],
  [`/assessments/${id}/report.pdf`, 'GET', 'HEAD'],
  ['/learners', 'GET', 'HEAD', 'POST'],
  ['/learners/someone', 'GET', 'HEAD'],
  ['/events', 'GET', 'HEAD'],
  ['/webhooks', 'GET', 'HEAD', 'POST'],
  [`/webhooks/${id}`, 'DELETE'],
  ['/groups', 'GET', 'HEAD', 'POST'],
  [`/groups/${id}`, 'GET', 'HEAD', 'PATCH'],
  [`/groups/${id}/members`, 'POST'],
  [`/groups/${id}/members/remove`, 'POST'],
];
const withBody = endpoints.flatMap(([path, ...methods]) =>
  methods.filter((method) => method === 'POST' || method === 'PATCH').map((method) => [method, path] as const),
);

/** What a reply shows of itself, without what differs from moment to moment. */
function visible(answer: Answer): unknown {
  const { date: _date, 'x-request-id': _id, ...headers } = answer.headers;
  return { status: answer.status, headers, text: answer.text };
}

suite('401', () => {
  const { access_key_id: keyId, secret_access_key: secret } = target.key;
  const wrong: Record<string, Record<string, string>> = {
    missing: {},
    'id alone': { 'x-access-key-id': keyId },
    'secret alone': { 'x-secret-access-key': secret },
    'wrong secret': {
      'x-access-key-id': keyId,
      'x-secret-access-key': `${secret.slice(0, -1)}${secret.endsWith('0') ? '1' : '0'}`,
    },
    'secret in other case': { 'x-access-key-id': keyId, 'x-secret-access-key': secret.toUpperCase() },
    'unknown id': { 'x-access-key-id': 'ARSK0000000000000000', 'x-secret-access-key': secret },
    swapped: { 'x-access-key-id': secret, 'x-secret-access-key': keyId },
    empty: { 'x-access-key-id': '', 'x-secret-access-key': '' },
    'very long': { 'x-access-key-id': keyId, 'x-secret-access-key': secret.padEnd(4000, 'x') },
    'a bearer token': { authorization: `Bearer ${secret}` },
    quotes: { 'x-access-key-id': `${keyId}' or '1'='1`, 'x-secret-access-key': secret },
  };

  test('whatever is wrong with the credentials, the same bytes', async () => {
    const answers = new Map<string, Answer>();
    for (const [what, headers] of Object.entries(wrong))
      answers.set(what, await ask(target.baseUrl, 'GET', '/api/v1/health', { headers }));
    if (target.local !== null) {
      const { service, org, foreign } = target.local;
      const revoked = await org.another();
      assert.equal((await revoked.get('/health')).status, 200);
      await service.withUnitOfWork((work) => revokeKey(work, org.id, revoked.key.access_key_id));
      answers.set('revoked', await revoked.get('/health'));
      answers.set('expired', await (await org.another({ expiresAt: new Date('2020-01-01T00:00:00Z') })).get('/health'));
      answers.set(
        'a secret of another organisation',
        await client(service.url, { ...target.key, secret_access_key: foreign.key.secret_access_key }).get('/health'),
      );
    }
    const first = answers.get('missing')!;
    assertRefused(first, 401, 'invalid_credentials');
    assert.equal(first.headers['www-authenticate'], 'AccessKey realm="api"');
    assert.equal(first.headers.ratelimit, undefined);
    for (const [what, answer] of answers) assert.deepEqual(visible(answer), visible(first), what);
  });

  test('before everything else: route, method, query, media type and body', async () => {
    for (const [method, path, body] of [
      ['GET', '/nothing'],
      ['GET', '/assessments/%zz'],
      ['DELETE', '/health'],
      ['GET', '/assessments?foo=1'],
      ['POST', '/learners', '{'],
      ['GET', `/groups/${id}`],
      ['POST', '/', '{}'],
      ['GET', ''],
    ] as const) {
      const answer = await ask(target.baseUrl, method, `/api/v1${path}`, {
        body,
        headers: { 'content-type': 'text/plain' },
      });
      assertRefused(answer, 401, 'invalid_credentials');
    }
  });

  test('credentials count once each, in any case of the header name', async () => {
    const headers = Object.fromEntries(
      Object.entries(credentials(target.key)).map(([name, value]) => [name.toUpperCase(), value]),
    );
    assert.equal((await ask(target.baseUrl, 'GET', '/api/v1/health', { headers })).status, 200);
  });
});

suite('404', () => {
  for (const path of [
    '/nothing',
    '/',
    '',
    '//health',
    '/health/',
    '/Health',
    '/assessments/',
    '/groups/',
    `/groups/${id}/`,
    `/groups/${id}/members/`,
    `/groups/${id}/members/add`,
    `/assessments/${id}/report`,
    `/assessments/${id}/report.pdf/x`,
    '/webhooks/',
    '/learners/',
    '/../v1/nothing',
    '/%2e%2e/x',
    '/assessments/../health',
    '/openapi',
    '/nothing?foo=1',
  ]) {
    test(`GET ${path}`, async () => {
      const answer = await target.get(path);
      assertRefused(answer, 404, 'not_found');
      assertRateHeaders(answer);
    });
  }

  test('any method on an unknown path', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      assertRefused(await target.api(method, '/nothing'), 404, 'not_found');
    const head = await target.api('HEAD', '/nothing');
    assert.equal(head.status, 404);
    assert.equal(head.text, '');
  });
});

suite('405', () => {
  for (const [path, ...allowed] of endpoints) {
    test(`${path}: ${allowed.join(', ')}`, async () => {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
        (one) => !allowed.includes(one),
      )) {
        const answer = await target.api(method, path);
        assertRefused(answer, 405, 'method_not_allowed');
        assert.deepEqual(answer.headers.allow!.split(', ').sort(), [...allowed].sort());
        assertRateHeaders(answer);
      }
    });
  }

  test('before the query and the body are looked at', async () => {
    assertRefused(await target.api('PUT', '/assessments?foo=1', { body: '{' }), 405, 'method_not_allowed');
    assertRefused(await target.api('DELETE', '/learners/a/b/c'), 405, 'method_not_allowed');
    for (const [body, type] of [
      ['{}', 'nonsense'],
      ['x'.repeat(limits.bodyBytes + 1), 'application/json'],
    ] as const) {
      assertRefused(
        await target.api('PUT', '/groups', { body, headers: { 'content-type': type } }),
        405,
        'method_not_allowed',
      );
      assertRefused(
        await target.api('POST', '/nothing', { body, headers: { 'content-type': type } }),
        404,
        'not_found',
      );
    }
  });
});

suite('413', () => {
  for (const [method, path] of withBody) {
    test(`${method} ${path}`, async () => {
      assertRefused(
        await target.api(method, path, { body: JSON.stringify({ full_name: 'x'.repeat(limits.bodyBytes) }) }),
        413,
        'payload_too_large',
      );
    });
  }

  test('a body of just the limit is read', async () => {
    const filler = '{"full_name":"A B"}';
    assertRefused(
      await target.post('/learners', filler.padEnd(limits.bodyBytes, ' ').replace(/ $/, '!')),
      400,
      'invalid_json',
    );
  });
});

suite('415', () => {
  for (const [method, path] of withBody) {
    test(`${method} ${path}`, async () => {
      for (const type of [
        'text/plain',
        'application/x-www-form-urlencoded',
        'application/jsonx',
        'text/json',
        'nonsense',
        'application/xml',
        'multipart/form-data; boundary=x',
      ]) {
        assertRefused(
          await target.api(method, path, { body: '{}', headers: { 'content-type': type } }),
          415,
          'unsupported_media_type',
        );
      }
    });
  }

  test('application/json with parameters, in any case, is read', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json;charset=UTF-8']) {
      assertRefused(await target.post('/learners', '{}', { 'content-type': type }), 422, 'invalid_full_name');
    }
  });
});

suite('400: unknown_parameter', () => {
  const known: Record<string, string> = {
    '/health': 'It takes none.',
    '/assessments':
      'It knows since, learner_ref, subject, assessed_from, assessed_to, rqf_level_code, below_level_1, status, group_id, sort, cursor, limit.',
    '/learners': 'It knows since, cursor, limit.',
    '/groups': 'It knows since, type, active, cursor, limit.',
    '/webhooks': 'It takes none.',
    [`/assessments/${id}`]: 'It takes none.',
    [`/groups/${id}`]: 'It takes none.',
    '/learners/someone': 'It takes none.',
  };
  for (const [path, those] of Object.entries(known)) {
    test(`GET ${path}: names the parameter, never its value, and those that are known`, async () => {
      const answer = await target.get(`${path}?pageSize=ana.silva%40example.org&since=2026-01-01T00:00:00Z`);
      assertRefused(answer, 400, 'unknown_parameter');
      const [which] = answer.body.error.message.split(',');
      assert.ok(['The query has the parameter pageSize', 'The query has the parameter since'].includes(which));
      assert.ok(answer.body.error.message.endsWith(those), answer.text);
      assert.ok(!answer.text.includes('silva'));
    });
  }

  test('a name that may be something else than a name is not repeated', async () => {
    for (const name of [
      'ana.silva@example.org',
      'Ana Silva',
      'AnaSilva',
      'QQ123456C',
      'qq123456c',
      'qq-12-34-56-c',
      '07700900123',
      'LRN-000017',
      id,
      'a'.repeat(60),
      '',
      '<script>',
      '\u202etxet',
      'caf\u00e9',
    ]) {
      const answer = await target.get(`/assessments?${encodeURIComponent(name)}=1`);
      assertRefused(answer, 400, 'unknown_parameter');
      assert.match(
        answer.body.error.message,
        /^The query has a parameter(, number 1 of 1| with a number as its name), which/,
      );
    }
    for (const name of ['updated_after', 'page', 'filter[subject]', 'pageSize', 'x', '_page', 'v2']) {
      const { text } = await target.get(`/assessments?${encodeURIComponent(name)}=1`);
      assert.ok(text.includes(` ${name}, `), text);
    }
  });
});

suite('HEAD', () => {
  for (const path of ['/health', '/assessments', '/learners', '/groups', '/webhooks']) {
    test(path, async () => {
      const [head, get] = [await target.api('HEAD', path), await target.get(path)];
      assert.equal(head.status, 200);
      assert.equal(head.text, '');
      for (const name of ['content-type', 'etag', 'cache-control', 'vary', 'x-sync-through', 'link'])
        assert.equal(head.headers[name], get.headers[name], name);
      assert.equal(head.headers['content-length'], String(get.bytes.length));
    });
  }
});

suite('every reply', () => {
  test('carries the rate headers, refused ones too', async () => {
    for (const [method, path, body] of [
      ['GET', '/health'],
      ['GET', '/assessments?foo=1'],
      ['GET', '/nothing'],
      ['PUT', '/health'],
      ['POST', '/learners', '{'],
      ['POST', '/groups', '{}'],
      ['GET', `/groups/${id}`],
    ] as const) {
      assertRateHeaders(await target.api(method, path, { body }));
    }
  });

  test('carries an id of its own', async () => {
    const seen = new Set<string>();
    for (const [method, path, body] of [
      ['GET', '/health'],
      ['HEAD', '/assessments'],
      ['GET', '/assessments?foo=1'],
      ['GET', '/nothing'],
      ['PUT', '/health'],
      ['POST', '/learners', '{'],
      ['POST', '/groups', 'x'.repeat(limits.bodyBytes + 1)],
      ['GET', `/groups/${id}`],
    ] as const) {
      const answer = await target.api(method, path, { body });
      assert.match(answer.headers['x-request-id'] ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, path);
      seen.add(answer.headers['x-request-id']!);
    }
    assert.equal(seen.size, 8);
  });

  test('a body where none is wanted is ignored or refused, never a fault of ours', async () => {
    for (const [path, ...methods] of endpoints) {
      for (const method of methods.filter((one) => one === 'DELETE')) {
        const answer = await target.api(method, path, { body: '{"x":1}' });
        assert.ok(answer.status < 500 && answer.body?.error?.code !== undefined, `${method} ${path} ${answer.status}`);
      }
    }
  });
});
