import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { contractTarget, freshRef } from './support/target.ts';

/** A refusal names which member of a list is wrong, counted from 0 as it was sent, and never what stands there. */

const target = await contractTarget();
const unknown = '00000000-0000-4000-8000-000000000000';
const group = (more: object = {}) => ({ type: 'cohort', ref: freshRef('G'), name: 'A group', ...more });
const url = 'https://portfolio.example.org/hooks';
const secret = 'Zebedee';

suite('the position in a list that is refused', () => {
  const learner = (groups: unknown) => ({ ref: freshRef('L'), full_name: 'Ana Silva', groups });
  const same = group();
  for (const [path, body, code, starts] of [
    [
      '/groups/x/members',
      { learner_refs: ['a', 'a', `${secret} Silva`] },
      'invalid_learner_refs',
      'learner_refs[2] is malformed. Send an opaque',
    ],
    [
      '/groups/x/members',
      { learner_refs: ['a', 7] },
      'invalid_learner_refs',
      'learner_refs[1] is malformed. Send an opaque',
    ],
    [
      '/groups/x/members',
      { learner_refs: ['a', 'AB123456C'] },
      'invalid_learner_refs',
      'learner_refs[1] contains a National',
    ],
    [
      '/groups/x/members/remove',
      { learner_refs: [''] },
      'invalid_learner_refs',
      'learner_refs[0] is malformed. Send an',
    ],
    [
      '/groups/x/members',
      { learner_refs: [] },
      'invalid_learner_refs',
      'learner_refs is an empty list. Send a list of 1 to 500',
    ],
    [
      '/learners',
      learner([group(), group({ type: secret })]),
      'invalid_groups',
      'groups[1].type has a value that is not allowed. Send one of cohort',
    ],
    [
      '/learners',
      learner([group(), group({ name: '\n' })]),
      'invalid_groups',
      'groups[1].name is malformed. Send text of',
    ],
    [
      '/learners',
      learner([group(), { type: 'cohort', ref: 'x' }]),
      'invalid_groups',
      'groups[1].name is missing. Send text of',
    ],
    [
      '/learners',
      learner([group({ [secret]: 1 })]),
      'invalid_groups',
      'groups[0] has a field, number 4 of 4, which this endpoint does not know. It knows ref,',
    ],
    [
      '/learners',
      learner([group(), secret]),
      'invalid_groups',
      'groups[1] is malformed. Send an object with ref, name and type',
    ],
    [
      '/learners',
      learner([same, group(), { ...same, name: secret }]),
      'invalid_groups',
      'groups has two names for one type and ref, in groups[0] and groups[2]',
    ],
    ['/learners', learner([group(), group({ type: 'team' })]), 'team_group_managed', 'groups[1].type is team'],
    [
      '/webhooks',
      { url, event_types: ['assessment.completed', secret] },
      'invalid_event_types',
      'event_types[1] has a value that is not allowed',
    ],
    [
      '/webhooks',
      { url, group_ids: [unknown, secret] },
      'invalid_group_ids',
      "group_ids[1] is malformed. Send a group's UUID",
    ],
  ] as const) {
    test(`POST ${path}: ${starts}`, async () => {
      const { status, body: told } = await target.post(path, body);
      assert.deepEqual([status, told.error.code], [422, code]);
      assert.ok(told.error.message.startsWith(starts), told.error.message);
      assert.doesNotMatch(told.error.message, new RegExp(secret));
    });
  }

  test('group_ids that are not of the organisation, though others stand there twice', async () => {
    const { id } = (await target.post('/groups', group())).body.data;
    const refused = await target.post('/webhooks', { url, group_ids: [id, id, unknown] });
    assert.equal(refused.body.error.code, 'unknown_group');
    assert.equal(refused.body.error.message, 'group_ids[2] is not a known group. Take IDs from GET /groups.');
  });

  test('groups that are not made', { skip: target.local === null && 'needs an organisation of its own' }, async () => {
    const closed = await target.local!.service.organisation({ groupAutocreate: false });
    const known = group();
    await closed.post('/groups', known);
    const refused = await closed.post('/learners', learner([known, known, group()]));
    assert.equal(refused.body.error.code, 'group_autocreate_disabled');
    assert.match(
      refused.body.error.message,
      /^groups\[2\] does not exist, .*\. Create the group with POST \/groups first\.$/,
    );
  });

  for (const [path, starts] of [
    [
      `/assessments?subject=maths,${secret}`,
      'subject[1] has a value that is not allowed. Send one of digital, english, maths.',
    ],
    [`/assessments?subject=maths&subject=${secret}`, 'subject[1] has a value that is not allowed. Send one of'],
    ['/assessments?subject=maths,,english', 'subject[1] has no value. Send one of'],
    [
      `/assessments?status=completed,${secret}`,
      'status[1] has a value that is not allowed. Send one of completed, deleted.',
    ],
    ['/assessments?rqf_level_code=1,2,4', 'rqf_level_code[2] has a value that is not allowed. Send one of 1, 2, 3, 5.'],
    [`/assessments?group_id=${unknown},${unknown},x`, "group_id[2] is malformed. Send a group's UUID."],
    [`/groups?type=cohort,${secret}`, 'type[1] has a value that is not allowed. Send one of cohort, '],
    [
      `/events?event_types=assessment.completed,${secret}`,
      'event_types[1] has a value that is not allowed. Send one of',
    ],
    ['/assessments/digest?buckets=1,x', 'buckets[1] is malformed. Send a whole number from 0 to'],
    ['/assessments/digest?bits=4&buckets=3,3,16', 'buckets[2] has a value that is not allowed. Send 0 to 15.'],
    [
      `/assessments?subject=${secret}`,
      'subject has a value that is not allowed. Send one or more of digital, english, maths.',
    ],
  ] as const) {
    test(`GET ${path}`, async () => {
      const { status, body: told } = await target.get(path);
      assert.equal(status, 400);
      assert.ok(told.error.message.startsWith(starts), told.error.message);
      assert.doesNotMatch(told.error.message, new RegExp(secret));
    });
  }
});
