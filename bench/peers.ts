import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { openApp } from '../src/open-app.ts';
import { readSettings } from '../src/settings.ts';
import { filledOrganisation } from './data.ts';
import { figure } from './figures.ts';
import type { Load } from './process.ts';
import { backendsCpuUs, cpuUs, firstJson, load, median, memoryMb, startNode, stop } from './process.ts';

/**
 * Pages of results beside what a team would take instead: PostGraphile 5 and Directus 12 on a flat, typed table of the same
 * results in the same database, with an index for each of these pages. On their side nobody is asked for credentials by
 * organisation, nothing is counted, logged or kept from a key; there are no ETags. Round by round in turn: pages a second,
 * processor time of a page (Node and PostgreSQL), memory afterwards.
 * They are installed beside this file on first use, with all that they need as bench/peers/package-lock.json has it (made by npm
 * install --package-lock-only --omit-lockfile-registry-resolved). Directus has its own licence: it is measured, and part of nothing.
 * Needs DATABASE_URL (a database of its own, which can be kept for the next run) and ARS_SECRET.
 * Usage: node bench/peers.ts [--results N] [--rounds N] [--seconds N]
 */
const { values: given } = parseArgs({
  options: {
    results: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
  },
});
const [results, rounds, seconds] = [Number(given.results), Number(given.rounds), Number(given.seconds)];
const settings = { ...readSettings(process.env), log: 'none' as const };
const databaseUrl = settings.databaseUrl!;
const folder = join(import.meta.dirname, 'peers');

type Page = { kind: string; connections: number; limit: number; ask: 'first' | 'deep' | 'filtered' };

const pages: Page[] = [100, 500].flatMap((limit) =>
  [16, 1].flatMap((connections) =>
    (['first', 'deep', 'filtered'] as const).map((ask) => ({
      kind: `${ask} page of ${limit}, ${connections} connection${connections === 1 ? '' : 's'}`,
      connections,
      limit,
      ask,
    })),
  ),
);

/** Who is measured: the text of a request, and how its answer's ids are read. */
type Server = {
  name: string;
  child: ChildProcess;
  port: number;
  request(page: Page): string;
  ids(body: unknown): string[];
};

