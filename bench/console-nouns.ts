import type { App } from '../src/app.ts';
import { feedLane, inWork } from '../src/db/work.ts';
import { lockFeed } from '../src/feed/position.ts';
import { addMembers } from '../src/groups/members.ts';
import { insertLearners } from '../src/learners/learners.ts';
import { mergeLearners } from '../src/merging/merge.ts';
import { addTeamStaff, ensureTeam } from '../src/organisations/teams.ts';
import { banksOf } from '../src/sittings/banks.ts';
import { findAccounts } from '../src/users/accounts.ts';

/**
 * What an organisation has besides results, calls and deliveries, at the sizes of one with so many learners: invitations in
 * every state, reviews, cases, teams and the like. Each noun is made where it is missing, so that a database that was filled
 * before there was one gets it too.
 */
type Noun = { name: string; isThere: string; make: (given: Given) => Promise<unknown> };

type Given = { app: App; id: number; at: Date; learners: number; tutor: string };

const dayMs = 86_400_000;
const run = (text: string, more: (given: Given) => unknown[] = () => []) => {
  return (given: Given) => given.app.db.query(text, [given.id, given.at, ...more(given)]);
};
const invitationInput = `'{"team_id": null, "sight": null, "mails": false}'`;
const otherCounts = '"known": 0, "open_already": 0, "credits": 0, "again": 0, "refused": 0, "cancelled_because": null';
const any = (from: string) => `select from ${from} limit 1`;

const largeTeam = 'team-large';

