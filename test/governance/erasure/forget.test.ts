import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { recordAssessments } from '../../../src/records/results/record.ts';
import { learnerJson, storedColumns } from '../../../src/records/results/body.ts';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { forgetLearners, forgetLeavingLearners } from '../../../src/governance/erasure/forget.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import { closeIdleSittings } from '../../../src/sittings/expire.ts';
import { reportFit } from '../../../src/sittings/scoring/fit.ts';
import { idleMs } from '../../../src/sittings/working-time.ts';
import { Mirror, Shown } from '../../laws/world/mirror.ts';
import { contentOf, scenario } from '../../support/scenario.ts';
import type { TestOrganisation } from '../../support/service.ts';
import { withDatabase } from '../../support/postgres.ts';
import { withService } from '../../support/service.ts';
import { invited } from '../../sittings/learner.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_RATE_LIMIT: '1000000' } });
const random = seededRandom('forget');

/** Imports a result of a learner without a reference. @returns its id and its learner's */
async function importNameless(org: TestOrganisation, name: string) {
  const assessment_id = random.uuid();
  const record = {
    assessment_id,
    learner: { ref: null, full_name: name },
    assessed_at: '2026-01-10T09:00:00Z',
    subject: 'maths',
    framework: 'F',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
  };
  await service.withUnitOfWork((work) =>
    importRecords(work, org.id, [readyRecord(record, org.publicId, work.nowMs)], { events: false, actor: 'operator' }),
  );
  const { learner } = (await org.get(`/assessments/${assessment_id}`)).body.data;
  return { assessment_id, learner_id: learner.learner_id as string, record };
}

const withdraw = (org: TestOrganisation, id: string) =>
  service.withUnitOfWork((work) =>
    withdrawAssessment(work, org.id, id, { actor: 'operator', reason: 'Consent withdrawn' }),
  );

async function entryOf(org: TestOrganisation, learnerId: string) {
  return (await org.get('/learners?limit=500')).body.data.find((one: any) => one.learner_id === learnerId);
}

/** Tables in which a text stands anywhere. */
async function tablesWith(text: string): Promise<string[]> {
  const tables = await service.app.db.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await service.app.db.query(`select from "${name}" t where strpos(t::text, $1) > 0 limit 1`, [text]);
    if (rows.length > 0) found.push(name);
  }
  return found.sort();
}

suite('a learner without a reference', () => {
  test('is a tombstone once the only result is withdrawn, and the name stands nowhere any more', async () => {
    const org = await service.organisation();
    const { assessment_id, learner_id, record } = await importNameless(org, 'Vanishing Person');
    await org.get(`/assessments/${assessment_id}/report.pdf`);
    assert.deepEqual(await tablesWith('Vanishing Person'), ['assessment', 'evidence', 'learner']);
    const before = await entryOf(org, learner_id);
    assert.equal(before.status, 'active');
    await withdraw(org, assessment_id);
    const { updated_at, ...tombstone } = await entryOf(org, learner_id);
    assert.deepEqual(tombstone, { learner_id, status: 'deleted' });
    assert.ok(updated_at > before.updated_at);
    assert.deepEqual(await tablesWith('Vanishing Person'), []);
    const [outcome] = await service.withUnitOfWork((work) =>
      importRecords(work, org.id, [readyRecord(record, org.publicId, work.nowMs)], {
        events: false,
        actor: 'operator',
      }),
    );
    assert.equal(outcome!.outcome, 'rejected');
    assert.equal((await entryOf(org, learner_id)).status, 'deleted');
  });

  test('mirrors by learner_id converge, by pages of every size and by since alone', async () => {
    const org = await service.organisation();
    const shown = new Shown();
    const mirrors = ([1, 2, 100] as const).flatMap((limit) =>
      (['follow', 'linger', 'sweep', 'since only'] as const).map(
        (manner) =>
          new Mirror([org], random, shown, { path: '/learners', manner, limit: manner === 'since only' ? 100 : limit }),
      ),
    );
    const people = [];
    for (let i = 0; i < 6; i++) people.push(await importNameless(org, `Person ${'abcdef'[i]}`));
    for (const mirror of mirrors) await mirror.poll();
    for (const { assessment_id } of people.slice(1, 4)) {
      await withdraw(org, assessment_id);
      for (const mirror of mirrors.slice(0, 4)) await mirror.poll();
    }
    for (const mirror of mirrors) {
      const sweep = await mirror.assertConverged();
      assert.deepEqual(
        [...sweep.keys()].sort(),
        people
          .filter((_, i) => i < 1 || i > 3)
          .map((one) => one.learner_id)
          .sort(),
      );
    }
  });

  test('stays while an invitation is open, and goes when it has ended', async () => {
    const org = await service.organisation();
    const { data } = (await org.post('/learners', { full_name: 'Waiting Person' })).body;
    const id = random.uuid();
    const content = contentOf({});
    await service.withUnitOfWork(async (work) =>
      recordAssessments(
        work,
        await lockFeed(work, org.id),
        [
          {
            assessment_id: id,
            learner_id: data.learner_id,
            source: 'imported',
            assessed_at: content.assessed_at_us,
            learner: learnerJson(null, 'Waiting Person'),
            report_sha256: null,
            ...storedColumns(content),
          },
        ],
        { events: false },
      ),
    );
    await withdraw(org, id);
    assert.equal((await entryOf(org, data.learner_id)).full_name, 'Waiting Person');
    assert.equal(await forgetLeavingLearners(service.app), 0);
    clock.advance(limits.invitationMs - 1);
    assert.equal(await forgetLeavingLearners(service.app), 0);
    clock.advance(limits.forgetLookMs + 1);
    assert.equal(await forgetLeavingLearners(service.app), 1);
    assert.equal((await entryOf(org, data.learner_id)).status, 'deleted');
    assert.deepEqual(await tablesWith('Waiting Person'), []);
    assert.equal(await forgetLeavingLearners(service.app), 0);
    assert.equal((await fetch(data.assessment_url)).status, 410);
  });

  test('goes although another organisation, whose turn comes first, is too busy; nobody waits for that one twice', async () => {
    const hurried = await service.sibling({ clock, settings: { ARS_CHANGE_WAIT_SECONDS: '1' } });
    const [busy, quiet] = [await service.organisation(), await service.organisation()];
    const { learner_id } = await importNameless(quiet, 'Quiet Person');
    const look = `insert into learner_leaving (organisation_id, learner_id, look_at)
      select $1, coalesce($2, gen_random_uuid()), to_timestamp($3::float8) from generate_series(1, $4::int4)`;
    await service.app.db.query(look, [busy.id, null, 1, 100]);
    await service.app.db.query(look, [quiet.id, learner_id, 2, 1]);
    await withDatabase(service.databaseUrl, (db) =>
      db.transaction(async (tx) => {
        await tx.query('select from feed where organisation_id = $1 for update', [busy.id]);
        await forgetLeavingLearners(hurried.app);
      }),
    );
    const left = 'select organisation_id from learner_leaving where organisation_id = any($1)';
    const rows = await service.app.db.query<{ organisation_id: number }>(left, [[busy.id, quiet.id]]);
    assert.equal(rows.length, 100);
    assert.ok(rows.every((row) => row.organisation_id === busy.id));
    assert.equal(hurried.logged.filter((line) => line.includes('learner.leaving_failed')).length, 1);
    await forgetLeavingLearners(service.app);
    assert.deepEqual(await service.app.db.query(left, [[busy.id, quiet.id]]), []);
  });

  test('with a reference stays listed when the last result is withdrawn', async () => {
    const scene = await scenario(service);
    const ana = await scene.learner('ana', 'Ana Silva');
    const maths = await ana.completes();
    await maths.isWithdrawn();
    const { full_name, last_assessed } = await ana.read();
    assert.deepEqual([full_name, last_assessed], ['Ana Silva', []]);
  });
});

