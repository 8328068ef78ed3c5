import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import type { Delivery, Examples, Exchange } from '../../../src/api/reference/examples.ts';
import { routes } from '../../../src/api/route-table.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { createKey } from '../../../src/integrations/access-keys/keys.ts';
import { createSender } from '../../../src/integrations/webhooks/http/send.ts';
import { deliveryHeaders } from '../../../src/integrations/webhooks/http/signing.ts';
import { DeliveryWorker } from '../../../src/integrations/webhooks/worker.ts';
import { startService } from '../../../src/main.ts';
import { createOrganisation } from '../../../src/organisations/organisations.ts';
import { apiBase, exampleOrigin, readSettings } from '../../../src/platform/config/settings.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { eventTypes } from '../../../src/platform/validation/event-types.ts';
import { withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { parseNetworks } from '../../../src/platform/validation/networks.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { exampleContent } from '../../../src/records/results/schema.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { type Ask, client, credentials, hangUp } from '../../contract/support/client.ts';
import { startReceiver, trustTestAuthority } from '../../integrations/webhooks/receiver.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { freePort } from '../ports.ts';

/** Records src/api/reference/examples.json: requests to a running service, its responses and its deliveries. */

/** The headers of responses that examples show, in this order. */
const shownHeaders = [
  'Content-Type',
  'Content-Length',
  'Content-Range',
  'Content-Disposition',
  'X-Report-SHA256',
  'ETag',
  'X-Sync-Through',
  'X-Sync-Digest',
  'Link',
  'Idempotency-Replayed',
  'WWW-Authenticate',
  'RateLimit',
  'X-Request-Id',
];

const absent = '00000000-0000-4000-8000-000000000000';
const url = 'https://portfolio.example.org/hooks/ars';
const maths = '8f14e45f-ceea-467f-a1d6-3f2d5c0b9a11';
const english = '6512bd43-d9ca-46e0-a5f4-1a2b3c4d5e6f';
const digital = 'c81e728d-9d4c-4f63-a06f-067f89cc1486';
const bodyOf = (id: string) => routes.find((route) => route.id === id)!.bodyExample as Record<string, unknown>;

/** A service whose time and random values are always equal, with one organisation and its access key. */
async function startExample(databaseUrl: string) {
  const clock = manualClock(Date.parse('2026-01-31T09:00:00Z'));
  const environment = { ARS_PORT: String(await freePort()), ARS_BASE_URL: exampleOrigin, ARS_DRAIN_DELAY_SECONDS: '0' };
  const secret = { ARS_SECRET: 'the secret of the service with the examples' };
  const opened = await openApp(readSettings({ ...environment, ...secret, DATABASE_URL: databaseUrl }), {
    clock,
    random: seededRandom('examples'),
    logTo: { write: () => true },
  });
  const service = await startService(opened, 'web');
  const { app, stop } = service;
  const made = await withUnitOfWork(app, null, async (work) => {
    const plan = { plan: 'education', credits: 0, groupAutocreate: true } as const;
    const organisation = await createOrganisation(work, { name: 'Example College', ...plan });
    const key = await createKey(work, organisation.organisation_id, { label: 'examples', kind: 'live' });
    return { organisation, key };
  });
  const origin = `http://127.0.0.1:${environment.ARS_PORT}`;
  return { app, clock, stop, origin, organisation: made.organisation, key: made.key };
}

type Example = Awaited<ReturnType<typeof startExample>>;

/** Sends requests and keeps each with its response. */
function recorder({ clock, origin, key }: Example) {
  const kept = new Map<string, Exchange[]>();
  const api = client(origin, key);
  /** ETags depend on every description of a field, so examples have values of their own. */
  const etags = new Map<string, string>();
  const shownEtag = (etag: string) => {
    if (!etag.startsWith('W/')) return etag;
    const shown = etags.get(etag) ?? `W/"${hash('sha256', `example ${etags.size}`, 'base64url').slice(0, 24)}"`;
    etags.set(etag, shown);
    return shown;
  };
  const shown = (headers: Record<string, string>, names: readonly string[]) =>
    Object.fromEntries(
      names
        .filter((name) => headers[name.toLowerCase()] !== undefined)
        .filter((name) => name !== 'Content-Length' || headers['content-type'] === 'application/pdf')
        .map((name) => [
          name,
          /^(ETag|If-None-Match)$/.test(name) ? shownEtag(headers[name.toLowerCase()]!) : headers[name.toLowerCase()]!,
        ]),
    );
  const keep = (id: string, exchange: Exchange) => kept.set(id, [...(kept.get(id) ?? []), exchange]);
  return {
    api,
    kept,
    keep,
    shown,
    async call(id: string, path: string, status: number, { body, headers = {} }: Ask = {}) {
      clock.advance(60_500);
      const { method } = routes.find((route) => route.id === id)!;
      const answer = await api.api(method, path, { body, headers });
      assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
      const sent = { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
      const asked = ['Content-Type', 'Idempotency-Key', 'If-None-Match', 'Range', 'X-Secret-Access-Key'];
      keep(id, {
        request: { method, path, headers: shown(sent, asked), body },
        response: { status, headers: shown(answer.headers, shownHeaders), body: answer.body },
      });
      return answer;
    },
  };
}

type Recorder = ReturnType<typeof recorder>;

/** The learners, groups and the endpoint, by requests. */
async function provision({ call }: Recorder): Promise<{ group: string; endpoint: string }> {
  await call('health', '/health', 200);
  await call('health', '/health', 401, { headers: { 'x-secret-access-key': 'ssk_test_wrong' } });
  const group = (await call('createGroup', '/groups', 201, { body: bodyOf('createGroup') })).body.data.id as string;
  await call('createGroup', '/groups', 200, { body: bodyOf('createGroup') });
  await call('createGroup', '/groups', 422, { body: { type: 'team', ref: 'T-1', name: 'Team one' } });
  const body = bodyOf('provisionLearner');
  await call('provisionLearner', '/learners', 201, { body, headers: { 'idempotency-key': 'provision-LRN-000017' } });
  await call('provisionLearner', '/learners', 200, { body });
  await call('provisionLearner', '/learners', 422, { body: { full_name: 'Ana Silva', ref: 'ana@example.org' } });
  const hook = await call('registerWebhook', '/webhooks', 201, { body: bodyOf('registerWebhook') });
  await call('registerWebhook', '/webhooks', 422, { body: { url: url.replace('https', 'http') } });
  await call('listWebhooks', '/webhooks', 200);
  return { group, endpoint: hook.body.data.id as string };
}

/** Two more learners, and a result for each learner. One result is withdrawn, and one learner is erased. */
async function record({ app, clock, organisation, origin, key }: Example, { call }: Recorder, group: string) {
  const api = client(origin, key);
  const others = [
    ['LRN-000042', 'Ben Okafor'],
    ['LRN-000051', 'Chidi Eze'],
  ] as const;
  const ids: string[] = [];
  for (const [ref, full_name] of others)
    ids.push((await api.post('/learners', { ref, full_name })).body.data.learner_id as string);
  await call('addMembers', `/groups/${group}/members`, 200, { body: bodyOf('addMembers') });
  await call('addMembers', `/groups/${absent}/members`, 404, { body: bodyOf('addMembers') });
  const { organisation_id: id, public_id } = organisation;
  const change = (inside: Parameters<typeof withUnitOfWork<unknown>>[2]) => {
    clock.advance(1234);
    return withUnitOfWork(app, null, inside);
  };
  const { assessed_at_us: _, domains, ...content } = exampleContent;
  for (const [assessment_id, ref, full_name, subject, name] of [
    [maths, 'LRN-000017', 'Ana Silva', 'maths', domains[0]!.name],
    [english, 'LRN-000042', 'Ben Okafor', 'english', 'Reading'],
    [digital, 'LRN-000051', 'Chidi Eze', 'digital', 'Handling information'],
  ] as const) {
    const assessed_at = new Date(clock.nowMs()).toISOString();
    const scores = domains.map((domain) => ({ ...domain, name }));
    const input = { assessment_id, learner: { ref, full_name }, assessed_at, ...content, subject, domains: scores };
    const ready = readyRecord(input, public_id, clock.nowMs() + 60_000);
    await change((work) => importRecords(work, id, [ready], { events: true, actor: 'operator' }));
  }
  return {
    withdraw: () =>
      change((work) => withdrawAssessment(work, id, english, { actor: 'operator', reason: 'wrong learner' })),
    erase: () => change((work) => eraseLearner(work, id, ids[1]!, { actor: 'operator' })),
  };
}

/** Reads results as a platform does: a full sync, an incremental sync, a 304, and single objects. */
async function sync({ call, api }: Recorder, changes: { withdraw(): Promise<unknown>; erase(): Promise<unknown> }) {
  await call('getReport', `/assessments/${maths}/report.pdf`, 200);
  await call('getReport', `/assessments/${maths}/report.pdf`, 206, { headers: { range: 'bytes=0-9999' } });
  await call('getReport', `/assessments/${absent}/report.pdf`, 404);
  await api.get(`/assessments/${english}/report.pdf`);
  await changes.erase();
  const full = await call('listAssessments', '/assessments?limit=1', 200);
  await changes.withdraw();
  const since = `/assessments?since=${full.headers['x-sync-through']!}&limit=100`;
  const { headers } = await call('listAssessments', since, 200);
  await call('listAssessments', since, 304, { headers: { 'if-none-match': headers.etag! } });
  await call('listAssessments', '/assessments?since=yesterday', 400);
  await call('getAssessmentDigest', '/assessments/digest?bits=1', 200);
  await call('getAssessmentDigest', '/assessments/digest?bits=1&buckets=1', 200);
  await call('getAssessmentDigest', '/assessments/digest?bits=17', 400);
  await call('getAssessment', `/assessments/${maths}`, 200);
  await call('getAssessment', `/assessments/${absent}`, 404);
  await call('listLearners', '/learners?limit=100', 200);
  await call('listLearners', '/learners?since=yesterday', 400);
  await call('getLearner', '/learners/LRN-000017', 200);
  await call('getLearner', '/learners/LRN-999999', 404);
}

async function changeGroups({ call }: Recorder, group: string) {
  await call('listGroups', '/groups?type=cohort,course&limit=100', 200);
  await call('listGroups', '/groups?type=herd', 400);
  await call('getGroup', `/groups/${group}`, 200);
  await call('getGroup', `/groups/${absent}`, 404);
  await call('removeMembers', `/groups/${group}/members/remove`, 200, { body: bodyOf('removeMembers') });
  await call('removeMembers', `/groups/${group}/members/remove`, 422, { body: { learner_refs: [] } });
  await call('changeGroup', `/groups/${group}`, 200, { body: bodyOf('changeGroup') });
  await call('changeGroup', `/groups/${group}`, 422, { body: {} });
}

/** The first lines of the stream, which has no end. */
async function listen({ origin, key }: Example, { call, keep, shown }: Recorder) {
  const path = '/events?after=1769850012345.5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';
  const over = new AbortController();
  const stream = await fetch(`${origin}${apiBase}${path}`, { headers: credentials(key), signal: over.signal });
  let text = '';
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.split('\n').length > 2) break;
  }
  over.abort();
  const body = text.split('\n').slice(0, 2).join('\n');
  const headers = shown(Object.fromEntries(stream.headers), shownHeaders);
  keep('listenToEvents', { request: { method: 'GET', path, headers: {} }, response: { status: 200, headers, body } });
  await call('listenToEvents', '/events?after=yesterday', 400);
}

