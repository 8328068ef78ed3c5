import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { all, meanLevels, refreshTotals, totalsOf } from '../../../../src/records/results/lists/distance.ts';
import { type Progress, changeOf } from '../../../../src/records/results/lists/progress.ts';
import { prepareReplacement } from '../../../../src/governance/result-reviews/replacement.ts';
import { recordAgain } from '../../../../src/governance/result-reviews/record-again.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { invited, invitedAgain } from '../../../sittings/learner.ts';
import { contentOf, recordResults, scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

const service = await withService();
const { app } = service;

const progress = (from: Partial<Progress['first']>, to: Partial<Progress['first']>): Progress => ({
  ...{ learner_id: '', full_name: '', ref: null, results: 2 },
  first: { assessment_id: '', source: 'sitting', content: contentOf({ level: 2 }), ability: null, ...from },
  latest: { assessment_id: '', source: 'sitting', content: contentOf({ level: 3 }), ability: null, ...to },
});
const ability = (theta: number, se = 0.3) => ({ ability: { theta, se } });

test('a change is clear if the interval of the difference, from both standard errors, excludes 0', () => {
  const outcome = (...of: Parameters<typeof progress>) => changeOf(progress(...of))!.outcome;
  // The margin is 1.96 × √(0.3² + 0.3²) = 0.8315.
  assert.ok(Math.abs(changeOf(progress(ability(0), ability(0.8)))!.ability!.margin - 0.83154) < 1e-5);
  assert.equal(outcome(ability(0), ability(0.83)), 'unclear');
  assert.equal(outcome(ability(0), ability(0.84)), 'gain');
  assert.equal(outcome(ability(0), ability(-0.84)), 'loss');
  assert.equal(outcome(ability(0, 0.6), ability(0.84)), 'unclear', 'a larger error of one result counts');
  assert.equal(outcome(ability(0), {}), 'unmeasured', 'one result without error');
  assert.equal(changeOf({ ...progress({}, {}), results: 1 }), null);
});

test('the mean of a group has an interval from the spread of its learners', () => {
  const total = { learners: 10, gain: 0, unclear: 0, loss: 0, placed: 10, levels: 5, squares: 5 };
  const { mean, low, high } = meanLevels(total)!;
  // Five of ten gained 1 level: the standard deviation is √(5/18).
  assert.deepEqual(
    [mean, low, high].map((one) => one.toFixed(3)),
    ['0.500', '0.173', '0.827'],
  );
  assert.equal(meanLevels({ ...total, placed: 9 }), null);
});

suite('distance travelled', async () => {
  const scene = await scenario(service);
  const { org } = scene;
  const base = `/console/${org.publicId}`;
  const owner = await personOf(service, org.id, 'owner');
  const cohort = await scene.group('autumn');
  const first = await invited(service, org, { ref: 'up-1', name: 'Una Up' });
  const second = await invited(service, org, { ref: 'same-1', name: 'Sam Same' });
  await first.sits('wrong');
  await (await invitedAgain(first)).sits('right');
  await second.sits('right');
  const sameAgain = await (await invitedAgain(second)).sits('right');
  const una = await scene.learner('up-1', 'Una Up');
  const sam = await scene.learner('same-1', 'Sam Same');
  for (const one of [una, sam]) await one.joins(cohort);

  const rowOf = (text: string, who: string) =>
    /<tr><th[^>]*>(?:(?!<\/tr>).)*/gs[Symbol.match](text)!.find((row) => row.includes(who)) ?? '';
  const cells = (row: string) =>
    Object.fromEntries(
      [...row.matchAll(/data-head="([^"]+)"[^>]*><span>(\d+)/g)].map((one) => [one[1], Number(one[2])]),
    );

  test('two clicks from the start: the menu has the list of groups, and the list has the group', async () => {
    assert.match((await owner.get(base)).text, new RegExp(`href="${base}/results/progress"[^>]*>Distance travelled`));
    const { text } = await owner.get(`${base}/results/progress`);
    assert.match(text, new RegExp(`href="${base}/results/progress\\?group=${cohort.id}`));
    const counted = cells(rowOf(text, cohort.id));
    assert.deepEqual(
      [counted['Learners'], counted['Clear gain'], counted['No clear change'], counted['Not measured']],
      [2, 1, 1, 0],
    );
    assert.match(text, /All learners with two or more results/);
  });

  test('a learner whose estimates are further apart than their errors has a clear gain', async () => {
    const { text } = await owner.get(`${base}/results/progress?group=${cohort.id}`);
    assert.match(rowOf(text, 'Una Up'), /Clear gain[^]*levels higher/);
    assert.match(rowOf(text, 'Sam Same'), /No clear change[^]*Same level/);
    const answer = await owner.post(`${base}/results/progress/export?group=${cohort.id}`, { format: 'csv' });
    const rows: Record<string, string>[] = parse(answer.text, { columns: true, bom: true });
    const row = rows.find((one) => one['Reference'] === 'up-1')!;
    assert.equal(row['Change'], 'Clear gain');
    assert.ok(Number(row['Change of the ability estimate']) > Number(row['95 % margin of the change']));
  });

  test('a level that a person set has no estimate, and the totals follow every change', async () => {
    const made = await prepareReplacement(app, org.id, sameAgain.assessment_id!, 'level1', 'Seen in class');
    assert.ok(typeof made === 'object');
    const decision = { actor: 'operator', reason: 'Seen in class', answer: null, version: null };
    await service.withUnitOfWork((work) => recordAgain(work, org.id, made, decision));
    const { text } = await owner.get(`${base}/results/progress?group=${cohort.id}`);
    assert.match(rowOf(text, 'Sam Same'), /Not measured/);
    const total = await totalsOf(app.db, org.id, [all, cohort.id]);
    for (const group of [all, cohort.id]) {
      const { learners, gain, unclear } = total(group, 'digital');
      assert.deepEqual([learners, gain, unclear], [2, 1, 0]);
    }
  });

  test('tutors see totals of their own teams only', async () => {
    const tutor = await personOf(service, org.id, 'tutor');
    const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
    await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [tutor.userId]));
    await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['up-1']));
    const { text } = await tutor.get(`${base}/results/progress`);
    assert.equal(cells(rowOf(text, team))['Learners'], 1);
    assert.doesNotMatch(text, /All learners/);
    assert.doesNotMatch((await tutor.get(`${base}/results/progress?type=cohort`)).text, new RegExp(cohort.id));
    const shared = await tutor.get(`${base}/results/progress?group=${cohort.id}`);
    assert.match(shared.text, /Una Up/);
    assert.doesNotMatch(shared.text, /Sam Same|Learners with two or more results/);
  });

  test('a large organisation is counted in the background, and again after ten minutes', async () => {
    const large = await service.organisation();
    await large.post('/learners', { ref: 'L-1', full_name: 'Lee Large' });
    const results = Array.from({ length: 2001 }, (_, n) => ({ ref: 'L-1', level: n === 0 ? 2 : 3 }));
    await service.withUnitOfWork((work) => recordResults(work, large.id, results));
    const learnersNow = async () => (await totalsOf(app.db, large.id, [all]))(all, 'maths').learners;
    assert.equal(await refreshTotals(app, large.id), null);
    const person = await personOf(service, large.id, 'owner');
    assert.match((await person.get(`/console/${large.publicId}/results/progress`)).text, /being counted|Counted on/);
    for (let n = 0; (await learnersNow()) === 0; n++) {
      assert.ok(n < 500, 'it is never counted');
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.ok((await refreshTotals(app, large.id)) instanceof Date);
  });
});