const nouns: Noun[] = [
  {
    name: 'invitations',
    isThere: any(`invitation where organisation_id = $1`),
    // Every second learner, within the last month.
    make: run(`
      insert into invitation (organisation_id, invitation_id, learner_id, subjects, created_at, expires_at, credit_spent, status)
      select $1, md5('invitation ' || learner_id)::uuid, learner_id, '{maths,english}', $2::timestamptz - n * interval '20 seconds',
             $2::timestamptz - n * interval '20 seconds' + interval '30 days', false, case when n % 3 = 0 then 'used' else 'open' end
        from (select learner_id, row_number() over (order by learner_id) as n from learner where organisation_id = $1) l where n % 2 = 0`),
  },
  {
    name: 'runs of invitations',
    isThere: any(`background_job where organisation_id = $1 and kind = 'invitation_run' and status = 'finished'`),
    make: run(`
      with runs as (
        insert into background_job (organisation_id, job_id, kind, status, created_by, created_at, started_at, finished_at, input, progress)
        select $1, md5('run ' || n)::uuid, 'invitation_run', 'finished', 'bench', $2, $2, $2, ${invitationInput},
               '{"total": 50, "faulty": 0, "reached": 50, "invited": 50, ${otherCounts}}' from generate_series(1, 20) n
        returning job_id as run_id)
      insert into invitation_run_row (organisation_id, run_id, row_no, invitation_id, learner_id, outcome)
      select $1, r.run_id, m.n, m.invitation_id, m.learner_id, 'invited'
        from runs r cross join (
          select invitation_id, learner_id, row_number() over (order by learner_id) as n from invitation
           where organisation_id = $1 order by learner_id limit 50) m`),
  },
  {
    name: 'data protection',
    isThere: any('legal_hold where organisation_id = $1'),
    // A hold, a run of retention, a case and an erasure each, twenty times over.
    make: run(`
      with holds as (
        insert into legal_hold (organisation_id, hold_id, learner_id, reason, placed_at, placed_by)
        select $1, gen_random_uuid(), gen_random_uuid(), 'Claim ' || n, $2::timestamptz, 'bench' from generate_series(1, 20) n),
      runs as (
        insert into background_job (organisation_id, job_id, kind, status, input, progress, created_at, created_by, finished_at)
        select $1, gen_random_uuid(), 'retention', 'finished', '{"rehearsal": true, "months": {"learners": 84}}',
               '{"kind": null, "reached": null, "stopped_by": null, "tally": {"learners": {"learners": 3, "items": 3, "held": 0, "first": []}}}',
               $2, 'bench', $2
          from generate_series(1, 20)),
      cases as (
        insert into data_case (organisation_id, case_id, kind, about, received_at, due_at, opened_by)
        select $1, gen_random_uuid(), 'access', 'Person ' || n, $2, $2::timestamptz + interval '1 month', 'bench' from generate_series(1, 20) n),
      imports as (
        insert into background_job (organisation_id, job_id, kind, status, created_by, created_at, finished_at, input, progress)
        select $1, gen_random_uuid(), 'import_run', 'cancelled', 'bench', $2, $2, '{"dates": "uk", "events": false}',
               jsonb_build_object('fresh', n) || '{"changed": 0, "same": 0, "faulty": 0, "faults": [], "imported": 0, "updated": 0, "unchanged": 0, "rejected": 0, "cancelled_because": null}'
          from generate_series(1, 20) n)
      insert into learner_change (organisation_id, learner_id, at, kind, actor)
      select $1, gen_random_uuid(), $2, 'erased', 'bench' from generate_series(1, 20)`),
  },
  {
    name: 'earlier invitations',
    isThere: any(`invitation where organisation_id = $1 and status = 'withdrawn'`),
    // One in twenty was never invited; of the others each once before, over a year: used, expired or cancelled.
    make: run(`
      insert into invitation (organisation_id, invitation_id, learner_id, subjects, created_at, expires_at, credit_spent, status, purpose)
      select $1, md5('earlier ' || learner_id)::uuid, learner_id, '{digital}', at, at + interval '30 days', true,
             case when n % 10 < 5 then 'used' when n % 10 < 8 then 'open' else 'withdrawn' end, 'initial'
        from (select learner_id, n, $2::timestamptz - interval '45 days' - (n % 40000) * interval '11 minutes' as at
                from (select learner_id, row_number() over (order by learner_id) as n from learner
                       where organisation_id = $1 and full_name <> '') l) l
       where n % 20 <> 1`),
  },
  {
    name: 'sittings',
    isThere: any(`sitting where organisation_id = $1 and status = 'open'`),
    // Under way, three in five of them paused; done in one subject and not yet in the other; done.
    make: async ({ app, id, at, learners }) => {
      const { version } = (await banksOf(app).currentStored(app.db, app.clock.nowMs())).bank;
      const insert = (rows: string) =>
        app.db.query(
          `insert into sitting (organisation_id, sitting_id, invitation_id, learner_id, subject, bank_version, settings, time_limit_ms, withheld,
                                on_screen_since, last_seen_at, started_at, finished_at, status)
           select $1, md5('sitting ' || invitation_id)::uuid, invitation_id, learner_id, subjects[1], $3, '{}', 2700000, '{}',
                  case when state = 'shown' then $2::timestamptz end, $2::timestamptz + n * interval '10 seconds', $2::timestamptz - interval '20 minutes',
                  case when state = 'done' then $2::timestamptz end, case when state = 'done' then 'completed' else 'open' end
             from (${rows}) i on conflict do nothing`,
          [id, at, version, learners],
        );
      await insert(`
        select *, case when n > $4::int8 / 50 then 'done' when n % 5 < 3 then 'paused' else 'shown' end as state
          from (select *, row_number() over (order by md5(invitation_id::text)) as n from invitation
                 where organisation_id = $1 and status = 'open' and expires_at > $2) i where n <= $4::int8 / 20`);
      await insert(`
        select *, 'done' as state, 0 as n from invitation where organisation_id = $1 and status = 'used' order by invitation_id limit $4::int8 / 5`);
    },
  },
  {
    name: 'a run of invitations that waits for corrections',
    isThere: any(`background_job where organisation_id = $1 and kind = 'invitation_run' and status = 'draft'`),
    make: run(`
      with runs as (
        insert into background_job (organisation_id, job_id, kind, status, created_by, created_at, input, progress)
        select $1, md5('draft ' || n)::uuid, 'invitation_run', 'draft', 'bench', $2, ${invitationInput},
               '{"total": 2000, "faulty": 40, "reached": 0, "invited": 0, ${otherCounts}}' from generate_series(1, 20) n
        returning job_id as run_id)
      insert into invitation_run_row (organisation_id, run_id, row_no, cells, ready, faults)
      select $1, run_id, n, jsonb_build_object('ref', 'DRAFT-' || n, 'full_name', 'Learner ' || n), null,
             case when n % 50 = 0 then '[{"column": "email", "expected": "an e-mail address"}]'::jsonb end
        from runs, generate_series(1, 2000) n`),
  },
  {
    name: 'start codes',
    isThere: any('start_code where organisation_id = $1'),
    make: run(`
      with given as (
        update invitation set start_code = true where organisation_id = $1 and invitation_id in (
          select invitation_id from invitation where organisation_id = $1 and status = 'open' and expires_at > $2 order by invitation_id limit 200)
        returning invitation_id)
      insert into start_code (organisation_id, invitation_id, code_mac, expires_at, released_at, released_by)
      select $1, invitation_id, decode(md5(invitation_id::text), 'hex'), $2::timestamptz + interval '10 minutes', $2, gen_random_uuid() from given`),
  },
  {
    name: 'decided reviews and requests',
    isThere: any('review where organisation_id = $1 and decided_at is not null'),
    make: run(
      `
      with waiting as (
        select assessment_id, review_no, row_number() over (order by md5(assessment_id::text)) as n from review
         where organisation_id = $1 and decided_at is null order by md5(assessment_id::text) limit $3::int8 / 20)
      update review r
         set outcome = case when n % 5 > 1 then 'confirmed' end, decided_by = case when n % 5 > 1 then 'bench' end,
             decided_at = case when n % 5 > 1 then $2::timestamptz - n * interval '1 minute' end,
             requested_at = case when n % 5 = 0 then $2::timestamptz - n * interval '5 minutes' end,
             due_at = case when n % 5 = 0 then $2::timestamptz - n * interval '5 minutes' + interval '1 month' end,
             flags = case when n % 5 = 1 then r.flags || array['person_fit'] else r.flags end
        from waiting w where r.organisation_id = $1 and r.assessment_id = w.assessment_id and r.review_no = w.review_no`,
      ({ learners }) => [learners],
    ),
  },
  {
    name: 'closed cases',
    isThere: any('data_case where organisation_id = $1 and closed_at is not null'),
    make: run(
      `
      with cases as (
        insert into data_case (organisation_id, case_id, kind, learner_id, received_at, due_at, opened_by, outcome, closed_at)
        select $1, md5('case ' || n)::uuid, (array['access', 'erasure', 'complaint'])[1 + n % 3], l.learner_id, $2::timestamptz - n * interval '4 hours',
               $2::timestamptz - n * interval '4 hours' + interval '1 month', 'bench', case when n % 6 > 0 then 'done' end,
               case when n % 6 > 0 then $2::timestamptz - n * interval '3 hours' end
          from (select learner_id, row_number() over (order by learner_id) as n from learner
                 where organisation_id = $1 and full_name <> '' order by learner_id limit $3::int8 / 50) l
        returning case_id, received_at)
      insert into data_case_entry (organisation_id, case_id, entry_no, at, actor, kind, text)
      select $1, case_id, n, received_at + n * interval '1 hour', 'bench', case when n = 1 then 'opened' else 'note' end, 'What was asked, and done.'
        from cases, generate_series(1, 5) n`,
      ({ learners }) => [learners],
    ),
  },
  {
    name: 'lookups',
    isThere: any('lookup where organisation_id = $1'),
    make: run(`
      insert into lookup (organisation_id, learner_id, at, user_id, page)
      select $1, l.learner_id, $2::timestamptz - n * interval '1 hour', gen_random_uuid(), '/learners/{learner_id}'
        from (select learner_id from learner where organisation_id = $1 order by learner_id limit 60) l, generate_series(1, 200) n`),
  },
  {
    name: 'lookups of somebody whom many look at',
    isThere: any(
      `lookup where organisation_id = $1 and page = '/review/{assessment_id}'
         and learner_id = (select learner_id from learner where organisation_id = $1 order by learner_id limit 1)`,
    ),
    make: run(
      `
      insert into lookup (organisation_id, learner_id, at, user_id, page)
      select $1, l.learner_id, $2::timestamptz - n * interval '1 minute', gen_random_uuid(), '/review/{assessment_id}'
        from (select learner_id from learner where organisation_id = $1 order by learner_id limit 1) l, generate_series(1, $3::int4 / 5) n`,
      ({ learners }) => [learners],
    ),
  },
  {
    name: 'former references',
    isThere: any('learner_alias where organisation_id = $1'),
    make: ({ app, id, learners }) =>
      app.db.query(
        `insert into learner_alias (organisation_id, alias_id, learner_id, ref)
         select $1, md5('alias ' || learner_id)::uuid, learner_id, 'OLD-' || substr(ref, 5)
           from learner where organisation_id = $1 and ref like 'LRN-%' order by learner_id limit $2::int8 / 2`,
        [id, learners],
      ),
  },
  {
    name: 'learners without a reference',
    isThere: any(`learner where organisation_id = $1 and ref is null and full_name <> ''`),
    make: ({ app, id, learners }) =>
      inWork(app, feedLane(id), async (work) => {
        const feed = await lockFeed(work, id);
        const names = await work.tx.query<{ full_name: string }>(
          `select full_name from learner where organisation_id = $1 and full_name <> '' order by md5(learner_id::text) limit $2`,
          [id, Math.ceil(learners / 50)],
        );
        const twin = (full_name: string) => ({ learner_id: work.uuid(), ref: null, full_name, email: null });
        await insertLearners(
          work,
          feed,
          names.map((one) => twin(one.full_name)),
        );
      }),
  },
  {
    name: 'merged learners',
    isThere: any('learner where organisation_id = $1 and merged_into is not null'),
    make: async ({ app, id, learners }) => {
      const pairs = await app.db.query<{ from: string; into: string }>(
        `select l.learner_id as from, o.learner_id as into from learner l
           join lateral (select o.learner_id from learner o where o.organisation_id = $1 and o.name_key = l.name_key and o.ref is not null limit 1) o on true
          where l.organisation_id = $1 and l.ref is null and l.full_name <> '' order by l.learner_id limit $2`,
        [id, Math.ceil(learners / 250)],
      );
      for (const pair of pairs)
        await inWork(app, feedLane(id), (work) => mergeLearners(work, id, pair, { actor: 'bench', reason: null }));
    },
  },
  {
    name: 'a large team',
    isThere: any(
      `learner_group g join membership m on m.organisation_id = $1 and m.group_id = g.group_id
        where g.organisation_id = $1 and g.type = 'team' and g.ref = '${largeTeam}'`,
    ),
    // A fifth of all learners, whom the tutor that the benchmark signs in sees beside the small teams.
    make: async ({ app, id, learners, tutor: email }) => {
      const [tutor] = await findAccounts(app.db, email);
      const team = await inWork(app, feedLane(id), async (work) => {
        const made = await ensureTeam(work, id, { ref: largeTeam, name: 'A large team' });
        await addTeamStaff(work, id, made, [tutor!.user_id]);
        return made;
      });
      const refs = await app.db.query<{ ref: string }>(
        `select ref from learner where organisation_id = $1 and ref is not null order by learner_id limit $2`,
        [id, Math.ceil(learners / 5)],
      );
      for (let from = 0; from < refs.length; from += 1000) {
        const some = refs.slice(from, from + 1000).map((row) => row.ref);
        await inWork(app, feedLane(id), (work) => addMembers(work, id, team, some, { managingTeams: true }));
      }
    },
  },
  {
    name: 'credits',
    isThere: any('credit_entry where organisation_id = $1 offset 2'),
    make: run(
      `
      with last as (select coalesce(max(entry_no), 0) as n from credit_entry where organisation_id = $1)
      insert into credit_entry (organisation_id, entry_no, at, kind, amount, balance, actor)
      select $1, last.n + 1, $2::timestamptz - interval '80 days', 'grant', $3::int8, $3::int8 + credits, 'bench' from last, organisation o where o.organisation_id = $1
      union all
      select $1, last.n + 1 + i, $2::timestamptz - interval '80 days' + i * interval '1 minute', 'use', -1, $3::int8 - i + credits, 'bench'
        from last, organisation o, generate_series(1, $3::int8) i where o.organisation_id = $1`,
      ({ learners }) => [Math.ceil(learners / 2)],
    ),
  },
  {
    name: 'mails',
    isThere: any('mail where organisation_id = $1'),
    make: run(
      `
      insert into mail (mail_id, organisation_id, cause, status, created_at, expires_at, finished_at, attempts)
      select md5('mail ' || n)::uuid, $1, 'bench ' || n, (array['sent', 'refused', 'expired', 'sent'])[1 + n % 4], $2::timestamptz - n * interval '5 minutes', $2,
             $2::timestamptz - n * interval '5 minutes', 1
        from generate_series(1, $3::int8 / 20) n`,
      ({ learners }) => [learners],
    ),
  },
];

/**
 * Makes what is missing.
 * @param tutor the e-mail address of who sees the large team
 * @returns whether anything was
 */
export async function fillNouns(
  app: App,
  id: number,
  given: { learners: number; tutor: string },
  onStep: (step: string) => void,
): Promise<boolean> {
  const at = new Date(app.clock.nowMs() - dayMs);
  let made = false;
  for (const noun of nouns) {
    if ((await app.db.query(noun.isThere, [id])).length > 0) continue;
    onStep(noun.name);
    await noun.make({ app, id, at, ...given });
    made = true;
  }
  return made;
}
