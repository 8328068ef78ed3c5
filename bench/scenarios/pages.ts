import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { feedQueue, withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { moveMembers } from '../../src/organisations/groups/members.ts';
import { createKey } from '../../src/integrations/access-keys/keys.ts';
import { fillOrganisation } from '../support/data.ts';
import { bareDriver } from '../support/driver.ts';
import { figure } from '../support/figures.ts';
import type { CostedLoad } from '../support/process.ts';
import {
  costedLoad,
  getRequest,
  load,
  median,
  memoryMb,
  openBench,
  startBenchService,
  stop,
} from '../support/process.ts';

/**
 * Pages of a large organisation: a page of 500 beside a bare driver that fetches the same rows, and each kind of page
 * beside the same page of a smaller organisation: warm, after many moves between groups, and after restarts of PostgreSQL
 * with empty caches if BENCH_RESTART is a shell command that restarts it.
 * Usage: node bench/scenarios/pages.ts [large] [rounds]
 */
const large = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const base = large > 100_000 ? 100_000 : 10_000;

/** `middle` and `recent` are times: the middle of its results, and the last 600, follow. */
type Organisation = {
  id: number;
  publicId: string;
  headers: Record<string, string>;
  middle: string;
  recent: string;
  cohorts: string[];
  campuses: string[];
};

const { app, close } = await openBench();

async function organisationOf(size: number): Promise<Organisation> {
  const { organisation_id: id, public_id } = await fillOrganisation(app, size);
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
  const key = await withUnitOfWork(app, null, (work) => createKey(work, id, { label: null, kind: 'test' }));
  return {
    id,
    publicId: public_id,
    headers: { 'X-Access-Key-Id': key.access_key_id, 'X-Secret-Access-Key': key.secret_access_key },
    middle: await at(Math.floor(size / 2)),
    recent: await at(size - 600),
    cohorts: await groups('cohort'),
    campuses: await groups('campus'),
  };
}

/** Every kind of page, by its query. */
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

/** Its pages read what all pages need, before a page is timed after a restart. */
const tiny = await organisationOf(1000);
const smaller = await organisationOf(base);
const ours = await organisationOf(large);
const service = await startBenchService(ours.publicId);
const pathOf = (query: string) => `/api/v1/assessments?${query}`;

async function besideTheDriver(connections: number, goal: number): Promise<void> {
  const ratios: number[] = [];
  const pages: CostedLoad[] = [];
  for (let round = 0; round < rounds; round++) {
    const ceiling = await bareDriver(process.env.DATABASE_URL!, ours.id, 4);
    const request = service.get(pathOf('limit=500'));
    const page = await costedLoad(service, app.db, { connections, seconds: 4, request });
    pages.push(page);
    ratios.push(page.per_second / ceiling);
  }
  const name = `page of 500, ${connections} connections`;
  const of = (read: (one: CostedLoad) => number) => median(pages.map(read));
  figure(
    name,
    of((one) => one.per_second),
    'a second',
  );
  figure(`${name}, of the driver`, 100 * median(ratios), '%', { atLeast: goal });
  console.log(`  processor time: Node ${of((one) => one.node)} µs, PostgreSQL ${of((one) => one.postgres)} µs`);
}

type Time = (of: Organisation, query: string) => Promise<number>;

/** The kind of page that is dearest in the large organisation, as a multiple of its time in the smaller one. */
async function compare(when: string, goal: number, time: Time, before = async (_query: string) => {}): Promise<void> {
  let worst = { kind: '', ratio: 0 };
  for (const [kind, query] of Object.entries(kinds)) {
    const times = new Map<Organisation, number[]>([
      [smaller, []],
      [ours, []],
    ]);
    for (let round = 0; round < rounds; round++) {
      await before(query(tiny));
      for (const one of round % 2 === 0 ? [smaller, ours] : [ours, smaller])
        times.get(one)!.push(await time(one, query(one)));
    }
    const [small, mine] = [times.get(smaller)!, times.get(ours)!];
    const ratio = median(mine.map((ms, round) => ms / small[round]!));
    console.log(`  ${kind}, ${when}: ${median(small)} and ${median(mine)} ms, ratio ${ratio.toFixed(2)}`);
    if (ratio > worst.ratio) worst = { kind, ratio };
    if (kind === 'first page') figure(`page of 100, ${when}`, median(mine), 'ms');
  }
  console.log(`  dearest, ${when}: ${worst.kind}`);
  figure(`dearest page, ${when}`, worst.ratio, 'times', { atMost: goal });
}

/** A tenth of the learners moves to another cohort, 500 at a time. Then a thousand times ten learners do. */
async function moveMany({ id, cohorts }: Organisation): Promise<void> {
  const membersOf = async (group: string) =>
    (
      await app.db.query<{ learner_id: string }>(
        'select learner_id from membership where organisation_id = $1 and group_id = $2',
        [id, group],
      )
    ).map((row) => row.learner_id);
  const move = (learners: string[], leaves: string, joins: string) =>
    withUnitOfWork(app, feedQueue(id), (work) => moveMembers(work, id, learners, { joins, leaves }));
  for (const leaves of cohorts.slice(-4)) {
    const members = await membersOf(leaves);
    for (let from = 0; from < members.length; from += 500)
      await move(members.slice(from, from + 500), leaves, cohorts[0]!);
  }
  const others = await membersOf(cohorts[1]!);
  const tens = Math.max(1, Math.floor(others.length / 10));
  for (let n = 0; n < 1000; n++) {
    const from = (n % tens) * 10;
    const isAway = Math.floor(n / tens) % 2 === 0;
    const [leaves, joins] = isAway ? [cohorts[1]!, cohorts[21]!] : [cohorts[21]!, cohorts[1]!];
    await move(others.slice(from, from + 10), leaves, joins);
  }
}

const warm: Time = async ({ headers }, query) =>
  (await load(service, { connections: 1, seconds: 1.5, request: getRequest(pathOf(query), headers) })).p50_ms;

/** The time of one page, or null if it isn't answered, such as while PostgreSQL starts. */
async function onePage({ headers }: Organisation, query: string): Promise<number | null> {
  const begunMs = performance.now();
  const response = await fetch(`http://127.0.0.1:${service.port}${pathOf(query)}`, { headers });
  await response.arrayBuffer();
  return response.status === 200 ? performance.now() - begunMs : null;
}

async function restart(query: string): Promise<void> {
  const command = spawn('sh', ['-c', process.env.BENCH_RESTART!], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(command, 'exit');
  if (code !== 0) throw new Error(`BENCH_RESTART ended with ${code}.`);
  for (let tries = 0, done = 0; done < 3; tries++) {
    if ((await onePage(tiny, query)) !== null) done++;
    else if (tries > 100) throw new Error('The service does not answer after a restart of PostgreSQL.');
    else await wait(100);
  }
}

try {
  await besideTheDriver(16, 90);
  await besideTheDriver(4, 75);
  await compare('warm', 1.2, warm);
  await moveMany(ours);
  await compare('after moves', 1.2, warm);
  if (process.env.BENCH_RESTART === undefined) console.log('Pages after a restart need BENCH_RESTART.');
  else await compare('after a restart', 2, async (of, query) => (await onePage(of, query))!, restart);
  figure('memory', memoryMb(service.child), 'MB');
} finally {
  await stop(service.child);
  await close();
}
