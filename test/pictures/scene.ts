import { sealAudit } from '../../src/platform/audit/seal.ts';
import type { ManualClock } from '../platform/time/manual-clock.ts';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import type { KeyPair } from '../../src/integrations/access-keys/keys.ts';
import { createKey, rollKey } from '../../src/integrations/access-keys/keys.ts';
import type { Service } from '../../src/main.ts';
import type { Organisation } from '../../src/organisations/organisations.ts';
import { createOrganisation } from '../../src/organisations/organisations.ts';
import { grantSandbox, makeTestResult } from '../../src/sandbox/own.ts';
import { planSandbox } from '../../src/sandbox/data/plan.ts';
import { seedOrganisation } from '../../src/sandbox/seed.ts';
import type { Subject } from '../../src/engine/scoring/levels.ts';
import { createAccount } from '../../src/organisations/users/accounts.ts';
import { inviteUser } from '../../src/organisations/users/invitations.ts';
import { addMember } from '../../src/organisations/users/members.ts';
import type { Role } from '../../src/organisations/users/roles.ts';
import { giveSecondFactor } from '../../src/organisations/users/second-factor.ts';
import { openSession } from '../../src/organisations/users/sessions.ts';
import { makeTotpSecret } from '../../src/organisations/users/totp.ts';
import { registerEndpoint } from '../../src/integrations/webhooks/endpoints/endpoints.ts';

/**
 * The organisation of the pictures: the sandbox's learners, a day of polls by three platforms, and two endpoints, one of
 * which fails. Clock and chance are given, so it is the same whenever it is made.
 */
export type Scene = {
  organisation: Organisation;
  /** What stands in the braces of a picture's path. */
  ids: Record<string, string>;
  /** Session tokens. */
  tokens: Record<'owner' | 'developer', string>;
};

const hourMs = 3600_000;

