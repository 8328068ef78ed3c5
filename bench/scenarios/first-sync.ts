import { createInterface } from 'node:readline';
import { fillOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { median, openBench, program, startBenchService, startNode, stop } from '../support/process.ts';
import type { Service } from '../support/process.ts';

/**
 * The first sync of an organisation's results into PostgreSQL by the client's mirror, with the rate limit raised, beside a
 * bare COPY of the same rows from the same pages, in turns. Then one at the default limit, against what the limit allows.
 * Usage: node bench/scenarios/first-sync.ts [results] [rounds] [results at the default limit]
 */
const results = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const limited = Number(process.argv[4] ?? 225_000);
const perMinute = 300;

type Outcome = { seconds: number; results: number; requests: number; mb: number };

async function run(by: 'mirror' | 'copy', expected: number, service: Service): Promise<Outcome> {
  const child = startNode(1, [program('first-sync-run.ts'), by, String(service.port), service.keyId, service.secret]);
  for await (const line of createInterface({ input: child.stdout! })) {
    const outcome = JSON.parse(line) as Outcome;
    if (outcome.results !== expected) throw new Error(`The ${by} has ${outcome.results} of ${expected} results.`);
    return outcome;
  }
  throw new Error(`The ${by} ended without an outcome.`);
}

const { app, close } = await openBench();
const large = await fillOrganisation(app, results);
const small = await fillOrganisation(app, limited);
await close();

const service = await startBenchService(large.public_id);
const [ratios, mirrors]: [number[], Outcome[]] = [[], []];
for (let round = 0; round < rounds; round++) {
  const copy = await run('copy', results, service);
  const mirror = await run('mirror', results, service);
  ratios.push(copy.seconds / mirror.seconds);
  mirrors.push(mirror);
}
await stop(service.child);
const goal = results === 1_000_000 ? { atMost: 120 } : undefined;
figure(`${results.toLocaleString('en-GB')} results`, median(mirrors.map(({ seconds }) => seconds)), 's', goal);
figure('rate, of a bare COPY', 100 * median(ratios), '%', { atLeast: 50 });
figure('memory of the client', median(mirrors.map(({ mb }) => mb)), 'MB');

const slow = await startBenchService(small.public_id, { BENCH_RATE_LIMIT: String(perMinute) });
const { seconds, requests } = await run('mirror', limited, slow);
await stop(slow.child);
const allowed = (requests * 60) / perMinute;
figure('at the default limit, of its time', 100 * (seconds / allowed), '%', { atMost: 105 });
