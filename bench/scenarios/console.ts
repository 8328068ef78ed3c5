import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../../src/platform/config/limits.ts';
import { fillConsole, signedIn } from '../support/console/data.ts';
import { fillHistory, sendForms } from '../support/console/history.ts';
import { type Page, openPage, pagesOf } from '../support/console/pages.ts';
import { figure } from '../support/figures.ts';
import { median, openBench, quantile, startBenchService, stop } from '../support/process.ts';

/**
 * Every page of the console as an owner sees it, and the lists as a tutor with a team of 300 does: the time until the last
 * byte, with the slowest statement, and what travels. The first opening counts, too.
 * Usage: node bench/scenarios/console.ts [results] [samples]
 */
const results = Number(process.argv[2] ?? 1_000_000);
const samples = Number(process.argv[3] ?? 20);

const { app, close } = await openBench();
const organisation = await fillConsole(app, { results, groups: 240, keys: 300, people: 80 });
await fillHistory(app, organisation, results / 10);
const service = await startBenchService(organisation.public_id, { BENCH_SLOW_MS: '2' });
const origin = `http://127.0.0.1:${service.port}`;

type Slow = { statement: string; ms: number };
let slowest: Slow = { statement: '', ms: 0 };
createInterface({ input: service.child.stdout! }).on('line', (line) => {
  const slow = JSON.parse(line) as Slow;
  if (slow.ms > slowest.ms) slowest = slow;
});

const forTutors =
  /^(\/(learners|invitations|follow-up|results|review|groups|teams|search)(\/(lists|spread|progress|gaps|report)[^{]*)?)?$/;
const [medians, p99s, sizes]: number[][] = [[], [], []];
const misses: string[] = [];

async function measure(role: string, { name, fields, url }: Page, cookie: string): Promise<void> {
  const times: number[] = [];
  slowest = { statement: '', ms: 0 };
  for (let n = 0; n < samples; n++) {
    const page = await openPage(origin + url(n), cookie, fields);
    if (![200, 303, 422].includes(page.status)) throw new Error(`${role} ${name} was answered by ${page.status}.`);
    if (page.text.startsWith('<!doctype')) sizes!.push(page.bytes);
    times.push(page.ms);
    // No faster than one address may (limits.consolePagesPerAddress).
    await wait(Math.max(0, 22 - page.ms));
  }
  const [p50, p99] = [median(times), quantile(times, 0.99)];
  medians!.push(p50);
  p99s!.push(p99);
  const [first, middle, last] = [times[0]!, p50, p99].map((ms) => ms.toFixed(0).padStart(5));
  const line = `${role} ${name}: first ${first}, p50 ${middle}, p99 ${last} ms; ${slowest.statement} ${slowest.ms.toFixed(0)} ms`;
  if (p50 > 60 || p99 > 200) misses.push(line);
  console.log(line);
}

try {
  // The service plans the statements of frequent pages soon after its start.
  await wait(limits.warmUpAfterMs + 3000);
  for (const role of ['owner', 'tutor'] as const) {
    const token = await signedIn(app, organisation.organisation_id, role, `${role}@bench.example`);
    const cookie = `session-${service.port}=${token}`;
    if (role === 'owner') await sendForms(app, organisation, origin, cookie);
    const pages = await pagesOf(app.db, organisation, role);
    for (const page of pages) if (role === 'owner' || forTutors.test(page.path)) await measure(role, page, cookie);
  }
  console.log(`\nSlower than 60 ms (p50) or 200 ms (p99):\n${misses.join('\n')}`);
  figure('median page, p50', median(medians!), 'ms');
  figure('slowest page, p50', quantile(medians!, 1), 'ms', { atMost: 100 });
  figure('slowest page, p99', quantile(p99s!, 1), 'ms', { atMost: 300 });
  figure('largest page', quantile(sizes!, 1) / 1000, 'kB', { atMost: 30 });
} finally {
  await stop(service.child);
  await close();
}
