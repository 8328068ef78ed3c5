// Tier: full. Sends a million requests.
// Process: own. Runs at a fixed seed for many minutes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Dispatcher } from 'undici';
import { Pool } from 'undici';
import { errorTable } from '../../src/platform/errors/errors.ts';
import { refusalsOf } from '../../src/api/reference/codes.ts';
import { routes } from '../../src/api/route-table.ts';
import type { Random } from '../../src/platform/crypto/random.ts';
import { pick, seededRandom } from '../../src/platform/crypto/random.ts';
import { planSandbox } from '../../src/sandbox/data/plan.ts';
import { seedOrganisation } from '../../src/sandbox/seed.ts';
import { consoleRoutes } from '../../src/web/console/routes.ts';
import { credentials } from '../contract/support/client.ts';
import { secret, serviceProcess } from '../laws/world/processes.ts';
import { freePort } from '../support/ports.ts';
import { withService } from '../support/service.ts';
import { fieldsOf, personOf } from '../web/console/visitor.ts';
import type { Operation } from './requests.ts';
import { makeRequest, operations } from './requests.ts';
import { chance, damaged, hostileTexts } from './values.ts';

/**
 * A million requests made from the OpenAPI document and from the console's forms, most with a mutation. No response has
 * status 5xx, a status or code that the document does not list for the operation, or a body that is not the error shape.
 * The memory of the service does not grow. `FUZZ=20000 FUZZ_SEED=7 npm test -- test/fuzz` repeats a shorter run.
 */
const total = Number(process.env.FUZZ ?? 1_000_000);
const seed = process.env.FUZZ_SEED ?? '1';
const senders = 16;
/** Callers at different addresses, so that the limits for one address refuse few requests. */
const addresses = 240;

/** What the transport or the route table may refuse, on any path. */
const anywhere = new Set<string>([
  'bad_request',
  'not_found',
  'method_not_allowed',
  'payload_too_large',
  'unsupported_media_type',
]);
const codesOf = new Map(
  routes.map((route) => [
    `${route.method} ${route.path.replaceAll(/:(\w+)/g, '{$1}')}`,
    new Map(refusalsOf(route).map(({ code, status }) => [code, status])),
  ]),
);

/** Links of the console to one object of a kind. */
const linked = / href="\/console\/[0-9a-f-]{36}\/(?:[\w-]+\/)*?([\w-]+)\/([\w-]{16,36})["/?]/g;

type Reply = { status: number; headers: Dispatcher.ResponseData['headers']; text: string };

/** What is wrong with a response of the API; null if nothing is. */
function faultOf(operation: Operation | null, method: string, { status, headers, text }: Reply): string | null {
  if (status >= 500) return `${status} ${text.slice(0, 200)}`;
  if (status < 400) return operation === null || operation.statuses.has(status) ? null : `status ${status}`;
  if (method === 'HEAD') return text === '' ? null : 'HEAD has a body';
  if (!String(headers['content-type']).startsWith('application/json')) return `${status} is not JSON`;
  const { error } = JSON.parse(text);
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return `the shape of ${text.slice(0, 200)}`;
  const known = operation === null ? undefined : codesOf.get(`${operation.method} ${operation.path}`);
  if (operation !== null && known === undefined) return `no route for ${operation.method} ${operation.path}`;
  if (known?.get(error.code) === status) return null;
  const [everywhere] = errorTable[error.code as keyof typeof errorTable] ?? [];
  if (everywhere === status && (operation === null || anywhere.has(error.code))) return null;
  return `undocumented: ${status} ${error.code}`;
}

/** Sends bytes that no HTTP library sends. @returns the status; 0 if the connection ends without a response */
async function sendBytes(url: URL, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname);
    let text = '';
    const timer = setTimeout(() => socket.destroy(), 200);
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1');
      if (text.length > 20) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0));
    });
    socket.on('connect', () => socket.write(bytes));
  });
}

