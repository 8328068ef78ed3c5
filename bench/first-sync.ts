import { createInterface } from 'node:readline';
import { openApp } from '../src/open-app.ts';
import { readSettings } from '../src/settings.ts';
import { filledOrganisation } from './data.ts';
import { figure } from './figures.ts';
import { firstJson, median, startNode, stop } from './process.ts';

/**
 * The first sync of an organisation's results into PostgreSQL by the client's mirror, with the rate limit raised, beside a bare
 * COPY of the same rows read from the same pages, in turns. Then one at the default limit, against what that limit allows.
 * Needs DATABASE_URL (a database of its own; results stay there for the next run) and ARS_SECRET.
 * Usage: node bench/first-sync.ts [results] [rounds] [results at the default limit; 0: none]
 */
const results = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const limited = Number(process.argv[4] ?? 225_000);
const here = (name: string) => new URL(name, import.meta.url).pathname;

type Outcome = {
  seconds: number;
  results: number;
  requests: number;
  waited: number;
  node: number;
  postgres: number;
  mb: number[];
};

/** Of the client, and of PostgreSQL with the service's own reading. */
const cpuOf = ({ node, postgres }: Outcome) => `${node.toFixed(1)} and ${postgres.toFixed(1)} s`;

async function filled(count: number): Promise<string> {
  const opened = await openApp({ ...readSettings(process.env), log: 'none' });
  try {
    return (await filledOrganisation(opened.app, count)).organisation.public_id;
  } finally {
    await opened.close();
  }
}

async function served<T>(organisation: string, limit: number, inside: (given: string[]) => Promise<T>): Promise<T> {
  const settings = { ARS_LOG: 'errors', BENCH_ORGANISATION: organisation, BENCH_RATE_LIMIT: String(limit) };
  const service = startNode(0, [here('service.ts')], settings);
  try {
    const made = await firstJson<{ port: number; access_key_id: string; secret_access_key: string }>(service);
    return await inside([String(made.port), made.access_key_id, made.secret_access_key]);
  } finally {
    await stop(service);
  }
}

async function run(by: 'mirror' | 'copy', expected: number, given: string[]): Promise<Outcome> {
  const child = startNode(1, [here('first-sync-run.ts'), by, ...given]);
  const mb: number[] = [];
  for await (const line of createInterface({ input: child.stdout! })) {
    const said = JSON.parse(line) as { mb: number } | Outcome;
    if ('seconds' in said) {
      if (said.results !== expected) throw new Error(`the ${by} brought ${said.results} of ${expected} results`);
      return { ...said, mb };
    }
    mb.push(said.mb);
  }
  throw new Error(`the ${by} ended without an outcome`);
}

const organisation = await filled(results);
await served(organisation, 1_000_000_000, async (given) => {
  const ratios: number[] = [];
  const took: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const copy = await run('copy', results, given);
    const mirror = await run('mirror', results, given);
    ratios.push(copy.seconds / mirror.seconds);
    took.push(mirror.seconds);
    const memory = `${Math.min(...mirror.mb)}–${Math.max(...mirror.mb)} MB, at the end ${mirror.mb.at(-1)}`;
    console.log(
      `${mirror.results} results  COPY ${copy.seconds.toFixed(1)} s (CPU ${cpuOf(copy)})  mirror ${mirror.seconds.toFixed(1)} s (CPU ${cpuOf(mirror)}, ${memory}; ${mirror.requests} requests)  ratio ${(100 * ratios.at(-1)!).toFixed(0)} %`,
    );
  }
  console.log(`median ratio ${(100 * median(ratios)).toFixed(0)} % (goal 50 %, and under 120 s for 1,000,000)`);
  figure(`first sync of ${results.toLocaleString('en-GB')} results, of a bare COPY`, 100 * median(ratios), '%', {
    atLeast: 50,
  });
  figure(`its time`, median(took), 's', results === 1_000_000 ? { atMost: 120 } : undefined);
});

if (limited > 0) {
  const perMinute = 300;
  await served(await filled(limited), perMinute, async (given) => {
    const { seconds, requests, waited } = await run('mirror', limited, given);
    const allowed = (requests * 60) / perMinute;
    console.log(
      `at ${perMinute} requests a minute  ${limited} results in ${requests} requests: ${seconds.toFixed(1)} s, ${waited.toFixed(1)} of them waiting; the limit allows ${allowed.toFixed(1)} s: ${(100 * (seconds / allowed)).toFixed(1)} % (goal 105 %)`,
    );
    figure('first sync at the default limit, of the time that the limit asks for', 100 * (seconds / allowed), '%', {
      atMost: 105,
    });
  });
}
