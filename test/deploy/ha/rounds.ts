import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Client as Library, sync } from '../../../client/src/index.ts';
import { jsonFileStore } from '../../../client/src/stores/json-file.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import type { Answer, Client, Key } from '../../contract/support/client.ts';
import { client, hangUp } from '../../contract/support/client.ts';
import { Mirror, Shown } from '../../laws/world/mirror.ts';
import { secret, serviceProcess } from '../../laws/world/processes.ts';
import { begin } from '../../support/ars.ts';
import type { Loss } from './cluster.ts';
import { Cluster, losses } from './cluster.ts';

/** The rounds of failover.test.ts, in namespaces of their own. Figures are lines of JSON on standard error. */

const rounds = Number(process.env.HA_ROUNDS ?? 20);
const maxOutageMs = 30_000;
const writers = 4;
const learnersWithResult = 40;
const copyFile = '/mnt/copy.json';

const result = {
  assessed_at: '2026-01-31T09:00:00Z',
  subject: 'digital',
  framework: 'Essential Digital Skills',
  rqf_level: null,
  rqf_level_code: null,
  below_level_1: true,
};
const random = seededRandom(process.env.LAW_SEED ?? '20 rounds');
/** What the service has acknowledged: the name of each learner. */
const acknowledged = new Map<string, string>();
const acknowledgedMs: number[] = [];
const polledMs: number[] = [];
/** Answers that are neither success nor 503. */
const faults: string[] = [];
let refused = 0;
let over = false;

async function ars(environment: Record<string, string>, words: string[], input = ''): Promise<any> {
  const { ended } = begin([...words, '--json'], environment, { input });
  const { code, said, json } = await ended;
  assert.equal(code, 0, `${said} ${JSON.stringify(json)}`);
  return json;
}

/** Repeats a request until a process answers with anything but 503. */
function persistent(url: string, key: Key): Client {
  const once = client(url, key);
  const api: Client['api'] = async (method, path, ask): Promise<Answer> => {
    for (;;) {
      const answer = await once.api(method, path, ask);
      if (answer.status !== 503) return answer;
      refused++;
      await setTimeout(50);
    }
  };
  return {
    ...once,
    api,
    get: (path, headers) => api('GET', path, { headers }),
    post: (path, body, headers) => api('POST', path, { body, headers }),
  };
}

async function write(ways: Client[], n: number): Promise<void> {
  for (let i = 0; !over; i++) {
    const own = Math.floor(random.float() * (learnersWithResult / writers)) * writers + n;
    const ref = i % 3 === 0 ? `new-${n}-${i}` : `known-${own}`;
    const name = `Learner ${n} ${i}`;
    const answer = await ways[i % ways.length]!.post('/learners', { ref, full_name: name });
    if (answer.status === 200 || answer.status === 201) {
      acknowledged.set(ref, name);
      acknowledgedMs.push(performance.now());
    } else faults.push(`POST /learners: ${answer.status} ${answer.text}`);
    await setTimeout(20);
  }
}

class Refused extends Error {}

/** Polls all the time. If a cursor from before a promotion is refused, the client begins again at its checkpoint. */
async function poll(mirror: Mirror): Promise<void> {
  while (!over) {
    await mirror.poll().catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
    });
    polledMs.push(performance.now());
    await setTimeout(100);
  }
}

const refusing = (way: Client): Client => ({
  ...way,
  async get(path, headers) {
    const answer = await way.get(path, headers);
    if (answer.status === 400 && answer.body.error.code === 'invalid_cursor') throw new Refused();
    return answer;
  },
});

/** The longest time between two of these moments since `sinceMs`. */
function longestGap(moments: number[], sinceMs: number): number {
  const first = moments.findLastIndex((at) => at < sinceMs);
  const since = moments.slice(Math.max(0, first));
  return Math.round(Math.max(...since.slice(1).map((at, n) => at - since[n]!)));
}

async function until(isSo: () => boolean, what: string): Promise<void> {
  const endMs = performance.now() + 120_000;
  while (!isSo()) {
    assert.ok(performance.now() < endMs, what);
    await setTimeout(50);
  }
}

/** After a promotion every record gets a new position, also when all writers have stopped. */
async function untilRestamped(mirror: Mirror): Promise<void> {
  let last = '';
  for (const endMs = performance.now() + 180_000; ; await setTimeout(5000)) {
    const now = JSON.stringify([...(await mirror.fresh())]);
    if (now === last) return;
    assert.ok(performance.now() < endMs, 'the restamp does not end');
    last = now;
  }
}

type Round = { loss: Loss; outageMs: number; pollsMs: number; completeMs: number };

