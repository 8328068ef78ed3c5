import { spawn } from 'node:child_process';
import { Agent, request } from 'undici';
import { inWork } from '../src/db/work.ts';
import { addMembers } from '../src/groups/members.ts';
import { ensureGroups } from '../src/groups/create.ts';
import { lockFeed } from '../src/feed/position.ts';
import { createKey } from '../src/keys/keys.ts';
import { openApp } from '../src/open-app.ts';
import { readSettings } from '../src/settings.ts';
import { fillOrganisation } from './data.ts';
import { figure } from './figures.ts';
import { firstJson, stop } from './process.ts';

/**
 * What an organisation with little to do sees while another one is at its worst: 298 membership calls of 500 references at
 * once, and renames of a campus that all its results are in, beside 24 writers. The peer is the same organisation while
 * nothing else happens, in the same run. Neither is pinned: what matters is how one gets on beside the other.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/beside.ts [results of the busy one] [seconds of idling]
 */
const results = Number(process.argv[2] ?? 100_000);
const idleMs = Number(process.argv[3] ?? 10) * 1000;

type Key = { access_key_id: string; secret_access_key: string };
const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });
const refOf = (learner: number) => `LRN-${String(learner).padStart(8, '0')}`;

async function prepared(count: number): Promise<{ key: Key; everyone: string; some: string }> {
  const organisation = await fillOrganisation(app, count);
  const id = organisation.organisation_id;
  const groups = await inWork(app, null, async (work) =>
    ensureGroups(
      work,
      await lockFeed(work, id),
      ['everyone', 'some'].map((ref) => ({ type: 'campus', ref, name: ref })),
      { autocreate: true },
    ),
  );
  const idOf = (ref: string) => groups.find(({ row }) => row.ref === ref)!.row.group_id;
  const learners = Array.from({ length: Math.floor(count / 10) }, (_, i) => refOf(i));
  for (let from = 0; from < learners.length; from += 500)
    await inWork(app, null, (work) => addMembers(work, id, idOf('everyone'), learners.slice(from, from + 500)));
  const key = await inWork(app, null, (work) => createKey(work, id, { label: null, kind: 'test' }));
  return { key, everyone: idOf('everyone'), some: idOf('some') };
}

const busy = await prepared(results);
const quiet = await prepared(2000);
await app.db.query('vacuum analyze');
await close();

const service = spawn(process.execPath, [new URL('service.ts', import.meta.url).pathname], {
  env: { ...process.env, ARS_LOG: 'none' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const { port } = await firstJson<{ port: number }>(service);
const agent = new Agent({ connections: 400, headersTimeout: 60_000 });

async function call(of: { key: Key }, method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown): Promise<number> {
  const { statusCode, body: reply } = await request(`http://127.0.0.1:${port}/api/v1${path}`, {
    dispatcher: agent,
    method,
    headers: {
      'x-access-key-id': of.key.access_key_id,
      'x-secret-access-key': of.key.secret_access_key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  await reply.dump();
  return statusCode;
}

/** Membership calls that change something each time: somebody joins, somebody leaves. */
let turn = 0;
function move(of: typeof busy, learners: number, many: number): Promise<number> {
  const n = turn++;
  const from = (Math.floor(n / 2) * many) % learners;
  const learner_refs = Array.from({ length: many }, (_, i) => refOf((from + i) % learners));
  return call(of, 'POST', `/groups/${of.some}/members${n % 2 === 0 ? '' : '/remove'}`, { learner_refs });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const at = (sorted: number[], share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;

/** Four of the quiet organisation's callers, two reading and two writing, until `meanwhile` is over. */
async function beside(
  what: string,
  meanwhile: () => Promise<string>,
): Promise<{ reads: number; writes: number; failed: number }> {
  const times = { reads: [] as number[], writes: [] as number[] };
  const failed: number[] = [];
  let over = false;
  const caller = async (kind: 'reads' | 'writes') => {
    for (let n = 0; !over; n++) {
      const started = performance.now();
      const status = await (kind === 'writes'
        ? move(quiet, 200, 1)
        : call(quiet, 'GET', n % 2 === 0 ? '/assessments?limit=100' : `/learners/${refOf(n % 200)}`));
      // A quick refusal is no quick answer.
      if (status === 200) times[kind].push(performance.now() - started);
      else failed.push(status);
      await pause(10);
    }
  };
  const callers = (['reads', 'reads', 'writes', 'writes'] as const).map(caller);
  const started = performance.now();
  const done = await meanwhile();
  const lasted = performance.now() - started;
  over = true;
  await Promise.all(callers);
  const p99 = { reads: 0, writes: 0 };
  const figures = (['reads', 'writes'] as const).map((kind) => {
    const sorted = times[kind].sort((a, b) => a - b);
    p99[kind] = at(sorted, 0.99);
    return `${sorted.length} ${kind} p50 ${at(sorted, 0.5).toFixed(1)} p99 ${p99[kind].toFixed(1)} most ${sorted.at(-1)!.toFixed(0)} ms`;
  });
  console.log(
    `${what.padEnd(26)} ${(lasted / 1000).toFixed(1).padStart(5)} s  ${figures.join('  ')}  refused or failed: ${failed.length}${done}`,
  );
  return { ...p99, failed: failed.length };
}

const counted = (statuses: number[]) =>
  Object.entries(Object.groupBy(statuses, String))
    .map(([status, all]) => `${all!.length} × ${status}`)
    .join(', ');

try {
  await beside('warming up', async () => (await pause(2000), ''));
  const idle = await beside('nothing else', async () => (await pause(idleMs), ''));
  const worst = [
    await beside('298 membership calls', async () => {
      const statuses = await Promise.all(Array.from({ length: 298 }, () => move(busy, results / 10, 500)));
      return `  (busy one: ${counted(statuses)})`;
    }),
    await beside('3 renames, 24 writers', async () => {
      let over = false;
      const writers = Array.from({ length: 24 }, async () => {
        const statuses: number[] = [];
        while (!over) statuses.push(await move(busy, results / 10, 5));
        return statuses;
      });
      const renames: string[] = [];
      for (let i = 0; i < 3; i++) {
        const started = performance.now();
        const status = await call(busy, 'PATCH', `/groups/${busy.everyone}`, { name: `Everyone ${i} ${started}` });
        renames.push(`${status} in ${((performance.now() - started) / 1000).toFixed(1)} s`);
      }
      over = true;
      return `  (renames: ${renames.join(', ')}; writers: ${counted((await Promise.all(writers)).flat())})`;
    }),
  ];
  for (const kind of ['reads', 'writes'] as const) {
    const most = Math.max(...worst.map((one) => one[kind]));
    console.log(`p99 of ${kind}, worst by idle: ${(most / idle[kind]).toFixed(1)}`);
    figure(`p99 of ${kind} beside a busy organisation`, most, 'ms', { atMost: 100 });
    figure(`p99 of ${kind} beside a busy organisation, by idle`, most / idle[kind], 'times', { atMost: 5 });
  }
  const failed = worst.reduce((sum, one) => sum + one.failed, 0);
  figure('calls of the quiet organisation refused or failed', failed, 'calls', { atMost: 0 });
} finally {
  await stop(service);
}
