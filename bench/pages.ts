import { openApp } from '../src/main.ts';
import { readSettings } from '../src/settings.ts';
import { fillOrganisation } from './data.ts';
import { bareDriver } from './driver.ts';
import { figure } from './figures.ts';
import { firstJson, load, median, startNode, stop } from './process.ts';

/**
 * Two things about pages: what a page of 500 costs beside a bare driver that fetches the same rows and concatenates
 * them; and how much dearer each kind of page is in a large organisation than in one of 10,000 results.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/pages.ts [large] [rounds]
 */
const large = Number(process.argv[2] ?? 1_000_000);
const rounds = Number(process.argv[3] ?? 3);
const settings = { ...readSettings(process.env), log: 'none' as const };

const opened = await openApp(settings);
const organisations = new Map<
  number,
  { publicId: string; id: number; middle: string; recent: string; cohort: string; campuses: string }
>();
for (const size of [10_000, large]) {
  const made = await fillOrganisation(opened.app, size, (done) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${done} of ${size} results`);
  });
  const at = async (offset: number) =>
    (
      await opened.app.db.query<{ position: number }>(
        'select position from assessment_feed where organisation_id = $1 order by position offset $2 limit 1',
        [made.organisation_id, offset],
      )
    )[0]!.position;
  const groups = async (type: string) =>
    (
      await opened.app.db.query<{ group_id: string }>(
        'select group_id from learner_group where organisation_id = $1 and type = $2 order by ref',
        [made.organisation_id, type],
      )
    ).map((row) => row.group_id);
  organisations.set(size, {
    publicId: made.public_id,
    id: made.organisation_id,
    middle: new Date((await at(Math.floor(size / 2))) / 1000).toISOString(),
    recent: new Date((await at(size - 600)) / 1000).toISOString(),
    cohort: (await groups('cohort'))[0]!,
    campuses: (await groups('campus')).slice(0, 4).join(','),
  });
}
await opened.close();
if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');

const services = new Map<number, { port: number; credentials: string; child: ReturnType<typeof startNode> }>();
for (const [size, { publicId }] of organisations) {
  const child = startNode(0, [new URL('service.ts', import.meta.url).pathname], {
    ARS_LOG: 'errors',
    BENCH_ORGANISATION: publicId,
  });
  const { port, access_key_id, secret_access_key } = await firstJson<{
    port: number;
    access_key_id: string;
    secret_access_key: string;
  }>(child);
  services.set(size, {
    port,
    child,
    credentials: `X-Access-Key-Id: ${access_key_id}\r\nX-Secret-Access-Key: ${secret_access_key}\r\n`,
  });
}

async function pages(size: number, query: string, connections: number, seconds: number) {
  const { port, credentials } = services.get(size)!;
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

try {
  const ratios = new Map([
    [4, [] as number[]],
    [16, []],
  ]);
  for (let round = 0; round < rounds; round++) {
    for (const [connections, ofThese] of ratios) {
      const ceiling = await bareDriver(settings.databaseUrl!, organisations.get(large)!.id, 4);
      const ours = await pages(large, 'limit=500', connections, 4);
      ofThese.push(ours.per_second / ceiling);
      console.log(
        `page of 500, ${connections} connections  driver ${ceiling.toFixed(0)}/s  service ${ours.per_second}/s (${ours.mb_per_second} MB/s)  ratio ${(100 * ofThese.at(-1)!).toFixed(0)} %`,
      );
    }
  }
  for (const [connections, ofThese] of ratios) {
    const goal = connections === 4 ? 75 : 90;
    console.log(
      `page of 500, ${connections} connections  median ratio ${(100 * median(ofThese)).toFixed(0)} % (goal ${goal} %)`,
    );
    figure(`page of 500, ${connections} connections, of the driver`, 100 * median(ofThese), '%', { atLeast: goal });
  }
  console.log('');

  const kinds: [string, number, (o: { middle: string; recent: string; cohort: string; campuses: string }) => string][] =
    [
      ['first page', 1.3, () => 'limit=100'],
      ['recent page', 1.3, (o) => `limit=100&since=${o.recent}`],
      ['deep page', 2, (o) => `limit=100&since=${o.middle}`],
      ['facets', 2, () => 'limit=100&subject=maths&rqf_level_code=2,3'],
      ['facets, deep', 2, (o) => `limit=100&subject=digital&below_level_1=true&since=${o.middle}`],
      ['30 days', 2, () => 'limit=100&assessed_from=2024-06-01T00:00:00Z&assessed_to=2024-06-30T23:59:59Z'],
      ['one cohort', 2, (o) => `limit=100&group_id=${o.cohort}`],
      ['one cohort, deep', 2, (o) => `limit=100&group_id=${o.cohort}&since=${o.middle}`],
      ['four campuses', 2, (o) => `limit=100&group_id=${o.campuses}`],
      ['by assessed_at', 2, () => 'limit=100&sort=-assessed_at'],
    ];
  for (const [name, goal, query] of kinds) {
    const ofKind: number[] = [];
    let text = '';
    for (let round = 0; round < rounds; round++) {
      const small = await pages(10_000, query(organisations.get(10_000)!), 1, 1.5);
      const big = await pages(large, query(organisations.get(large)!), 1, 1.5);
      ofKind.push(big.p50_ms / small.p50_ms);
      text = `${small.p50_ms.toFixed(2)} ms → ${big.p50_ms.toFixed(2)} ms`;
    }
    console.log(`${name.padEnd(18)} ${text.padEnd(24)} median ratio ${median(ofKind).toFixed(2)} (goal ${goal})`);
    figure(`${name}, ${large.toLocaleString('en-GB')} against 10,000`, median(ofKind), 'times', { atMost: goal });
  }
} finally {
  await Promise.all([...services.values()].map(({ child }) => stop(child)));
}
