import type { App } from '../../../src/platform/app.ts';
import { withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { assessmentCompleted } from '../../../src/platform/validation/event-types.ts';
import { registerEndpoint } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { orderResend } from '../../../src/integrations/webhooks/resend.ts';
import { retentionRuns } from '../../../src/governance/retention/run.ts';
import { defaultMonths } from '../../../src/governance/retention/kinds.ts';
import type { Organisation } from '../../../src/organisations/organisations.ts';
import { assessmentUrl, findInvitation } from '../../../src/sittings/invitations/invitations.ts';
import { provisionLearner } from '../../../src/sittings/invitations/provision.ts';
import { type Of, drawer, openPage } from './pages.ts';
import { SimulatedLearner } from '../../../test/sittings/learner.ts';
import type { TestService } from '../../../test/support/service.ts';

const months = `select make_audit_month(month), make_event_month(month)
  from generate_series(date_trunc('month', $1::timestamptz, 'UTC') - interval '3 months', $1, interval '1 month') month`;

/** Requests of platforms: one in twenty is refused. */
const requests = `
  insert into audit (organisation_id, at, request_id, actor, action, resource, status, detail)
  select $1, $2::timestamptz - ($3::int4 - n) * interval '30 seconds', gen_random_uuid(), k.keys[1 + n % 20], 'GET /assessments', null,
         case when n % 20 = 0 then 400 when n % 3 = 0 then 304 else 200 end,
         case when n % 20 = 0 then '{"code":"invalid_cursor","ms":2}'
              when n % 3 = 0 then '{"ms":1}' else '{"limit":100,"first":1,"last":100,"rows":100,"more":false,"bytes":9000,"ms":3}' end
    from generate_series(1, $3::int4) n,
         (select array_agg(key_id order by key_id) as keys from access_key where organisation_id = $1) k`;
/** What people did: mostly pages of learners, by many people; few of the rarer acts. */
const acts = `
  insert into audit (organisation_id, at, request_id, actor, action, resource, status)
  select $1, $2::timestamptz - ($3::int4 - n) * interval '40 seconds', gen_random_uuid(), u.ids[1 + n % cardinality(u.ids)],
         case when n % 5000 = 0 then 'POST /console/keys/create' when n % 50 = 0 then 'POST /console/groups/{group_id}/members'
              when n % 3 = 0 then 'POST /console/search' else 'POST /console/learners/{learner_id}/name' end, l.ids[1 + n % 1000], null
    from generate_series(1, $3::int4) n,
         (select array_agg(user_id::text) as ids from user_membership where organisation_id = $1) u,
         (select array_agg(learner_id::text) as ids from (select learner_id from learner where organisation_id = $1 limit 1000) l) l`;
const hours = `
  insert into audit_hour (organisation_id, hour, actor, action, status, code, calls, last_at, lowest_id, highest_id, pages, first_position, last_position)
  select organisation_id, date_trunc('hour', at, 'UTC'), actor, action, status, case when status = 400 then 'invalid_cursor' else '' end,
         count(*), max(at), min(audit_id), max(audit_id), count(*) filter (where status = 200), 1, 100
    from audit where organisation_id = $1 and status is not null group by 1, 2, 3, 4, 5, 6`;
const sealed = `
  insert into audit_chain (organisation_id, sealed_id) select $1, max(audit_id) from audit where organisation_id = $1
  on conflict (organisation_id) do update set sealed_id = excluded.sealed_id`;
const credits = `
  with used as (
    insert into credit_entry (organisation_id, entry_no, at, kind, amount, balance, actor, invitation_id)
    select $1, n + 1, created_at, 'use', -1, 1000000 - n, 'service', invitation_id
      from (select i.*, row_number() over (order by created_at, invitation_id) as n from invitation i where organisation_id = $1) i
    returning balance),
  opened as (
    insert into credit_entry (organisation_id, entry_no, at, kind, amount, balance, actor)
    select $1, 1, $2::timestamptz - interval '60 days', 'opening', 1000000, 1000000, 'service')
  update organisation set plan = 'standard', credits = (select min(balance) from used) where organisation_id = $1`;
const events = `
  insert into event (organisation_id, event_id, type, occurred_at, payload)
  select $1, (left(event_day(at)::text, 14) || '8' || substr(gen_random_uuid()::text, 16))::uuid, 'assessment.completed', at,
         '{"assessment_id":"' || gen_random_uuid() || '"}'
    from (select $2::timestamptz - n * interval '10 seconds' as at from generate_series(1, $3::int4) n) e`;
/** One of 50 has failed for good. */
const deliveries = `
  insert into delivery (organisation_id, delivery_id, endpoint_id, event_id, status, attempts, created_at, finished_at)
  select $1, (left(e.event_id::text, 15) || substr(gen_random_uuid()::text, 16))::uuid, w.endpoint_id, e.event_id,
         case when hashtext(e.event_id::text) % 50 = 0 then 'dead' else 'succeeded' end, 1, e.occurred_at, e.occurred_at
    from event e, webhook_endpoint w where e.organisation_id = $1 and w.organisation_id = $1`;
const attempts = `
  insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error)
  select organisation_id, delivery_id, 1, created_at, case when status = 'dead' then 500 else 200 end, 20 + attempts,
         case when status = 'dead' then 'status' end from delivery where organisation_id = $1`;
const lookups = `
  insert into lookup (organisation_id, learner_id, at, user_id, page)
  select $1, l.learner_id, $2::timestamptz - n * interval '7 minutes', u.user_id, '/learners/{learner_id}'
    from (select learner_id from learner where organisation_id = $1 order by learner_id limit 2000) l,
         generate_series(1, 60) n, (select user_id from user_membership where organisation_id = $1 limit 1) u`;

/** What a season of use leaves: requests, acts, credits, deliveries, looks at learners, jobs and a sitting. */
export async function fillHistory(app: App, { organisation_id: id }: Organisation, rows: number): Promise<void> {
  const now = new Date(app.clock.nowMs());
  await app.db.query(months, [now]);
  const url = (n: number) => `https://platform-${n}.example/events`;
  await withUnitOfWork(app, null, async (work) => {
    for (let n = 0; n < 2; n++)
      await registerEndpoint(work, id, { url: url(n), eventTypes: [assessmentCompleted], groupIds: null });
  });
  await app.db.query(requests, [id, now, rows]);
  await app.db.query(acts, [id, now, rows]);
  await app.db.query(hours, [id]);
  await app.db.query(sealed, [id]);
  await app.db.query(credits, [id, now]);
  await app.db.query(events, [id, now, rows]);
  for (const sql of [deliveries, attempts]) await app.db.query(sql, [id]);
  await app.db.query(lookups, [id, now]);
  const runId = app.random.uuid();
  await withUnitOfWork(app, null, async (work) => {
    const progress = { kind: null, reached: null, tally: {}, stopped_by: null };
    const input = { dry_run: true, months: defaultMonths() };
    await retentionRuns.order(work, id, { runId, by: 'service', input, progress });
    const which = { endpointId: null, failedSince: new Date(work.nowMs - 1000) };
    await orderResend(work, id, { resendId: work.uuid(), which, by: 'service' });
  });
  await app.db.query(
    `update background_job set status = 'finished', started_at = created_at, finished_at = created_at where organisation_id = $1`,
    [id],
  );
  await sitOne(app, id);
  await app.db.query('vacuum analyze');
}

/** A learner sits a subject to its end, so that a review shows questions. */
async function sitOne(app: App, id: number): Promise<void> {
  app.settings.baseUrl ||= 'https://results.example';
  const learner = { full_name: 'Sitting Learner', email: null, ref: 'sitting', groups: [] };
  const { reply } = await withUnitOfWork(app, null, (work) => provisionLearner(work, id, learner, 'bench'));
  const invitation = (await findInvitation(app.db, id, reply.invitation_id))!;
  const token = new URL(assessmentUrl('http://localhost', app.secrets, invitation)).pathname.slice(3);
  await new SimulatedLearner({ app } as TestService, token, 'sitting', 0).sits();
}

/** Forms that a person sends: jobs, a request of a data subject, a hold, an erasure and more, to have their pages. */
const forms: [path: string, fields: Record<string, string>][] = [
  ['/invite', { rows: `full_name,ref\n${Array.from({ length: 500 }, (_, n) => `New ${n},new-${n}`).join('\n')}` }],
  [
    '/results/import',
    {
      rows: 'learner_ref,learner_full_name,assessed_at,subject,framework,rqf_level,rqf_level_code,below_level_1\nnew-1,New 1,2025-01-01T00:00:00Z,maths,Framework,Level 1,2,false',
      dates: 'rfc3339',
    },
  ],
  ['/groups/{group_id}/members', { how: 'join', learners: '{learner_id}' }],
  ['/data-protection/open', { kind: 'access', about: 'A parent', received: '2025-01-01' }],
  ['/learners/{erase_id}/erase', {}],
  ['/learners/{learner_id}/hold', { reason: 'Claim 17' }],
  ['/key-links/create', { label: 'Vendor', minutes: '30' }],
  ['/views/save', { list: '/results', view: 'subject=maths', view_name: 'Maths' }],
];

/** Sends the forms. A job that one of them starts has ended before the pages are measured, except drafts. */
export async function sendForms(app: App, organisation: Of, origin: string, cookie: string): Promise<void> {
  const draw = await drawer(app.db, organisation);
  const base = `${origin}/console/${organisation.public_id}`;
  for (const [path, fields] of forms) {
    const filled = Object.entries(fields).map(([name, value]) => [name, draw(value, 0)]);
    const { status, text } = await openPage(base + draw(path, 0), cookie, {
      once: app.random.uuid(),
      ...Object.fromEntries(filled),
    });
    if (status >= 400) throw new Error(`${path} was answered by ${status}: ${text.slice(text.indexOf('<main'))}`);
  }
}
