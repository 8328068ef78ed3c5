import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { withService } from '../../../support/service.ts';
import { addToTeam } from '../../../support/teams.ts';
import { fieldsOf, type Person, personOf } from '../visitor.ts';

/** Actions for learners that are selected in a list. */

const service = await withService();
const org = await service.organisation({ plan: 'unlimited' });
const base = `/console/${org.publicId}`;
const owner = await personOf(service, org.id, 'owner');
const cohort = async (ref: string): Promise<string> =>
  (await org.post('/groups', { type: 'cohort', ref, name: `Cohort ${ref}` })).body.data.id;
const learner = async (ref: string, groups: string[] = []): Promise<string> =>
  (
    await org.post('/learners', {
      ref,
      full_name: `Ana ${ref.replace(/\W|\d/g, '')}`,
      groups: groups.map((one) => ({ type: 'cohort', ref: one, name: one })),
    })
  ).body.data.learner_id;
const membersOf = async (id: string): Promise<string[]> =>
  (
    await service.app.db.query<{ ref: string }>(
      `select l.ref from membership m join learner l using (organisation_id, learner_id)
        where m.organisation_id = $1 and m.group_id = $2 and m.left_position is null order by 1`,
      [org.id, id],
    )
  ).map((one) => one.ref);

const [from, to] = [await cohort('from'), await cohort('to')];
const ids = [await learner('abc-1', ['from']), await learner('abd-2', ['from']), await learner('abe-3')];

async function act(person: Person, press: string, chosen: readonly string[], fields: Record<string, string> = {}) {
  const asked = await person.post(`${base}/learners/chosen`, [
    ...chosen.map((id): [string, string] => ['learner', id]),
    ['press', press],
  ]);
  const sent = fieldsOf(asked.text).map(([name, value]): [string, string] => [name, fields[name] ?? value]);
  return { asked, answered: await person.post(`${base}/learners/chosen/change`, sent) };
}

suite('selected learners', () => {
  test('are added to a group, moved out of their old group, and removed from a group', async () => {
    await act(owner, 'add', [ids[2]!], { target: from });
    assert.deepEqual(await membersOf(from), ['abc-1', 'abd-2', 'abe-3']);
    const { asked, answered } = await act(owner, 'move', ids.slice(0, 2), { target: to });
    assert.match(asked.text, /Platforms read 2 learners and 0 results again/);
    assert.match(asked.text, new RegExp(`value="${from}" selected`));
    assert.match((await owner.follow(answered)).text, /2 of 2 learners/);
    assert.deepEqual([await membersOf(from), await membersOf(to)], [['abe-3'], ['abc-1', 'abd-2']]);
    await act(owner, 'leave', [ids[0]!]);
    assert.deepEqual(await membersOf(to), ['abd-2']);
  });

  test('a form without its groups, or with one group twice, is refused with the field', async () => {
    assert.match((await act(owner, 'move', [ids[1]!], { old: to })).answered.text, /Choose the new group/);
    assert.match(
      (await act(owner, 'move', [ids[1]!], { target: from, old: '' })).answered.text,
      /Choose the old group/,
    );
    assert.match((await act(owner, 'move', [ids[1]!], { target: to, old: to })).answered.text, /Choose another group/);
    assert.equal((await owner.post(`${base}/learners/chosen`, { press: 'move' })).status, 422);
  });

  test('are invited: every row is checked first', async () => {
    const asked = await owner.post(`${base}/learners/chosen`, [
      ['learner', ids[0]!],
      ['learner', ids[2]!],
      ['press', 'invite'],
    ]);
    assert.match(asked.text, /Invite 2 learners\?/);
    const sent = await owner.post(`${base}/invite`, fieldsOf(asked.text));
    assert.match((await owner.follow(sent)).text, /Invite 2 learners\?[\s\S]*Existing learner/);
  });

  test('a move inside a group’s page can keep the old group', async () => {
    const asked = await owner.post(`${base}/groups/${from}/chosen`, [
      ['learner', ids[2]!],
      ['press', 'move'],
    ]);
    const fields = fieldsOf(asked.text).filter(([name]) => name !== 'target');
    await owner.post(`${base}/groups/${from}/members`, [...fields, ['target', to], ['keep', 'yes']]);
    assert.ok((await membersOf(from)).includes('abe-3'));
    assert.ok((await membersOf(to)).includes('abe-3'));
  });

  test('a tutor invites learners of their teams only, and changes no group', async () => {
    const tutor = await personOf(service, org.id, 'tutor');
    for (const path of ['learners', 'groups', 'invitations'])
      assert.match((await tutor.get(`${base}/${path}`)).text, /You are in no team, so you see no learners/);
    const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
    await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [tutor.userId]));
    await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['abc-1']));
    assert.doesNotMatch((await tutor.get(`${base}/learners`)).text, /in no team|Move to group/);
    const asked = await tutor.post(`${base}/learners/chosen`, [
      ...ids.map((id): [string, string] => ['learner', id]),
      ['press', 'move'],
    ]);
    assert.match(asked.text, /Invite 1 learner\?/);
    assert.doesNotMatch(asked.text, /Ana abd/);
    const sent = { action: 'move', learners: ids.join(' '), target: to, old: from };
    assert.equal((await tutor.post(`${base}/learners/chosen/change`, sent)).status, 404);
    const auditor = await personOf(service, org.id, 'auditor');
    assert.equal((await auditor.post(`${base}/learners/chosen`, { press: 'invite' })).status, 404);
  });
});

suite('the check before inviting', () => {
  test('shows the groups, with those that do not exist yet, and what each invitation contains', async () => {
    const rows = [
      'ref\tfull_name\tgroups\textra_time\temail\texpires\tsubjects',
      'n-1\tBen Brown\tfrom; cohort: new-1 = New cohort\t25\tben@example.org\t\tmaths',
      'n-2\tCy Cole\tcohort: new-1 = New cohort\t\t\t\tall',
    ].join('\n');
    const { text } = await owner.follow(await owner.post(`${base}/invite`, { rows, once: service.app.random.uuid() }));
    assert.match(
      text,
      /Groups that the learners join[\s\S]*New cohort[\s\S]*New: will be created[\s\S]*Cohort from[\s\S]*Exists/,
    );
    const row = /Ben Brown[\s\S]*?<\/tr>/.exec(text)![0];
    assert.match(
      row,
      /Cohort from[\s\S]*New cohort[\s\S]*New[\s\S]*Maths[\s\S]*25%[\s\S]*ben@example\.org[\s\S]*<time/i,
    );
  });
});
