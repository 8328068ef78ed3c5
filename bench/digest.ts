import { Readable } from 'node:stream';
import type { App } from '../src/app.ts';
import { digestJson } from '../src/assessments/digest.ts';
import type { Statement, Tx } from '../src/db/database.ts';
import { feedLane, inWork } from '../src/db/work.ts';
import { counted } from '../src/feed/digest.ts';
import { lockFeed } from '../src/feed/position.ts';
import { changeGroup } from '../src/groups/change.ts';
import { ensureGroups } from '../src/groups/create.ts';
import { addMembers } from '../src/groups/members.ts';
import { importFile } from '../src/imports/file.ts';
import { openApp } from '../src/open-app.ts';
import type { Organisation } from '../src/organisations/organisations.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { complete, organisationsOfWriters } from './completions.ts';
import { benchRecord, fillOrganisation } from './data.ts';
import { figure } from './figures.ts';
import { backendsCpuUs, median } from './process.ts';

/**
 * What the digest costs: completions, changes of 10,000 results at once, and imports, beside the same by statements that neither
 * make tokens nor count, in turns; and its buckets. By the clock and by processor time, of PostgreSQL and of this process:
 * the latter decides where others use the machine, or the disk stalls. Polls: node bench/poll.ts, with another checkout.
 * Needs DATABASE_URL (a database of its own, on this machine) and ARS_SECRET.
 * Usage: node bench/digest.ts [rounds] [seconds of a turn] [results for the buckets; 0: none]
 */
const rounds = Number(process.argv[2] ?? 15);
const seconds = Number(process.argv[3] ?? 4);
const bucketed = Number(process.argv[4] ?? 1_000_000);
const writers = 8;
const cascaded = 10_000;
const imported = 20_000;

const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });

const uncounted = new Map<string, Statement>();

