import type { App } from '../src/app.ts';
import { sealAudit } from '../src/audit/seal.ts';
import { manualClock } from '../src/clock.ts';
import { feedLane, inWork } from '../src/db/work.ts';
import { lockFeed } from '../src/feed/position.ts';
import { ensureGroups } from '../src/groups/create.ts';
import { orderMoves } from '../src/groups/runs.ts';
import { createKey } from '../src/keys/keys.ts';
import type { Organisation } from '../src/organisations/organisations.ts';
import { addTeamStaff, createTeam } from '../src/organisations/teams.ts';
import { createAccount, findAccounts } from '../src/users/accounts.ts';
import { addMember, listMembers } from '../src/users/members.ts';
import { hashPassword } from '../src/users/password.ts';
import { registerEndpoint } from '../src/webhooks/manage.ts';
import { fillNouns } from './console-nouns.ts';
import { filledOrganisation } from './data.ts';

/** The organisation that bench/console.ts looks at: made step by step, each passed over where it is there already. */
export type Sizes = { results: number; rows: number; deliveries: number; groups: number; keys: number; people: number };

export const wholeSizes: Sizes = {
  results: 1_000_000,
  rows: 10_000_000,
  deliveries: 200_000,
  groups: 300,
  keys: 300,
  people: 80,
};

const dayMs = 86_400_000;
const days = 90;
const endpoints = 10;
/** Rows of the log in one transaction. */
const slice = 500_000;

export const password = 'four-short-words-9';
export const emailOf = (role: string) => `${role}@bench.example`;

/** @param onStep is told what is being done */
export async function fillConsole(app: App, sizes: Sizes, onStep: (step: string) => void): Promise<Organisation> {
  const organisation = await fillResults(app, sizes, onStep);
  const id = organisation.organisation_id;
  const from = organisation.created_at;
  await fillGroups(app, organisation, sizes.groups);
  await fillKeys(app, organisation, sizes.keys);
  await fillPeople(app, id, sizes.people);
  await fillTeams(app, id);
  await monthsFrom(app, from);
  const count = async (text: string) => (await app.db.query<{ count: number }>(text, [id]))[0]!.count;
  const present = await count('select count(*) as count from audit where organisation_id = $1');
  const fresh = present === 0;
  for (let first = present + 1; first <= sizes.rows; first += slice) {
    onStep(`${first - 1} of ${sizes.rows} rows of the log`);
    const last = Math.min(sizes.rows, first + slice - 1);
    await app.db.query(logRows, [id, first, last, from, (days * dayMs) / sizes.rows, sizes.keys, sizes.results]);
  }
  if ((await count('select count(*) as count from delivery where organisation_id = $1')) === 0) {
    onStep('deliveries');
    await fillDeliveries(app, id, from, sizes);
  }
  const made = await fillNouns(app, id, { learners: Math.floor(sizes.results / 10), tutor: emailOf('tutor') }, onStep);
  if (fresh || made) {
    onStep('vacuum');
    await app.db.query('vacuum analyze');
  }
  onStep('sealing');
  const isSealed = async () =>
    (await app.db.query('select from audit_chain where organisation_id = $1 and blocks > 0', [id])).length > 0;
  if (!(await isSealed())) await app.db.query('update audit_begun set at = $1', [from]);
  if (!(await isSealed())) {
    await sealAudit(app, undefined, -1);
    await app.db.query('vacuum analyze');
  }
  return organisation;
}

/** Results come over 90 days by a clock of their own, so that positions and the log's times belong together. */
async function fillResults(app: App, { results }: Sizes, onStep: (step: string) => void): Promise<Organisation> {
  const clock = manualClock(app.clock.nowMs() - days * dayMs);
  const { organisation } = await filledOrganisation({ ...app, clock }, results, (done, { created_at }) => {
    clock.set(created_at.getTime() + Math.floor((done / results) * days * dayMs) - 60_000);
    onStep(`${done} of ${results} results`);
  });
  return organisation;
}

