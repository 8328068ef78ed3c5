import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { verifyWebhook } from '../../../client/src/index.ts';
import type { Surroundings } from '../../../client/src/index.ts';
import { ApiError, Client, ConnectionError, openWebhook, UnexpectedReplyError } from '../../../client/src/index.ts';
import type { Statement } from '../../../src/platform/db/database.ts';
import { emitGroupsUpdated } from '../../../src/feed/events/emit.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { revokeKey } from '../../../src/integrations/access-keys/keys.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import type { Key } from '../../contract/support/client.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { freePort } from '../../support/ports.ts';

/** Listening to events by an access key (docs/decisions/0008-send-to-checked-addresses.md). */

type Line = { after: string } & (
  | { type: 'open'; secret: string; heartbeat_seconds: number }
  | { type: 'delivery'; event: string; delivery_id: string; headers: Record<string, string>; body: string }
  | { type: 'heartbeat' }
  | { type: 'end'; reason: string }
);
type Delivery = Extract<Line, { type: 'delivery' }>;
// What comes every quarter of a minute otherwise.
Object.assign(limits, { listenerHeartbeatMs: 200 });

const read = { queries: 0 };
const service = await withService({
  own: 'Watches the app as it starts.',
  settings: { ARS_RATE_LIMIT: '100000' },
  prepare: (app) => {
    const { query } = app.db;
    app.db.query = (sql, values) => {
      if ((sql as Statement).name === 'event.later') read.queries += 1;
      return query(sql, values);
    };
  },
});
const scene = await scenario(service);

async function open(key: Key, query = '', url = service.url) {
  const reply = await request(`${url}/api/v1/events${query}`, {
    headers: { 'x-access-key-id': key.access_key_id, 'x-secret-access-key': key.secret_access_key },
  });
  reply.body.on('error', () => {});
  let reading: AsyncIterator<string> | null = null;
  const next = async (): Promise<Line | null> => {
    reading ??= createInterface({ input: reply.body })[Symbol.asyncIterator]();
    const { value, done } = await reading.next();
    return done === true ? null : (JSON.parse(value) as Line);
  };
  const delivery = async (): Promise<Delivery> => {
    for (;;) {
      const line = await next();
      assert.ok(line !== null && line.type !== 'end', 'the stream has ended');
      if (line.type === 'delivery') return line;
    }
  };
  const end = async () => {
    const closed = new Promise((resolve) => reply.body.once('close', resolve));
    reply.body.destroy();
    await closed;
  };
  return { reply, next, delivery, end };
}

async function opened(key: Key, query = '') {
  const stream = await open(key, query);
  assert.equal(stream.reply.statusCode, 200);
  const first = await stream.next();
  assert.equal(first!.type, 'open');
  return { ...stream, first: first as Extract<Line, { type: 'open' }> };
}

const emit = (refs: string[], organisationId = scene.org.id) =>
  service.withUnitOfWork(async (work) => {
    await lockFeed(work, organisationId);
    const changes = refs.map((learner_ref) => ({ learner_ref, added: [], removed: [] }));
    await emitGroupsUpdated(work, organisationId, changes);
  });
const refOf = (line: Delivery) => JSON.parse(line.body).learner_ref as string;

