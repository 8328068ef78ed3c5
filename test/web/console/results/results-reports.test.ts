import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { strFromU8, unzipSync } from 'fflate';
import {
  levelInterval,
  levelsGained,
  overlap,
  probabilityBelow,
} from '../../../../src/records/results/lists/interval.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { contentOf, scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import type { Person } from '../visitor.ts';
import { personOf } from '../visitor.ts';

/** What the results of groups come down to: spread, lists for funding, and starting points against latest results. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const ana = await scene.learner('ana-1', 'Ana Silva');
const ben = await scene.learner('ben-1', '=Ben Foster');
const chi = await scene.learner('chi-1', 'Chi Last');
const cohort = await scene.group('autumn');
const empty = await scene.group('winter');
for (const one of [ana, ben]) await one.joins(cohort);
const anaFirst = await ana.completes({ level: 2, assessed_at: '2026-01-10T10:00:00Z' });
const anaLatest = await ana.completes({ level: 3, assessed_at: '2026-06-10T10:00:00Z' });
await anaFirst.isAmended({
  working_level: 'Entry Level 2',
  level_probabilities: { 'Entry Level 2': 0.9, 'Entry Level 3': 0.1 },
});
await anaLatest.isAmended({ working_level: 'Level 1', level_probabilities: { 'Entry Level 3': 0.2, 'Level 1': 0.8 } });
await ana.completes({ subject: 'digital', level: 2, assessed_at: '2026-01-11T10:00:00Z' });
await ana.completes({ subject: 'digital', level: 3, assessed_at: '2026-02-11T10:00:00Z' });
const benDigital = await ben.completes({ subject: 'digital', level: 1, assessed_at: '2026-09-01T08:00:00Z' });
await benDigital.isAmended({
  level_probabilities: { 'Working towards Entry Level': 0.7, 'Entry Level': 0.25, 'Level 1': 0.05 },
});
await ben.completes({ subject: 'english', level: 4 });
const chiEnglish = await chi.completes({ subject: 'english', level: 3 });
const owner = await personOf(service, org.id, 'owner');
const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
const tutor = await personOf(service, org.id, 'tutor');
await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [tutor.userId]));
await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['chi-1']));

const idsIn = (text: string) =>
  [...text.matchAll(/<th scope="row"[^>]*><span><a href="[^"]*\/results\/([0-9a-f-]{36})"/g)].map((match) => match[1]);

async function csvOf(person: Person, path: string): Promise<Record<string, string>[]> {
  const answer = await person.post(`${base}${path}`, { format: 'csv' });
  assert.equal(answer.status, 200);
  return parse(answer.text, { columns: true, bom: true });
}

suite('what a result’s probabilities say', () => {
  test('the middle 95 %, whether two have a level in common, and how likely a level is not reached', () => {
    assert.equal(levelInterval(null), null);
    assert.equal(levelInterval({ Distinction: 1 }), null);
    assert.deepEqual(levelInterval({ 'Level 2': 0.02, 'Level 1': 0.96, 'Entry Level 3': 0.02 }), {
      low: 'Level 1',
      high: 'Level 1',
    });
    assert.deepEqual(levelInterval({ 'Entry Level 3': 0.03, 'Level 1': 0.94, 'Level 2': 0.03 }), {
      low: 'Entry Level 3',
      high: 'Level 2',
    });
    assert.deepEqual(levelInterval({ 'Level 1': 1, 'Level 2': 0 }), { low: 'Level 1', high: 'Level 1' });
    const one = { low: 'Entry Level 2', high: 'Entry Level 3' };
    assert.equal(overlap(one, { low: 'Entry Level', high: 'Entry Level' }), true);
    assert.equal(overlap(one, { low: 'Level 1', high: 'Level 2' }), false);
    assert.equal(probabilityBelow({ 'Level 1': 0.81, 'Entry Level': 0.07, 'Level 2': 0.12 }, 'Level 1'), 0.07);
    assert.equal(probabilityBelow({ 'Level 1': 0.81, 'Entry Level': 0.07, 'Level 2': 0.12 }, 'Level 2'), 0.88);
  });

  test('levels gained count steps of Entry Level where both results say them, and whole levels otherwise', () => {
    const of = (level: number, working_level: string | null) => ({ ...contentOf({ level }), working_level });
    assert.equal(levelsGained(of(2, 'Entry Level 1'), of(2, 'Entry Level 3')), 2);
    assert.equal(levelsGained(of(2, 'Entry Level 1'), of(3, 'Level 1')), 3);
    assert.equal(levelsGained(of(2, 'Entry Level'), of(3, 'Level 1')), 1);
    assert.equal(levelsGained(of(1, 'Working towards Entry Level'), of(2, 'Entry Level 1')), 1);
    assert.equal(levelsGained(of(3, 'Level 1'), of(2, 'Entry Level 3')), -1);
    assert.equal(levelsGained(of(0, null), of(2, 'Entry Level 3')), null);
    assert.equal(levelsGained(of(2, 'Something else'), of(3, 'Level 1')), 1);
  });
});

suite('lists for funding', () => {
  test('each learner’s latest result below a level, with date, probability and evidence; never more than was assessed', async () => {
    const digital = await owner.get(`${base}/results/lists/digital-below-level-1`);
    assert.deepEqual(idsIn(digital.text), [benDigital.id], 'Ana’s older result below Level 1 is not her latest');
    assert.match(digital.text, />95 %</);
    assert.match(digital.text, new RegExp(`/results/${benDigital.id}/evidence`));
    const others = await owner.get(`${base}/results/lists/english-maths-below-level-2`);
    assert.deepEqual(new Set(idsIn(others.text)), new Set([anaLatest.id, chiEnglish.id]));
    for (const { text } of [digital, others, await owner.get(`${base}/results/lists`)])
      assert.doesNotMatch(text, /eligib/i);
  });

  test('a result of the day on which the programme starts, or later, is marked, in the file too', async () => {
    const at = (start: string) => owner.get(`${base}/results/lists/digital-below-level-1?start=${start}`);
    assert.match((await at('2026-09-01')).text, /After the start of the programme/);
    assert.doesNotMatch((await at('2026-09-02')).text, /After the start of the programme/);
    const rows = await csvOf(owner, '/results/lists/digital-below-level-1/export?start=2026-09-01');
    assert.deepEqual(
      rows.map((row) => [
        row['Learner'],
        row['Probability below Level 1'],
        row['Assessed after the programme started'],
      ]),
      [["'=Ben Foster", '0.95', 'Yes']],
    );
    const answer = await owner.post(`${base}/results/lists/digital-below-level-1/export`, { format: 'xlsx' });
    const xml = strFromU8(unzipSync(answer.bytes)['xl/worksheets/sheet1.xml']!);
    assert.match(xml, /s="3"><v>0\.95<\/v>/);
    assert.doesNotMatch(xml, /eligib/i);
  });

  test('tutors see their teams’ learners only', async () => {
    for (const path of ['digital-below-level-1', 'english-maths-below-level-2']) {
      const { text } = await tutor.get(`${base}/results/lists/${path}?group=${cohort.id}`);
      assert.doesNotMatch(text, /Ana Silva|=Ben/);
      const rows = await csvOf(tutor, `/results/lists/${path}/export`);
      assert.ok(rows.every((row) => row['Reference'] === 'chi-1'));
    }
    assert.deepEqual(idsIn((await tutor.get(`${base}/results/lists/english-maths-below-level-2`)).text), [
      chiEnglish.id,
    ]);
  });
});

suite('how a group stands', () => {
  const cells = (text: string) =>
    [...text.matchAll(/<td[^>]*data-head="([^"]+)"[^>]*><span>(\d+)/g)].map((match) => [match[1], Number(match[2])]);

  test('results of each group at each level; groups without any are there as well', async () => {
    const { text } = await owner.get(`${base}/results/spread?type=cohort&subject=digital`);
    assert.match(text, /The cohort winter/);
    assert.deepEqual(
      cells(text).filter(([, n]) => n !== 0),
      [
        ['Results', 3],
        ['Working towards Entry Level', 1],
        ['Entry Level', 1],
        ['Level 1', 1],
      ],
    );
    assert.match(text, /33\.3 %/);
    const none = await owner.get(`${base}/results/spread?group=${empty.id}`);
    assert.equal(none.status, 200);
  });

  test('a group’s domains are those of each learner’s latest result', async () => {
    const { text } = await owner.get(`${base}/results/spread?group=${cohort.id}`);
    assert.match(text, /Maths: domains in each learner’s latest result \(1 of them\)/);
    assert.match(text, /60 %<progress/);
    assert.equal((await owner.get(`${base}/results/spread?group=5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d`)).status, 404);
  });

  test('a tutor counts their own learners alone', async () => {
    const { text } = await tutor.get(`${base}/results/spread?type=cohort&subject=digital`);
    assert.deepEqual(
      cells(text).filter(([, n]) => n !== 0),
      [],
    );
    const one = await tutor.get(`${base}/results/spread?group=${cohort.id}`);
    assert.doesNotMatch(one.text, /Number|60 %/);
    const own = await tutor.get(`${base}/results/spread?group=${team}`);
    assert.deepEqual(
      cells(own.text).filter(([head, n]) => head === 'Results' && n !== 0),
      [['Results', 1]],
    );
  });
});

suite('starting points against latest results', () => {
  test('levels gained, and honestly whether that is more than error of measurement', async () => {
    const { text } = await owner.get(`${base}/results/progress?group=${cohort.id}&subject=maths`);
    assert.match(text, /No clear change<[^]*2 levels higher/);
    await anaLatest.isAmended({ level_probabilities: { 'Level 1': 1 } });
    const clear = await owner.get(`${base}/results/progress?group=${cohort.id}&subject=maths`);
    assert.match(clear.text, /Clear gain<[^]*2 levels higher/);
    const digital = await owner.get(`${base}/results/progress?group=${cohort.id}&subject=digital`);
    assert.match(digital.text, /Not measured<[^]*1 level higher/);
    assert.match(digital.text, />One result</);
    assert.match((await owner.get(`${base}/results/progress`)).text, /The cohort autumn/);
  });

  test('as a file, of the whole group', async () => {
    const rows = await csvOf(owner, `/results/progress/export?group=${cohort.id}`);
    assert.deepEqual(
      rows.map((row) => [row['Reference'], row['Subject'], row['Results'], row['Levels gained'], row['Change']]).sort(),
      [
        ['ana-1', 'digital', '2', '1', 'Not measured'],
        ['ana-1', 'maths', '2', '2', 'Clear gain'],
        ['ben-1', 'digital', '1', '', ''],
        ['ben-1', 'english', '1', '', ''],
      ],
    );
  });

  test('tutors see their teams’ learners only, whatever group the address names', async () => {
    const { text } = await tutor.get(`${base}/results/progress?group=${cohort.id}`);
    assert.doesNotMatch(text, /Ana Silva|=Ben/);
    assert.deepEqual(await csvOf(tutor, `/results/progress/export?group=${cohort.id}`), []);
    assert.match((await tutor.get(`${base}/results/progress?team=${team}`)).text, /Chi Last/);
  });
});
