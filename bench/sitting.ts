import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Agent, request } from 'undici';
import { rightAnswer } from '../src/bank/mark.ts';
import type { RenderedItem } from '../src/bank/schema.ts';
import { inWork } from '../src/db/work.ts';
import { assessmentUrl, findInvitation } from '../src/invitations/invitations.ts';
import { provisionLearner } from '../src/invitations/provision.ts';
import { createKey } from '../src/keys/keys.ts';
import { openApp } from '../src/open-app.ts';
import { findOrganisation } from '../src/organisations/organisations.ts';
import { seededRandom } from '../src/random.ts';
import { readSettings } from '../src/settings.ts';
import { openLink } from '../src/sittings/link.ts';
import { findCurrent } from '../src/sittings/store.ts';
import { wrongAnswer } from '../test/sittings/learner.ts';
import { fillOrganisation } from './data.ts';
import { figure } from './figures.ts';
import { firstJson, stop } from './process.ts';

/**
 * Sittings at once with the shipped bank: each learner thinks, sends an answer, follows the redirect and gets the next
 * question, half of the answers being wrong; whoever finishes a subject declares, and begins the next one. Prints the times that learners see on loopback,
 * the server's own times of the same requests, and as the machine's measure a bare commit of one row every 50 ms.
 * All the while a consumer polls another organisation, every 10 ms by one connection (304). In turns of five seconds the
 * learners' clock stands still: the polls of those turns say what the others would have taken without sittings, and two
 * figures come of it, the consumer's p99 and the server's own, each by the one without. The goal is 1.5 times. Medians
 * of both stand beside them: where they differ as much, it is the machine that is full, and not one request that is held up.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/sitting.ts [sittings] [seconds] [mean seconds to think]
 */
const sittings = Number(process.argv[2] ?? 200);
const seconds = Number(process.argv[3] ?? 30);
const thinkMs = Number(process.argv[4] ?? 5) * 1000;

// Not pinned to a core: 200 learners keep neither the service nor its database busy. Its log gives the server's own times.
const service = spawn(process.execPath, [new URL('service.ts', import.meta.url).pathname], {
  env: { ...process.env, ARS_LOG: 'all' },
  stdio: ['ignore', 'pipe', 'pipe'],
});
const { port, organisation_id } = await firstJson<{ port: number; organisation_id: string }>(service);
const origin = `http://127.0.0.1:${port}`;
const opened = await openApp({ ...readSettings(process.env), log: 'none' });
const { app } = opened;
app.settings.baseUrl = origin;
const organisation = (await findOrganisation(app.db, organisation_id))!;
const agent = new Agent({ connections: sittings, keepAliveTimeout: 30_000 });
const times: Record<'answer' | 'question' | 'next question after an answer' | 'finish' | 'a bare commit', number[]> = {
  answer: [],
  question: [],
  'next question after an answer': [],
  finish: [],
  'a bare commit': [],
};
const warmUpMs = 2 * thinkMs + 2000;
const measureFromMs = performance.now() + warmUpMs;
/** Half of the turns are without sittings. */
const turnMs = 5000;
const endMs = measureFromMs + 2 * Math.ceil((seconds * 1000) / turnMs) * turnMs;
/** What a turn leaves behind belongs to none. */
const settlingMs = 500;

