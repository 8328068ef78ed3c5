import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createKey } from '../../src/integrations/access-keys/keys.ts';
import { readOrganisation } from '../../src/organisations/organisations.ts';
import { planSandbox } from '../../src/sandbox/data/plan.ts';
import { seedOrganisation } from '../../src/sandbox/seed.ts';
import { recordResults } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import { personOf } from '../web/console/visitor.ts';
import { openPage, withoutBrowser } from './browser.ts';

/** How long the lists are on a phone. */
suite('lists on a phone', { skip: withoutBrowser }, async () => {
  const service = await withService();
  const org = await service.organisation({ name: 'Northfield College' });
  const { db, clock } = service.app;
  const admin = await personOf(service, org.id, 'admin', { name: 'Ada Admin' });
  const of = <Row>(sql: string, ...more: unknown[]) => db.query<Row>(sql, [org.id, ...more]);

  async function fill(): Promise<void> {
    const plan = planSandbox({ seed: 'lists on a phone', learners: 150, nowMs: clock.nowMs() });
    for await (const _ of seedOrganisation(service.app, await readOrganisation(db, org.id), plan, 0));
    await org.post('/webhooks', { url: 'https://webhooks.platform.example/results' });
    const learners = await of<{ ref: string }>(
      'select ref from learner where organisation_id = $1 and ref is not null limit 60',
    );
    await service.withUnitOfWork((work) =>
      recordResults(
        work,
        org.id,
        learners.map(({ ref }) => ({ ref, subject: 'english', level: 2 })),
        { events: true },
      ),
    );
    await of(
      `insert into invitation (organisation_id, invitation_id, learner_id, subjects, created_at, expires_at, credit_spent, purpose)
       select $1, gen_random_uuid(), learner_id, '{english,maths,digital}', now(), now() + interval '20 days', true, 'initial'
         from learner where organisation_id = $1 and ref is not null limit 60`,
    );
    await of(
      `insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags, requested_at, due_at, assigned_to)
       select $1, a.assessment_id, 1, a.learner_id, 'english', now(), '{needs_review,person_fit}',
              case n % 2 when 0 then now() end, case n % 2 when 0 then now() + interval '9 days' end, $2
         from (select *, row_number() over () as n from assessment) a where a.organisation_id = $1 and a.body is not null and not exists (
           select from review r where r.organisation_id = $1 and r.assessment_id = a.assessment_id) limit 60`,
      admin.userId,
    );
    await of('update organisation set retake_gap_days = 30 where organisation_id = $1');
    await of(
      `insert into credit_entry (organisation_id, entry_no, at, kind, amount, balance, actor, reason)
       select $1, n + 1000, now(), 'grant', 1, n + 1, $2, 'Bought for the cohort of January' from generate_series(0, 59) n`,
      admin.userId,
    );
    await of(
      `insert into audit (organisation_id, at, request_id, actor, action, resource)
       select $1, now(), gen_random_uuid(), $2, 'POST /console/learners/{learner_id}/name', learner_id::text
         from learner where organisation_id = $1 limit 60`,
      admin.userId,
    );
    for (let n = 0; n < 55; n++) {
      await service.withUnitOfWork((work) =>
        createKey(work, org.id, { label: `E-portfolio of campus ${n}`, kind: 'test', expiresAt: null }),
      );
      await org.get('/assessments?limit=5&subject=maths');
      await personOf(service, org.id, 'tutor', { name: `Tom Tutor ${n}`, email: `tom.tutor.${n}@northfield.example` });
    }
  }

  test('50 rows take at most 4 screens of 390 × 844 px', async () => {
    await fill();
    const [cohort] = await of<{ group_id: string }>(
      `select group_id from membership m join learner_group g using (organisation_id, group_id)
        where organisation_id = $1 and type <> 'team' group by group_id order by count(*) desc limit 1`,
    );
    const [name, value] = admin.cookie!.split('=') as [string, string];
    const { page } = await openPage({ width: 390, height: 844 });
    await page.context().addCookies([{ name, value, url: service.url, httpOnly: true, sameSite: 'Lax' }]);
    const long: string[] = [];
    const group = cohort!.group_id;
    for (const path of [
      ...['results', 'learners', 'review', 'results/lists/english-maths-below-level-2', 'invitations', 'keys'],
      ...['deliveries', 'log', 'activity', 'groups', `groups/${group}`, `groups/${group}/history`, 'people'],
      ...['follow-up', 'credits'],
    ]) {
      await page.goto(`${service.url}/console/${org.publicId}/${path}`);
      const [height, list, rows] = (await page.evaluate(`(() => {
        const tables = [...document.querySelectorAll('table.rows')];
        const rowsOf = (one) => one.querySelectorAll('tbody tr').length;
        const longest = tables.toSorted((x, y) => rowsOf(y) - rowsOf(x))[0];
        return [document.documentElement.scrollHeight, longest.getBoundingClientRect().height, rowsOf(longest)];
      })()`)) as [number, number, number];
      assert.ok(rows >= 8, `${path}: ${rows} rows`);
      const screens = (height - list + (50 * list) / rows) / 844;
      const words = `${path}: ${screens.toFixed(2)} screens for 50 rows of ${Math.round(list / rows)} px`;
      if (process.env.SHOTS !== undefined) {
        console.log(words);
        await page.screenshot({
          path: `${process.env.SHOTS}/${path.replace(/\W/g, '_').slice(0, 20)}-390.png`,
          fullPage: true,
        });
      }
      if (screens > 4) long.push(words);
    }
    assert.deepEqual(long, []);
  });
});
