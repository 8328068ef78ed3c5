import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { recordAgain } from '../../../src/governance/result-reviews/record-again.ts';
import { type Replacement, prepareReplacement } from '../../../src/governance/result-reviews/replacement.ts';
import { addTeamStaff, ensureTeam, teamsOfStaff } from '../../../src/organisations/teams.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { openDryRun } from '../../../src/records/import/dry-run.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { countDays } from '../../../src/records/results/day-counts.ts';
import { findLive } from '../../../src/records/results/results.ts';
import { addToTeam } from '../../support/teams.ts';
import { withService } from '../../support/service.ts';
import { personOf } from '../../web/console/visitor.ts';

/** Charts read counts by day. After every kind of change, the counts are those of the live results. */

const service = await withService();
const org = await service.organisation();
const { app, withUnitOfWork } = service;
const why = { actor: 'operator', reason: 'a test' };
let learners = 0;

const record = (assessed_at: string, subject = 'maths', ref = `D-${++learners}`) => ({
  assessment_id: app.random.uuid(),
  learner: { ref, full_name: `Learner ${ref}` },
  ...{ assessed_at, subject, framework: 'F', working_level: 'Level 1' },
  ...{ rqf_level: 'Level 1', rqf_level_code: 2, below_level_1: false },
});
const ready = (records: ReturnType<typeof record>[]) =>
  records.map((one) => readyRecord(one, org.publicId, app.clock.nowMs()));
const imports = (...records: ReturnType<typeof record>[]) =>
  withUnitOfWork((work) => importRecords(work, org.id, ready(records), { events: false, actor: 'operator' }));

/** Counts of the table, and of the results themselves, as `DAY FACET N`. */
async function bothCounts(): Promise<[string[], string[]]> {
  type Row = { day: string; facet: number; n: number };
  const sql = [
    `select (date '1970-01-01' + day)::text as day, facet, n from result_day where organisation_id = $1 and n <> 0`,
    `select (to_timestamp(assessed_at / 1e6) at time zone 'Europe/London')::date::text as day, facet, count(*)::int4 as n
       from assessment_feed where organisation_id = $1 and not deleted group by 1, 2`,
  ];
  const [kept, counted] = await Promise.all(sql.map((one) => app.db.query<Row>(one, [org.id])));
  const lines = (rows: Row[]) => rows.map(({ day, facet, n }) => `${day} ${facet} ${n}`).sort();
  return [lines(kept!), lines(counted!)];
}

async function areExact(what: string): Promise<string[]> {
  const [kept, counted] = await bothCounts();
  assert.deepEqual(kept, counted, what);
  return kept;
}

test('imports, amendments, another level, merges, withdrawals and erasures keep the counts exact', async () => {
  const summer = record('2026-06-30T23:00:00Z');
  const rows = [summer, record('2026-07-01T09:00:00Z'), record('2026-07-01T10:00:00Z', 'english', 'D-1')];
  await imports(...rows);
  assert.deepEqual(await areExact('import'), ['2026-07-01 11 1', '2026-07-01 19 2']);
  await imports(...rows);
  await areExact('the same import again');
  await imports({ ...rows[1]!, framework: 'Another' });
  await withUnitOfWork((work) => amendAssessment(work, org.id, summer.assessment_id, { needs_review: true }, why));
  await areExact('amendments');
  const made = (await prepareReplacement(app, org.id, summer.assessment_id, 'level2', 'a test')) as Replacement;
  const decision = { ...why, answer: null, version: null };
  assert.equal(await withUnitOfWork((work) => recordAgain(work, org.id, made, decision)), null);
  assert.deepEqual(await areExact('another level'), ['2026-07-01 11 1', '2026-07-01 19 1', '2026-07-01 20 1']);
  const learnerOf = async (id: string) => (await findLive(app.db, org.id, id))!.learner_id;
  const [from, into] = [await learnerOf(rows[2]!.assessment_id), await learnerOf(rows[1]!.assessment_id)];
  await withUnitOfWork((work) => mergeLearners(work, org.id, { from, into }, why));
  await areExact('merge');
  await withUnitOfWork((work) => withdrawAssessment(work, org.id, rows[2]!.assessment_id, why));
  await areExact('withdrawal');
  await withUnitOfWork((work) => eraseLearner(work, org.id, into, { actor: 'operator' }));
  assert.deepEqual(await areExact('erasure'), []);
});

test('a dry run of an import changes no count', async () => {
  const before = await bothCounts();
  const rows = ready([record('2026-07-02T09:00:00Z')]);
  await assert.rejects(
    withUnitOfWork(async (work) => {
      await (await openDryRun(work, org.id)).copyFor(rows);
      await importRecords(work, org.id, rows, { events: false, actor: 'operator' });
      throw new Error('undone');
    }),
    /undone/,
  );
  assert.deepEqual(await bothCounts(), before);
});

test('a tutor’s counts are those of the own teams’ learners', async () => {
  const tutor = await personOf(service, org.id, 'tutor');
  const mine = record('2026-08-01T09:00:00Z', 'maths', 'T-1');
  await imports(mine, record('2026-08-01T12:00:00Z', 'maths', 'T-2'), record('2026-07-31T22:59:59Z', 'maths', 'T-1'));
  await withUnitOfWork(async (work) => {
    const team = await ensureTeam(work, org.id, { ref: 'T', name: 'Team' });
    await addToTeam(work, org.id, team, ['T-1']);
    await addTeamStaff(work, org.id, team, [tutor.userId]);
  });
  const visibility = await teamsOfStaff(app.db, org.id, tutor.userId);
  const august = Date.parse('2026-08-01') / 86_400_000;
  assert.deepEqual(await countDays(app.db, org.id, visibility, august), [{ day: august, subject: 2, n: 1 }]);
  assert.deepEqual(await countDays(app.db, org.id, null, august), [{ day: august, subject: 2, n: 2 }]);
  assert.deepEqual(await countDays(app.db, org.id, [], august), []);
});