async function fillGroups(app: App, organisation: Organisation, groups: number): Promise<void> {
  await inWork(app, null, async (work) => {
    const feed = await lockFeed(work, organisation.organisation_id);
    const wanted = Array.from({ length: Math.max(0, groups - 60) }, (_, n) => ({
      type: 'class',
      ref: `class-${n}`,
      name: `Evening class ${n}, ${['Riverside', 'Northfield', 'Town Hall'][n % 3]}`,
    }));
    await ensureGroups(work, feed, wanted, { autocreate: true });
  });
}

async function fillKeys(app: App, organisation: Organisation, keys: number): Promise<void> {
  const id = organisation.organisation_id;
  const [there] = await app.db.query<{ count: number }>(
    'select count(*) as count from access_key where organisation_id = $1',
    [id],
  );
  if (there!.count >= keys) return;
  const groups = await app.db.query<{ group_id: string }>(
    'select group_id from learner_group where organisation_id = $1 order by ref limit 20',
    [id],
  );
  const past = { ...app, clock: manualClock(organisation.created_at.getTime()) };
  await inWork(past, null, async (work) => {
    for (let n = there!.count; n < keys; n++)
      await createKey(work, id, {
        label: `Platform ${n}`,
        purpose: 'Shows learners their levels',
        contact: 'it@platform.example',
        kind: 'live',
        ...(n % 2 === 1 ? { groupIds: [groups[n % groups.length]!.group_id] } : {}),
      });
    await work.tx.query(
      `update access_key set revoked_at = created_at + interval '30 days'
        where organisation_id = $1 and label ~ '^Platform \\d*7$'`,
      [id],
    );
    await work.tx.query(
      `insert into key_use (organisation_id, key_id, network, client, first_at, last_at)
       select $1, key_id, format('203.0.%s.0/24', n), format('sync/%s.0', n), created_at, created_at + n * interval '10 days'
         from access_key, generate_series(1, 8) n where organisation_id = $1 on conflict do nothing`,
      [id],
    );
    await work.tx.query(
      `update rate_window set last_ms = $2 where key_id in (select key_id from access_key where organisation_id = $1)`,
      [id, app.clock.nowMs() - 60_000],
    );
  });
}

async function fillPeople(app: App, organisationId: number, people: number): Promise<void> {
  const roles = ['owner', 'developer', 'admin', 'auditor', 'tutor'] as const;
  if ((await findAccounts(app.db, emailOf('owner'))).length > 0) return;
  const hashed = await hashPassword(password, app.random);
  await inWork(app, null, async (work) => {
    for (let n = 0; n < people; n++) {
      const role = roles[Math.min(n, roles.length - 1)]!;
      const email = n < roles.length ? emailOf(role) : `person-${n}@bench.example`;
      const userId = await createAccount(work, { email, fullName: `Person Number ${n}`, password: hashed });
      await addMember(work, organisationId, userId, role);
    }
  });
}

const teams = 20;
const learnersOfTeam = 50;

/** Teams with learners, and tutors who work with them; the memberships are changes that are remembered. */
async function fillTeams(app: App, organisationId: number): Promise<void> {
  const learners = await app.db.query<{ learner_id: string }>(
    'select learner_id from learner where organisation_id = $1 order by learner_id limit $2',
    [organisationId, teams * learnersOfTeam],
  );
  const people = await listMembers(app.db, organisationId);
  const tutors = people.filter((one) => one.role === 'tutor').map((one) => one.user_id);
  for (let n = 0; n < teams; n++)
    await inWork(app, feedLane(organisationId), async (work) => {
      const team = await createTeam(work, organisationId, { ref: `team-${n}`, name: `Team ${n}` });
      if (team === null) return;
      await addTeamStaff(work, organisationId, team, tutors);
      await orderMoves(work, organisationId, {
        runId: work.uuid(),
        learnerIds: learners.slice(n * learnersOfTeam, (n + 1) * learnersOfTeam).map((row) => row.learner_id),
        joins: team,
        leaves: null,
        by: 'operator',
        managingTeams: true,
      });
    });
}

