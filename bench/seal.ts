import { sealAudit } from '../src/audit/seal.ts';
import { manualClock } from '../src/clock.ts';
import { inWork } from '../src/db/work.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { figure } from './figures.ts';
import { backendsCpuUs, median } from './process.ts';

/**
 * Sealing the log of many organisations that each poll once a minute: blocks a second in a round of housekeeping, and processor time
 * of this process and of PostgreSQL for each. On a cluster, processor time of the coordinator alone.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/seal.ts [organisations] [minutes]
 */
const [count, minutes] = [Number(process.argv[2] ?? 20_000), Number(process.argv[3] ?? 6)];
const opened = await openApp({ ...readSettings(process.env), log: 'errors' as const });
const minuteMs = 60_000;
const clock = manualClock(Math.floor(Date.now() / minuteMs) * minuteMs);
const app = { ...opened.app, clock };

const begun = Date.now();
const { organisation_id: id } = await inWork(app, null, (work) =>
  createOrganisation(work, { name: 'Organisation', plan: 'standard', credits: 0, groupAutocreate: true }),
);
// The others are rows like it, without a feed: nobody asks for one here.
await app.db.query(
  `insert into organisation
   select (jsonb_populate_record(o, jsonb_build_object('organisation_id', o.organisation_id + n, 'public_id', gen_random_uuid()))).*
     from organisation o cross join generate_series(1, $2::int4 - 1) as n where o.organisation_id = $1`,
  [id, count],
);
await app.db.query('vacuum analyze');
console.log(`${count} organisations made in ${Math.round((Date.now() - begun) / 1000)} s`);

const etag = '/0iyXCx9pjfa0l4Bc1c6hA';
const sealed = async () =>
  (await app.db.query<{ n: number }>('select coalesce(sum(blocks), 0)::int8 as n from audit_chain'))[0]!.n;
const figures: { perSecond: number; node: number; postgres: number }[] = [];
for (let minute = 0; minute < minutes; minute++) {
  await app.db.query(
    `insert into audit (organisation_id, at, request_id, actor, action, status, detail)
     select o.organisation_id, $3::timestamptz + (random() * 20000)::int4 * interval '1 ms', gen_random_uuid(), 'ARSK' || o.organisation_id, 'GET /assessments', 304, $4
       from generate_series($1::int8, $1::int8 + $2::int4 - 1) as o(organisation_id) order by random()`,
    [
      id,
      count,
      new Date(clock.nowMs()),
      JSON.stringify({ limit: 500, since: '2026-11-26T09:00:00.000001Z', etag, ms: 1 }),
    ],
  );
  clock.advance(minuteMs);
  const [blocks, node, postgres, atMs] = [
    await sealed(),
    process.cpuUsage(),
    await backendsCpuUs(app.db),
    performance.now(),
  ];
  await sealAudit(app);
  const seconds = (performance.now() - atMs) / 1000;
  const made = (await sealed()) - blocks;
  const spent = process.cpuUsage(node);
  const one = {
    perSecond: made / seconds,
    node: (spent.user + spent.system) / made,
    postgres: ((await backendsCpuUs(app.db)) - postgres) / made,
  };
  console.log(
    `minute ${minute + 1}: ${made} blocks in ${seconds.toFixed(1)} s, ${one.perSecond.toFixed(0)} a second; processor time Node ${one.node.toFixed(0)} µs, PostgreSQL ${one.postgres.toFixed(0)} µs`,
  );
  if (minute > 0) figures.push(one);
}
const of = (what: keyof (typeof figures)[number]) => Math.round(median(figures.map((one) => one[what])));
figure(
  `blocks of ${count.toLocaleString('en-GB')} organisations that poll once a minute`,
  of('perSecond'),
  'a second',
  { atLeast: 1667 },
);
figure('a block, processor time of Node', of('node'), 'µs');
figure('a block, of PostgreSQL', of('postgres'), 'µs');
await opened.close();