const get = (path: string, header = '') => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${header}\r\n`;

/** Where the pages in the middle begin: everything above this position, with so many results up to it. */
type Middle = { position: number; before: number };

async function filled(): Promise<{ publicId: string; middle: Middle }> {
  const { app, close } = await openApp(settings);
  const { organisation } = await filledOrganisation(app, results);
  const id = organisation.organisation_id;
  // All of a millisecond, which is what `since` tells apart.
  const [middle] = await app.db.query<Middle>(
    `select max(position) as position, count(*)::int8 as before from assessment_feed
      where organisation_id = $1 and position < (select (position / 1000 + 1) * 1000 from assessment_feed
                                                  where organisation_id = $1 order by position offset $2 limit 1)`,
    [id, Math.floor(results / 2)],
  );
  const [flat] = await app.db.query<{ table: string | null }>("select to_regclass('peers.result')::text as table");
  if (flat!.table === null) await app.db.transaction((tx) => makeFlat(tx, id));
  await close();
  const direct = new pg.Client({ connectionString: databaseUrl });
  await direct.connect();
  await direct.query('vacuum analyze');
  await direct.end();
  return { publicId: organisation.public_id, middle: middle! };
}

/** The same results as one typed table, as somebody would make it who exports them to a generated API. */
async function makeFlat(
  tx: { query(sql: string, values?: unknown[]): Promise<unknown> },
  organisationId: number,
): Promise<void> {
  await tx.query('create schema peers');
  await tx.query('create schema directus');
  await tx.query(`create table peers.result (
    assessment_id uuid primary key, position bigint not null, updated_at timestamptz not null, learner_id uuid not null,
    learner_ref text, full_name text not null, groups jsonb not null, assessed_at timestamptz not null, subject text not null,
    framework text not null, rqf_level text, rqf_level_code integer, below_level_1 boolean, working_level text,
    recommended_next_level text, is_borderline boolean not null, needs_review boolean not null, domains jsonb not null)`);
  await tx.query(
    `insert into peers.result
     select f.assessment_id, f.position, to_timestamp(f.position / 1e6), f.learner_id, l ->> 'ref', l ->> 'full_name', g.groups,
            (b ->> 'assessed_at')::timestamptz, b ->> 'subject', b ->> 'framework', b ->> 'rqf_level', (b ->> 'rqf_level_code')::int,
            (b ->> 'below_level_1')::boolean, b ->> 'working_level', b ->> 'recommended_next_level',
            (b ->> 'is_borderline')::boolean, (b ->> 'needs_review')::boolean, b -> 'domains'
       from assessment_feed f
       join assessment a on a.organisation_id = f.organisation_id and a.assessment_id = f.assessment_id
       cross join lateral (select ('{' || a.body || '}')::jsonb as b, a.learner::jsonb as l) j
       join (select s.group_set_id, coalesce(jsonb_agg(jsonb_build_object('group_id', g.group_id, 'type', g.type, 'ref', g.ref, 'name', g.name))
                    filter (where g.group_id is not null), '[]') as groups
               from group_set s
               left join group_set_group m on m.organisation_id = s.organisation_id and m.group_set_id = s.group_set_id
               left join learner_group g on g.organisation_id = m.organisation_id and g.group_id = m.group_id
              where s.organisation_id = $1 group by s.group_set_id) g on g.group_set_id = f.group_set_id
      where f.organisation_id = $1`,
    [organisationId],
  );
  await tx.query('create index on peers.result (position)');
  await tx.query('create index on peers.result (subject, position)');
}

async function service(publicId: string, { position }: Middle): Promise<Server> {
  const child = startNode(0, [join(import.meta.dirname, 'service.ts')], {
    ARS_LOG: 'errors',
    BENCH_ORGANISATION: publicId,
  });
  const made = await firstJson<{ port: number; access_key_id: string; secret_access_key: string }>(child);
  const credentials = `X-Access-Key-Id: ${made.access_key_id}\r\nX-Secret-Access-Key: ${made.secret_access_key}\r\n`;
  // `since` is inclusive and the others ask for what is above: both have the results behind the same millisecond.
  const since = new Date(Math.floor(position / 1000) + 1).toISOString();
  const query = { first: '', deep: `&since=${since}`, filtered: `&since=${since}&subject=maths` };
  return {
    name: 'service',
    child,
    port: made.port,
    request: ({ limit, ask }) => get(`/api/v1/assessments?limit=${limit}${query[ask]}`, credentials),
    ids: (body) => (body as { data: { assessment_id: string }[] }).data.map((one) => one.assessment_id),
  };
}

const columns =
  'assessmentId position updatedAt learnerId learnerRef fullName groups assessedAt subject framework rqfLevel rqfLevelCode belowLevel1 workingLevel recommendedNextLevel isBorderline needsReview domains';

async function postgraphile({ before }: Middle): Promise<Server> {
  const child = startNode(0, [join(folder, 'postgraphile.mjs')], { NODE_ENV: 'production' });
  const { port } = await firstJson<{ port: number }>(child);
  const post = (query: string, variables: Record<string, unknown>) => {
    const body = JSON.stringify({ query, variables });
    return `POST /graphql HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  };
  // Its cursor for a place in this order: what stands before the first row above the place.
  const last = await answered(
    port,
    post(
      `query { all: allResults(orderBy: POSITION_ASC, offset: ${before - 1}, first: 1) { pageInfo { endCursor } } }`,
      {},
    ),
  );
  const cursor = (last as { data: { all: { pageInfo: { endCursor: string } } } }).data.all.pageInfo.endCursor;
  // Behind a filter its cursors are the same: they name the values that are ordered by.
  const query = (args: string) =>
    `query Page($first: Int!, $after: Cursor) { all: allResults(orderBy: POSITION_ASC, first: $first, after: $after${args}) { nodes { ${columns} } pageInfo { endCursor hasNextPage } } }`;
  return {
    name: 'PostGraphile',
    child,
    port,
    request: ({ limit, ask }) =>
      post(query(ask === 'filtered' ? ', condition: { subject: "maths" }' : ''), {
        first: limit,
        after: ask === 'first' ? null : cursor,
      }),
    ids: (body) =>
      (body as { data: { all: { nodes: { assessmentId: string }[] } } }).data.all.nodes.map((one) => one.assessmentId),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

async function directus({ position }: Middle): Promise<Server> {
  const port = await freePort();
  const program = join(folder, 'node_modules/directus/cli.js');
  const environment = {
    NODE_ENV: 'production',
    NODE_OPTIONS: `--import=${new URL('peers/without-isolates.mjs', import.meta.url).href}`,
    HOST: '127.0.0.1',
    PORT: String(port),
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: databaseUrl,
    // Its own tables stand beside the results, out of PostGraphile's sight.
    DB_SEARCH_PATH: 'array:directus,peers',
    SECRET: 'a secret of the benchmarks, longer than 32 characters',
    ADMIN_EMAIL: 'bench@example.com',
    ADMIN_PASSWORD: 'a password of the benchmarks',
    ADMIN_TOKEN: 'a-token-of-the-benchmarks',
    QUERY_LIMIT_MAX: '500',
    CACHE_ENABLED: 'false',
    RATE_LIMITER_ENABLED: 'false',
    PRESSURE_LIMITER_ENABLED: 'false',
    TELEMETRY: 'false',
    LOG_LEVEL: 'error',
  };
  const made = spawnSync(process.execPath, [program, 'bootstrap'], { env: { ...process.env, ...environment } });
  if (made.status !== 0) throw new Error(`Directus could not be set up: ${made.stderr.toString('utf8')}`);
  const child = startNode(0, [program, 'start'], environment);
  child.stdout!.resume();
  for (let tries = 0; ; tries++) {
    const isUp = await fetch(`http://127.0.0.1:${port}/server/ping`).then(
      (reply) => reply.ok,
      () => false,
    );
    if (isUp) break;
    if (tries > 240) throw new Error('Directus does not answer');
    await wait(500);
  }
  const above = `&filter%5Bposition%5D%5B_gt%5D=${position}`;
  const query = { first: '', deep: above, filtered: `${above}&filter%5Bsubject%5D%5B_eq%5D=maths` };
  return {
    name: 'Directus',
    child,
    port,
    request: ({ limit, ask }) =>
      get(
        `/items/result?sort=position&limit=${limit}${query[ask]}`,
        'Authorization: Bearer a-token-of-the-benchmarks\r\n',
      ),
    ids: (body) => (body as { data: { assessment_id: string }[] }).data.map((one) => one.assessment_id),
  };
}

async function answered(port: number, request: string): Promise<unknown> {
  const [head, body = ''] = request.split('\r\n\r\n', 2) as [string, string?];
  const [first, ...lines] = head.split('\r\n');
  const [method, path] = first!.split(' ');
  const headers = Object.fromEntries(
    lines
      .map((line) => line.split(': ', 2) as [string, string])
      .filter(([name]) => !/^(host|content-length)$/i.test(name)),
  );
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(body === '' ? {} : { body }) });
  if (!reply.ok) throw new Error(`${path} was answered by ${reply.status}: ${(await reply.text()).slice(0, 300)}`);
  return reply.json();
}