/** Has all events delivered to a real receiver instead of the example's URL, and reads the first of each type. */
async function deliveries({ app, clock }: Example): Promise<Record<string, Delivery>> {
  trustTestAuthority();
  const receiver = await startReceiver();
  const monotonicMs = () => performance.now();
  const options = { clock: { ...clock, monotonicMs }, allowNetworks: parseNetworks('127.0.0.0/8'), timeoutMs: 60_000 };
  const { send, close } = createSender(options);
  const sender = { send: (request: Parameters<typeof send>[0]) => send({ ...request, url: receiver.url }), close };
  const worker = new DeliveryWorker(app, { sender });
  worker.wake();
  await worker.settled();
  await worker.stop();
  await close();
  await receiver.close();
  const names = Object.keys(deliveryHeaders({ deliveryId: '', secrets: [''], body: '', nowMs: 0 }));
  const found: Record<string, Delivery> = {};
  for (const { headers, body } of receiver.received) {
    const read = JSON.parse(String(body)) as { event: string };
    assert.equal(JSON.stringify(read), String(body), 'the signature is that of the example');
    const shown = Object.fromEntries(names.map((name) => [name, headers[name.toLowerCase()]!]));
    found[read.event] ??= { url, headers: shown, body: read };
  }
  return found;
}

export async function recordExamples(databaseUrl: string): Promise<string> {
  const example = await startExample(databaseUrl);
  try {
    const recording = recorder(example);
    const { group, endpoint } = await provision(recording);
    const changes = await record(example, recording, group);
    const events = await deliveries(example);
    await sync(recording, changes);
    await changeGroups(recording, group);
    await listen(example, recording);
    await recording.call('removeWebhook', `/webhooks/${endpoint}`, 204);
    await recording.call('removeWebhook', `/webhooks/${absent}`, 404);
    const missing = [
      ...routes.filter(({ id }) => !recording.kept.has(id)).map(({ id }) => id),
      ...eventTypes.filter((type) => events[type] === undefined),
    ];
    assert.deepEqual(missing, [], 'no example is recorded');
    const operations = Object.fromEntries(routes.map(({ id }) => [id, recording.kept.get(id)!]));
    return `${JSON.stringify({ operations, events } satisfies Examples, null, 2)}\n`;
  } finally {
    await hangUp(example.origin);
    await example.stop();
  }
}