suite('GET /events', () => {
  test('brings what happens, with the headers and the bytes of a delivery, and beats in between', async () => {
    const stream = await opened(scene.org.key);
    const { headers } = stream.reply;
    assert.deepEqual(
      [headers['content-type'], headers['cache-control'], headers['content-encoding']],
      ['application/x-ndjson; charset=utf-8', 'no-store, no-transform', undefined],
    );
    assert.equal((await stream.next())!.type, 'heartbeat');
    const ana = await scene.learner('ana');
    const result = await ana.completes();
    const got = await stream.delivery();
    const { secret } = stream.first;
    const header = got.headers['X-Svc-Signature-256'];
    assert.equal(await verifyWebhook({ secret, header, body: got.body }), 'valid');
    assert.equal(got.headers['X-Svc-Delivery-Id'], got.delivery_id);
    assert.deepEqual(JSON.parse(got.body).data, (await result.read()).body.data);
    const again = await opened(scene.org.key);
    assert.equal(again.first.secret, secret, 'a consumer is set up once');
    const other = await opened((await scene.org.another()).key);
    assert.notEqual(other.first.secret, secret);
    await Promise.all([stream.end(), again.end(), other.end()]);
    const audited = await service.app.db.query<{ action: string }>(
      "select action from audit where organisation_id = $1 and action = 'GET /events'",
      [scene.org.id],
    );
    assert.equal(audited.length, 3);
  });

  test('goes on behind the last line that was taken, and from its time where that event is gone', async () => {
    const stream = await opened(scene.org.key, '?event_types=learner.groups.updated');
    await emit(['one', 'two', 'three']);
    const first = await stream.delivery();
    await stream.end();
    await emit(['four']);
    const rest = await opened(scene.org.key, `?event_types=learner.groups.updated&after=${first.after}`);
    assert.deepEqual(
      [refOf(await rest.delivery()), refOf(await rest.delivery()), refOf(await rest.delivery())],
      ['two', 'three', 'four'],
    );
    await rest.end();
    const [at] = first.after.split('.');
    const lost = await opened(scene.org.key, `?after=${at}.00000000-0000-4000-8000-000000000000`);
    const seen = new Set<string>();
    while (!seen.has('four')) seen.add(refOf(await lost.delivery()));
    assert.deepEqual([...seen].slice(-4), ['one', 'two', 'three', 'four']);
    await lost.end();
  });

  test('tells nothing of what was withdrawn in the meantime', async () => {
    const stream = await opened(scene.org.key);
    await stream.end();
    const ben = await scene.learner('ben');
    const result = await ben.completes();
    await result.isWithdrawn();
    await emit(['after']);
    const rest = await opened(scene.org.key, `?after=${stream.first.after}`);
    assert.equal((await rest.delivery()).event, 'learner.groups.updated');
    await rest.end();
  });

  test('shows a key with bounds what it may see now, and nothing else', async () => {
    const cohort = await scene.group('cohort');
    const outside = await scene.group('other');
    const [inside, elsewhere, leaver] = [
      await scene.learner('inside'),
      await scene.learner('elsewhere'),
      await scene.learner('leaver'),
    ];
    for (const one of [inside, leaver]) await cohort.adds(one);
    await outside.adds(inside, elsewhere);
    const bounded = await scene.org.another({ groupIds: [cohort.id], subjects: ['maths'] });
    const stream = await opened(bounded.key);
    await stream.end();
    await elsewhere.completes();
    await leaver.completes();
    await cohort.removes(leaver);
    await inside.completes({ subject: 'english' });
    const seen = await inside.completes();
    const rest = await opened(bounded.key, `?after=${stream.first.after}`);
    const got = JSON.parse((await rest.delivery()).body);
    assert.deepEqual([got.data.assessment_id, got.group_ids], [seen.id, [cohort.id]]);
    await rest.end();
    assert.equal((await bounded.get('/events?event_types=learner.groups.updated')).status, 400);
    // Another organisation's events are nobody else's, by whatever place.
    const foreign = await service.organisation();
    const theirs = await opened(foreign.key, `?after=${stream.first.after}`);
    assert.equal((await theirs.next())!.type, 'heartbeat');
    await theirs.end();
  });

  test('is narrowed by groups as an endpoint is', async () => {
    const group = await scene.group('narrow');
    const stream = await opened(scene.org.key, `?group_id=${group.id}`);
    const [cara, dan] = [await scene.learner('cara'), await scene.learner('dan')];
    await dan.completes();
    await group.adds(cara);
    assert.equal(refOf(await stream.delivery()), 'cara');
    await stream.end();
  });

  test('refuses what it cannot read', async () => {
    for (const [query, code] of [
      ['after=yesterday', 'invalid_after'],
      ['after=1.2', 'invalid_after'],
      ['event_types=all', 'invalid_event_types'],
      ['group_id=x', 'invalid_group_id'],
      ['limit=3', 'unknown_parameter'],
    ] as const) {
      const answer = await scene.org.get(`/events?${query}`);
      assert.deepEqual([answer.status, answer.body.error.code], [400, code]);
    }
    const head = await scene.org.api('HEAD', '/events');
    assert.deepEqual([head.status, head.text], [200, '']);
  });

  test('takes so many of one organisation at once, and the next when one has gone', async () => {
    const org = await service.organisation();
    const streams = [];
    for (let i = 0; i < limits.listenersPerOrganisation; i++) streams.push(await opened(org.key));
    const refused = await org.get('/events');
    assert.deepEqual([refused.status, refused.body.error.code], [409, 'listener_limit_exceeded']);
    const elsewhere = await opened(scene.org.key);
    await elsewhere.end();
    await streams.pop()!.end();
    for (;;) {
      const next = await open(org.key);
      await next.end();
      if (next.reply.statusCode === 200) break;
    }
    await Promise.all(streams.map((stream) => stream.end()));
  });

  test('reads no further than its reader, who then gets everything in order', async () => {
    const org = await service.organisation();
    const stream = await open(org.key);
    const many = 600;
    read.queries = 0;
    // More than the buffers of a connection hold.
    const refs = Array.from({ length: many }, (_, i) => `learner-${String(i).padStart(40_000, '0')}`);
    await emit(refs, org.id);
    const other = await opened(org.key, `?after=0.00000000-0000-4000-8000-000000000000`);
    for (let i = 0; i < many; i++) await other.delivery();
    await other.end();
    const pages = read.queries;
    assert.ok(pages < (1.8 * many) / 100, `${pages} pages were read for two readers, one of whom had stopped`);
    for (const ref of refs) assert.equal(refOf(await stream.delivery()), ref);
    await stream.end();
  });

  test('ends with its key', async () => {
    const { key } = await scene.org.another();
    const stream = await opened(key);
    await service.withUnitOfWork((work) => revokeKey(work, scene.org.id, key.access_key_id));
    for (;;) {
      const line = await stream.next();
      assert.ok(line !== null);
      if (line.type !== 'end') continue;
      assert.equal(line.reason, 'key_gone');
      break;
    }
    assert.equal(await stream.next(), null);
  });

  test('ends when the service stops, which waits for none', async () => {
    const { url, stop } = await service.sibling();
    const stream = await open(scene.org.key, '', url);
    assert.equal((await stream.next())!.type, 'open');
    const stopped = stop();
    const rest = [];
    for (let line = await stream.next(); line !== null; line = await stream.next()) rest.push(line);
    assert.equal((rest.at(-1) as { reason: string }).reason, 'stopping');
    await stopped;
  });
});

