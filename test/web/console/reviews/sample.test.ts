import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { draw } from '../../../../src/governance/result-reviews/sample.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

suite('a random sample of results', async () => {
  const service = await withService();
  const { query } = service.app.db;
  const scene = await scenario(service);
  const { org } = scene;
  const base = `/console/${org.publicId}`;
  const path = `${base}/review/sample`;
  const group = await scene.group('sampled');
  const ids: string[] = [];
  for (let i = 0; i < 10; i++) {
    const learner = await scene.learner(`sampled-${i}`);
    if (i < 4) await learner.joins(group);
    ids.push((await learner.completes()).id);
  }
  await query('delete from review where organisation_id = $1', [org.id]);
  const insert = (flag: string, of: string[], decided: string | null) =>
    query(
      `insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags, outcome, decided_at, decided_by)
       select organisation_id, assessment_id, 1, learner_id, 'maths', now(), array[$3], $4,
              case when $4::text is not null then now() end, case when $4::text is not null then 'operator' end
         from assessment where organisation_id = $1 and assessment_id = any($2::uuid[])`,
      [org.id, of, flag, decided],
    );
  await insert('borderline', ids.slice(0, 2), 'confirmed');
  await insert('needs_review', ids.slice(9), null);
  const reviewer = await personOf(service, org.id, 'reviewer');
  const owner = await personOf(service, org.id, 'owner');
  const tutor = await personOf(service, org.id, 'tutor');
  const auditor = await personOf(service, org.id, 'auditor');
  const days = { from: '2000-01-01', to: '2030-01-01' };
  const open = () =>
    query<{ assessment_id: string; assigned_to: string | null; flags: string[]; rank: number }>(
      'select assessment_id, assigned_to, flags, rank from review where organisation_id = $1 and decided_at is null',
      [org.id],
    );
  const acts = (action: string) =>
    query<{ resource: string; actor: string }>(
      'select resource, actor from audit where organisation_id = $1 and action = $2 order by audit_id',
      [org.id, action],
    );

  test('of a group is opened for a person, and the audit log is enough to repeat the draw', async () => {
    assert.match((await reviewer.get(`${base}/review`)).text, /\/review\/sample">Draw sample/);
    const fields = { ...days, size: '50 %', subject: 'maths', group: group.id, person: owner.userId };
    const sent = await reviewer.post(path, fields);
    assert.ok(
      sent.headers.location!.startsWith(`${base}/review?assigned=${owner.userId}&did=sampled&sample=`),
      sent.text,
    );
    const drawn = (await open()).filter((one) => one.assigned_to !== null);
    assert.deepEqual(
      drawn.map(({ assigned_to, flags, rank }) => [assigned_to, flags, rank]),
      Array(2).fill([owner.userId, ['sample'], 5]),
    );
    const [act] = await acts('POST /console/review/sample');
    const [, seed] = /^\S+: 2 of 4 results, seed (\w{16}); group=\S+&subject=maths&from=2000-01-01&to=2030-01-01$/.exec(
      act!.resource,
    )!;
    const again = draw(ids.slice(0, 4), seed!, { n: 50, isPercent: true }).toSorted();
    assert.deepEqual(again, drawn.map((one) => one.assessment_id).toSorted());
    const rows = await acts('review sample');
    assert.deepEqual(
      rows.map((one) => [one.resource.split(':')[0], one.actor]).toSorted(),
      again.map((id) => [id, reviewer.userId]),
    );
    assert.match(
      (await reviewer.get(sent.headers.location!)).text,
      new RegExp(`The sample is drawn: 2 of 4 results, seed ${seed}\\.`),
    );
    assert.match((await owner.get(`${base}/review?assigned=me`)).text, /Random sample/);
    assert.match((await auditor.get(`${base}/activity`)).text, new RegExp(`drew the sample [^]*seed ${seed}`));
    for (const one of [auditor, tutor]) assert.equal((await one.get(path)).status, 404);
  });

  test('by number has each result at most once; an open review is marked and assigned', async () => {
    const sent = await reviewer.post(path, { ...days, size: '500', person: reviewer.userId });
    assert.match(sent.headers.location!, /assigned=me&/);
    const drawn = await open();
    assert.deepEqual(drawn.map((one) => one.assessment_id).toSorted(), ids.toSorted());
    assert.ok(drawn.every((one) => one.assigned_to === reviewer.userId && one.flags.includes('sample')));
    const { flags, rank } = drawn.find((one) => one.assessment_id === ids[9])!;
    assert.deepEqual([flags, rank], [['needs_review', 'sample'], 1]);
  });

  test('for a tutor contains only learners of their teams', async () => {
    const refused = await reviewer.post(path, { ...days, size: '5', person: tutor.userId });
    assert.deepEqual([refused.status, /No result matches/.test(refused.text)], [422, true]);
  });

  test('refuses other sizes, days and people', async () => {
    const fields = { ...days, size: '1', person: owner.userId };
    for (const wrong of [
      ...['', '0', '501', '101 %', '1.5', '-1'].map((size) => ({ size })),
      { from: '' },
      { to: 'today' },
      { person: org.publicId },
      { to: '2000-01-02' },
      { type: 'cohort' },
    ])
      assert.equal((await reviewer.post(path, { ...fields, ...(wrong as object) })).status, 422, JSON.stringify(wrong));
  });
});