export async function makeScene({ app, url }: Service, clock: ManualClock, endMs: number): Promise<Scene> {
  const organisation = await withUnitOfWork(app, null, (work) =>
    createOrganisation(work, { name: 'Northfield College', plan: 'education', credits: 0, groupAutocreate: true }),
  );
  const { organisation_id: id } = organisation;
  const plan = planSandbox({ seed: 'pictures', learners: 60, nowMs: clock.nowMs() });
  for await (const _ of seedOrganisation(app, organisation, plan, 0));
  const tokens = await people();
  const keys = await makeKeys();
  const endpoints = await makeEndpoints();

  async function person(fullName: string, role: Role): Promise<string> {
    return withUnitOfWork(app, null, async (work) => {
      const email = `${fullName.split(' ')[0]!.toLowerCase()}@northfield.example`;
      const userId = await createAccount(work, { email, fullName, password: null });
      await addMember(work, id, userId, role);
      await giveSecondFactor(work, userId, makeTotpSecret(work.random));
      return userId;
    });
  }
  async function people(): Promise<Record<'owner' | 'developer', string>> {
    const owner = await person('Ana Silva', 'owner');
    const developer = await person('Ben Okafor', 'developer');
    await person('Chidi Anyanwu', 'tutor');
    await person('Dilys Pritchard', 'auditor');
    return { owner, developer };
  }
  async function makeKeys() {
    return withUnitOfWork(app, null, async (work) => {
      const [group] = await work.tx.query<{ group_id: string }>(
        `select group_id from learner_group where organisation_id = $1 and type = 'cohort' and active order by ref desc limit 1`,
        [id],
      );
      const made = (label: string, purpose: string, bounds: { groupIds?: string[]; subjects?: string[] } = {}) =>
        createKey(work, id, { label, purpose, contact: 'it@platform.example', kind: 'live', ...bounds });
      const portal = await made('Employer portal', 'Shows apprentices their levels', {
        groupIds: [group!.group_id],
        subjects: ['english', 'maths'],
      });
      const portfolio = await made('Portfolio platform', 'Evidence of learners’ starting points');
      const old = await made('Management information', 'Nightly export');
      const rolled = await rollKey(work, id, old.access_key_id, { until: new Date(endMs + 24 * hourMs), kind: 'live' });
      if (typeof rolled === 'string') throw new Error(rolled);
      return { portal, portfolio, old };
    });
  }
  function makeEndpoints(): Promise<string[]> {
    return withUnitOfWork(app, null, async (work) => {
      const urls = ['https://portfolio.example/webhooks/results', 'https://crm.northfield.example/hooks/assessments'];
      const ids = [];
      for (const address of urls) {
        const { row } = await registerEndpoint(work, id, {
          url: address,
          eventTypes: ['assessment.completed', 'learner.groups.updated'],
          groupIds: null,
        });
        ids.push(row.endpoint_id);
      }
      return ids;
    });
  }

  let etag = '';
  async function call(key: KeyPair, path: string, client: string, conditional = false): Promise<void> {
    const answer = await fetch(`${url}/api/v1${path}`, {
      headers: {
        'x-access-key-id': key.access_key_id,
        'x-secret-access-key': key.secret_access_key,
        'user-agent': client,
        ...(conditional ? { 'if-none-match': etag } : {}),
      },
    });
    await answer.arrayBuffer();
    if (answer.headers.has('etag')) etag = answer.headers.get('etag')!;
  }
  const subjects: Subject[] = ['maths', 'english', 'digital'];
  const results: string[] = [];
  async function completes(n: number): Promise<void> {
    const learners = await app.db.query<{ learner_id: string }>(
      'select learner_id from learner where organisation_id = $1 and ref is not null order by ref',
      [id],
    );
    const made = await withUnitOfWork(app, null, (work) =>
      makeTestResult(work, organisation, {
        learnerId: learners[n % learners.length]!.learner_id,
        subject: subjects[n % 3]!,
        actor: 'sandbox',
      }),
    );
    results.push(made!);
  }

  const first = endMs - 22 * hourMs;
  for (let hour = 0; hour < 22; hour++) {
    const polls = hour % 24 < 14 ? 2 : 5;
    for (let n = 0; n < polls; n++) {
      clock.set(first + hour * hourMs + n * 11 * 60_000 + 7000);
      const since = new Date(clock.nowMs() - 15 * 60_000).toISOString();
      if (n === 1 && hour > 12) await completes(hour);
      clock.advance(41_000);
      await call(keys.portfolio, `/assessments?since=${since}&limit=500`, 'portfolio-sync/2.4');
      clock.advance(9000);
      await call(keys.portfolio, `/assessments?since=${since}&limit=500`, 'portfolio-sync/2.4', true);
      await call(keys.portal, `/assessments?since=${since}&limit=100`, 'employer-portal/1.0');
      if (n === 2) await call(keys.portal, '/assessments?since=yesterday', 'employer-portal/1.0');
      if (n === 3 && hour % 3 === 0) await call(keys.portfolio, '/learners/LRN-9', 'portfolio-sync/2.4');
      if (n === 1 && hour < 9) await call(keys.old, `/assessments?since=${since}&limit=500`, 'nightly/0.9');
    }
  }
  await outcomes();
  clock.set(endMs);
  await sealAudit(app);
  const by = { actor: 'operator', action: 'sandbox grant', requestId: app.random.uuid() };
  const sandbox = await grantSandbox(app, organisation, by);
  return {
    organisation,
    ids: { ...(await found()), bounded: keys.portal.access_key_id, sandbox, invitation: await invite() },
    tokens: { owner: await session(tokens.owner), developer: await session(tokens.developer) },
  };

  /** What the workers would have done: one endpoint takes everything, the other fails since an hour. */
  async function outcomes(): Promise<void> {
    await app.db.query(
      `update delivery d set status = case when endpoint_id = $2 then 'succeeded' when n > 3 then 'pending' else 'dead' end,
              attempts = case when endpoint_id = $2 then 1 when n > 3 then 2 else 3 end,
              finished_at = case when endpoint_id = $2 or n <= 3 then created_at + interval '2 seconds' end,
              next_attempt_at = case when endpoint_id <> $2 and n > 3 then $3::timestamptz end
         from (select delivery_id as did, row_number() over (partition by endpoint_id order by created_at) as n
                 from delivery where organisation_id = $1) o
        where d.organisation_id = $1 and d.delivery_id = o.did`,
      [id, endpoints[0], new Date(endMs + 10 * 60_000)],
    );
    await app.db.query(
      `insert into delivery_attempt (organisation_id, delivery_id, number, at, status_code, duration_ms, error, sent)
       select $1, d.delivery_id, k, d.created_at + k * k * interval '20 minutes', case when d.status = 'succeeded' then 204 else 503 end,
              40 + (extract(minute from d.created_at) * 3)::int4 + 31 * k, case when d.status = 'succeeded' then null else 'answered 503' end,
              w.url || e'\\nt=' || extract(epoch from d.created_at)::int8 || ',v1=' || encode(sha256(d.delivery_id::text::bytea), 'hex')
                || e'\\n' || encode(sha256(e.event_id::text::bytea), 'hex')
         from delivery d join webhook_endpoint w using (organisation_id, endpoint_id) join event e using (organisation_id, event_id)
              cross join lateral generate_series(1, d.attempts) k
        where d.organisation_id = $1`,
      [id],
    );
    await app.db.query(
      `update webhook_endpoint set failing_since = $3, noticed_at = $4 where organisation_id = $1 and endpoint_id = $2`,
      [id, endpoints[1], new Date(endMs - 9 * hourMs), new Date(endMs - 8 * hourMs)],
    );
    await app.db.query(
      `insert into endpoint_notice (organisation_id, notice_id, endpoint_id, at, kind) values ($1, $2, $3, $4, 'failing')`,
      [id, app.random.uuid(), endpoints[1], new Date(endMs - 8 * hourMs)],
    );
  }
  async function found(): Promise<Record<string, string>> {
    const [row] = await app.db.query<Record<string, string>>(
      `select (select audit_id::text from audit where organisation_id = $1 and actor = $2 and detail like '%"rows":1,%' order by audit_id desc limit 1) as call,
              (select delivery_id::text from delivery where organisation_id = $1 and status = 'dead' order by created_at limit 1) as delivery,
              (select f.learner_id::text from assessment_feed f join learner l using (organisation_id, learner_id)
                where f.organisation_id = $1 and l.ref is not null group by 1 order by count(*) desc, min(l.ref) limit 1) as learner`,
      [id, keys.portfolio.access_key_id],
    );
    return { ...row, result: results.at(-2)! };
  }
  async function invite(): Promise<string> {
    const invited = await withUnitOfWork(app, null, (work) =>
      inviteUser(work, id, { email: 'eve@northfield.example', role: 'owner', invitedBy: 'operator', again: true }),
    );
    if (typeof invited === 'string') throw new Error(invited);
    return invited.token;
  }
  function session(userId: string): Promise<string> {
    return withUnitOfWork(app, null, (work) => openSession(work, { userId, stage: 'full', client: 'Firefox, Linux' }));
  }
}
