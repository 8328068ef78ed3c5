import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { Agent, request } from 'undici';
import { inWork } from '../src/db/work.ts';
import { importRecords } from '../src/imports/import.ts';
import { readyRecord } from '../src/imports/record.ts';
import { createKey } from '../src/keys/keys.ts';
import { openApp } from '../src/open-app.ts';
import type { Organisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import type { Note } from './data.ts';
import { benchRecord, filledBy } from './data.ts';
import { figure } from './figures.ts';
import { backendsCpuUs, cpuUs, firstJson, startNode, stop } from './process.ts';

/**
 * A thousand organisations of skewed size (the n-th has the n-th part of the largest one's results), each of which polls once
 * a minute with the ETag that it was given: processor time of the service and of PostgreSQL, as a share of one core. Beside
 * it, the same minutes without a poll.
 * Needs DATABASE_URL (a database of its own, which can be kept for the next run) and ARS_SECRET.
 * Usage: node bench/organisations.ts [--organisations N] [--largest N] [--minutes N]
 */
const { values: given } = parseArgs({
  options: {
    organisations: { type: 'string', default: '1000' },
    largest: { type: 'string', default: '50000' },
    minutes: { type: 'string', default: '2' },
  },
});
const [count, largest, minutes] = [Number(given.organisations), Number(given.largest), Number(given.minutes)];
const minuteMs = 60_000;

const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });

async function fill(made: Organisation, size: number, begin: number, note: Note): Promise<void> {
  for (let from = begin; from < size; from += 2000) {
    const end = Math.min(size, from + 2000);
    const records = Array.from({ length: end - from }, (_, i) =>
      readyRecord({ ...benchRecord(from + i, size), groups: [] }, made.public_id, app.clock.nowMs()),
    );
    await inWork(app, null, async (work) => {
      await importRecords(work, made.organisation_id, records, { events: false, actor: 'bench' });
      await note(work.tx, end);
    });
  }
}

const keys: { access_key_id: string; secret_access_key: string }[] = [];
let total = 0;
for (let n = 1; n <= count; n++) {
  const name = `Organisation ${n}`;
  const size = Math.max(10, Math.floor(largest / n));
  total += size;
  const { organisation } = await filledBy(app, name, size, (made, from, note) => fill(made, size, from, note));
  const id = organisation.organisation_id;
  keys.push(await inWork(app, null, (work) => createKey(work, id, { label: null, kind: 'test' })));
  if (process.stderr.isTTY) process.stderr.write(`\r${n} of ${count} organisations`);
}
await app.db.query('vacuum analyze');
await close();
if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');

const service = startNode(0, [new URL('service.ts', import.meta.url).pathname], { ARS_LOG: 'errors' });
const agent = new Agent({ connections: 32, keepAliveTimeout: 120_000 });
const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
try {
  const { port } = await firstJson<{ port: number }>(service);
  await db.connect();
  const tx = { query: async (sql: string) => (await db.query(sql)).rows };
  const etags: string[] = [];
  const path = '/api/v1/assessments?since=2030-01-01T00:00:00.000Z&limit=500';
  const poll = async (n: number): Promise<void> => {
    const { access_key_id, secret_access_key } = keys[n]!;
    const headers = { 'x-access-key-id': access_key_id, 'x-secret-access-key': secret_access_key };
    const etag = etags[n];
    const reply = await request(`http://127.0.0.1:${port}${path}`, {
      dispatcher: agent,
      headers: etag === undefined ? headers : { ...headers, 'if-none-match': etag },
    });
    await reply.body.dump();
    if (reply.statusCode !== (etag === undefined ? 200 : 304))
      throw new Error(`it was answered by ${reply.statusCode}`);
    etags[n] = String(reply.headers.etag);
  };
  // Its first page, and its first 304: what is measured are those that follow, minute after minute.
  for (let round = 0; round < 2; round++) for (let n = 0; n < count; n++) await poll(n);

  /** @returns processor time of Node and of PostgreSQL, as shares of one core */
  async function spent(during: () => Promise<void>): Promise<{ node: number; postgres: number }> {
    const [node, postgres, startMs] = [cpuUs(service), await backendsCpuUs(tx as never), performance.now()];
    // Connections of the pool come and go.
    const look = setInterval(() => void backendsCpuUs(tx as never), 2000);
    await during();
    clearInterval(look);
    const us = (performance.now() - startMs) * 1000;
    return { node: (cpuUs(service) - node) / us, postgres: ((await backendsCpuUs(tx as never)) - postgres) / us };
  }
  const idle = await spent(() => wait(minutes * minuteMs));
  const polled = await spent(async () => {
    const startMs = performance.now();
    const due = Array.from({ length: count * minutes }, (_, i) =>
      wait(Math.max(0, startMs + (i * minuteMs) / count - performance.now())).then(() => poll(i % count)),
    );
    await Promise.all(due);
  });
  const percent = ({ node, postgres }: { node: number; postgres: number }) =>
    `Node ${(100 * node).toFixed(1)} %, PostgreSQL ${(100 * postgres).toFixed(1)} % of a core`;
  console.log(`${count} organisations, ${total.toLocaleString('en-GB')} results`);
  console.log(`polling once a minute each: ${percent(polled)}`);
  console.log(`nobody polls:               ${percent(idle)}`);
  figure(
    `${count.toLocaleString('en-GB')} organisations polling each minute`,
    100 * (polled.node + polled.postgres),
    '% of a core',
    {
      atMost: 5,
    },
  );
} finally {
  await Promise.all([stop(service), db.end(), agent.close()]);
}
