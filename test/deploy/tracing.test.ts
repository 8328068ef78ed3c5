import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { tracing } from '../../src/tracing.ts';
import { credentials } from '../contract/client.ts';
import { withService } from '../service.ts';
import { root } from '../source-tree.ts';

type Said = { name: string; traceId: string; spanId: string; parent?: string; attributes: Record<string, unknown> };

test('without an SDK no span is made', () => assert.equal(tracing, false));

test('with one preloaded, a request and what it causes are one trace, and say nothing of anybody', async () => {
  const service = await withService();
  const org = await service.organisation();
  const child = spawn(
    process.execPath,
    ['--import', `${root}/test/deploy/tracer.ts`, `${root}/cli/ars.ts`, 'serve', '--role', 'web'],
    {
      env: {
        ...process.env,
        NODE_TEST_CONTEXT: undefined,
        DATABASE_URL: service.databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: '0',
        ARS_DRAIN_DELAY_SECONDS: '0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const spans: Said[] = [];
  const [traceId, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
  for await (const line of createInterface({ input: child.stderr })) {
    const url = /"event":"service.started".*"url":"([^"]+)"/.exec(line)?.[1];
    if (url !== undefined)
      void fetch(`${url}/api/v1/learners`, {
        method: 'POST',
        headers: {
          ...credentials(org.key),
          'content-type': 'application/json',
          traceparent: `00-${traceId}-${parent}-01`,
        },
        body: '{"full_name":"Bartholomew","ref":"B-1"}',
      }).then((reply) => reply.text());
    if (line.startsWith('span ')) spans.push(JSON.parse(line.slice(5)) as Said);
    if (spans.some(({ name }) => name === 'POST /learners')) break;
  }
  child.stderr.resume();
  const request = spans.find(({ name }) => name === 'POST /learners')!;
  assert.deepEqual([request.traceId, request.parent], [traceId, parent]);
  assert.equal(request.attributes['http.response.status_code'], 201);
  for (const name of ['admission', 'unit of work']) {
    const span = spans.find((one) => one.name === name && one.traceId === traceId);
    assert.equal(span?.parent, request.spanId, name);
  }
  for (const secret of ['Bartholomew', 'B-1', org.key.access_key_id, org.publicId])
    assert.ok(!JSON.stringify(spans).includes(secret), secret);
  child.kill('SIGTERM');
  await ended;
});
