import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { assets } from '../../src/web/player/layout.ts';
import { consoleStyle } from '../../src/web/console/kit/frame.ts';
import { credentials } from '../contract/support/client.ts';
import { freePort } from '../support/ports.ts';
import { Scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { rawRequest } from './raw.ts';

/** Every reply of every kind says that its Content-Type is what it is, and that no other site may frame it. */

const service = await withService({
  own: 'Serves metrics.',
  settings: {
    ARS_METRICS_PORT: String(await freePort()),
    ARS_RATE_LIMIT: '30',
    ARS_SECURITY_CONTACT: 'mailto:security@results.example.org',
  },
});
const org = await service.organisation();
const result = await (await new Scenario(service, org).learner('ana')).completes();
const keys = credentials(org.key);
const json = { ...keys, 'content-type': 'application/json' };

type Ask = [path: string, status: number, options?: RequestInit];
const api = '/api/v1';
const asks: Ask[] = [
  [`${api}/assessments`, 200, { headers: keys }],
  [`${api}/assessments`, 200, { headers: keys, method: 'HEAD' }],
  [`${api}/assessments/${result.id}`, 200, { headers: keys }],
  [`${api}/assessments/${result.id}/report.pdf`, 200, { headers: keys }],
  [`${api}/assessments/${result.id}/report.pdf`, 206, { headers: { ...keys, range: 'bytes=0-9' } }],
  [`${api}/assessments?foo=1`, 400, { headers: keys }],
  [`${api}/groups`, 401],
  [`${api}/nothing`, 401],
  [`${api}/nothing`, 404, { headers: keys }],
  [`${api}/groups`, 405, { headers: keys, method: 'PUT' }],
  [`${api}/groups`, 201, { headers: json, method: 'POST', body: '{"type":"cohort","ref":"C","name":"C"}' }],
  [`${api}/groups`, 422, { headers: json, method: 'POST', body: '{}' }],
  [`${api}/groups`, 400, { headers: json, method: 'POST', body: '{' }],
  [`${api}/groups`, 413, { headers: json, method: 'POST', body: ' '.repeat(1024 * 1024 + 1) }],
  [`${api}/groups`, 415, { headers: { ...keys, 'content-type': 'text/xml' }, method: 'POST', body: '<a/>' }],
  ['/', 302],
  ['/nothing', 404],
  ['/nothing', 404, { method: 'POST', body: 'x' }],
  ['/%zz', 404],
  [`/${'x'.repeat(40_000)}`, 400],
  ['/openapi.json', 200],
  ['/docs', 302],
  ['/docs/', 200],
  ['/docs/nothing', 404],
  ['/docs/delta-sync.svg', 200],
  ['/verify', 200],
  ['/verify?sha256=x', 400],
  ['/healthz', 200],
  ['/livez', 200],
  ['/readyz', 200],
  ['/favicon.ico', 204],
  ['/.well-known/security.txt', 200],
  ['/console', 303],
  ['/console/sign-in', 200],
  ['/console/nothing', 303],
  [consoleStyle.path, 200],
  [assets.style.path, 200],
  ['/a/nobody', 404],
  ['/key-links/nobody', 404],
];

async function check(url: string, status: number, options: RequestInit = {}) {
  const reply = await fetch(url, { redirect: 'manual', ...options });
  await reply.arrayBuffer();
  assert.deepEqual([reply.status, reply.headers.get('x-content-type-options')], [status, 'nosniff'], url.slice(0, 99));
  const policy = reply.headers.get('content-security-policy');
  assert.ok(policy?.includes("frame-ancestors 'none'"), url.slice(0, 99));
  return reply;
}

suite('no reply lets a browser guess what it is', () => {
  for (const [path, status, options] of asks)
    test(`${options?.method ?? 'GET'} ${path.slice(0, 60)} ${status}`, async () => {
      await check(`${service.url}${path}`, status, options);
    });

  test('a read that repeats one, 304, and 429', async () => {
    const url = `${service.url}${api}/learners`;
    const { headers } = await check(url, 200, { headers: keys });
    await check(url, 200, { headers: keys });
    const held = { ...keys, 'if-none-match': headers.get('etag')! };
    for (let i = 0; i < 3; i++) await check(url, 304, { headers: held });
    let status = 304;
    while (status === 304) ({ status } = await fetch(url, { headers: held }));
    assert.equal(status, 429);
    await check(url, 429, { headers: held });
  });

  test('events as they come', async () => {
    const other = await org.another();
    const over = new AbortController();
    const reply = await fetch(`${service.url}${api}/events`, { headers: credentials(other.key), signal: over.signal });
    assert.deepEqual([reply.status, reply.headers.get('x-content-type-options')], [200, 'nosniff']);
    over.abort();
  });

  test('the port for probes and metrics, malformed requests included', async () => {
    const url = service.metricsUrl!;
    for (const [path, status] of [
      ['/metrics', 200],
      ['/livez', 200],
      ['/readyz', 200],
      ['/nothing', 404],
    ] as const)
      await check(`${url}${path}`, status);
    await check(`${url}/metrics`, 405, { method: 'POST' });
    for (const text of ['hello\r\n\r\n', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'])
      assert.match((await rawRequest(url, text)).head, /x-content-type-options: nosniff/i);
  });
});
