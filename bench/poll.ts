import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { figure } from './figures.ts';
import { backendsCpuUs, cpuUs, load, firstJson, median, startNode, stop } from './process.ts';

/**
 * A conditional poll that ends in 304, with authentication, rate limit and blocking audit, beside a bare node:http
 * server that answers 304 to everything. Both in turn, in one run, on the same cores.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/poll.ts [rounds] [seconds] [checkout]
 * With another checkout of this project, such as of the commit before a change, its service is measured in the same turns,
 * on the database that OTHER_DATABASE_URL names: rates, and processor time of a poll. With `without-detail` instead, the
 * other is this very service, whose rows of the log don't keep what a call asked for and got: the goal is 97 % of its rate.
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const here = (name: string) => new URL(name, import.meta.url).pathname;

const bare = startNode(0, [here('bare-http.ts')]);
const { port: barePort } = await firstJson<{ port: number }>(bare);
const other = process.argv[4];

type Service = { name: string; child: ChildProcess; port: number; request: string; db: pg.Client };

async function started(name: string, folder: string, url: string, more: Record<string, string> = {}): Promise<Service> {
  const child = startNode(0, [join(folder, 'service.ts')], {
    DATABASE_URL: url,
    ARS_LOG: process.env.ARS_LOG ?? 'errors',
    ...more,
  });
  const { port, access_key_id, secret_access_key } = await firstJson<{
    port: number;
    access_key_id: string;
    secret_access_key: string;
  }>(child);
  const credentials = `X-Access-Key-Id: ${access_key_id}\r\nX-Secret-Access-Key: ${secret_access_key}\r\n`;
  const path = '/api/v1/assessments?since=2026-01-01T00:00:00Z&limit=500';
  const first = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { 'x-access-key-id': access_key_id, 'x-secret-access-key': secret_access_key },
  });
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${credentials}If-None-Match: ${first.headers.get('etag')}\r\n\r\n`;
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  return { name, child, port, request, db };
}

const services = [await started('service', import.meta.dirname, process.env.DATABASE_URL!)];
if (other === 'without-detail') {
  const hooks = { NODE_OPTIONS: `--import=${new URL('without-detail.ts', import.meta.url).href}` };
  services.push(await started('without', import.meta.dirname, process.env.OTHER_DATABASE_URL!, hooks));
} else if (other !== undefined)
  services.push(await started('other', join(other, 'bench'), process.env.OTHER_DATABASE_URL!));

type Polls = Awaited<ReturnType<typeof load>> & { node: number; postgres: number };

/** The second of warming up counts as one more of the others. */
async function polled({ child, port, request, db }: Service, connections: number): Promise<Polls> {
  const tx = { query: async (sql: unknown) => (await db.query(sql as string)).rows };
  const [node, postgres] = [cpuUs(child), await backendsCpuUs(tx as never)];
  const polls = await load(port, connections, seconds, request);
  if (Object.keys(polls.statuses).join() !== '304')
    throw new Error(`expected only 304, saw ${JSON.stringify(polls.statuses)}`);
  const count = polls.per_second * (seconds + 1);
  return {
    ...polls,
    node: (cpuUs(child) - node) / count,
    postgres: ((await backendsCpuUs(tx as never)) - postgres) / count,
  };
}

try {
  for (const connections of [64, 1]) {
    const ratios: number[] = [];
    const by = new Map<string, Polls[]>(services.map(({ name }) => [name, []]));
    for (let round = 0; round < rounds; round++) {
      const ceiling = await load(barePort, connections, seconds, services[0]!.request);
      for (const one of round % 2 === 0 ? services : services.toReversed()) {
        const ours = await polled(one, connections);
        by.get(one.name)!.push(ours);
        const ratio = ours.per_second / ceiling.per_second;
        if (one === services[0]) ratios.push(ratio);
        console.log(
          `${String(connections).padStart(2)} connections  bare ${ceiling.per_second}/s  ${one.name} ${ours.per_second}/s (p50 ${ours.p50_ms} ms, p99 ${ours.p99_ms} ms)  ratio ${(100 * ratio).toFixed(1)} %`,
        );
      }
    }
    console.log(`${String(connections).padStart(2)} connections  median ratio ${(100 * median(ratios)).toFixed(1)} %`);
    const kind = `304 with ${connections} connection${connections === 1 ? '' : 's'}`;
    if (connections > 1) figure(`${kind}, of bare node:http`, 100 * median(ratios), '%', { atLeast: 40 });
    else figure(`${kind}, p50`, median(by.get('service')!.map((one) => one.p50_ms)), 'ms', { atMost: 1 });
    const [ours, theirs] = [...by.values()];
    if (theirs !== undefined) {
      const share = median(ours!.map((one, round) => one.per_second / theirs[round]!.per_second));
      console.log(`   of the other's rate, round by round: median ${(100 * share).toFixed(1)} %`);
      figure(`${kind}, of the rate of ${[...by.keys()][1]}`, 100 * share, '%', {
        atLeast: 97,
      });
    }
    for (const [name, all] of by) {
      const of = (read: (one: Polls) => number) => median(all.map(read)).toFixed(1);
      console.log(
        `   ${name}: medians ${of((one) => one.per_second)}/s, CPU of Node ${of((one) => one.node)} µs, of PostgreSQL ${of((one) => one.postgres)} µs`,
      );
      if (connections > 1) {
        figure(`${kind}, ${name}, processor time of Node`, median(all.map((one) => one.node)), 'µs', { atMost: 23 });
        figure(`${kind}, ${name}, of PostgreSQL`, median(all.map((one) => one.postgres)), 'µs', { atMost: 14 });
      }
    }
  }
} finally {
  await Promise.all([stop(bare), ...services.map(({ child, db }) => Promise.all([stop(child), db.end()]))]);
}
