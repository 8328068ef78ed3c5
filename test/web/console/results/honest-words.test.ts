import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { invited } from '../../../sittings/learner.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const owner = await personOf(service, org.id, 'owner');
const cohort = await scene.group('autumn');
const sitter = await invited(service, org, { ref: 'sat-1', name: 'Sana Sitter' });
await sitter.sits('wrong');
const sat = (await sitter.link()).last!.assessment_id!;
const ann = await scene.learner('imp-1', 'Ann Import');
for (const one of [await scene.learner('sat-1', 'Sana Sitter'), ann]) await one.joins(cohort);
const imported = await ann.completes({ subject: 'digital', level: 1 });

const textOf = (pdf: Buffer): string =>
  execFileSync('pdftotext', ['-layout', '-', '-'], { input: pdf, encoding: 'utf8' }).replace(/\s+/g, ' ');
const rowOf = (text: string, who: string) =>
  /<tr><th[^>]*>(?:(?!<\/tr>).)*/gs[Symbol.match](text)!.find((row) => row.includes(who)) ?? '';

suite('a result of items that are not calibrated is provisional', () => {
  test('on its page, on the page of its review and on the learner’s page; an imported result is not', async () => {
    const page = (await owner.get(`${base}/results/${sat}`)).text;
    assert.match(page, /Working towards Entry Level \(provisional\)/);
    assert.match(page, /Provisional: the authors judged how hard the questions are/);
    assert.match((await owner.get(`${base}/review/${sat}`)).text, /\(provisional\)/);
    const { learner_id } = (await org.get(`/assessments/${sat}`)).body.data.learner;
    assert.match((await owner.get(`${base}/learners/${learner_id}`)).text, /\(provisional\)/);
    assert.doesNotMatch((await owner.get(`${base}/results/${imported.id}`)).text, /provisional/i);
  });

  test('in every list, also in the lists for funding', async () => {
    const group = `group=${cohort.id}`;
    const lists = ['results', 'results/lists/digital-below-level-1', `results/gaps?${group}&subject=digital`];
    for (const path of lists) {
      const { text } = await owner.get(`${base}/${path}`);
      assert.match(rowOf(text, 'Sana Sitter'), /\(provisional\)/, path);
      assert.doesNotMatch(rowOf(text, 'Ann Import'), /provisional/, path);
    }
  });

  test('in every file', async () => {
    for (const path of [
      'results/export',
      'results/lists/digital-below-level-1/export',
      `results/gaps/export?group=${cohort.id}&subject=digital`,
      'results/lists/ilr',
    ]) {
      const { text } = await owner.fill(`${base}/${path}`, { format: 'csv' });
      const rows: Record<string, string>[] = parse(text, { columns: true, bom: true });
      const of = (name: string) => rows.find((row) => Object.values(row).includes(name))!;
      const said = (row: Record<string, string>) => row['Provisional'] ?? row['AssessedProvisional'];
      assert.deepEqual([said(of('Sana Sitter')), said(of('Ann Import'))], ['Yes', 'No'], path);
    }
  });

  test('in the reports of a class and of a learner', async () => {
    const report = await owner.get(`${base}/results/report?group=${cohort.id}&subject=digital`);
    assert.match(textOf(report.bytes), /\(provisional\).*Provisional: the authors judged/);
    const { learner_id } = (await org.get(`/assessments/${sat}`)).body.data.learner;
    assert.match(textOf((await owner.get(`${base}/learners/${learner_id}/report`)).bytes), /Results are provisional/);
  });
});

suite('close to a boundary', () => {
  test('says the probabilities, not is_borderline; without probabilities there is no sentence', async () => {
    const shows = async (amendment: Parameters<typeof imported.isAmended>[0]) => {
      await imported.isAmended(amendment);
      const page = (await owner.get(`${base}/results/${imported.id}`)).text;
      const list = rowOf((await owner.get(`${base}/results`)).text, 'Ann Import');
      return [page.includes('Close to the line between two levels'), list.includes('Close to a boundary')];
    };
    const of = (first: number) => ({ 'Entry Level': first, 'Level 1': Math.round(100 - 100 * first) / 100 });
    assert.deepEqual(await shows({ is_borderline: true, level_probabilities: of(0.95) }), [false, false]);
    assert.deepEqual(await shows({ is_borderline: true, level_probabilities: of(0.7) }), [false, false]);
    assert.deepEqual(await shows({ is_borderline: false, level_probabilities: of(0.69) }), [true, true]);
    assert.deepEqual(await shows({ is_borderline: true, level_probabilities: null }), [false, true]);
  });
});