if (!existsSync(join(folder, 'node_modules/directus')) || !existsSync(join(folder, 'node_modules/postgraphile'))) {
  process.stderr.write('PostGraphile and Directus are installed: some minutes.\n');
  // Without their scripts: the only one that matters compiles the engine that is left out.
  const npm = spawn('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(npm, 'exit');
  if (code !== 0) throw new Error('they could not be installed');
}
const { publicId, middle } = await filled();
const db = new pg.Client({ connectionString: databaseUrl });
await db.connect();
const cpu = { query: async (sql: string) => (await db.query(sql)).rows };
const servers: Server[] = [];
type Measured = Load & { node: number; postgres: number };
const by = new Map<string, Map<Server, Measured[]>>(pages.map(({ kind }) => [kind, new Map()]));
try {
  servers.push(await service(publicId, middle), await postgraphile(middle), await directus(middle));
  // The same results in the same order from all of them, or the figures say nothing.
  for (const page of pages) {
    const [ours, ...theirs] = await Promise.all(
      servers.map(async ({ port, request, ids }) => ids(await answered(port, request(page))).join()),
    );
    for (const [i, ids] of theirs.entries())
      if (ids !== ours || ids === '') throw new Error(`${servers[i + 1]!.name} gives another ${page.kind}`);
  }
  for (const page of pages) {
    for (let round = 0; round < rounds; round++)
      for (const server of round % 2 === 0 ? servers : servers.toReversed()) {
        const [node, postgres] = [cpuUs(server.child), await backendsCpuUs(cpu as never)];
        const result = await load(server.port, page.connections, seconds, server.request(page));
        if (Object.keys(result.statuses).join() !== '200')
          throw new Error(`${server.name} answered ${JSON.stringify(result.statuses)}`);
        const count = result.per_second * (seconds + 1);
        const all = by.get(page.kind)!;
        all.set(server, [
          ...(all.get(server) ?? []),
          {
            ...result,
            node: (cpuUs(server.child) - node) / count,
            postgres: ((await backendsCpuUs(cpu as never)) - postgres) / count,
          },
        ]);
      }
    const all = [...by.get(page.kind)!];
    const of = (runs: Measured[], read: (one: Measured) => number) => median(runs.map(read));
    console.log(page.kind);
    for (const [{ name }, runs] of all) {
      const times = median(all[0]![1].map((one, round) => one.per_second / runs[round]!.per_second));
      console.log(
        `  ${name.padEnd(13)} ${of(runs, (one) => one.per_second)
          .toFixed(0)
          .padStart(
            6,
          )} a second  p99 ${of(runs, (one) => one.p99_ms).toFixed(1)} ms  processor time Node ${of(runs, (one) => one.node).toFixed(0)} µs, PostgreSQL ${of(runs, (one) => one.postgres).toFixed(0)} µs${name === 'service' ? '' : `  the service is ${times.toFixed(1)} times as fast`}`,
      );
      if (name !== 'service')
        figure(`${page.kind}, against ${name}`, times, 'times', {
          atLeast: page.connections === 1 ? 2.5 : page.limit === 100 ? 5 : 3,
        });
    }
  }
  for (const { name, child } of servers) {
    const mb = memoryMb(child);
    console.log(`${name}: ${mb} MB afterwards`);
    figure(`memory after pages, ${name}`, mb, 'MB');
  }
} finally {
  await Promise.all([...servers.map(({ child }) => stop(child)), db.end()]);
}