/** How long learners go on from here, and after it how long they wait. */
function turnAt(nowMs: number): { sitting: boolean; sinceMs: number; leftMs: number } {
  const turn = Math.floor((nowMs - measureFromMs) / turnMs);
  if (turn < 0) return { sitting: true, sinceMs: settlingMs, leftMs: measureFromMs - nowMs };
  const sinceMs = nowMs - measureFromMs - turn * turnMs;
  return { sitting: turn % 2 === 0, sinceMs, leftMs: turnMs - sinceMs };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Waits on the learners' clock. */
async function think(ms: number): Promise<void> {
  for (let left = ms; left > 0 && performance.now() < endMs;) {
    const { sitting, leftMs } = turnAt(performance.now());
    const step = sitting ? Math.min(left, leftMs) : leftMs;
    await sleep(step);
    if (sitting) left -= step;
  }
}

const polls = { with: [] as number[], without: [] as number[] };
const servedPolls = { with: [] as number[], without: [] as number[] };
function countPoll(counted: typeof polls, atMs: number, ms: number): void {
  if (atMs < measureFromMs || atMs > endMs) return;
  const { sitting, sinceMs } = turnAt(atMs);
  if (sinceMs >= settlingMs) counted[sitting ? 'with' : 'without'].push(ms);
}
const pollAction = 'GET /assessments';

const served: Record<string, number[]> = {};
createInterface({ input: service.stderr }).on('line', (line) => {
  if (!line.startsWith('{')) {
    console.error(line);
    return;
  }
  const { event, action, ms, status } = JSON.parse(line) as {
    event: string;
    action?: string;
    ms?: number;
    status?: number;
  };
  if (event !== 'request') return;
  if (action === pollAction && status === 304) countPoll(servedPolls, performance.now() - ms!, ms!);
  else if (performance.now() >= measureFromMs) (served[`${action} ${status}`] ??= []).push(ms!);
});

async function send(
  method: 'GET' | 'POST',
  path: string,
  fields?: URLSearchParams,
): Promise<{ to: string | null; status: number }> {
  const reply = await request(origin + path, {
    method,
    dispatcher: agent,
    ...(fields === undefined
      ? {}
      : { body: fields.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  });
  await reply.body.arrayBuffer();
  if (reply.statusCode >= 400) throw new Error(`${method} answered ${reply.statusCode}`);
  return { status: reply.statusCode, to: reply.statusCode === 303 ? String(reply.headers.location) : null };
}

async function sit(n: number): Promise<void> {
  const random = seededRandom(`learner ${n}`);
  const { reply } = await inWork(app, null, (work) =>
    provisionLearner(
      work,
      organisation.organisation_id,
      {
        full_name: `Learner ${n}`,
        email: null,
        ref: `bench-${n}-${app.random.bytes(4).toString('hex')}`,
        groups: [],
      },
      'bench',
    ),
  );
  const invitation = (await findInvitation(app.db, organisation.organisation_id, reply.invitation_id))!;
  const token = new URL(assessmentUrl(origin, app.secrets, invitation)).pathname.slice(3);
  const base = `/a/${token}`;
  const pause = () => think(-Math.log(1 - random.float()) * thinkMs);
  const timed = async (kind: keyof typeof times, step: () => Promise<unknown>) => {
    const startMs = performance.now();
    await step();
    if (startMs >= measureFromMs) times[kind].push(performance.now() - startMs);
  };
  await send('POST', `${base}/start`);
  while (performance.now() < endMs) {
    await pause();
    // Everybody's clock ends at once: what was sent then would be a rush that no learners make.
    if (performance.now() >= endMs) return;
    const { open, next } = (await openLink(app, token))!;
    if (open === null) {
      if (next === null) return;
      await send('POST', `${base}/start`);
      continue;
    }
    if (open.stop !== null) {
      await timed('finish', () =>
        send('POST', `${base}/finish`, new URLSearchParams({ sitting: open.sitting_id, own: 'yes' })),
      );
      continue;
    }
    const current = (await findCurrent(app.db, open))!;
    const fields = new URLSearchParams({ sitting: open.sitting_id, position: String(current.position), do: 'next' });
    const item = JSON.parse(current.rendered) as RenderedItem;
    for (const [name, value] of Object.entries(random.float() < 0.5 ? rightAnswer(item) : wrongAnswer(item)))
      for (const one of [value].flat() as string[]) fields.append(name, one);
    await timed('next question after an answer', async () => {
      let to: string | null = null;
      await timed('answer', async () => {
        ({ to } = await send('POST', `${base}/question`, fields));
      });
      await timed('question', () => send('GET', to!));
    });
  }
}

async function commitBare(): Promise<void> {
  await app.db.query('create table if not exists bench_commit (n int8)');
  while (performance.now() < endMs) {
    const startMs = performance.now();
    await app.db.query('insert into bench_commit values (1)');
    if (startMs >= measureFromMs) times['a bare commit'].push(performance.now() - startMs);
    await sleep(50);
  }
}

/** An organisation in which nothing changes, so that every poll of it ends in 304. */
async function startPolls(): Promise<ChildProcess> {
  const polled = await fillOrganisation(app, 1000);
  const key = await inWork(app, null, (work) => createKey(work, polled.organisation_id, { label: null, kind: 'test' }));
  const child = spawn(
    process.execPath,
    [
      new URL('paced-polls.ts', import.meta.url).pathname,
      `${origin}/api/v1/assessments?since=2026-01-01T00:00:00Z&limit=500`,
      key.access_key_id,
      key.secret_access_key,
      '10',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  createInterface({ input: child.stdout! }).on('line', (line) => {
    const { at, ms, status } = JSON.parse(line) as { at: number; ms: number; status: number };
    if (status === 304) countPoll(polls, at - performance.timeOrigin, ms);
  });
  return child;
}

function sayPolls(who: string, times: typeof polls): void {
  const of = (all: number[], share: number) => {
    all.sort((a, b) => a - b);
    return all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? 0;
  };
  const [p50, p99] = ([0.5, 0.99] as const).map((share) => ({
    with: of(times.with, share),
    without: of(times.without, share),
  }));
  const ratio = p99!.with / p99!.without;
  console.log(
    `polls beside, ${who}: with sittings ${times.with.length}, p50 ${p50!.with.toFixed(1)} p99 ${p99!.with.toFixed(1)} ms; without ${times.without.length}, p50 ${p50!.without.toFixed(1)} p99 ${p99!.without.toFixed(1)} ms; p99 ${ratio.toFixed(2)} times`,
  );
  figure(`polls beside ${sittings} sittings, ${who}: p99 by that without`, ratio, 'times', { atMost: 1.5 });
}

const polling = await startPolls();
try {
  const about = (await app.db.query<{ version: string }>("select current_setting('server_version') as version"))[0]!;
  await Promise.all([commitBare(), ...Array.from({ length: sittings }, (_, n) => sit(n))]);
  console.log(`${sittings} sittings at once, ${thinkMs / 1000} s to think, ${seconds} s, PostgreSQL ${about.version}`);
  for (const [kind, all] of [
    ...Object.entries(times),
    ...Object.entries(served).map(([action, all]) => [`server: ${action}`, all] as const),
  ]) {
    if (all.length < 20) continue;
    all.sort((a, b) => a - b);
    const at = (share: number) => (all[Math.min(all.length - 1, Math.floor(all.length * share))] ?? 0).toFixed(1);
    console.log(
      `${kind.padEnd(42)} ${String(all.length).padStart(6)} (${(all.length / seconds).toFixed(0)}/s)  p50 ${at(0.5)} ms  p95 ${at(0.95)} ms  p99 ${at(0.99)} ms  most ${at(1)} ms`,
    );
    figure(
      `${kind}, ${sittings} sittings, p99`,
      Number(at(0.99)),
      'ms',
      kind.startsWith('server: ') ? { atMost: 50 } : undefined,
    );
  }
  sayPolls('the consumer', polls);
  sayPolls('the server', servedPolls);
} finally {
  await stop(polling);
  await agent.destroy();
  await opened.close();
  await stop(service);
}