test('learners that are forgotten leave their groups, and their results are tombstones in them', async () => {
  const scene = await scenario(service);
  const ana = await scene.learner('ana', 'Ana Silva');
  const cohort = await scene.group('C1');
  await ana.joins(cohort);
  const maths = await ana.completes();
  const feed = scene.follow({}, { of: [cohort] });
  await feed.poll();
  const { learner_id } = await ana.read();
  await maths.isWithdrawn();
  await service.withUnitOfWork(async (work) => forgetLearners(work, await lockFeed(work, scene.org.id), [learner_id]));
  assert.equal((await scene.org.get('/learners/ana')).status, 404);
  assert.equal((await entryOf(scene.org, learner_id)).status, 'deleted');
  assert.equal((await scene.org.get(`/groups/${cohort.id}`)).body.data.member_count, 0);
  await feed.assertConverged();
  assert.equal(feed.held.size, 0);
  assert.deepEqual((await scene.org.post(`/groups/${cohort.id}/members`, { learner_refs: ['ana'] })).body.not_found, [
    'ana',
  ]);
});

/** What sittings of an organisation hold of what was answered and what came out. */
async function keptOfSittings(org: TestOrganisation) {
  const [row] = await service.app.db.query<{ answers: number; results: number; shown: number; unanswered: number }>(
    `select count(i.answer) as answers, count(distinct s.sitting_id) filter (where s.result is not null) as results,
            count(*) as shown, count(*) filter (where i.outcome is null) as unanswered
       from sitting s join sitting_item i on i.organisation_id = s.organisation_id and i.sitting_id = s.sitting_id
      where s.organisation_id = $1`,
    [org.id],
  );
  return row!;
}

suite('what was typed in a sitting', () => {
  test('goes with its result; that the questions were shown stays', async () => {
    const org = await service.organisation();
    const learner = await invited(service, org);
    const sitting = await learner.sits('right');
    const other = await learner.sits('right');
    const before = await keptOfSittings(org);
    assert.equal(before.results, 2);
    await withdraw(org, sitting.assessment_id!);
    const between = await keptOfSittings(org);
    assert.deepEqual([between.results, between.shown], [1, before.shown]);
    assert.ok(between.answers < before.answers && between.answers > 0);
    await withdraw(org, other.assessment_id!);
    assert.deepEqual(await keptOfSittings(org), { answers: 0, results: 0, shown: before.shown, unanswered: 0 });
    assert.deepEqual((await reportFit(service.app, [org.id])).sittings, []);
  });

  test('goes with the learner where there was no result', async () => {
    const org = await service.organisation();
    const learner = await invited(service, org);
    const sitting = await learner.starts();
    for (let i = 0; i < 3; i++) assert.equal(await learner.answers('right'), 'taken');
    clock.advance(idleMs + 1);
    assert.equal(await closeIdleSittings(service.app), 1);
    assert.ok((await keptOfSittings(org)).answers > 0);
    await service.withUnitOfWork(async (work) =>
      forgetLearners(work, await lockFeed(work, org.id), [sitting.learner_id]),
    );
    assert.equal((await keptOfSittings(org)).answers, 0);
  });
});
