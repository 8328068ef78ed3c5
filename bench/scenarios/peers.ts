import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { Tx } from '../../src/platform/db/database.ts';
import { fillOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import type { Server } from '../support/process.ts';
import {
  firstJson,
  getRequest,
  load,
  median,
  memoryMb,
  openBench,
  startBenchService,
  startNode,
  stop,
} from '../support/process.ts';

/**
 * Pages of results beside PostGraphile 5 and Directus 12 on a flat, typed table of the same results in the same database,
 * with an index for each of these pages. They check no key, count no requests and write no log. They are installed into
 * bench/peers on first use (its lock file was made by npm install --package-lock-only
 * --omit-lockfile-registry-resolved). Directus has its own licence: it is measured, and part of nothing.
 * Usage: node bench/scenarios/peers.ts [results] [rounds] [seconds]
 */
const results = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const seconds = Number(process.argv[4] ?? 3);
const connections = 16;
const databaseUrl = process.env.DATABASE_URL!;
const folder = join(import.meta.dirname, '../peers');

type Page = { limit: number; ask: 'first' | 'deep' | 'filtered' };

/** A service that is measured: the bytes of a request, and the IDs in its response. */
type Peer = Server & {
  name: string;
  request(page: Page): string;
  ids(body: unknown): string[];
};

/** Deep pages begin above this position, with so many results up to it. */
type Middle = { position: number; before: number };

const { app, close } = await openBench();

async function filled(): Promise<{ publicId: string; middle: Middle }> {
  const { organisation_id: id, public_id } = await fillOrganisation(app, results);
  // All of a millisecond, which is what `since` tells apart.
  const [middle] = await app.db.query<Middle>(
    `select max(position) as position, count(*)::int8 as before from assessment_feed
      where organisation_id = $1 and position < (select (position / 1000 + 1) * 1000 from assessment_feed
                                                  where organisation_id = $1 order by position offset $2 limit 1)`,
    [id, Math.floor(results / 2)],
  );
  await app.db.transaction((tx) => makeFlat(tx, id));
  await app.db.query('vacuum analyze');
  return { publicId: public_id, middle: middle! };
}

/** The same results as one typed table, as a team would export them to a generated API. */
async function makeFlat(tx: Tx, organisationId: number): Promise<void> {
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

async function service(publicId: string, { position }: Middle): Promise<Peer> {
  const { child, port, get } = await startBenchService(publicId);
  // `since` is inclusive and the others ask for what is above: both have the results behind the same millisecond.
  const since = new Date(Math.floor(position / 1000) + 1).toISOString();
  const query = { first: '', deep: `&since=${since}`, filtered: `&since=${since}&subject=maths` };
  return {
    name: 'service',
    child,
    port,
    request: ({ limit, ask }) => get(`/api/v1/assessments?limit=${limit}${query[ask]}`),
    ids: (body) => (body as { data: { assessment_id: string }[] }).data.map((one) => one.assessment_id),
  };
}

const columns =
  'assessmentId position updatedAt learnerId learnerRef fullName groups assessedAt subject framework rqfLevel rqfLevelCode belowLevel1 workingLevel recommendedNextLevel isBorderline needsReview domains';

async function postgraphile({ before }: Middle): Promise<Peer> {
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

async function directus({ position }: Middle): Promise<Peer> {
  const port = await freePort();
  const program = join(folder, 'node_modules/directus/cli.js');
  const environment = {
    NODE_ENV: 'production',
    NODE_OPTIONS: `--import=${pathToFileURL(join(folder, 'without-isolates.mjs')).href}`,
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
      getRequest(`/items/result?sort=position&limit=${limit}${query[ask]}`, {
        Authorization: 'Bearer a-token-of-the-benchmarks',
      }),
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
const peers: Peer[] = [];
try {
  peers.push(await service(publicId, middle), await postgraphile(middle), await directus(middle));
  for (const limit of [100, 500]) {
    // By peer: how many times as fast the service is, for each of the three pages. The least counts.
    const ratios = new Map<string, number[]>();
    for (const ask of ['first', 'deep', 'filtered'] as const) {
      const page: Page = { limit, ask };
      const [ours, ...theirs] = await Promise.all(
        peers.map(async ({ port, request, ids }) => ids(await answered(port, request(page))).join()),
      );
      for (const [i, ids] of theirs.entries())
        if (ids !== ours || ids === '')
          throw new Error(`${peers[i + 1]!.name} returns other results (${ask}, ${limit}).`);
      const rates = new Map<Peer, number[]>(peers.map((peer) => [peer, []]));
      for (let round = 0; round < rounds; round++)
        for (const peer of round % 2 === 0 ? peers : peers.toReversed())
          rates.get(peer)!.push((await load(peer, { connections, seconds, request: peer.request(page) })).per_second);
      const [mine, ...others] = [...rates];
      console.log(
        `${ask} page of ${limit}: ${[...rates].map(([{ name }, all]) => `${name} ${median(all)}/s`).join(', ')}`,
      );
      for (const [{ name }, all] of others) {
        const ratio = median(mine![1].map((rate, round) => rate / all[round]!));
        ratios.set(name, [...(ratios.get(name) ?? []), ratio]);
      }
    }
    for (const [name, all] of ratios)
      figure(`pages of ${limit}, by ${name}`, Math.min(...all), 'times', limit === 500 ? { atLeast: 3 } : undefined);
  }
  for (const { name, child } of peers) console.log(`${name}: ${memoryMb(child)} MB`);
} finally {
  await Promise.all(peers.map(({ child }) => stop(child)));
  await close();
}
