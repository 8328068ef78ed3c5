import { amendAssessment } from '../src/assessments/amend.ts';
import type { Work } from '../src/db/work.ts';
import { inWork } from '../src/db/work.ts';
import { formatPosition } from '../src/feed/time.ts';
import { createGroup } from '../src/groups/create.ts';
import { addMembers, removeMembers } from '../src/groups/members.ts';
import { openApp } from '../src/open-app.ts';
import { readSettings } from '../src/settings.ts';
import { fillOrganisation } from './data.ts';
import { figure } from './figures.ts';
import { firstJson, median, startNode, stop } from './process.ts';

/**
 * Pages of scope exits: learners leave a group that held everybody, and a client of the group walks what that tells it. Each
 * page is asked for in turn with an unfiltered one of the same size from the same moment on. Needs DATABASE_URL (a
 * database of its own) and ARS_SECRET. Usage: node bench/exits.ts [learners]
 */
const learners = Number(process.argv[2] ?? 20_000);
const resultsEach = 10;
const opened = await openApp({ ...readSettings(process.env), log: 'none' as const });
const { app } = opened;
const made = await fillOrganisation(app, learners * resultsEach);
const organisationId = made.organisation_id;
const work = <T>(inside: (unit: Work) => Promise<T>) => inWork(app, null, inside);
const refs = (
  await app.db.query<{ ref: string }>('select ref from learner where organisation_id = $1 order by ref', [
    organisationId,
  ])
).map(({ ref }) => ref);

async function inBatches(verb: typeof addMembers | typeof removeMembers, group: string, whom: string[]) {
  const times: number[] = [];
  for (let from = 0; from < whom.length; from += 500) {
    const begunMs = performance.now();
    await work<unknown>((unit) => verb(unit, organisationId, group, whom.slice(from, from + 500)));
    times.push(performance.now() - begunMs);
  }
  return median(times);
}
async function group(ref: string): Promise<string> {
  return (await work((unit) => createGroup(unit, organisationId, { type: 'campus', ref, name: ref }))).row.group_id;
}
async function now(): Promise<string> {
  const [row] = await app.db.query<{ position: number }>('select position from feed where organisation_id = $1', [
    organisationId,
  ]);
  return formatPosition(row!.position);
}

const [everybody, elsewhere] = [await group('everybody'), await group('elsewhere')];
const others: string[] = [];
for (let n = 0; n < 18; n++) others.push(await group(`other-${n}`));
console.log(`500 learners join: median ${(await inBatches(addMembers, everybody, refs)).toFixed(0)} ms`);
const since = await now();
console.log(`500 learners leave: median ${(await inBatches(removeMembers, everybody, refs)).toFixed(0)} ms`);
await app.db.query('vacuum analyze');

const child = startNode(0, [new URL('service.ts', import.meta.url).pathname], {
  ARS_LOG: 'errors',
  BENCH_ORGANISATION: made.public_id,
});
const { port, access_key_id, secret_access_key } = await firstJson<{
  port: number;
  access_key_id: string;
  secret_access_key: string;
}>(child);
const headers = { 'x-access-key-id': access_key_id, 'x-secret-access-key': secret_access_key };

type Asked = { ms: number; next: string | null; entries: number };
type Page = { data: unknown[]; pagination: { next: string | null } };

/** @returns the page's time, and the query of the next */
async function page(query: string): Promise<Asked> {
  const begunMs = performance.now();
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/assessments?${query}`, { headers });
  const body = (await answer.json()) as Page;
  const ms = performance.now() - begunMs;
  if (answer.status !== 200) throw new Error(`expected 200, saw ${answer.status}`);
  const { next } = body.pagination;
  return { ms, next: next === null ? null : new URL(next).search.slice(1), entries: body.data.length };
}

/** Walks both in turn. An unfiltered walk that ends first begins again. */
async function walk(name: string, filter: string, from: string, limit: number): Promise<void> {
  const start = `since=${from}&limit=${limit}`;
  let [ours, peer]: [string | null, string] = [`${filter}&${start}`, start];
  const [oursMs, peerMs]: [number[], number[]] = [[], []];
  let entries = 0;
  while (ours !== null) {
    const one: Asked = await page(ours);
    const two: Asked = await page(peer);
    oursMs.push(one.ms);
    peerMs.push(two.ms);
    entries += one.entries;
    ours = one.next;
    peer = two.next ?? start;
  }
  const fifth = Math.ceil(oursMs.length / 5);
  const ratios = Array.from({ length: 5 }, (_, n) => {
    const part = (times: number[]) => times.slice(n * fifth, (n + 1) * fifth);
    return part(oursMs).length === 0 ? null : median(part(oursMs)) / median(part(peerMs));
  });
  console.log(
    `${name.padEnd(34)} ${String(limit).padStart(3)} a page  ${entries} entries in ${oursMs.length} pages, ${(oursMs.reduce((a, b) => a + b) / 1000).toFixed(1)} s  ` +
      `median ${median(oursMs).toFixed(1)} ms against ${median(peerMs).toFixed(1)}, longest ${Math.max(...oursMs).toFixed(0)}  ` +
      `ratio by fifths ${ratios.map((ratio) => ratio?.toFixed(2) ?? '–').join(' ')}`,
  );
  const worst = Math.max(...ratios.filter((ratio) => ratio !== null));
  figure(`${name}, pages of ${limit}, worst fifth against an unfiltered page`, worst, 'times', { atMost: 2 });
}

try {
  const many = [everybody, elsewhere, ...others].join(',');
  for (const limit of [500, 100]) {
    await walk('one group', `group_id=${everybody}`, since, limit);
    await walk('twenty groups', `group_id=${many}`, since, limit);
    await walk('with subject and level', `group_id=${everybody}&subject=maths&rqf_level_code=2,3`, since, limit);
  }
  // A tenth of the results are used afterwards: amended, and so moved behind everything else.
  const used = await app.db.query<{ assessment_id: string }>(
    'select assessment_id from assessment_feed where organisation_id = $1 order by assessment_id limit $2',
    [organisationId, learners / 10],
  );
  for (const { assessment_id } of used)
    await work((unit) =>
      amendAssessment(
        unit,
        organisationId,
        assessment_id,
        { framework: 'Amended' },
        { actor: 'bench', reason: 'bench' },
      ),
    );
  await walk('after later use', `group_id=${everybody}`, since, 500);
  await inBatches(
    addMembers,
    everybody,
    refs.filter((_, n) => n % 2 === 0),
  );
  await walk('half of them back', `group_id=${everybody}`, since, 500);
  await inBatches(
    addMembers,
    elsewhere,
    refs.filter((_, n) => n % 2 === 1),
  );
  await walk('the others moved, both groups', `group_id=${everybody},${elsewhere}`, since, 500);
} finally {
  await stop(child);
  await opened.close();
}