async function round(cluster: Cluster, loss: Loss): Promise<Round> {
  const primary = await cluster.untilComplete();
  const before = [acknowledgedMs.length, polledMs.length] as const;
  const goOn = () => acknowledgedMs.length > before[0] + 20 && polledMs.length > before[1] + 2;
  await until(goOn, 'nothing is acknowledged while the cluster is complete');
  const lostMs = performance.now();
  await primary.lose(loss);
  // Back: changes are acknowledged that began after another host was promoted.
  const next = await cluster.untilPromoted(primary);
  const promoted = acknowledgedMs.length;
  await until(() => acknowledgedMs.length > promoted + 20, `nothing is acknowledged after ${next} was promoted`);
  await until(() => polledMs.at(-1)! > acknowledgedMs[promoted]!, 'no poll succeeds after the promotion');
  const outageMs = longestGap(acknowledgedMs, lostMs);
  const pollsMs = longestGap(polledMs, lostMs);
  primary.repair(loss);
  await cluster.untilComplete();
  const done = { loss, outageMs, pollsMs, completeMs: Math.round(performance.now() - lostMs) };
  console.error(JSON.stringify({ ...done, from: primary.name, to: next, acknowledged: acknowledgedMs.length }));
  return done;
}

test('the rounds', async () => {
  const cluster = await Cluster.start();
  const environment = {
    DATABASE_URL: await cluster.createDatabase(),
    ARS_SECRET: secret,
    ARS_BASE_URL: 'http://results.test',
    ARS_ERASURES_FILE: '/mnt/erasures',
  };
  await ars(environment, ['migrate']);
  const { organisation_id: id } = await ars(environment, [
    'organisation',
    'create',
    '--name',
    'A',
    '--plan',
    'unlimited',
  ]);
  const key: Key = await ars(environment, ['key', 'create', '--organisation', id]);
  const lines = Array.from({ length: learnersWithResult }, (_, n) =>
    JSON.stringify({ ...result, learner: { ref: `known-${n}`, full_name: 'A Learner' } }),
  );
  await ars(environment, ['results', 'import', '--organisation', id, '-'], lines.join('\n'));

  const processes = [await serviceProcess(environment), await serviceProcess(environment)];
  const ways = processes.map(({ url }) => persistent(url, key));
  const shown = new Shown();
  const mirrors = (['follow', 'since only'] as const).map(
    (manner) => new Mirror(ways.map(refusing), random, shown, { path: '/learners', limit: 100, manner }),
  );
  const library = new Library({
    baseUrl: processes[0]!.url,
    accessKeyId: key.access_key_id,
    secretAccessKey: key.secret_access_key,
  });
  const stop = new AbortController();
  const store = jsonFileStore(copyFile);
  const copy = sync({ client: library, store, everyMs: 1000, signal: stop.signal });

  const done: Round[] = [];
  const losing = async () => {
    for (let n = 0; n < rounds; n++)
      done.push(await round(cluster, n % 2 === 0 ? losses[0] : losses[1 + ((n >> 1) % 2)]!));
    over = true;
  };
  await Promise.all([losing(), ...Array.from({ length: writers }, (_, n) => write(ways, n)), ...mirrors.map(poll)]);

  assert.deepEqual(faults, [], 'answers that are neither success nor 503');
  await untilRestamped(mirrors[0]!);
  let lost = 0;
  for (const mirror of mirrors) {
    await mirror.assertConverged();
    const learners = [...mirror.held.values()].map((text) => JSON.parse(text));
    const names = new Map(learners.map((one) => [one.ref, one.full_name]));
    for (const [ref, name] of acknowledged) if (names.get(ref) !== name) lost++;
  }
  const { results } = JSON.parse(readFileSync(copyFile, 'utf8'));
  const copied = Object.values<any>(results).map(({ record }) => record.learner);
  assert.equal(copied.length, learnersWithResult);
  for (const { ref, full_name } of copied) if (acknowledged.has(ref) && acknowledged.get(ref) !== full_name) lost++;
  const { isProven, repaired } = await copy.verify();
  assert.deepEqual({ isProven, repaired }, { isProven: true, repaired: 0 });
  stop.abort();
  await copy.done.catch(() => {});
  const outages = done.map(({ outageMs }) => outageMs).sort((a, b) => a - b);
  const figures = {
    rounds,
    medianMs: outages[outages.length >> 1],
    worstMs: outages.at(-1),
    worstPollMs: Math.max(...done.map(({ pollsMs }) => pollsMs)),
    acknowledged: acknowledgedMs.length,
    learners: acknowledged.size,
    refused,
    lost,
  };
  console.error(JSON.stringify(figures));
  assert.equal(lost, 0, 'acknowledged changes are missing in a mirror');
  for (const one of done) assert.ok(one.outageMs <= maxOutageMs, `law: back within 30 s: ${JSON.stringify(one)}`);
  for (const one of processes) await one.kill();
  await hangUp();
});
