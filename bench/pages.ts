import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { feedLane, inWork } from '../src/db/work.ts';
import { moveMembers } from '../src/groups/members.ts';
import { createKey } from '../src/keys/keys.ts';
import { openApp } from '../src/open-app.ts';
import { readSettings } from '../src/settings.ts';
import { filledOrganisation } from './data.ts';
import { bareDriver } from './driver.ts';
import { figure } from './figures.ts';
import { backendsCpuUs, cpuUs, firstJson, load, median, memoryMb, startNode, stop } from './process.ts';
import { isSpent, spend } from './spent.ts';

/**
 * Pages of a large organisation: how fast it was filled; what a page of 500 costs beside a bare driver that fetches the same
 * rows and concatenates them; how much dearer each kind of page is than in an organisation of 100,000 results (10,000, if that
 * is the large one's size): warm, after a tenth of the learners and a thousand times ten more were moved between groups, and
 * after restarts of PostgreSQL with empty caches, where BENCH_RESTART is a shell command that does that.
 * Needs DATABASE_URL (a database of its own on this machine, which can be kept for the next run until learners are moved) and
 * ARS_SECRET.
 * Usage: node bench/pages.ts [large] [rounds]
 */
const large = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const base = large > 100_000 ? 100_000 : 10_000;
/** Its pages let PostgreSQL read what all organisations' pages need, before a page after a restart is timed. */
const tiny = 1000;
const settings = { ...readSettings(process.env), log: 'none' as const };
const say = (text: string) => console.log(text);

type Organisation = {
  size: number;
  id: number;
  credentials: string;
  /** Times from which its middle, and its last 600 results, follow. */
  middle: string;
  recent: string;
  /** Ids of groups in the order of their references. */
  cohorts: string[];
  campuses: string[];
};

const opened = await openApp(settings);
const { app } = opened;
if (await isSpent(app.db))
  throw new Error('learners were moved in this database before: warm pages need one made anew');

/** An organisation with so many results: one of an earlier run, or filled now. */
async function organisationOf(size: number): Promise<Organisation> {
  const { organisation, seconds, commit } = await filledOrganisation(app, size);
  const { organisation_id: id } = organisation;
  // What an interrupted run filled may be of an older commit than the rest, or begun at one and ended at another.
  const by = commit === null ? 'an unknown commit or several' : `commit ${commit.slice(0, 7)}`;
  const when = commit === (process.env.BENCH_COMMIT ?? null) ? '' : `, at ${by}`;
  say(
    `${size.toLocaleString('en-GB')} results with groups were filled, ${(size / seconds).toFixed(0)} a second${when}`,
  );
  if (size === large) figure(`results with groups filled${when}`, size / seconds, 'a second', { atLeast: 20_000 });
  const at = async (offset: number) => {
    const [row] = await app.db.query<{ position: number }>(
      'select position from assessment_feed where organisation_id = $1 order by position offset $2 limit 1',
      [id, offset],
    );
    return new Date(row!.position / 1000).toISOString();
  };
  const groups = async (type: string) =>
    (
      await app.db.query<{ group_id: string }>(
        'select group_id from learner_group where organisation_id = $1 and type = $2 order by ref',
        [id, type],
      )
    ).map((row) => row.group_id);
  const key = await inWork(app, null, (work) => createKey(work, id, { label: null, kind: 'test' }));
  return {
    size,
    id,
    credentials: `X-Access-Key-Id: ${key.access_key_id}\r\nX-Secret-Access-Key: ${key.secret_access_key}\r\n`,
    middle: await at(Math.floor(size / 2)),
    recent: await at(size - 600),
    cohorts: await groups('cohort'),
    campuses: await groups('campus'),
  };
}

