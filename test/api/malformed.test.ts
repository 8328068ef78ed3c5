import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { credentials } from '../contract/support/client.ts';
import { assertRefused } from '../contract/support/expect.ts';
import { withService } from '../support/service.ts';
import { rawRequest } from './raw.ts';

const service = await withService();
const org = await service.organisation();
const keys = Object.entries(credentials(org.key))
  .map(([name, value]) => `${name}: ${value}\r\n`)
  .join('');
const request = (line: string, more = '', body = '') =>
  `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${keys}${more}\r\n${body}`;

async function refused(text: string | Buffer, status: number, code: string): Promise<void> {
  const answer = await rawRequest(service.url, text);
  assert.equal(answer.status, status, `${String(text).slice(0, 60)} → ${answer.head}`);
  const body = JSON.parse(answer.body);
  assert.deepEqual(Object.keys(body), ['error']);
  assert.deepEqual(Object.keys(body.error), ['code', 'message']);
  assert.equal(body.error.code, code);
  assert.match(answer.head, /content-type: application\/json/i);
  assert.match(answer.head, /x-content-type-options: nosniff/i);
  const [, requestId = ''] = /x-request-id: ([0-9a-f-]{36})/i.exec(answer.head) ?? [];
  assert.ok(service.logged.join('').includes(`"request_id":"${requestId}"`), answer.head);
}

