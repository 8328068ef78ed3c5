import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { rightAnswer } from '../../src/engine/item-bank/mark.ts';
import type { RenderedItem } from '../../src/engine/item-bank/schema.ts';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { assessmentUrl, findInvitation } from '../../src/sittings/invitations/invitations.ts';
import { provisionLearner } from '../../src/sittings/invitations/provision.ts';
import { seededRandom } from '../../src/platform/crypto/random.ts';
import { openLink } from '../../src/sittings/link.ts';
import { findCurrent } from '../../src/sittings/store.ts';
import { wrongAnswer } from '../../test/sittings/learner.ts';
import { makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { firstJson, openBench, program, quantile, stop } from '../support/process.ts';

/**
 * Sittings at once with the shipped bank: each learner thinks, sends an answer, follows the redirect and gets the next
 * question. A learner who has finished a subject begins the next one. Measured: the times that learners see on loopback, and
 * the service's own times of the same requests. Usage: node bench/scenarios/sitting.ts [sittings] [seconds] [mean seconds to think]
 */
const sittings = Number(process.argv[2] ?? 200);
const seconds = Number(process.argv[3] ?? 30);
const thinkMs = Number(process.argv[4] ?? 5) * 1000;

const { app, close } = await openBench();
const organisation = await makeOrganisation(app);
// Not pinned to a core. Its log has the times of the service.
const service = spawn(process.execPath, [program('service.ts')], {
  env: { ...process.env, ARS_LOG: 'all', BENCH_ORGANISATION: organisation.public_id },
  stdio: ['ignore', 'pipe', 'pipe'],
});
const measureFromMs = performance.now() + 2 * thinkMs + 2000;
const endMs = measureFromMs + seconds * 1000;
const times: Record<'answer' | 'question' | 'next question after an answer', number[]> = {
  answer: [],
  question: [],
  'next question after an answer': [],
};
const served = new Map<string, number[]>();
createInterface({ input: service.stderr }).on('line', (line) => {
  if (!line.startsWith('{')) {
    console.error(line);
    return;
  }
  type Line = { event: string; action?: string; ms?: number; status?: number };
  const { event, action, ms, status } = JSON.parse(line) as Line;
  if (event !== 'request' || performance.now() < measureFromMs) return;
  const name = `service: ${action} ${status}`;
  served.set(name, [...(served.get(name) ?? []), ms!]);
});
const { port } = await firstJson<{ port: number }>(service);
const origin = `http://127.0.0.1:${port}`;
app.settings.baseUrl = origin;
const agent = new Agent({ connections: sittings, keepAliveTimeout: 30_000 });

/** @returns where a redirect leads */
async function send(method: 'GET' | 'POST', path: string, fields?: URLSearchParams): Promise<string | null> {
  const form = { body: fields?.toString(), headers: { 'content-type': 'application/x-www-form-urlencoded' } };
  const response = await request(origin + path, { method, dispatcher: agent, ...(fields === undefined ? {} : form) });
  await response.body.arrayBuffer();
  if (response.statusCode >= 400) throw new Error(`${method} was answered by ${response.statusCode}.`);
  return response.statusCode === 303 ? String(response.headers.location) : null;
}

async function timed<T>(kind: keyof typeof times, step: () => Promise<T>): Promise<T> {
  const begunMs = performance.now();
  const result = await step();
  if (begunMs >= measureFromMs) times[kind].push(performance.now() - begunMs);
  return result;
}

async function sit(n: number): Promise<void> {
  const random = seededRandom(`learner ${n}`);
  const id = organisation.organisation_id;
  const learner = { full_name: `Learner ${n}`, email: null, ref: `bench-${n}`, groups: [] };
  const { reply } = await withUnitOfWork(app, null, (work) => provisionLearner(work, id, learner, 'bench'));
  const invitation = (await findInvitation(app.db, id, reply.invitation_id))!;
  const token = new URL(assessmentUrl(origin, app.secrets, invitation)).pathname.slice(3);
  const base = `/a/${token}`;
  await send('POST', `${base}/start`);
  for (;;) {
    await wait(Math.max(0, Math.min(-Math.log(1 - random.float()) * thinkMs, endMs - performance.now())));
    if (performance.now() >= endMs) return;
    const { open, next } = (await openLink(app, token))!;
    if (open === null) {
      if (next === null) return;
      await send('POST', `${base}/start`);
      continue;
    }
    if (open.stop !== null) {
      await send('POST', `${base}/finish`, new URLSearchParams({ sitting: open.sitting_id, own: 'yes' }));
      continue;
    }
    const current = (await findCurrent(app.db, open))!;
    const fields = new URLSearchParams({ sitting: open.sitting_id, position: String(current.position), do: 'next' });
    const item = JSON.parse(current.rendered) as RenderedItem;
    for (const [name, value] of Object.entries(random.float() < 0.5 ? rightAnswer(item) : wrongAnswer(item)))
      for (const one of [value].flat() as string[]) fields.append(name, one);
    await timed('next question after an answer', async () => {
      const to = await timed('answer', () => send('POST', `${base}/question`, fields));
      await timed('question', () => send('GET', to!));
    });
  }
}

try {
  await Promise.all(Array.from({ length: sittings }, (_, n) => sit(n)));
  for (const [kind, all] of Object.entries(times)) figure(`${kind}, p99`, quantile(all, 0.99), 'ms');
  for (const [name, all] of served)
    if (name.includes('/question') && all.length >= 20)
      figure(`${name}, p99`, quantile(all, 0.99), 'ms', { atMost: 50 });
} finally {
  await agent.destroy();
  await close();
  await stop(service);
}