/** Every kind of page, by the query that asks for it. */
const kinds: Record<string, (of: Organisation) => string> = {
  'first page': () => 'limit=100',
  'page of 500': () => 'limit=500',
  'recent page': ({ recent }) => `limit=100&since=${recent}`,
  'deep page': ({ middle }) => `limit=100&since=${middle}`,
  facets: () => 'limit=100&subject=maths&rqf_level_code=2,3',
  'facets, deep': ({ middle }) => `limit=100&subject=digital&below_level_1=true&since=${middle}`,
  'seven days': () => 'limit=100&assessed_from=2024-06-03T00:00:00Z&assessed_to=2024-06-09T23:59:59Z',
  '30 days': () => 'limit=100&assessed_from=2024-06-01T00:00:00Z&assessed_to=2024-06-30T23:59:59Z',
  'one cohort': ({ cohorts }) => `limit=100&group_id=${cohorts[0]}`,
  'one cohort, deep': ({ cohorts, middle }) => `limit=100&group_id=${cohorts[0]}&since=${middle}`,
  'four campuses': ({ campuses }) => `limit=100&group_id=${campuses.slice(0, 4).join(',')}`,
  'twenty cohorts': ({ cohorts }) => `limit=100&group_id=${cohorts.slice(20).join(',')}`,
  'twenty cohorts, deep': ({ cohorts, middle }) => `limit=100&group_id=${cohorts.slice(20).join(',')}&since=${middle}`,
  'by assessed_at': () => 'limit=100&sort=-assessed_at',
};

const organisations = {
  tiny: await organisationOf(tiny),
  base: await organisationOf(base),
  large: await organisationOf(large),
};
const child = startNode(0, [new URL('service.ts', import.meta.url).pathname], { ARS_LOG: 'errors' });
const { port } = await firstJson<{ port: number }>(child);

async function pages({ credentials }: Organisation, query: string, connections: number, seconds: number) {
  const result = await load(
    port,
    connections,
    seconds,
    `GET /api/v1/assessments?${query} HTTP/1.1\r\nHost: 127.0.0.1\r\n${credentials}\r\n`,
  );
  if (Object.keys(result.statuses).join() !== '200')
    throw new Error(`expected only 200 for ${query}, saw ${JSON.stringify(result.statuses)}`);
  return result;
}

async function besideTheDriver(): Promise<void> {
  for (const [connections, goal] of [
    [16, 90],
    [4, 75],
  ] as const) {
    const [ratios, node, postgres]: number[][] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      const ceiling = await bareDriver(settings.databaseUrl!, organisations.large.id, 4);
      const before = [cpuUs(child), await backendsCpuUs(app.db)] as const;
      const ours = await pages(organisations.large, 'limit=500', connections, 4);
      // The load's first second warms up and isn't counted in its rate.
      node!.push((cpuUs(child) - before[0]) / (ours.per_second * 5));
      postgres!.push(((await backendsCpuUs(app.db)) - before[1]) / (ours.per_second * 5));
      ratios!.push(ours.per_second / ceiling);
      say(
        `page of 500, ${connections} connections  driver ${ceiling.toFixed(0)}/s  service ${ours.per_second}/s (${ours.mb_per_second} MB/s)  ratio ${(100 * ratios!.at(-1)!).toFixed(0)} %`,
      );
    }
    const name = `page of 500, ${connections} connections`;
    say(
      `${name}  median ratio ${(100 * median(ratios!)).toFixed(0)} % (goal ${goal} %), processor time Node ${median(node!).toFixed(0)} µs, PostgreSQL ${median(postgres!).toFixed(0)} µs\n`,
    );
    figure(`${name}, of the driver`, 100 * median(ratios!), '%', { atLeast: goal });
    figure(`${name}, processor time of Node`, median(node!), 'µs');
    figure(`${name}, of PostgreSQL`, median(postgres!), 'µs');
  }
}

/** What each kind of page costs in the large organisation, as a multiple of what it costs in the other. */
async function compare(
  when: string,
  goal: number,
  time: (of: Organisation, query: string) => Promise<number>,
  before?: (query: string) => Promise<void>,
) {
  say(`${when}: median p50 at ${base.toLocaleString('en-GB')} and at ${large.toLocaleString('en-GB')} results`);
  for (const [kind, query] of Object.entries(kinds)) {
    const [ratios, smalls, larges]: number[][] = [[], [], []];
    for (let round = 0; round < rounds; round++) {
      await before?.(query(organisations.tiny));
      const order =
        round % 2 === 0 ? [organisations.base, organisations.large] : [organisations.large, organisations.base];
      const took = new Map<Organisation, number>();
      for (const one of order) took.set(one, await time(one, query(one)));
      smalls!.push(took.get(organisations.base)!);
      larges!.push(took.get(organisations.large)!);
      ratios!.push(larges!.at(-1)! / smalls!.at(-1)!);
    }
    say(
      `  ${kind.padEnd(22)} ${median(smalls!).toFixed(2).padStart(8)} ms → ${median(larges!).toFixed(2).padStart(8)} ms  ratio ${median(ratios!).toFixed(2)} (goal ${goal})`,
    );
    figure(`${kind}, ${when}`, median(ratios!), 'times', { atMost: goal });
  }
  say('');
}