function damagedHead(random: Random, keys: Record<string, string>): Buffer {
  const head = Object.entries(keys).map(([name, value]) => `${name}: ${value}\r\n`);
  const whole = `POST /api/v1/learners HTTP/1.1\r\nHost: localhost\r\n${head.join('')}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  let text = whole;
  for (let i = 0; i < 3; i++) text = damaged(random, text).slice(0, 8000);
  return Buffer.from(text, 'latin1');
}

test('a million requests: no status 5xx, nothing undocumented, no growth of memory', async (context) => {
  context.diagnostic(`FUZZ=${total} FUZZ_SEED=${seed}`);
  const port = await freePort();
  const settings = {
    ARS_SECRET: secret,
    ARS_BASE_URL: `http://127.0.0.1:${port}`,
    ARS_RATE_LIMIT: '1000000000',
  };
  const service = await withService({ own: 'Belongs to a process of its own.', settings });
  const org = await service.organisation({ plan: 'unlimited' });
  const plan = planSandbox({ seed: 'fuzz', learners: 60, nowMs: Date.UTC(2026, 5, 1) });
  for await (const _count of seedOrganisation(
    service.app,
    { organisation_id: org.id, public_id: org.publicId },
    plan,
    0,
  ));
  const running = await serviceProcess({
    ...settings,
    ARS_PORT: String(port),
    DATABASE_URL: service.databaseUrl,
  });
  const url = new URL(running.url);
  const times = { headersTimeout: 20_000, bodyTimeout: 20_000 };
  const pools = Array.from(
    { length: addresses },
    (_, i) => new Pool(url.origin, { connections: 1, ...times, connect: { localAddress: `127.0.1.${i + 1}` } }),
  );

  // What requests may name: taken from responses, as a client would.
  const values = new Map<string, string[]>();
  const learn = (name: string, list: (string | null | undefined)[]) =>
    values.set(name, [...(values.get(name) ?? []), ...list.filter((one) => typeof one === 'string')].slice(-200));
  let keys = credentials(org.key);
  let refused = 0;
  const assessments = (await org.get('/assessments?limit=50')).body;
  const groups = (await org.get('/groups?limit=50')).body;
  const learners = (await org.get('/learners?limit=50')).body;
  for (const one of assessments.data) {
    learn('assessment', [one.assessment_id]);
    learn('since', [one.updated_at]);
  }
  for (const one of learners.data) learn('ref', [one.ref]);
  for (const one of groups.data) learn('group', [one.id]);
  for (const { pagination } of [assessments, groups, learners]) learn('cursor', [pagination.next]);
  const knownOf =
    (random: Random, path: string) =>
    (name: string): string | undefined => {
      const list =
        name === 'id'
          ? values.get(path.startsWith('/groups') ? 'group' : path.startsWith('/webhooks') ? 'webhook' : 'assessment')
          : values.get(
              { group_id: 'group', group_ids: 'group', learner_ref: 'ref', learner_refs: 'ref' }[name] ?? name,
            );
      return list === undefined || list.length === 0 || chance(random, 0.1) ? undefined : pick(random, list);
    };

  let owner = await personOf(service, org.id, 'owner');
  const results = new Map<string, number>();
  const faults = new Map<string, number>();
  const count = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1);

  let sent = 0;
  async function send(options: Dispatcher.RequestOptions): Promise<Reply> {
    const reply = await pools[sent++ % addresses]!.request(options);
    const isStream = options.path.startsWith('/api/v1/events') && reply.statusCode === 200;
    if (isStream) reply.body.on('error', () => {}).destroy();
    const text = isStream ? '' : await reply.body.text();
    return { status: reply.statusCode, headers: reply.headers, text };
  }

  async function askApi(random: Random): Promise<void> {
    const { operation, method, path, headers, body } = makeRequest(random, keys, (at) => knownOf(random, at));
    const reply = await send({ method: method as 'GET', path, headers, body });
    count(results, `${operation === null ? 'other' : `${method} ${operation.path}`} ${reply.status}`);
    refused = reply.status === 401 || reply.status === 429 ? refused + 1 : 0;
    // A form of the console has ended the key, or restricted it.
    if (refused > 0 && refused % 20 === 0) keys = credentials((await org.another()).key);
    const fault = faultOf(operation, method, reply);
    if (fault !== null)
      count(
        faults,
        `${method} ${operation?.path ?? 'other'}: ${fault}\n  ${path.slice(0, 300)}\n  ${String(body).slice(0, 300)}`,
      );
    const etag = reply.headers.etag;
    if (typeof etag === 'string') learn('If-None-Match', [etag]);
    if (operation?.path === '/webhooks' && reply.status === 201) learn('webhook', [JSON.parse(reply.text).data.id]);
  }

  async function askConsole(random: Random): Promise<void> {
    const route = pick(random, consoleRoutes);
    // IDs come from links of earlier pages to the same kind of page.
    const path = route.path.replaceAll(/(\w[\w-]*)\/\{\w+\}/g, (_all, kind: string) => {
      const list = values.get(kind) ?? [];
      const isHostile = list.length === 0 || chance(random, 0.1);
      return `${kind}/${encodeURIComponent((isHostile ? pick(random, hostileTexts) : pick(random, list)).toWellFormed())}`;
    });
    const under = path.startsWith('/console') ? path : `/console/${org.publicId}${path}`;
    const cookie = owner.cookie!.replace(/^session-\d+/, `session-${port}`);
    const query = chance(random, 0.4)
      ? `?${pick(random, ['q', 'subject', 'page', 'sort', 'group', 'from', 'column', 'list', 'view'])}=${encodeURIComponent(pick(random, hostileTexts).toWellFormed())}`
      : '';
    const shown = await send({ method: 'GET', path: under + query, headers: { cookie } });
    count(results, `console GET ${shown.status}`);
    // A form may have ended the session, or the person's role.
    if (shown.status === 303 && String(shown.headers.location).includes('sign-in'))
      owner = await personOf(service, org.id, 'owner');
    const replies = [shown];
    if (route.method === 'POST') {
      const fields = fieldsOf(shown.text).map(([name, value]): [string, string] =>
        chance(random, 0.3) ? [name, pick(random, hostileTexts)] : [name, value],
      );
      if (chance(random, 0.1)) fields.push([pick(random, hostileTexts), pick(random, hostileTexts)]);
      const body = new URLSearchParams(fields).toString();
      const type = 'application/x-www-form-urlencoded';
      const headers = { cookie, 'content-type': type, 'sec-fetch-site': 'same-origin' };
      replies.push(await send({ method: 'POST', path: under, headers, body }));
      count(results, `console POST ${replies[1]!.status}`);
    }
    for (const one of replies)
      if (one.status >= 500) count(faults, `console ${route.method} ${route.path}: ${one.status}\n  ${under}${query}`);
    for (const [, kind, id] of shown.text.matchAll(linked)) learn(kind!, [id]);
  }

  let left = total;
  const memory: number[] = [];
  const remember = () =>
    memory.push(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${running.pid}/status`, 'utf8'))![1]) / 1024);
  const step = Math.ceil(total / 20);
  await Promise.all(
    Array.from({ length: senders }, async (_, sender) => {
      const random = seededRandom(`${seed}:${sender}`);
      while (left > 0) {
        if (left-- % step === 0) remember();
        const kind = random.float();
        if (kind < 0.9) await askApi(random);
        else if (kind < 0.98) await askConsole(random);
        else {
          const status = await sendBytes(url, damagedHead(random, keys));
          count(results, `bytes ${status}`);
          if (status >= 500) count(faults, `bytes: ${status}`);
        }
      }
    }),
  );
  remember();
  await Promise.all(pools.map((pool) => pool.close()));

  for (const [name, times] of [...results].sort()) context.diagnostic(`${name}: ${times}`);
  context.diagnostic(`Memory in MiB: ${memory.map(Math.round).join(' ')}`);
  assert.deepEqual(
    [...faults].map(([name, times]) => `${times} × ${name}`),
    [],
  );
  const succeeded = operations.filter(({ method, path }) =>
    [200, 201, 204].some((status) => results.has(`${method} ${path} ${status}`)),
  );
  assert.deepEqual(
    operations.filter((one) => !succeeded.includes(one)).map((one) => `${one.method} ${one.path}`),
    [],
  );
  const limited = [...results].reduce((sum, [name, times]) => sum + (name.endsWith(' 429') ? times : 0), 0);
  assert.ok(limited < total / 20, `${limited} requests were refused by a limit`);
  assert.ok((results.get('console GET 200') ?? 0) > total / 200, 'the console was asked while signed in');
  const [early, late] = [Math.max(...memory.slice(5, 10)), Math.min(...memory.slice(-4))];
  if (total >= 200_000) assert.ok(late < early * 1.2, `the memory grew from ${early} to ${late} MiB`);
});