/** The log gets months back to this day, as one that has been written all the time has. */
async function monthsFrom(app: App, from: Date): Promise<void> {
  await app.db.query(
    `select make_audit_month(m) from generate_series(date_trunc('month', $1::timestamptz, 'UTC'), $2::timestamptz, interval '1 month') m`,
    [from, new Date(app.clock.nowMs())],
  );
}

/** A number in [0, 1) that follows from the row's, another one for each seed. */
const draw = (seed: number) => `((hashint8extended(i, ${seed}) & 268435455) / 268435456.0::float8)`;

/**
 * Rows of the log, evenly over the time: nine in ten found nothing new, a few keys poll most of the time. Pages of the
 * others end where the feed ended then.
 * $1 organisation, $2 and $3 the numbers of rows, $4 since when, $5 milliseconds from one to the next, $6 keys, $7 results
 */
const logRows = `
  with keys as materialized (
    select key_id, row_number() over (order by label, key_id) - 1 as n from access_key where organisation_id = $1 limit $6::int4),
  results as materialized (
    select assessment_id, learner_id, row_number() over (order by position) - 1 as n from assessment_feed where organisation_id = $1),
  drawn as (
    select i, $4::timestamptz + i * $5::float8 * interval '1 millisecond' as at, floor($6::int4 * pow(${draw(1)}, 3))::int8 as key,
           ${draw(2)} as kind, floor($7::int8 * ${draw(3)})::int8 as result, ${draw(4)} as more,
           ($7::int8 * i * $5::float8 / ${days * dayMs}) as so_far
      from generate_series($2::int8, $3::int8) i)
  insert into audit (organisation_id, at, request_id, actor, action, resource, status, detail)
  select $1, date_trunc('milliseconds', at), md5(i::text)::uuid, key_id,
         case when kind < 0.955 or kind >= 0.985 then 'GET /assessments' when kind < 0.97 then 'GET /assessments/{id}'
              when kind < 0.975 then 'GET /learners/{ref}' else 'POST /learners' end,
         case when kind >= 0.955 and kind < 0.97 then assessment_id::text when kind >= 0.97 and kind < 0.985 then learner_id::text end,
         case when kind < 0.9 then 304 when kind < 0.975 then 200 when kind < 0.985 then 201 when kind < 0.9995 then 400
              when more < 0.5 then 500 else 429 end,
         case when kind < 0.9 then format('{"query":"since=%s","limit":500,"ms":%s}', since, (more * 5)::int4)
              when kind < 0.955 then format('{"query":"since=%s","limit":500,"through":%s,"first":%s,"last":%s,"rows":%s,"more":%s,"bytes":%s,"ms":%s}',
                since, us, us - (more * more * 9e9)::int8, us, 1 + (more * 400)::int4, case when more > 0.97 then 'true' else 'false' end, (more * 300000)::int4, (more * 40)::int4)
              when kind < 0.985 then format('{"bytes":%s,"ms":%s}', (more * 900)::int4, (more * 4)::int4)
              when kind < 0.9995 then format('{"code":"%s","bytes":140,"ms":1}',
                (array['unknown_parameter', 'invalid_since', 'limit_out_of_range', 'invalid_cursor'])[1 + (more * 3.99)::int4 % 4])
              when more < 0.5 then '{"code":"internal_error","bytes":120,"ms":31}' else '{"code":"rate_limited","bytes":120,"ms":0}' end
    from (select *, (extract(epoch from at) * 1e6)::int8 as us,
                 to_char(at - interval '1 minute', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as since from drawn) d
    join keys k on k.n = d.key
    left join results r on r.n = d.result and d.kind >= 0.955 and d.kind < 0.985
   order by i`;

