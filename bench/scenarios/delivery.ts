import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { emitGroupsUpdated } from '../../src/feed/events/emit.ts';
import { lockFeed } from '../../src/feed/position.ts';
import { openApp } from '../../src/server/open-app.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import { registerEndpoint } from '../../src/integrations/webhooks/endpoints/endpoints.ts';
import { DeliveryWorker } from '../../src/integrations/webhooks/worker.ts';
import { trustTestAuthority } from '../../test/integrations/webhooks/receiver.ts';
import { makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { median, program, quantile } from '../support/process.ts';

/**
 * Webhook deliveries from commit to receiver, over HTTPS: deliveries a second; commit to request while nothing else
 * happens; healthy endpoints beside one in ten that hangs; the deliveries of a large change. A worker's batches grow over
 * its first 32,000 deliveries (docs/decisions/0007), so fewer measure its beginning.
 * Usage: node bench/scenarios/delivery.ts [deliveries] [backlog] [single deliveries] [rounds]
 */
const deliveries = Number(process.argv[2] ?? 50_000);
const backlog = Number(process.argv[3] ?? 100_000);
const singles = Number(process.argv[4] ?? 200);
const rounds = Number(process.argv[5] ?? 3);
/** Bodies get about 1.6 kB, as an `assessment.completed` with six domains has. */
const padding = 'a'.repeat(1400);

trustTestAuthority();
const receiver = fork(program('receiver.ts'));
const base = `https://localhost:${await message<number>(receiver, 'port')}`;
const { app, close } = await openApp(
  readSettings({ ...process.env, ARS_LOG: 'none', ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }),
);

type Arrival = { path: string; atMs: number };

function message<T>(child: ChildProcess, name: string): Promise<T> {
  return new Promise((resolve) => {
    const listen = (one: Record<string, T>) => {
      if (!(name in one)) return;
      child.off('message', listen);
      resolve(one[name]!);
    };
    child.on('message', listen);
  });
}

async function expectArrivals(count: number): Promise<{ arrivals: Promise<Arrival[]> }> {
  const ready = message<boolean>(receiver, 'ready');
  const arrivals = message<Arrival[]>(receiver, 'arrivals');
  receiver.send({ expect: count });
  await ready;
  return { arrivals };
}

async function organisationWith(paths: string[]): Promise<number> {
  const { organisation_id: id } = await makeOrganisation(app);
  await withUnitOfWork(app, null, async (work) => {
    for (const path of paths)
      await registerEndpoint(work, id, {
        url: `${base}${path}`,
        eventTypes: ['learner.groups.updated'],
        groupIds: null,
      });
  });
  return id;
}

const pathsOf = (name: string, count: number) => Array.from({ length: count }, (_, n) => `/${name}${n}`);
const nowMs = () => performance.timeOrigin + performance.now();

/** @returns when the last commit was sent to the database */
async function emit(organisationId: number, count: number, prefix = padding): Promise<number> {
  let committingMs = 0;
  for (let done = 0; done < count; done += 500)
    await withUnitOfWork(app, null, async (work) => {
      await lockFeed(work, organisationId);
      await emitGroupsUpdated(
        work,
        organisationId,
        Array.from({ length: Math.min(500, count - done) }, (_, i) => ({
          learner_ref: `${prefix}${done + i}`,
          added: [],
          removed: [],
        })),
      );
      work.beforeCommit(async () => {
        committingMs = nowMs();
      });
    });
  return committingMs;
}

async function throughput(endpoints: number): Promise<void> {
  const rates: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const organisation = await organisationWith(pathsOf('many', endpoints));
    await emit(organisation, deliveries / endpoints);
    const { arrivals } = await expectArrivals(deliveries);
    const worker = new DeliveryWorker(app);
    const times = (await arrivals).map(({ atMs }) => atMs);
    await worker.settled();
    await worker.stop();
    const [first, last] = [quantile(times, 0), quantile(times, 1)];
    rates.push((deliveries - 1) / ((last - first) / 1000));
  }
  const name = `to ${endpoints} endpoint${endpoints === 1 ? '' : 's'}`;
  figure(name, median(rates), 'a second', { atLeast: 2000 });
}

async function single(): Promise<void> {
  const organisation = await organisationWith(['/single']);
  const worker = new DeliveryWorker(app);
  const waits: number[] = [];
  for (let i = 0; i < singles + 3; i++) {
    const { arrivals } = await expectArrivals(1);
    const committingMs = await emit(organisation, 1);
    const [arrival] = await arrivals;
    if (i >= 3) waits.push(arrival!.atMs - committingMs);
    await worker.settled();
  }
  await worker.stop();
  figure('commit to request, p99', quantile(waits, 0.99), 'ms', { atMost: 300 });
}

async function besideHanging(): Promise<void> {
  const each = Math.floor(backlog / 10);
  const p99: Record<'alone' | 'beside', number[]> = { alone: [], beside: [] };
  for (let round = 0; round < rounds; round++)
    for (const [name, hanging] of [
      ['alone', 0],
      ['beside', 1],
    ] as const) {
      const organisation = await organisationWith([...pathsOf(name, 9), ...pathsOf('hang', hanging)]);
      await emit(organisation, each, '');
      const { arrivals } = await expectArrivals(each * 9);
      const begunMs = nowMs();
      const worker = new DeliveryWorker(app);
      const waits = (await arrivals).map(({ atMs }) => atMs - begunMs);
      await worker.stop();
      p99[name].push(quantile(waits, 0.99));
      await app.db.query("update webhook_endpoint set status = 'paused' where organisation_id = $1", [organisation]);
    }
  const ratio = median(p99.beside) / median(p99.alone);
  figure('p99 beside a hanging endpoint', ratio, 'times', { atMost: 1.5 });
}

/** How long the statement that makes deliveries for 500 learners and 20 endpoints holds the feed's lock. */
async function largeChange(): Promise<void> {
  const organisation = await organisationWith(pathsOf('fan', 20));
  const took: number[] = [];
  for (let i = 0; i < 7; i++)
    await withUnitOfWork(app, null, async (work) => {
      await lockFeed(work, organisation);
      const begunMs = performance.now();
      const moves = Array.from({ length: 500 }, (_, n) => ({
        learner_ref: `learner-${i}-${n}`,
        added: [work.uuid()],
        removed: [],
      }));
      await emitGroupsUpdated(work, organisation, moves);
      took.push(performance.now() - begunMs);
    });
  figure('10,000 deliveries of one change', median(took), 'ms');
}

try {
  await throughput(1);
  await throughput(10);
  await single();
  await besideHanging();
  await largeChange();
} finally {
  receiver.disconnect();
  await close();
}