suite('the client listens', () => {
  const clientOf = (key: Key, surroundings: Partial<Surroundings> = {}) =>
    new Client({
      baseUrl: service.url,
      accessKeyId: key.access_key_id,
      secretAccessKey: key.secret_access_key,
      surroundings: { wait: async () => {}, ...surroundings },
    });

  test('and gets each event once, in order, over connections that are cut anywhere', async () => {
    const org = await service.organisation();
    const bytes = [0, 90, 700, 1500, 2300, 4000];
    let connections = 0;
    const cutting: Surroundings['fetch'] = async (address, init) => {
      const reply = await fetch(address, init);
      let left = bytes[connections++] ?? Infinity;
      if (left === 0) throw new TypeError('fetch failed');
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          controller.enqueue(chunk.subarray(0, left));
          left -= chunk.length;
          if (left <= 0) controller.error(new TypeError('terminated'));
        },
      });
      return new Response(reply.body!.pipeThrough(cut), reply);
    };
    const stopping = new AbortController();
    const interruptions: unknown[] = [];
    const lines = clientOf(org.key, { fetch: cutting }).events.listen(
      {},
      { signal: stopping.signal, onInterrupted: (error) => interruptions.push(error) },
    );
    const refs = Array.from({ length: 8 }, (_, i) => `learner-${i}-é`);
    const got: string[] = [];
    let secret = '';
    for await (const line of lines) {
      if (line.type === 'open' && secret === '') await emit(refs, org.id);
      if (line.type === 'open') secret = line.secret!;
      if (line.type !== 'delivery') continue;
      const header = line.headers!['X-Svc-Signature-256']!;
      const event = await openWebhook({ secret, header, body: line.body! });
      got.push((event as { learner_ref: string }).learner_ref);
      if (got.length === refs.length) stopping.abort();
    }
    assert.deepEqual(got, refs);
    assert.ok(interruptions.length > 3 && interruptions.every((one) => one instanceof ConnectionError));
  });

  test('and is told what is refused, and what is none of its lines', async () => {
    const told = async (client: Client, query = {}) => {
      try {
        for await (const line of client.events.listen(query)) return line;
      } catch (error) {
        return error;
      }
      return null;
    };
    const wrong = await told(clientOf({ ...scene.org.key, secret_access_key: 'ars_test_wrong' }));
    assert.ok(wrong instanceof ApiError && wrong.status === 401, String(wrong));
    const refused = await told(clientOf(scene.org.key), { after: 'yesterday' });
    assert.ok(refused instanceof ApiError && refused.code === 'invalid_after', String(refused));
    for (const body of ['<html>\n', '{}\n', 'null\n']) {
      const odd = await told(clientOf(scene.org.key, { fetch: async () => new Response(body) }));
      assert.ok(odd instanceof UnexpectedReplyError, String(odd));
    }
    const away = await told(clientOf(scene.org.key, { fetch: async () => Promise.reject(new TypeError('away')) }));
    assert.ok(away instanceof ConnectionError, 'what was never reached is given up');
  });
});