async function fillDeliveries(app: App, id: number, from: Date, { deliveries, results }: Sizes): Promise<void> {
  await inWork(app, null, async (work) => {
    for (let n = 0; n < endpoints; n++)
      await registerEndpoint(work, id, {
        url: `https://platform-${n}.example/webhooks/results`,
        eventTypes: ['assessment.completed', 'learner.groups.updated'],
        groupIds: null,
      });
    await work.tx.query(`update webhook_endpoint set created_at = $2 where organisation_id = $1`, [id, from]);
    await work.tx.query(
      `update webhook_endpoint set failing_since = $2 where organisation_id = $1 and url like '%-3.%'`,
      [id, new Date(work.nowMs - 7200_000)],
    );
    const every = Math.max(1, Math.floor(results / 3 / (deliveries / endpoints)));
    await work.tx.query(events, [id, every, new Date(from.getTime() + 60 * dayMs), deliveries / endpoints]);
    await work.tx.query(eventDeliveries, [id, new Date(work.nowMs + dayMs)]);
    await work.tx.query(attempts, [id]);
    await work.tx.query(
      `insert into background_job (organisation_id, job_id, kind, status, created_by, created_at, finished_at, input, progress)
       values ($1, $2, 'resend', 'finished', 'bench', $3, $3, jsonb_build_object('endpoint_id', null, 'failed_since', $3, 'delivery_ids', null),
               '{"total": 900, "resent": 900, "reached_at": "-infinity", "reached_id": "00000000-0000-0000-0000-000000000000"}')`,
      [id, work.uuid(), new Date(work.nowMs - dayMs)],
    );
  });
}

const events = `
  insert into event (organisation_id, event_id, type, occurred_at, payload)
  select $1, md5('event ' || assessment_id)::uuid, 'assessment.completed', at,
         format('{"event":"assessment.completed","occurred_at":"%s","data":{"assessment_id":"%s","status":"completed","learner":%s,%s,"groups":[]},"group_ids":[]}',
           to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), assessment_id, learner, body)
    from (select f.assessment_id, a.learner, a.body, date_trunc('milliseconds', to_timestamp(f.position / 1000000.0)) as at, row_number() over (order by f.position) as n
            from assessment_feed f join assessment a on a.organisation_id = $1 and a.assessment_id = f.assessment_id
           where f.organisation_id = $1 and to_timestamp(f.position / 1000000.0) >= $3::timestamptz) r
   where n % $2::int8 = 0 order by n limit $4::int8`;

const eventDeliveries = `
  insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, status, attempts, created_at, next_attempt_at, finished_at)
  select $1, md5(event_id::text || endpoint_id)::uuid, endpoint_id, event_id, status, case status when 'dead' then 10 else 1 end, occurred_at,
         case status when 'pending' then $2::timestamptz end,
         case when status <> 'pending' then occurred_at + case status when 'dead' then interval '10 hours' else interval '1 second' end end
    from (select e.event_id, w.endpoint_id, e.occurred_at,
                 case when draw < 0.96 then 'succeeded' when draw < 0.985 then 'dead' when draw < 0.995 then 'pending' else 'cancelled' end as status
            from (select *, (hashint8extended(number, 7) & 1048575) / 1048576.0::float8 as draw from event where organisation_id = $1) e
            cross join webhook_endpoint w where w.organisation_id = $1) d`;

const attempts = `
  insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error, sent)
  select $1, d.delivery_id, n, d.created_at + n * interval '1 hour', case when d.status = 'succeeded' then 200 else 500 end,
         20 + n * 7, case when d.status = 'succeeded' then null else 'answered 500' end,
         e'https://platform.example/webhooks/results\\nt=1766000000,v1=' || repeat('5f', 32) || e'\\n' || repeat('7a', 32)
    from delivery d cross join lateral generate_series(1, d.attempts) n where d.organisation_id = $1`;
