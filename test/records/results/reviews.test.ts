import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { findReviews } from '../../../src/records/results/results.ts';
import type { Amendment } from '../../../src/records/results/result-fields.ts';
import { amendAssessment } from '../../../src/records/results/amend.ts';
import { importRecords } from '../../../src/records/import/import.ts';
import { readyRecord } from '../../../src/records/import/record.ts';
import { confirmResult, versionOf } from '../../../src/governance/result-reviews/decide.ts';
import { recordAgain } from '../../../src/governance/result-reviews/record-again.ts';
import type { Replacement } from '../../../src/governance/result-reviews/replacement.ts';
import { prepareReplacement } from '../../../src/governance/result-reviews/replacement.ts';
import { mergeLearners } from '../../../src/governance/deduplication/merge.ts';
import { eraseLearner } from '../../../src/governance/erasure/erase.ts';
import { withdrawAssessment } from '../../../src/governance/erasure/withdraw.ts';
import { findLive } from '../../../src/records/results/results.ts';
import { withService } from '../../support/service.ts';

/** Who stands in the queue, whatever makes a result need somebody, and whatever ends that. */
suite('results that wait for somebody', async () => {
  const service = await withService();
  const org = await service.organisation();
  const { app, withUnitOfWork } = service;
  let count = 0;

  const record = (more: Record<string, unknown> = {}) => ({
    assessment_id: app.random.uuid(),
    learner: { ref: `R-${++count}`, full_name: `Learner ${count}` },
    assessed_at: '2026-01-31T09:00:00Z',
    subject: 'maths',
    framework: 'Functional Skills',
    rqf_level: 'Level 1',
    rqf_level_code: 2,
    below_level_1: false,
    working_level: 'Level 1',
    domains: [{ name: 'says "needs_review":true of itself', score_pct: 50, status: 'secure' }],
    ...more,
  });
  const imports = async (...records: ReturnType<typeof record>[]) => {
    const ready = records.map((one) => readyRecord(one, org.publicId, app.clock.nowMs()));
    return withUnitOfWork((work) => importRecords(work, org.id, ready, { events: false, actor: 'operator' }));
  };
  const amends = (id: string, amendment: Amendment) =>
    withUnitOfWork((work) => amendAssessment(work, org.id, id, amendment, { actor: 'operator', reason: 'a test' }));
  const confirms = (id: string, more = {}) =>
    withUnitOfWork((work) =>
      confirmResult(work, org.id, id, { actor: 'ana', reason: null, answer: null, version: null, ...more }),
    );
  const reviewsOf = async (id: string) =>
    (await findReviews(app.db, org.id, id)).map(({ flags, outcome }) => `${flags.join('+')} ${outcome ?? 'waits'}`);

  test('an imported result with a flag waits, one without does not, and the same file again adds nothing', async () => {
    const plain = record();
    const flagged = record({ needs_review: true, is_borderline: true });
    await imports(plain, flagged);
    await imports(plain, flagged);
    assert.deepEqual(await reviewsOf(plain.assessment_id), []);
    assert.deepEqual(await reviewsOf(flagged.assessment_id), ['needs_review+borderline waits']);
  });

  test('a borderline result waits only if its likeliest level is less probable than 0.7', async () => {
    const of = (share: number, more = {}) =>
      record({
        is_borderline: true,
        level_probabilities: { 'Level 1': share, 'Level 2': Math.round((1 - share) * 100) / 100 },
        ...more,
      });
    const [close, clear, both] = [of(0.69), of(0.7), of(0.99, { needs_review: true })];
    await imports(close, clear, both);
    assert.deepEqual(await reviewsOf(close.assessment_id), ['borderline waits']);
    assert.deepEqual(await reviewsOf(clear.assessment_id), []);
    assert.deepEqual(await reviewsOf(both.assessment_id), ['needs_review waits']);
    await amends(clear.assessment_id, { level_probabilities: { 'Level 1': 0.6, 'Level 2': 0.4 } });
    assert.deepEqual(await reviewsOf(clear.assessment_id), ['borderline waits']);
    await amends(close.assessment_id, { level_probabilities: { 'Level 1': 0.8, 'Level 2': 0.2 } });
    assert.deepEqual(await reviewsOf(close.assessment_id), []);
  });

  test('an amendment that brings a flag brings the result there, and the one that takes the last away ends it', async () => {
    const one = record();
    const id = one.assessment_id;
    await imports(one);
    await amends(id, { is_borderline: true });
    assert.deepEqual(await reviewsOf(id), ['borderline waits']);
    await amends(id, { needs_review: true });
    assert.deepEqual(await reviewsOf(id), ['needs_review+borderline waits']);
    await amends(id, { is_borderline: false, needs_review: false });
    assert.deepEqual(await reviewsOf(id), []);
  });

  test('who was looked at waits again for a new flag only, and a file that is imported again keeps what was decided', async () => {
    const one = record({ is_borderline: true });
    const id = one.assessment_id;
    await imports(one);
    assert.equal(await confirms(id), null);
    const { reviewed_at } = (await org.get(`/assessments/${id}`)).body.data;
    assert.match(reviewed_at, /^\d{4}-.*Z$/);
    const before = (await org.get(`/assessments/${id}`)).body.data;
    assert.deepEqual(await imports(one), [{ outcome: 'unchanged' }]);
    assert.deepEqual((await org.get(`/assessments/${id}`)).body.data, before);
    await imports({ ...one, framework: 'Another' });
    const after = (await org.get(`/assessments/${id}`)).body.data;
    assert.deepEqual([after.framework, after.reviewed_at, after.level_probabilities], ['Another', reviewed_at, null]);
    assert.deepEqual(await reviewsOf(id), ['borderline confirmed']);
    await amends(id, { needs_review: true });
    assert.deepEqual(await reviewsOf(id), ['borderline confirmed', 'needs_review+borderline waits']);
  });

  test('a withdrawal ends it', async () => {
    const one = record({ needs_review: true });
    await imports(one);
    await withUnitOfWork((work) =>
      withdrawAssessment(work, org.id, one.assessment_id, { actor: 'operator', reason: 'a mistake' }),
    );
    assert.deepEqual(await reviewsOf(one.assessment_id), ['needs_review withdrawn']);
    assert.equal(await confirms(one.assessment_id), 'gone');
  });

  test('a merge passes what was asked and decided on to the survivor', async () => {
    const [lost, kept] = [record({ needs_review: true }), record()];
    await imports(lost, kept);
    await app.db.query("update review set request = 'asks' where assessment_id = $1", [lost.assessment_id]);
    const learnerOf = async (id: string) => (await findLive(app.db, org.id, id))!.learner_id;
    const [from, into] = [await learnerOf(lost.assessment_id), await learnerOf(kept.assessment_id)];
    await withUnitOfWork((work) => mergeLearners(work, org.id, { from, into }, { actor: 'operator', reason: null }));
    const [review] = await findReviews(app.db, org.id, lost.assessment_id);
    assert.deepEqual([review!.learner_id, review!.request, review!.outcome], [into, 'asks', null]);
  });

  test('a level is not set for somebody who turns out to be another learner meanwhile', async () => {
    // Two of one name and no reference: nothing that the result shows tells them apart.
    const [lost, kept] = ['1', '2'].map((n) =>
      record({ assessment_id: `${n.repeat(8)}-2222-4222-8222-222222222222`, learner: { ref: null, full_name: 'Ann' } }),
    ) as [ReturnType<typeof record>, ReturnType<typeof record>];
    await imports(lost);
    await imports(kept);
    const learnerOf = async (id: string) => (await findLive(app.db, org.id, id))!.learner_id;
    const [from, into] = [await learnerOf(lost.assessment_id), await learnerOf(kept.assessment_id)];
    assert.notEqual(from, into);
    const prepares = () => prepareReplacement(app, org.id, lost.assessment_id, 'level2', 'a test');
    const records = async (made: Awaited<ReturnType<typeof prepares>>) =>
      withUnitOfWork((work) =>
        recordAgain(work, org.id, made as Replacement, { actor: 'ana', reason: 'a test', answer: null, version: null }),
      );
    const made = await prepares();
    await withUnitOfWork((work) => mergeLearners(work, org.id, { from, into }, { actor: 'operator', reason: null }));
    assert.equal(await records(made), 'changed');
    const again = (await prepares()) as Replacement;
    assert.equal(await records(again), null);
    assert.equal(await learnerOf(again.to.assessment_id), into);
  });

  test('an erasure takes what was written', async () => {
    const one = record({ needs_review: true });
    await imports(one);
    const row = (await findLive(app.db, org.id, one.assessment_id))!;
    await app.db.query("update review set request = 'canary asks', answer = 'canary hears' where assessment_id = $1", [
      one.assessment_id,
    ]);
    await withUnitOfWork((work) => eraseLearner(work, org.id, row.learner_id, { actor: 'operator' }));
    const [left] = await app.db.query('select request, answer, outcome from review where assessment_id = $1', [
      one.assessment_id,
    ]);
    assert.deepEqual(left, { request: null, answer: null, outcome: 'withdrawn' });
  });

  test('of two who decide at once one does, and the other is told', async () => {
    const one = record({ needs_review: true });
    await imports(one);
    const id = one.assessment_id;
    const version = versionOf((await findLive(app.db, org.id, id))!, await findReviews(app.db, org.id, id));
    const answers = await Promise.all(['ana', 'ben'].map((actor) => confirms(id, { actor, version })));
    assert.deepEqual(answers.toSorted(), ['changed', null].toSorted());
    assert.deepEqual(await reviewsOf(id), ['needs_review confirmed']);
    assert.equal(await confirms(id), 'nothing_waits');
  });
});
