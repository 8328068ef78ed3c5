import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { importRecords } from '../../../../src/records/import/import.ts';
import { readyRecord } from '../../../../src/records/import/record.ts';
import { addToTeam } from '../../../support/teams.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

suite('lists of learners to follow up', async () => {
  const service = await withService();
  const { app } = service;
  const org = await service.organisation({ name: 'Northfield College' });
  const base = `/console/${org.publicId}`;
  const daysAgo = (days: number) => new Date(app.clock.nowMs() - days * 24 * 3600_000);
  const levels = {
    1: { rqf_level: 'Level 1', rqf_level_code: 2, below_level_1: false },
    3: { rqf_level: 'Level 3', rqf_level_code: 5, below_level_1: false },
  };
  const result = (ref: string, days: number, subject = 'maths', level: 1 | 3 = 1) => ({
    learner: { ref, full_name: `Learner ${ref}` },
    assessed_at: daysAgo(days).toISOString(),
    groups: [{ type: 'cohort', ref: 'A', name: 'Autumn' }].slice(ref === 'other' ? 1 : 0),
    ...{ subject, framework: 'F', ...levels[level] },
  });
  const imported = [
    result('due', 40),
    result('due', 100, 'english'),
    result('recent', 100),
    result('recent', 5),
    result('top', 40, 'maths', 3),
    result('old', 200),
    result('invited', 40),
    result('other', 40),
  ];
  await service.withUnitOfWork(async (work) => {
    const records = imported.map((one) => readyRecord(one, org.publicId, work.nowMs));
    await importRecords(work, org.id, records, { events: false, actor: 'operator' });
  });
  for (const ref of ['invited', 'new'])
    assert.equal((await org.post('/learners', { ref, full_name: `Learner ${ref}` })).status, 201);
  await app.db.query('update invitation set created_at = $2 where organisation_id = $1', [org.id, daysAgo(9)]);
  const tutor = await personOf(service, org.id, 'tutor');
  await service.withUnitOfWork(async (work) => {
    const team = await ensureTeam(work, org.id, { ref: 'T', name: 'Team' });
    await addToTeam(work, org.id, team, ['due', 'new', 'other']);
    await addTeamStaff(work, org.id, team, [tutor.userId]);
  });
  const ids = new Map(
    (
      await app.db.query<{ type: string; group_id: string }>(
        'select type, group_id from learner_group where organisation_id = $1',
        [org.id],
      )
    ).map((row) => [row.type, row.group_id]),
  );
  const [cohort, team] = [ids.get('cohort')!, ids.get('team')!];
  const owner = await personOf(service, org.id, 'owner');
  const listed = (text: string) =>
    [...text.matchAll(/<tr><th scope="row".*?<bdi>Learner (\w+)<.*?<\/tr>/g)].map(([, ref]) => ref);

  test('without a time between assessments the page says where to set it', async () => {
    assert.match((await owner.get(`${base}/follow-up`)).text, /enter the days between two assessments in <a href/);
  });

  test('a retake is due after the gap, below Level 3, without an open invitation and a later result', async () => {
    await app.db.query('update organisation set retake_gap_days = 28 where organisation_id = $1', [org.id]);
    const list = async (query: string, by = owner) => listed((await by.get(`${base}/follow-up${query}`)).text).sort();
    assert.deepEqual(await list(''), ['due', 'due', 'other']);
    assert.deepEqual(await list(`?group=${cohort}`), ['due', 'due']);
    assert.deepEqual(await list(`?team=${team}`), ['due', 'due', 'other']);
    assert.deepEqual(await list(`?team=${team}&group=${cohort}`), ['due', 'due']);
    assert.deepEqual(await list('', tutor), ['due', 'due', 'other']);
    assert.deepEqual(await list(`?group=${cohort}`, tutor), ['due', 'due']);
    await app.db.query(
      `update invitation set status = 'withdrawn' where organisation_id = $1 and status = 'open'
      and learner_id = (select learner_id from learner where organisation_id = $1 and ref = 'invited')`,
      [org.id],
    );
    assert.deepEqual(await list(''), ['due', 'due', 'invited', 'other']);
    assert.deepEqual(await list('', tutor), ['due', 'due', 'other'], 'invited is in no team');
    await app.db.query(`update invitation set status = 'open' where organisation_id = $1`, [org.id]);
  });

  test('the other lists open with the team and the group of this one', async () => {
    const { text } = await owner.get(`${base}/follow-up?team=${team}&group=${cohort}`);
    const links = [...text.matchAll(/<li><a href="([^"]+)">(Not started|Stopped|Reviews that)/g)].map(([, to]) =>
      to!.replaceAll('&amp;', '&'),
    );
    assert.equal(links.length, 4);
    for (const to of links) {
      assert.match(to, new RegExp(`team=${team}&group=${cohort}`));
      assert.equal((await owner.get(to)).status, 200);
    }
    const invitations = async (query: string, by = owner) =>
      listed((await by.get(`${base}/invitations?state=unopened${query}`)).text).sort();
    assert.deepEqual(await invitations(''), ['invited', 'new']);
    assert.deepEqual(await invitations(`&team=${team}`), ['new']);
    assert.deepEqual(await invitations(`&group=${cohort}`), ['invited']);
    assert.deepEqual(await invitations(`&team=${team}&group=${cohort}`), []);
    assert.deepEqual(await invitations('', tutor), ['new']);
    assert.deepEqual(await invitations(`&group=${cohort}`, tutor), [], 'a group shows no learner of other teams');
    assert.deepEqual(await invitations(`&tutor=${tutor.userId}`), ['new']);
    assert.deepEqual(await invitations(`&tutor=${tutor.userId}&group=${cohort}`), []);
  });

  test('a tutor, a team and a group are chosen in the lists of retakes and of reviews that learners wait for', async () => {
    await app.db.query(
      `insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags, requested_at, due_at)
       select a.organisation_id, a.assessment_id, 1, a.learner_id, 'maths', $2, '{}', $2, $2 from assessment a
         join learner l on l.organisation_id = a.organisation_id and l.learner_id = a.learner_id
        where a.organisation_id = $1 and a.facet >> 3 = 2 and l.ref in ('due', 'recent', 'other') and a.assessed_at < $3`,
      [org.id, daysAgo(3), daysAgo(30).getTime() * 1000],
    );
    const other = await personOf(service, org.id, 'tutor');
    const page = await owner.get(`${base}/follow-up?tutor=${tutor.userId}&group=${cohort}`);
    assert.match(page.text, new RegExp(`<option value="${tutor.userId}" selected>`));
    assert.deepEqual(listed(page.text), ['due', 'due']);
    const link = /<a href="([^"]+)">Reviews that/.exec(page.text)![1]!.replaceAll('&amp;', '&');
    assert.deepEqual(listed((await owner.get(link)).text), ['due']);
    const reviews = async (query: string, by = owner, state = '?state=asked') =>
      listed((await by.get(`${base}/review${state}${query}`)).text).sort();
    for (const state of ['?state=asked', '?why=request']) {
      const of = (query: string, by = owner) => reviews(query, by, state);
      assert.deepEqual(await of(''), ['due', 'other', 'recent']);
      assert.deepEqual(await of(`&tutor=${tutor.userId}`), ['due', 'other']);
      assert.deepEqual(await of(`&tutor=${other.userId}`), [], 'a tutor of no team');
      assert.deepEqual(await of(`&team=${team}`), ['due', 'other']);
      assert.deepEqual(await of(`&group=${cohort}`), ['due', 'recent']);
      assert.deepEqual(await of(`&team=${team}&group=${cohort}`), ['due']);
      assert.deepEqual(await of(`&tutor=${tutor.userId}&team=${team}&group=${cohort}`), ['due']);
      assert.deepEqual(await of(`&tutor=${other.userId}&team=${team}`), []);
      assert.deepEqual(await of(`&team=${owner.userId}`), [], 'an unknown team');
      assert.deepEqual(await of(`&group=${owner.userId}`), [], 'an unknown group');
      assert.deepEqual(await of(`&group=${cohort}`, tutor), ['due']);
      assert.deepEqual(await of(`&tutor=${tutor.userId}`, other), [], 'a tutor does not see another tutor’s learners');
    }
  });

  test('learners whose retake is due are selected and invited again', async () => {
    const { text } = await owner.get(`${base}/follow-up?team=${team}`);
    const ids = [...text.matchAll(/name="learner" value="([^"]+)"/g)].map(([, id]): [string, string] => [
      'learner',
      id!,
    ]);
    assert.equal(ids.length, 3);
    assert.match(text, new RegExp(`action="${base}/learners/chosen"`));
    const asked = await owner.post(`${base}/learners/chosen`, [...ids, ['press', 'invite']]);
    assert.match(asked.text, /<h1>Invite 2 learners\?<\/h1>/);
    const auditor = await personOf(service, org.id, 'auditor');
    assert.doesNotMatch((await auditor.get(`${base}/follow-up`)).text, /name="learner"/);
  });
});
