import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Agent, request } from 'undici';
import { systemClock } from '../src/clock.ts';
import { inWork } from '../src/db/work.ts';
import { emitGroupsUpdated } from '../src/events/emit.ts';
import { lockFeed } from '../src/feed/position.ts';
import type { OpenApp } from '../src/open-app.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { systemRandom } from '../src/random.ts';
import { readSettings } from '../src/settings.ts';
import { registerEndpoint } from '../src/webhooks/manage.ts';
import { startWorker } from '../src/webhooks/worker.ts';
import { startReceiver, trustTestAuthority } from '../test/webhooks/receiver.ts';
import { figure } from './figures.ts';

/**
 * Webhook deliveries from commit to receiver, each figure beside its ceiling or its peer in the same run:
 * deliveries per second with the attempt stored beside a bare undici loop that signs and posts the same bodies with
 * keep-alive; commit to first byte on an idle system; healthy endpoints beside one in ten that hangs, with a backlog;
 * the fan-out of a bulk change. The receiver is a process of its own. A worker's batches grow over its first 32,000
 * deliveries (docs/decisions/0007), so fewer measure its beginning.
 *
 *   DATABASE_URL=postgres://… node bench/delivery.ts [--deliveries N] [--backlog N] [--endpoints N] [--idle N] [--json]
 *
 * The database must be empty; it is filled with an organisation for each part.
 */

const { values: options } = parseArgs({
  options: {
    deliveries: { type: 'string', default: '50000' },
    backlog: { type: 'string', default: '100000' },
    endpoints: { type: 'string', default: '10' },
    idle: { type: 'string', default: '200' },
    only: { type: 'string', default: 'throughput,idle,hanging,fanout' },
    rounds: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
    receiver: { type: 'boolean', default: false },
  },
});

/** Issue 14, and what stands beside each of its figures. */
const goals = { ofBareLoop: 0.5, p50Ms: 50, p99Ms: 300, besideHanging: 1.5 };

type Told = { path: string; atMs: number };

/** The receiver's process answers 204, hangs on paths that begin with /hang, and tells when requests arrived. */
async function receive(): Promise<void> {
  const arrivals: Told[] = [];
  const counted = { expected: Infinity, count: 0 };
  const receiver = await startReceiver({
    keep: false,
    behaviour: (incoming, response) => {
      if (incoming.path.startsWith('/hang')) return;
      arrivals.push({ path: incoming.path, atMs: performance.timeOrigin + performance.now() });
      response.writeHead(204).end();
      counted.count += 1;
      if (counted.count >= counted.expected) {
        counted.expected = Infinity;
        process.send!({ done: arrivals });
      }
    },
  });
  process.on('message', (message: { expect: number }) => {
    counted.expected = message.expect;
    counted.count = 0;
    arrivals.length = 0;
    process.send!({ ready: true });
  });
  process.send!({ port: receiver.port });
  process.once('disconnect', () => {
    void receiver.close();
  });
}

function reply<T>(child: ChildProcess, name: string): Promise<T> {
  return new Promise((resolve) => {
    const listen = (message: Record<string, T>) => {
      if (!(name in message)) return;
      child.off('message', listen);
      resolve(message[name]!);
    };
    child.on('message', listen);
  });
}

const quantile = (values: number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))]!;
const median = (values: number[]): number => quantile(values, 0.5);
const round = (value: number, digits = 0): number => Number(value.toFixed(digits));

const secret = 'whsec_benchmark';
const padding = 'a'.repeat(1_400);

type Bench = { opened: OpenApp; child: ChildProcess; base: string };

async function organisationWith({ opened }: Bench, paths: string[], base: string): Promise<number> {
  return inWork(opened.app, null, async (work) => {
    const { organisation_id: id } = await createOrganisation(work, {
      name: 'Benchmark',
      plan: 'unlimited',
      credits: 0,
      groupAutocreate: true,
    });
    for (const path of paths)
      await registerEndpoint(work, id, {
        url: `${base}${path}`,
        eventTypes: ['learner.groups.updated'],
        groupIds: null,
      });
    return id;
  });
}

/**
 * Bodies of about 1.6 kB, as long as an `assessment.completed` with six domains.
 * @returns when the last commit was sent to the database
 */
async function emit(
  { opened }: Bench,
  organisationId: number,
  count: number,
  length = padding.length,
): Promise<number> {
  let committingMs = 0;
  for (let done = 0; done < count; done += 500) {
    await inWork(opened.app, null, async (work) => {
      await lockFeed(work, organisationId);
      await emitGroupsUpdated(
        work,
        organisationId,
        Array.from({ length: Math.min(500, count - done) }, (_, i) => ({
          learner_ref: `${padding.slice(0, length)}${done + i}`,
          added: [],
          removed: [],
        })),
      );
      work.beforeCommit(async () => {
        committingMs = performance.timeOrigin + performance.now();
      });
    });
  }
  return committingMs;
}

