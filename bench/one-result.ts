import type { ChildProcess } from 'node:child_process';
import pg from 'pg';
import { inWork } from '../src/db/work.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { fillNumbered } from './data.ts';
import { figure } from './figures.ts';
import { backendsCpuUs, cpuUs, firstJson, load, median, startNode, stop } from './process.ts';

/**
 * A single result by its id, many in turn, beside a bare node:http server that makes one prepared lookup through a pool.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/one-result.ts [rounds] [seconds] [results]
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const results = Number(process.argv[4] ?? 20_000);
const settings = { ...readSettings(process.env), log: 'none' as const };
const here = (name: string) => new URL(name, import.meta.url).pathname;
const idOf = (n: number | string) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const opened = await openApp(settings);
const organisation = await inWork(opened.app, null, (work) =>
  createOrganisation(work, { name: 'Benchmark', plan: 'unlimited', credits: 0, groupAutocreate: true }),
);
await fillNumbered(opened.app, organisation, results, idOf);
await opened.app.db.query('vacuum analyze');
await opened.close();

const bare = startNode(0, [here('bare-lookup.ts'), String(organisation.organisation_id)]);
const { port: barePort } = await firstJson<{ port: number }>(bare);
const service = startNode(0, [here('service.ts')], { ARS_LOG: 'errors', BENCH_ORGANISATION: organisation.public_id });
const { port, access_key_id, secret_access_key } = await firstJson<{
  port: number;
  access_key_id: string;
  secret_access_key: string;
}>(service);
const credentials = `X-Access-Key-Id: ${access_key_id}\r\nX-Secret-Access-Key: ${secret_access_key}\r\n`;
const end = ` HTTP/1.1\r\nHost: 127.0.0.1\r\n${credentials}\r\n`;
const db = new pg.Client({ connectionString: settings.databaseUrl! });
await db.connect();
const tx = { query: async (sql: unknown) => (await db.query(sql as string)).rows };

/** The load, and the processor time of a request; the second of warming up counts as one more of the others. */
async function measured(child: ChildProcess, ...given: Parameters<typeof load>) {
  const [node, postgres] = [cpuUs(child), await backendsCpuUs(tx as never)];
  const result = await load(...given);
  if (Object.keys(result.statuses).join() !== '200') throw new Error(`saw ${JSON.stringify(result.statuses)}`);
  const count = result.per_second * (seconds + 1);
  return {
    ...result,
    node: (cpuUs(child) - node) / count,
    postgres: ((await backendsCpuUs(tx as never)) - postgres) / count,
  };
}

type Measured = Awaited<ReturnType<typeof measured>>;

try {
  for (const connections of [64, 1]) {
    const [ceilings, ours]: [Measured[], Measured[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      ceilings.push(
        await measured(bare, barePort, connections, seconds, `GET /${idOf('############')}${end}`, results),
      );
      const path = `/api/v1/assessments/${idOf('############')}`;
      ours.push(await measured(service, port, connections, seconds, `GET ${path}${end}`, results));
    }
    const of = (all: Measured[], read: (one: Measured) => number) => median(all.map(read)).toFixed(0);
    const told = (all: Measured[]) =>
      `${of(all, (one) => one.per_second)}/s (CPU of Node ${of(all, (one) => one.node)} µs, of PostgreSQL ${of(all, (one) => one.postgres)} µs)`;
    const ratio = median(ours.map((one, i) => one.per_second / ceilings[i]!.per_second));
    console.log(
      `${connections} connections  lookup ${told(ceilings)}  service ${told(ours)}  median ratio ${(100 * ratio).toFixed(0)} % (goal 50 %)`,
    );
    figure(`one result, ${connections} connection${connections === 1 ? '' : 's'}, of a bare lookup`, 100 * ratio, '%', {
      atLeast: 50,
    });
  }
} finally {
  await Promise.all([stop(bare), stop(service), db.end()]);
}