const ars = fileURLToPath(new URL('../../../cli/ars.ts', import.meta.url));

test('ars listen --api loses nothing while the service is killed and comes back, and is gone when it is killed itself', async () => {
  const org = await service.organisation();
  const port = await freePort();
  const api = `http://127.0.0.1:${port}`;
  const serve = async () => {
    const child = spawn(process.execPath, [ars, 'serve', '--role', 'web'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        DATABASE_URL: service.databaseUrl,
        ARS_SECRET: service.app.settings.secret,
        ARS_PORT: String(port),
        ARS_LOG: 'none',
      },
    });
    for await (const line of createInterface({ input: child.stderr })) if (line.startsWith('Answering')) break;
    return child;
  };
  type Received = { id: string; ref: string; verdict: Promise<string> };
  const received: Received[] = [];
  let secret = '';
  let arrived = () => {};
  const consumer = createServer(async (incoming, response) => {
    const body = await text(incoming);
    const header = String(incoming.headers['x-svc-signature-256']);
    received.push({
      id: String(incoming.headers['x-svc-delivery-id']),
      ref: JSON.parse(body).learner_ref,
      verdict: verifyWebhook({ secret, header, body }),
    });
    response.writeHead(204).end();
    arrived();
  }).listen(0, '127.0.0.1');
  await once(consumer, 'listening');
  after(() => consumer.close());
  const has = async (ref: string) => {
    while (!received.some((one) => one.ref === ref)) await new Promise<void>((resolve) => (arrived = resolve));
  };

  let server = await serve();
  const forwardTo = `http://127.0.0.1:${(consumer.address() as AddressInfo).port}/`;
  const listening = spawn(
    process.execPath,
    [ars, 'listen', '--api', api, '--forward-to', forwardTo, '--access-key-id', org.key.access_key_id],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
        SECRET_ACCESS_KEY: org.key.secret_access_key,
      },
    },
  );
  after(() => listening.kill('SIGKILL'));
  const said = createInterface({ input: listening.stdout })[Symbol.asyncIterator]();
  const hear = async (wanted: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const { value, done } = await said.next();
      assert.notEqual(done, true, `never said ${wanted}`);
      const found = wanted.exec(value!);
      if (found !== null) return found;
    }
  };
  [, secret] = (await hear(/^Signing secret: (whsec_\S+)/)) as unknown as [string, string];
  await hear(/from now on/);
  await emit(['before'], org.id);
  await has('before');

  server.kill('SIGKILL');
  await once(server, 'exit');
  await hear(/^Interrupted/);
  await emit(['meanwhile-1', 'meanwhile-2'], org.id);
  server = await serve();
  await hear(/^Connected again/);
  await emit(['afterwards'], org.id);
  await has('afterwards');
  assert.deepEqual(
    received.map((one) => one.ref),
    ['before', 'meanwhile-1', 'meanwhile-2', 'afterwards'],
  );
  assert.deepEqual(new Set(await Promise.all(received.map((one) => one.verdict))), new Set(['valid']));
  assert.equal(new Set(received.map((one) => one.id)).size, 4);

  listening.kill('SIGKILL');
  await once(listening, 'exit');
  const streams = [];
  while (streams.length < limits.listenersPerOrganisation) {
    const stream = await open(org.key, '', api);
    if (stream.reply.statusCode === 200) streams.push(stream);
    else await stream.end();
  }
  const exited = once(server, 'exit');
  server.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
  await Promise.all(streams.map((stream) => stream.end()));
});