async function expectArrivals(child: ChildProcess, count: number): Promise<{ arrivals: Promise<Told[]> }> {
  const ready = reply<boolean>(child, 'ready');
  const arrivals = reply<Told[]>(child, 'done');
  child.send({ expect: count });
  await ready;
  return { arrivals };
}

/** A bare loop's posts per second. */
async function bare(base: string, concurrency: number, count: number): Promise<number> {
  const agent = new Agent({ allowH2: false });
  const body = JSON.stringify({
    event: 'learner.groups.updated',
    learner_ref: `${padding}0`,
    added: [],
    removed: [],
    occurred_at: '2026-01-31T09:00:00.000Z',
  });
  let left = count;
  const startMs = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) {
        const t = Math.floor(systemClock.nowMs() / 1000);
        const reply = await request(`${base}/bare`, {
          dispatcher: agent,
          method: 'POST',
          body,
          headers: {
            'content-type': 'application/json',
            'x-svc-delivery-id': String(left),
            'x-svc-signature': createHmac('sha256', secret).update(body).digest('hex'),
            'x-svc-signature-256': `t=${t},v1=${createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex')}`,
          },
        });
        await reply.body.dump();
      }
    }),
  );
  const perSecond = count / ((performance.now() - startMs) / 1000);
  await agent.close();
  return perSecond;
}

async function throughput(bench: Bench) {
  const count = Number(options.deliveries);
  const figures: Record<string, number[]> = { bare8: [], bare32: [], one: [], ten: [], bareCpu: [], workerCpu: [] };
  const cpuUs = (since: NodeJS.CpuUsage): number => {
    const { user, system } = process.cpuUsage(since);
    return (user + system) / count;
  };
  await bare(bench.base, 8, 2000);
  for (let i = 0; i < Number(options.rounds); i++) {
    const before = process.cpuUsage();
    figures.bare8!.push(await bare(bench.base, 8, count));
    figures.bareCpu!.push(cpuUs(before));
    figures.bare32!.push(await bare(bench.base, 32, count));
    for (const [name, endpoints] of [
      ['one', 1],
      ['ten', 10],
    ] as const) {
      const organisation = await organisationWith(
        bench,
        Array.from({ length: endpoints }, (_, n) => `/${name}${n}`),
        bench.base,
      );
      await emit(bench, organisation, count / endpoints);
      const { arrivals } = await expectArrivals(bench.child, count);
      const start = process.cpuUsage();
      const worker = startWorker(bench.opened.app);
      const all = await arrivals;
      await worker.settled();
      figures.workerCpu!.push(cpuUs(start));
      // From the first arrival to the last, which has its outcome stored at most some milliseconds later.
      const times = all.map((told) => told.atMs);
      figures[name]!.push((count - 1) / ((Math.max(...sample(times)) - Math.min(...sample(times))) / 1000));
      await worker.stop();
    }
  }
  const ceiling = Math.max(median(figures.bare8!), median(figures.bare32!));
  return {
    bare_8_per_second: round(median(figures.bare8!)),
    bare_32_per_second: round(median(figures.bare32!)),
    one_endpoint_per_second: round(median(figures.one!)),
    ten_endpoints_per_second: round(median(figures.ten!)),
    ratio_one: round(median(figures.one!) / ceiling, 2),
    ratio_ten: round(median(figures.ten!) / ceiling, 2),
    goal: goals.ofBareLoop,
    // What other processes on the machine can't distort: processor time of this process for each delivery.
    bare_cpu_us: round(median(figures.bareCpu!)),
    worker_cpu_us: round(median(figures.workerCpu!)),
  };
}

/** First and last of a long list, so that they can be spread into Math.max. */
function sample(times: number[]): number[] {
  return [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))];
}

/** From the commit's beginning, which is before the commit itself, to the request at the receiver. */
async function idle(bench: Bench) {
  const organisation = await organisationWith(bench, ['/idle'], bench.base);
  const worker = startWorker(bench.opened.app);
  const waits: number[] = [];
  for (let i = 0; i < Number(options.idle) + 3; i++) {
    const { arrivals } = await expectArrivals(bench.child, 1);
    const committingMs = await emit(bench, organisation, 1);
    const [told] = await arrivals;
    if (i >= 3) waits.push(told!.atMs - committingMs);
    await worker.settled();
  }
  await worker.stop();
  return {
    p50_ms: round(quantile(waits, 0.5), 1),
    p99_ms: round(quantile(waits, 0.99), 1),
    goal_p50_ms: goals.p50Ms,
    goal_p99_ms: goals.p99Ms,
  };
}

