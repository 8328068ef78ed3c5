import { setTimeout as wait } from 'node:timers/promises';
import { fillConsole, signedIn } from '../support/console/data.ts';
import { openPage, pagesOf } from '../support/console/pages.ts';
import { figure } from '../support/figures.ts';
import { median, openBench, quantile, startBenchService, stop } from '../support/process.ts';

/**
 * Pages of the console as an owner sees them: time until the last byte, and what travels.
 * Usage: node bench/scenarios/console.ts [results] [samples]
 */
const results = Number(process.argv[2] ?? 1_000_000);
const samples = Number(process.argv[3] ?? 100);

const { app, close } = await openBench();
const organisation = await fillConsole(app, { results, groups: 240, keys: 300, people: 80 });
const service = await startBenchService(organisation.public_id);
const token = await signedIn(app, organisation.organisation_id, 'owner', 'owner@bench.example');
const cookie = `session-${service.port}=${token}`;
const [medians, p99s, sizes]: number[][] = [[], [], []];
try {
  for (const { name, url } of await pagesOf(app.db, organisation)) {
    const times: number[] = [];
    for (let n = -1; n < samples; n++) {
      const page = await openPage(`http://127.0.0.1:${service.port}${url(n + 1)}`, cookie);
      if (page.status !== 200) throw new Error(`${name} was answered by ${page.status}.`);
      sizes!.push(page.bytes);
      if (n >= 0) times.push(page.ms);
      // No faster than one address may (limits.consolePagesPerAddress).
      await wait(Math.max(0, 22 - page.ms));
    }
    medians!.push(median(times));
    p99s!.push(quantile(times, 0.99));
    console.log(`${name}: p50 ${medians!.at(-1)!.toFixed(1)} ms, p99 ${p99s!.at(-1)!.toFixed(1)} ms`);
  }
  figure('median page, p50', median(medians!), 'ms');
  figure('slowest page, p99', quantile(p99s!, 1), 'ms', { atMost: 100 });
  figure('largest page', quantile(sizes!, 1) / 1000, 'kB', { atMost: 30 });
} finally {
  await stop(service.child);
  await close();
}