/** A tenth of the learners changes its cohort, 500 at a time, and then a thousand times ten learners of the others do. */
async function moveMany({ id, cohorts }: Organisation): Promise<void> {
  const membersOf = async (group: string) =>
    (
      await app.db.query<{ learner_id: string }>(
        'select m.learner_id from membership m where m.organisation_id = $1 and m.group_id = $2',
        [id, group],
      )
    ).map((row) => row.learner_id);
  const begun = performance.now();
  const move = (whom: string[], leaves: string, joins: string) =>
    inWork(app, feedLane(id), (work) => moveMembers(work, id, whom, { joins, leaves }));
  let moved = 0;
  for (const leaves of cohorts.slice(-4)) {
    const members = await membersOf(leaves);
    for (let from = 0; from < members.length; from += 500) {
      await move(members.slice(from, from + 500), leaves, cohorts[0]!);
      moved += Math.min(500, members.length - from);
      if (process.stderr.isTTY) process.stderr.write(`\r${moved} learners moved\u001b[K`);
    }
  }
  const others = await membersOf(cohorts[1]!);
  for (let n = 0; n < 1000; n++) {
    const from = (n % Math.max(1, Math.floor(others.length / 10))) * 10;
    const away = Math.floor(n / Math.max(1, Math.floor(others.length / 10))) % 2 === 0;
    const [leaves, joins] = away ? [cohorts[1]!, cohorts[21]!] : [cohorts[21]!, cohorts[1]!];
    await move(others.slice(from, from + 10), leaves, joins);
  }
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  say(`${moved} learners, and 1,000 times ten, were moved in ${((performance.now() - begun) / 1000).toFixed(0)} s\n`);
}

const warm = async (of: Organisation, query: string) => (await pages(of, query, 1, 1.5)).p50_ms;

/** One page, in ms; null: it isn't answered with 200 (PostgreSQL is about to start, say). */
async function once200({ credentials }: Organisation, query: string): Promise<number | null> {
  const headers = Object.fromEntries(
    credentials
      .trim()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string]),
  );
  const begun = performance.now();
  const reply = await fetch(`http://127.0.0.1:${port}/api/v1/assessments?${query}`, { headers });
  await reply.arrayBuffer();
  return reply.status === 200 ? performance.now() - begun : null;
}

async function restarted(query: string): Promise<void> {
  // In a group of its own: whoever ends this benchmark meanwhile doesn't leave PostgreSQL stopped.
  const command = spawn('sh', ['-c', process.env.BENCH_RESTART!], {
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  const [code] = await once(command, 'exit');
  if (code !== 0) throw new Error(`BENCH_RESTART ended with ${code}`);
  for (let tries = 0, done = 0; done < 3; tries++) {
    if ((await once200(organisations.tiny, query)) !== null) done++;
    else if (tries > 100) throw new Error('the service does not answer after a restart of PostgreSQL');
    else await wait(100);
  }
}

try {
  await besideTheDriver();
  await compare('warm', 1.2, warm);
  await spend(app.db);
  await moveMany(organisations.large);
  await compare('after moves', 1.2, warm);
  if (process.env.BENCH_RESTART === undefined) say('BENCH_RESTART is not given: nothing is measured with empty caches');
  else
    await compare(
      'after a restart',
      2,
      async (of, query) => {
        const ms = await once200(of, query);
        if (ms === null) throw new Error(`${query} was refused after a restart`);
        return ms;
      },
      restarted,
    );
  figure('memory of the service afterwards', memoryMb(child), 'MB');
} finally {
  await stop(child);
  await opened.close();
}