async function hanging(bench: Bench) {
  const endpoints = Number(options.endpoints);
  const healthy = endpoints - 1;
  const each = Math.floor(Number(options.backlog) / endpoints);
  const figures: Record<'alone' | 'beside', { p50: number[]; p99: number[] }> = {
    alone: { p50: [], p99: [] },
    beside: { p50: [], p99: [] },
  };
  for (let i = 0; i < Number(options.rounds); i++) {
    for (const [name, hang] of [
      ['alone', 0],
      ['beside', 1],
    ] as const) {
      const organisation = await organisationWith(
        bench,
        [
          ...Array.from({ length: healthy }, (_, n) => `/${name}${n}`),
          ...Array.from({ length: hang }, (_, n) => `/hang${n}`),
        ],
        bench.base,
      );
      await emit(bench, organisation, each, 0);
      const { arrivals } = await expectArrivals(bench.child, each * healthy);
      const startMs = performance.timeOrigin + performance.now();
      const worker = startWorker(bench.opened.app);
      const waits = (await arrivals).map((told) => told.atMs - startMs);
      await worker.stop();
      figures[name].p50.push(quantile(waits, 0.5));
      figures[name].p99.push(quantile(waits, 0.99));
      await bench.opened.app.db.query("update webhook_endpoint set status = 'paused' where organisation_id = $1", [
        organisation,
      ]);
    }
  }
  const told = (name: 'alone' | 'beside') => ({
    p50_ms: round(median(figures[name].p50)),
    p99_ms: round(median(figures[name].p99)),
    all_p99_ms: figures[name].p99.map((value) => round(value)),
  });
  return {
    backlog: each * endpoints,
    endpoints,
    hanging: 1,
    alone: told('alone'),
    beside: told('beside'),
    ratio_p99: round(median(figures.beside.p99) / median(figures.alone.p99), 2),
    goal: goals.besideHanging,
  };
}

/** 500 learners and 20 endpoints: how long the one statement holds the feed's lock. */
async function fanout(bench: Bench) {
  const organisation = await organisationWith(
    bench,
    Array.from({ length: 20 }, (_, n) => `/fan${n}`),
    bench.base,
  );
  const spent: number[] = [];
  for (let i = 0; i < 7; i++) {
    await inWork(bench.opened.app, null, async (work) => {
      await lockFeed(work, organisation);
      const startMs = performance.now();
      await emitGroupsUpdated(
        work,
        organisation,
        Array.from({ length: 500 }, (_, n) => ({
          learner_ref: `learner-${i}-${n}`,
          added: [work.uuid()],
          removed: [],
        })),
      );
      spent.push(performance.now() - startMs);
    });
  }
  return {
    learners: 500,
    endpoints: 20,
    deliveries: 10_000,
    median_ms: round(median(spent)),
    per_delivery_us: round(median(spent) / 10),
  };
}

/** What the goals are for. */
function recordFigures(name: string, result: Record<string, any>): void {
  if (name === 'throughput')
    for (const [count, ratio] of [
      ['one endpoint', result.ratio_one],
      ['ten endpoints', result.ratio_ten],
    ] as const)
      figure(`deliveries over HTTPS to ${count}, of a bare loop`, 100 * ratio, '%', {
        atLeast: 100 * goals.ofBareLoop,
      });
  if (name === 'idle')
    figure('commit to first byte at the receiver, p99', result.p99_ms, 'ms', { atMost: goals.p99Ms });
  if (name === 'hanging')
    figure('p99 of healthy endpoints beside hanging ones', result.ratio_p99, 'times', { atMost: goals.besideHanging });
  if (name === 'fanout') figure('10,000 deliveries made by one change', result.median_ms, 'ms');
}

async function main(): Promise<void> {
  trustTestAuthority();
  const child = fork(fileURLToPath(import.meta.url), ['--receiver']);
  const port = await reply<number>(child, 'port');
  const base = `https://localhost:${port}`;
  const settings = readSettings({
    ARS_SECRET: 'a secret of the benchmark, longer than 32 characters',
    ARS_LOG: 'none',
    ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
    ...process.env,
  });
  const opened = await openApp(settings, { random: systemRandom });
  const bench: Bench = { opened, child, base };
  const parts = { throughput, idle, hanging, fanout };
  const result: Record<string, unknown> = {};
  try {
    for (const name of options.only.split(',') as (keyof typeof parts)[]) {
      result[name] = await parts[name](bench);
      recordFigures(name, result[name] as Record<string, any>);
      if (!options.json) console.log(name, result[name]);
    }
    if (options.json) console.log(JSON.stringify(result));
  } finally {
    child.disconnect();
    await opened.close();
  }
}

if (options.receiver) await receive();
else await main();