suite('HTTP that is not well formed has the one error shape', () => {
  const broken: Record<string, string | Buffer> = {
    'no HTTP at all': 'hello\r\n\r\n',
    'a space in the target': 'GET /api/v1/a b HTTP/1.1\r\nHost: x\r\n\r\n',
    'a header without a colon': request('GET /api/v1/health', 'nonsense\r\n'),
    'a header name with a space': request('GET /api/v1/health', 'a b: c\r\n'),
    'an unknown version': 'GET / HTTP/9.9\r\nHost: x\r\n\r\n',
    'a null byte in a header': request('GET /api/v1/health', 'x: a\0b\r\n'),
    'length and chunks both': request(
      'POST /api/v1/learners',
      'content-type: application/json\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n',
      '0\r\n\r\n',
    ),
    'two lengths': request('POST /api/v1/learners', 'content-length: 2\r\ncontent-length: 3\r\n', '{}'),
    'a negative length': request('POST /api/v1/learners', 'content-length: -1\r\n', '{}'),
    'a broken chunk': request(
      'POST /api/v1/learners',
      'content-type: application/json\r\ntransfer-encoding: chunked\r\n',
      'zz\r\n{}\r\n0\r\n\r\n',
    ),
    'no host': `GET /api/v1/health HTTP/1.1\r\nConnection: close\r\n${keys}\r\n`,
    'two hosts': request('GET /api/v1/health', 'Host: localhost\r\n'),
    'two hosts in different letters': request('GET /api/v1/health', 'hOST: other.example\r\n'),
    'two hosts on a page': 'GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n',
    'two hosts in HTTP/1.0': 'GET /healthz HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n',
    'no host on a page': 'GET /docs HTTP/1.1\r\nConnection: close\r\n\r\n',
    'no host where nothing is': 'GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n',
    ...Object.fromEntries(
      ['', 'a b', 'a,b', 'user@x', 'x/y', 'x?y', 'x:y', 'x:99999', 'x:1:2', '[::1', '[zz]', '\u00e9', 'a\tb'].map(
        (host) => [
          `the host ${JSON.stringify(host)}`,
          Buffer.from(`GET /verify HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, 'latin1'),
        ],
      ),
    ),
    'headers too large': request('GET /api/v1/health', `x: ${'y'.repeat(70_000)}\r\n`),
    'TLS on a plain port': Buffer.from('160301020001000001fc0303', 'hex'),
  };
  for (const [what, text] of Object.entries(broken)) test(what, () => refused(text, 400, 'bad_request'));
});

test('every way to write a valid host is taken, and HTTP/1.0 without one', async () => {
  for (const host of ['localhost', 'results.example.org:8080', '127.0.0.1:80', '[::1]:80', '[::1]', 'a_b'])
    assert.equal(
      (await rawRequest(service.url, `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).status,
      200,
      host,
    );
  assert.equal((await rawRequest(service.url, 'GET /healthz HTTP/1.0\r\n\r\n')).status, 200);
});

suite('a body that is refused before its end', () => {
  const large = 9_000_000;
  for (const [where, line, status] of [
    ['of the API', 'POST /api/v1/learners', 413],
    ['of a form at the console', 'POST /console/sign-in', 413],
    ['of a form that needs a session', 'POST /console/account/password', 303],
    ['of an answer', 'POST /a/nobody/question', 413],
    ['where nothing is', 'POST /nothing', 413],
  ] as const)
    test(`${where} is read on, so that its sender gets the reply and keeps the connection`, async () => {
      const type = where === 'of the API' ? 'application/json' : 'application/x-www-form-urlencoded';
      const host = `Host: ${new URL(service.url).host}`;
      const head = `${line} HTTP/1.1\r\n${host}\r\n${keys}sec-fetch-site: same-origin\r\ncontent-type: ${type}\r\n`;
      const body = Buffer.alloc(large, 'x');
      const next = `GET /healthz HTTP/1.1\r\n${host}\r\nConnection: close\r\n\r\n`;
      const announced = Buffer.concat([
        Buffer.from(`${head}content-length: ${large}\r\n\r\n`),
        body,
        Buffer.from(next),
      ]);
      const chunked = Buffer.concat([
        Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n${large.toString(16)}\r\n`),
        body,
        Buffer.from(`\r\n0\r\n\r\n${next}`),
      ]);
      for (const bytes of [announced, chunked]) {
        const { head: first, body: after } = await rawRequest(service.url, bytes);
        assert.match(first, new RegExp(`^HTTP/1.1 ${status} `, 'u'));
        assert.match(after, /HTTP\/1\.1 200 /u, first);
      }
    });
});

suite('paths are taken as they are', () => {
  test('dot segments are not folded', async () => {
    await refused(request('GET /api/v1/learners/../health'), 404, 'not_found');
    await refused(request('GET /api/v1/nothing/../health'), 404, 'not_found');
    await refused(request('GET /api/v1/%2e%2e/v1/health'), 404, 'not_found');
    await refused(request('GET /api/v1//health'), 404, 'not_found');
  });

  test('an address in absolute form is the same request', async () => {
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C1', name: 'Cohort' })).body.data;
    await org.post('/learners', { ref: 'a/b', full_name: 'Somebody' });
    for (const [path, status] of [
      ['/health', 200],
      ['/groups?limit=1', 200],
      [`/groups/${group.id}`, 200],
      ['/learners/a/b', 200],
      ['/learners/a%2Fb', 200],
      ['/learners?foo=1', 400],
      ['/learners/nobody', 404],
    ] as const) {
      assert.equal((await rawRequest(service.url, request(`GET ${service.url}/api/v1${path}`))).status, status, path);
    }
    await refused(request(`PUT ${service.url}/api/v1/groups`), 405, 'method_not_allowed');
  });

  test('letters may be percent-encoded anywhere, and are decoded once', async () => {
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C1', name: 'Cohort' })).body.data;
    await org.post('/learners', { ref: 'ana.1', full_name: 'Somebody' });
    for (const path of [
      `/%67roups/${group.id}`,
      `/groups/${group.id.replace('-', '%2d')}`,
      '/%6Cearners/ana.1',
      '/learners/%61na%2E1',
    ])
      assert.equal((await org.get(path)).status, 200, path);
    assertRefused(await org.api('PUT', '/%67roups'), 405, 'method_not_allowed');
    for (const path of ['/learners/%2561na.1', '/learners/%255Fx', '/groups%2f' + group.id])
      assertRefused(await org.get(path), 404, 'not_found');
  });

  test('an address that is too long', async () => {
    await refused(request(`GET /api/v1/learners/${'a'.repeat(20_000)}`), 404, 'not_found');
    await refused(request(`GET /api/v1/groups/${'a'.repeat(20_000)}`), 404, 'not_found');
    await refused(request(`GET /api/v1/assessments?learner_ref=${'a'.repeat(20_000)}`), 400, 'invalid_learner_ref');
  });

  test('methods that nothing knows', async () => {
    for (const method of ['TRACE', 'PROPFIND', 'QUERY']) {
      const answer = await rawRequest(service.url, request(`${method} /api/v1/health`));
      assert.ok([400, 404, 405].includes(answer.status), `${method} ${answer.head}`);
      assert.deepEqual(Object.keys(JSON.parse(answer.body)), ['error']);
    }
  });

  test('credentials given twice are refused', async () => {
    await refused(request('GET /api/v1/health', keys), 401, 'invalid_credentials');
  });
});

suite('outside the API', () => {
  test('an unknown page has the one error shape too', async () => {
    await refused(request('GET /no-such-page'), 404, 'not_found');
    await refused(request('GET /%zz'), 404, 'not_found');
    await refused(request('POST /api/v2/health', 'content-length: 2\r\n', '{}'), 404, 'not_found');
  });
});

test('a body in another encoding than UTF-8 is invalid_json', async () => {
  const body = Buffer.concat([Buffer.from('{"full_name":"Zo'), Buffer.from([0xeb]), Buffer.from('"}')]);
  await refused(
    Buffer.concat([
      Buffer.from(
        request('POST /api/v1/learners', `content-type: application/json\r\ncontent-length: ${body.length}\r\n`),
      ),
      body,
    ]),
    400,
    'invalid_json',
  );
});

test('an expectation that nothing knows is passed over', async () => {
  assert.equal(
    (await rawRequest(service.url, request('GET /api/v1/health', 'Expect: the-unexpected\r\n'))).status,
    200,
  );
  await refused(request('GET /api/v1/nothing', 'Expect: the-unexpected\r\n'), 404, 'not_found');
});

test('an encoded body is refused, whatever it holds', async () => {
  const gzipped = gzipSync('{"type":"cohort","ref":"zip","name":"Zipped"}');
  const head = `content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${gzipped.length}\r\n`;
  await refused(
    Buffer.concat([Buffer.from(request('POST /api/v1/groups', head)), gzipped]),
    415,
    'unsupported_media_type',
  );
  for (const [encoding, status] of [
    ['gzip', 415],
    ['br, gzip', 415],
    ['Identity', 201],
  ] as const) {
    const answer = await org.api('POST', '/groups', {
      body: { type: 'cohort', ref: encoding, name: 'Encoded' },
      headers: { 'content-encoding': encoding },
    });
    assert.equal(answer.status, status, answer.text);
  }
});

test('nothing that was sent stands in the log, and no answer was a fault of ours', () => {
  const log = service.logged.join('');
  assert.doesNotMatch(log, /learner_ref|nonsense|Zo|no-such-page/);
  assert.doesNotMatch(log, new RegExp(org.key.secret_access_key));
  assert.doesNotMatch(log, /"status":5\d\d/);
});
