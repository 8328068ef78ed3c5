import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { assessedBasis, isUln } from '../../../../src/records/results/lists/ilr.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

const textOf = (pdf: Buffer): string =>
  execFileSync('pdftotext', ['-layout', '-', '-'], { input: pdf, encoding: 'utf8' }).replace(/\s+/g, ' ');

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const owner = await personOf(service, org.id, 'owner');
const cohort = await scene.group('autumn');
const domains = ['Reading', 'Spelling', 'Punctuation', 'Grammar', 'Writing composition'].map((name, i) => ({
  ...{ name, score_pct: 20 + 15 * i },
  status: i < 2 ? 'needs_support' : i < 4 ? 'developing' : 'secure',
}));
const ana = await scene.learner('A-1', 'Ana Silva');
const uln = await scene.learner('1234567891', 'Ben Foster');
for (const one of [ana, uln]) await one.joins(cohort);
for (const subject of ['digital', 'english', 'maths'] as const)
  for (const [level, day] of [
    [2, '2026-01-10'],
    [3, '2026-06-10'],
  ] as const) {
    const result = await ana.completes({ subject, level, assessed_at: `${day}T10:00:00Z` });
    await result.isAmended({
      domains,
      is_borderline: true,
      level_probabilities:
        level === 2 ? { 'Entry Level': 0.98, 'Level 1': 0.02 } : { 'Level 1': 0.98, 'Level 2': 0.02 },
    });
  }
await uln.completes({ subject: 'english', level: 4, assessed_at: '2026-06-10T23:30:00Z' });
const [{ learner_id: anaId }] = (await service.app.db.query(
  `select learner_id from learner where organisation_id = $1 and ref = 'A-1'`,
  [org.id],
)) as [{ learner_id: string }];
const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
const tutor = await personOf(service, org.id, 'tutor');
await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [tutor.userId]));
await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['1234567891']));

suite('reports as PDF', () => {
  test('a learner’s report has one page in plain words, with three subjects too', async () => {
    const answer = await owner.get(`${base}/learners/${anaId}/report`);
    assert.equal(answer.headers['content-type'], 'application/pdf');
    assert.doesNotMatch(answer.headers['content-disposition']!, /Ana|Silva/);
    const text = textOf(answer.bytes);
    assert.match(text, /Ana Silva/);
    assert.match(text, /Page 1 of 1/);
    for (const words of [
      'English: Level 1',
      'Needs some work',
      'clear step forward since 10 January 2026',
      'What to do next',
    ])
      assert.ok(text.includes(words), words);
    const [row] = await service.app.db.query(
      `select resource from audit where organisation_id = $1 and action = 'GET /console/learners/{learner_id}/report'`,
      [org.id],
    );
    assert.equal(row!.resource, anaId);
  });

  test('a class report counts levels and needs, and lists who needs most', async () => {
    const answer = await owner.get(`${base}/results/report?group=${cohort.id}&subject=english`);
    const text = textOf(answer.bytes);
    for (const words of [
      'Class report',
      '2, of whom 2 have a result in English',
      'Reading; Spelling',
      'Clear gain',
      'Ben Foster',
    ])
      assert.ok(text.includes(words), words);
    assert.equal((await owner.get(`${base}/results/report?group=5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d`)).status, 404);
  });

  test('a tutor gets reports of their own learners only', async () => {
    assert.equal((await tutor.get(`${base}/learners/${anaId}/report`)).status, 404);
    const text = textOf((await tutor.get(`${base}/results/report?group=${cohort.id}&subject=english`)).bytes);
    assert.ok(text.includes('Ben Foster') && !text.includes('Ana Silva'));
  });
});

suite('the file for the ILR', () => {
  test('a ULN is known by its check digit', () => {
    // 1×10 + 2×9 + 3×8 + 4×7 + 5×6 + 6×5 + 7×4 + 8×3 + 9×2 = 210 = 19×11 + 1, and 10 − 1 = 9.
    assert.equal(isUln('1234567899'), true);
    assert.equal(isUln('1234567891'), false);
    assert.equal(isUln('0234567891'), false);
  });

  test('its columns have the names of the ILR, and each row says that the level is assessed', async () => {
    const page = await owner.get(`${base}/results/lists/ilr`);
    assert.match(page.text, /The code is an assessed level, not prior attainment/);
    const answer = await owner.fill(`${base}/results/lists/ilr?subject=english`, {});
    const rows: Record<string, string>[] = parse(answer.text, { columns: true, bom: true });
    assert.deepEqual(Object.keys(rows[0]!).slice(0, 3), ['UKPRN', 'LearnRefNumber', 'ULN']);
    assert.ok(!Object.keys(rows[0]!).includes('PriorLevel'));
    assert.ok(rows.every((row) => row.AssessedBasis === assessedBasis));
    const shown = rows.map((row) => [
      ...[
        row.LearnRefNumber,
        row.ULN,
        row.LearnerReference,
        row.AssessedLevel,
        row.AssessedLevelCode,
        row.AssessedDate,
      ],
    ]);
    assert.deepEqual(shown.sort(), [
      ['', '', 'A-1', 'Level 1', '2', '2026-06-10'],
      ['1234567891', '', '1234567891', 'Level 2', '3', '2026-06-11'],
    ]);
    const own = await tutor.fill(`${base}/results/lists/ilr`, {});
    assert.doesNotMatch(own.text, /Ana Silva/);
  });
});

suite('areas that are compared with each other', () => {
  const compared = domains.map((one, i) => ({
    ...one,
    ...{ status: 'secure', next_level_pct: 40, compared: ['weaker', 'same', 'stronger', 'same', null][i]! },
    ...(i === 4 ? {} : { difference: i === 0 ? -0.6 : 0.3, difference_se: 0.4 }),
  }));
  let id = '';
  test('the reports name the weaker ones, although all are secure, and how sure that is', async () => {
    const cara = await scene.learner('C-1', 'Cara Novak');
    await cara.joins(cohort);
    const result = await cara.completes({ subject: 'english', level: 3, assessed_at: '2026-06-11T10:00:00Z' });
    await result.isAmended({ domains: compared });
    id = result.id;
    const [{ learner_id: learnerId }] = (await service.app.db.query(
      `select learner_id from learner where organisation_id = $1 and ref = 'C-1'`,
      [org.id],
    )) as [{ learner_id: string }];
    const own = textOf((await owner.get(`${base}/learners/${learnerId}/report`)).bytes);
    for (const words of [
      'Weaker than your other areas: Reading (we are about 93 % sure)',
      'About the same as your other areas: Spelling; Grammar',
      'Too few questions to compare with your other areas: Writing composition',
      'English: start with Reading.',
    ])
      assert.ok(own.includes(words), words);
    const group = textOf((await owner.get(`${base}/results/report?group=${cohort.id}&subject=english`)).bytes);
    assert.match(group, /Reading \(weaker: −0\.6 ± 0\.4 levels\)/);
  });

  test('the console and the API show the difference with its error', async () => {
    const { text } = await owner.get(`${base}/results/${id}`);
    assert.match(text, /Weaker: −0\.6 ± 0\.4 levels/);
    assert.match(text, /Not compared: too few questions/);
    const matrix = await owner.get(`${base}/results/gaps?group=${cohort.id}&subject=english`);
    assert.match(matrix.text, /label wait">Weaker: −0\.6 ± 0\.4 levels/);
    const { body } = await org.get(`/assessments/${id}`);
    assert.deepEqual((body.data as { domains: unknown }).domains, compared);
  });
});
