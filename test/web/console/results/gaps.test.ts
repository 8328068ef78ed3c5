import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

suite('gaps by domain', async () => {
  const service = await withService();
  const scene = await scenario(service);
  const { org } = scene;
  const base = `/console/${org.publicId}`;
  const cohort = await scene.group('autumn');
  const scores = { 'L-1': [80, 70], 'L-2': [30, 20], 'L-3': [30, 90], 'L-4': [50, 50] };
  const statusOf = (score: number) => (score >= 65 ? 'secure' : score >= 40 ? 'developing' : 'needs_support');
  for (const [ref, [reading, grammar]] of Object.entries(scores)) {
    const learner = await scene.learner(ref, `Learner ${ref}`);
    await learner.joins(cohort);
    const older = await learner.completes({ subject: 'english', assessed_at: '2026-01-10T10:00:00Z' });
    await older.isAmended({ domains: [{ name: 'Older domain', score_pct: 1, status: 'needs_support' }] });
    const result = await learner.completes({ subject: 'english', assessed_at: '2026-06-10T10:00:00Z' });
    await result.isAmended({
      domains: [
        { name: 'Reading', score_pct: reading!, status: statusOf(reading!) },
        { name: 'Grammar', score_pct: grammar!, status: statusOf(grammar!) },
        { name: 'Spelling', score_pct: null, status: null },
      ],
    });
  }
  await (await scene.learner('L-5', 'Learner L-5')).joins(cohort);
  const owner = await personOf(service, org.id, 'owner');
  const path = `${base}/results/gaps`;
  const order = (text: string) => [...text.matchAll(/Learner (L-\d)<\/bdi>/g)].map((one) => one[1]);

  test('the learner with most need comes first, and each cell says its status in words', async () => {
    const { text } = await owner.get(`${path}?group=${cohort.id}&subject=english`);
    assert.deepEqual(order(text), ['L-2', 'L-3', 'L-4', 'L-1']);
    assert.match(text, /label bad">Needs support<\/span> <span class="hint">20\u00a0%/);
    assert.match(text, /label off">Not judged/);
    assert.doesNotMatch(text, /Older domain/);
    assert.match(text, /1 learner has no result in English/);
    assert.match(text, /data-head="Learners"[^>]*><span>2</, 'two need support in reading');
    const none = await owner.get(`${path}?group=${cohort.id}&subject=maths`);
    assert.match(none.text, /No learner of this group has a result in Maths/);
    assert.match((await owner.get(path)).text, /Choose a team or a group/);
  });

  test('the file has the same order', async () => {
    const answer = await owner.post(`${path}/export?group=${cohort.id}&subject=english`, { format: 'csv' });
    const rows: Record<string, string>[] = parse(answer.text, { columns: true, bom: true });
    assert.deepEqual(
      rows.map((row) => [row['Reference'], row['Reading'], row['Grammar: score in %']]),
      [
        ['L-2', 'Needs support', '20'],
        ['L-3', 'Needs support', '90'],
        ['L-4', 'Developing', '50'],
        ['L-1', 'Secure', '70'],
      ],
    );
  });

  test('a tutor sees their own learners only', async () => {
    const tutor = await personOf(service, org.id, 'tutor');
    const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
    await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [tutor.userId]));
    await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['L-3']));
    for (const group of [cohort.id, team])
      assert.deepEqual(order((await tutor.get(`${path}?group=${group}&subject=english`)).text), ['L-3']);
    assert.equal((await tutor.get(path)).headers.location, `${path}?team=${team}`, 'the only team is chosen');
    assert.match((await tutor.get(path.replace('results/gaps', 'keys'))).text, /your role can’t open it/);
    const answer = await tutor.post(`${path}/export?group=${cohort.id}&subject=english`, { format: 'csv' });
    assert.doesNotMatch(answer.text, /L-[1245]/);
  });
});