/** A statement of the feed as it would be if there were no digest. */
function withoutDigest(sql: Statement): Statement {
  const known = uncounted.get(sql.name);
  if (known !== undefined) return known;
  const text = sql.text
    .replace(/,\s*digest_(moves|delta) as materialized[\s\S]*?s2 = c\.s2 \+ excluded\.s2\)/, '')
    .replace('(select coalesce(sum(n), 0)::int8 from digest_moves) as count', '(select count(*) from moving) as count')
    .replace(counted, '0::int8 as digest_n, 0::int8 as digest_w1, 0::int8 as digest_w2')
    .replace(/,\s*\('x' \|\| encode\(substr\(sha256\([\s\S]*?::bit\(64\)::int8 as token/g, '')
    .replace(/, token = \w\.token/g, '')
    .replace('facet, token)', 'facet)')
    .replace('facet, token from given', 'facet from given')
    .replace(/, digest_n = digest_n \+ \$5,[\s\S]*?4294967295(?=\s*where)/, '')
    .replaceAll(/, f\.group_set_id as had_set|, f\.token as had\b/g, '');
  const rest = text.replaceAll(/0::int8 as digest_\w+/g, '').replace('digest_through', '');
  if (/digest|token/.test(rest)) throw new Error(`${sql.name} still counts: ${text}`);
  const made = { ...sql, name: `${sql.name}!`, text };
  uncounted.set(sql.name, made);
  return made;
}

const bare = (tx: Tx): Tx => ({
  query: ((sql, values) => {
    if (typeof sql === 'string' || !/digest|token/.test(sql.text)) return tx.query(sql, values);
    const changed = withoutDigest(sql);
    const places = [...changed.text.matchAll(/\$(\d+)/g)].map(([, place]) => Number(place));
    return tx.query(changed, values?.slice(0, Math.max(...places)));
  }) as Tx['query'],
});

const without: App = {
  ...app,
  db: { ...app.db, transaction: (inside, turn) => app.db.transaction((tx) => inside(bare(tx)), turn) },
};

type Figure = { perSecond: number; postgres: number; node: number };

/** Rate, and processor time of one, in µs. */
async function measured(of: () => Promise<number>): Promise<Figure> {
  const [postgres, node, started] = [await backendsCpuUs(app.db), process.cpuUsage(), performance.now()];
  const count = await of();
  const lasted = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(node);
  const spent = (await backendsCpuUs(app.db)) - postgres;
  return { perSecond: count / lasted, postgres: spent / count, node: (user + system) / count };
}

const more = (now: number, before: number) => `${(100 * (now / before - 1)).toFixed(1)} %`;

/** In turns, the other one first each time. */
async function compared(what: string, goal: number, run: (app: App) => Promise<number>): Promise<void> {
  await measured(() => run(app));
  await measured(() => run(without));
  const figures: { now: Figure; before: Figure }[] = [];
  for (let round = 0; round < rounds; round++) {
    let [now, before]: (Figure | null)[] = [null, null];
    for (const counts of round % 2 === 0 ? [true, false] : [false, true]) {
      // What the turns before have left to clean up is paid by nobody.
      await app.db.query('vacuum');
      const figure = await measured(() => run(counts ? app : without));
      if (counts) now = figure;
      else before = figure;
    }
    figures.push({ now: now!, before: before! });
  }
  const of = (read: (figure: Figure) => number): [number, number] => [
    median(figures.map(({ now }) => read(now))),
    median(figures.map(({ before }) => read(before))),
  ];
  const [rate, rateBefore] = of((one) => one.perSecond);
  const [postgres, postgresBefore] = of((one) => one.postgres);
  const [node, nodeBefore] = of((one) => one.node);
  const both = median(figures.map(({ now, before }) => (now.postgres + now.node) / (before.postgres + before.node)));
  figure(`${what}: the digest costs`, 100 * (both - 1), '% of processor time', { atMost: goal });
  console.log(
    `${what.padEnd(24)} ${rate.toFixed(0)}/s, without ${rateBefore.toFixed(0)}/s: slower by ${more(rateBefore, rate)}`,
    `\n${''.padEnd(24)} CPU of PostgreSQL ${postgres.toFixed(1)} µs, without ${postgresBefore.toFixed(1)}: ${more(postgres, postgresBefore)} more;`,
    `of Node ${node.toFixed(1)} and ${nodeBefore.toFixed(1)}; both by turns: ${more(both, 1)} more (goal ${goal} %)`,
  );
}

async function completions(): Promise<void> {
  const [organisation] = await organisationsOfWriters(app, 1);
  await app.db.query('analyze');
  await compared('completions', 4, async (one) => {
    let done = 0;
    const stopMs = performance.now() + seconds * 1000;
    const write = async () => {
      for (; performance.now() < stopMs; done++)
        await inWork(one, feedLane(organisation!.id), (work) => complete(work, organisation!));
    };
    await Promise.all(Array.from({ length: writers }, write));
    return done;
  });
}

/**
 * A group that is renamed moves the results of all of its members. The same organisation with and without, since where two lie
 * on disk and in memory makes as much of a difference: what isn't counted stays in the sums by the token that stays in its row.
 */
async function cascades(): Promise<void> {
  const { organisation_id: id } = await fillOrganisation(app, cascaded);
  const learners = await app.db.query<{ ref: string }>('select ref from learner where organisation_id = $1', [id]);
  const refs = learners.map(({ ref }) => ref);
  const group = await inWork(app, feedLane(id), async (work) => {
    const feed = await lockFeed(work, id);
    const wanted = { type: 'cohort', ref: 'everybody', name: 'Everybody' } as const;
    const [made] = await ensureGroups(work, feed, [wanted], { autocreate: true });
    await addMembers(work, id, made!.row.group_id, refs);
    return made!.row.group_id;
  });
  let turn = 0;
  await compared(`${cascaded} results moved`, 10, async (one) => {
    const until = performance.now() + seconds * 1000;
    let done = 0;
    for (; performance.now() < until; done++)
      await inWork(one, feedLane(id), (work) => changeGroup(work, id, group, { name: `Group ${turn++}` }));
    return done;
  });
}

async function imports(): Promise<void> {
  const lines = Array.from({ length: imported }, (_, i) => `${JSON.stringify(benchRecord(i, imported))}\n`);
  await compared('imports', 5, async (one) => {
    const { organisation_id: organisationId, public_id: organisationPublicId }: Organisation = await inWork(
      app,
      null,
      (work) => createOrganisation(work, { name: 'Import', plan: 'unlimited', credits: 0, groupAutocreate: true }),
    );
    const options = { organisationId, organisationPublicId, events: false, actor: 'bench', format: 'ndjson' as const };
    const file = Readable.from(lines.map((line) => Buffer.from(line)));
    const counts = await importFile(one, file, { ...options, onRejected: () => {}, onProgress: () => {} });
    if (counts.imported !== imported) throw new Error(JSON.stringify(counts));
    return imported;
  });
}

async function buckets(): Promise<void> {
  const { organisation_id: organisationId } = await fillOrganisation(app, bucketed);
  const times: number[] = [];
  for (let turn = 0; turn <= rounds; turn++) {
    const question = { facets: null, groupIds: null, bits: 16, buckets: undefined };
    const started = performance.now();
    // Asked in another state of the feed, so that the answer before isn't given again.
    const json = await digestJson(
      app.db,
      { organisationId, feed: { position: -turn, state: -turn, restoredAt: 0 } },
      question,
    );
    times.push(performance.now() - started);
    if (json === null) throw new Error('the digest is not filled');
  }
  figure(`65,536 buckets of ${bucketed.toLocaleString('en-GB')} results, the longest`, Math.max(...times) / 1000, 's', {
    atMost: 1,
  });
  console.log(
    `${'65,536 buckets'.padEnd(24)} of ${bucketed} results: ${times.map((ms) => (ms / 1000).toFixed(2)).join(', ')} s, the first with nothing in memory (goal 1 s)`,
  );
}

await completions();
await cascades();
await imports();
if (bucketed > 0) await buckets();
await close();
