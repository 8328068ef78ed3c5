import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, suite, test } from 'node:test';
import { emitGroupsUpdated } from '../../src/feed/events/emit.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { tracing } from '../../src/platform/observability/tracing.ts';
import { registerEndpoint } from '../../src/integrations/webhooks/endpoints/endpoints.ts';
import { credentials } from '../contract/support/client.ts';
import { Visitor } from '../web/player/visitor.ts';
import { withService } from '../support/service.ts';
import { invited } from '../sittings/learner.ts';
import { root } from '../support/structure/source-tree.ts';
import { caFile, startReceiver } from '../integrations/webhooks/receiver.ts';

type Said = { name: string; traceId: string; spanId: string; parent?: string; attributes: Record<string, unknown> };

/** The tracer in a folder of its own, with its own copy of the API, which says that it is of this version. */
function tracerWith(version: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ars-tracer-'));
  after(() => rmSync(folder, { recursive: true }));
  const api = join(folder, 'node_modules/@opentelemetry/api');
  cpSync(join(root, 'node_modules/@opentelemetry/api'), api, { recursive: true });
  const file = join(api, 'build/src/version.js');
  const text = readFileSync(file, 'utf8').replace(/VERSION = '[\d.]+'/, `VERSION = '${version}'`);
  assert.ok(text.includes(`'${version}'`));
  writeFileSync(file, text);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  copyFileSync(join(root, 'test/deploy/tracer.ts'), join(folder, 'tracer.ts'));
  return join(folder, 'tracer.ts');
}

suite('a service into which an SDK is preloaded', async () => {
  const allowed = { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' };
  const service = await withService({ own: 'Calls addresses of this machine.', settings: allowed });
  const org = await service.organisation();

  /** As an operator starts it, who has installed the SDK apart from the service. */
  function serve(tracer: string) {
    const child = spawn(process.execPath, [`${root}/cli/ars.ts`, 'serve'], {
      env: {
        ...process.env,
        ...allowed,
        NODE_TEST_CONTEXT: undefined,
        NODE_OPTIONS: `--import=${tracer}`,
        NODE_EXTRA_CA_CERTS: caFile,
        DATABASE_URL: service.databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: '0',
        ARS_DRAIN_DELAY_SECONDS: '0',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    after(() => child.kill('SIGKILL'));
    const ended = once(child, 'exit');
    return {
      lines: createInterface({ input: child.stderr }),
      async end() {
        child.stderr.resume();
        child.kill('SIGTERM');
        assert.deepEqual(await ended, [0, null]);
      },
    };
  }
  const startedOf = (line: string) =>
    line.includes('"event":"service.started"') ? (JSON.parse(line) as { url: string; tracing: boolean }) : null;

  test('makes one trace of a request and what it causes, and spans say nothing of anybody', async () => {
    const receiver = await startReceiver({});
    after(() => receiver.close());
    const learner = await invited(service, org, { name: 'Philippa', ref: 'P-1' });
    const [traceId, parent] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const causes = async (url: string) => {
      const headers = { 'content-type': 'application/json', traceparent: `00-${traceId}-${parent}-01` };
      const reply = await fetch(`${url}/api/v1/learners`, {
        method: 'POST',
        headers: { ...credentials(org.key), ...headers },
        body: '{"full_name":"Bartholomew","ref":"B-1"}',
      });
      await reply.text();
      const page = new Visitor({ ...service, url }, learner.token);
      await page.post('/start');
      await page.sends({});
      await service.withUnitOfWork(async (work) => {
        await registerEndpoint(work, org.id, {
          url: receiver.url,
          eventTypes: ['learner.groups.updated'],
          groupIds: null,
        });
        await lockFeed(work, org.id);
        await emitGroupsUpdated(work, org.id, [{ learner_ref: 'P-1', added: [], removed: [] }]);
      });
    };
    // What SDKs bring with them is newer than what the service asks for.
    const { lines, end } = serve(tracerWith('1.10.0'));
    const spans: Said[] = [];
    for await (const line of lines) {
      const started = startedOf(line);
      if (started !== null) {
        assert.equal(started.tracing, true);
        void causes(started.url);
      }
      if (line.startsWith('span ')) spans.push(JSON.parse(line.slice(5)) as Said);
      if (['POST /learners', 'sitting step', 'webhook attempt'].every((name) => spans.some((one) => one.name === name)))
        break;
    }
    await end();
    const request = spans.find(({ name }) => name === 'POST /learners')!;
    assert.deepEqual([request.traceId, request.parent], [traceId, parent]);
    assert.equal(request.attributes['http.response.status_code'], 201);
    for (const name of ['admission', 'unit of work']) {
      const span = spans.find((one) => one.name === name && one.traceId === traceId);
      assert.equal(span?.parent, request.spanId, name);
    }
    const attributesOf = (name: string) => spans.find((one) => one.name === name)!.attributes;
    assert.deepEqual(attributesOf('webhook attempt'), { 'ars.event_type': 'learner.groups.updated', 'ars.attempt': 1 });
    assert.deepEqual(attributesOf('sitting step'), { 'ars.position': 1 });
    const people = ['Bartholomew', 'B-1', 'Philippa', 'P-1', learner.token];
    for (const secret of [...people, org.key.access_key_id, org.publicId, receiver.url])
      assert.ok(!JSON.stringify(spans).includes(secret), secret);
  });

  test('says whether it makes spans, which it does not where the API that the SDK brings is too old', async () => {
    for (const [version, tracing] of [
      ['1.8.0', false],
      ['1.9.0', true],
    ] as const) {
      const { lines, end } = serve(tracerWith(version));
      for await (const line of lines) {
        assert.ok(tracing || !line.startsWith('span '), line);
        const started = startedOf(line);
        if (started === null) continue;
        assert.equal(started.tracing, tracing, version);
        break;
      }
      await end();
    }
  });
});

test('without an SDK no span is made', () => assert.equal(tracing, false));
