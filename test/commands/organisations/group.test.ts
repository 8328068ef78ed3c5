import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ars } from '../../support/ars.ts';
import { personOf } from '../../web/console/visitor.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const service = await withService();
const scene = await scenario(service);
const { org } = scene;

/** The command with these words, and what it reads from its standard input. */
const run = (words: string[], input = '') =>
  ars([...words, '--organisation', org.publicId, '--json'], service.environment, { input });

suite('ars group and ars team', () => {
  test('a group is made, renamed, filled from a file, emptied, archived and brought back', async () => {
    for (const ref of ['ana', 'bo']) await scene.learner(ref);
    const { json: made } = await run(['group', 'create', '--type', 'cohort', '--ref', 'C1', '--name', 'First']);
    const id: string = made.group_id;
    assert.equal((await run(['group', 'rename', id, '--name', 'Second'])).json.name, 'Second');
    const tried = await run(['group', 'add', id, '-', '--dry-run'], 'ref\nana\nbo\nnobody\n');
    assert.deepEqual([tried.code, tried.json.changed, tried.json.dry_run], [1, 2, true]);
    assert.deepEqual((await run(['group', 'members', id])).json.data, []);
    const added = await run(['group', 'add', id, '-'], 'ref\nana\nbo\nnobody\n');
    assert.deepEqual(
      [added.code, added.json.changed, added.json.left_out],
      [1, 2, [{ row: 4, reason: 'No learner has the reference nobody.' }]],
    );
    const removed = await run(['group', 'remove', id, '-'], 'ana');
    assert.deepEqual([removed.code, removed.json.changed], [0, 1]);
    const members = (await run(['group', 'members', id])).json.data;
    assert.deepEqual(
      members.map((one: any) => one.ref),
      ['bo'],
    );
    const first = (await run(['group', 'members', id, '--history', '--limit', '1'])).json;
    assert.deepEqual([first.data.length, first.more], [1, true]);
    const history = (await run(['group', 'members', id, '--history'])).json.data;
    assert.deepEqual(
      history.map((one: any) => [one.what, one.actor]),
      ['left', 'joined', 'joined'].map((what) => [what, 'operator']),
    );
    const looks = await service.app.db.query(
      `select from audit where organisation_id = $1 and action = 'group members' and resource = $2`,
      [org.id, id],
    );
    assert.equal(looks.length, 4, 'each look at the members is in the log');
    assert.equal((await run(['group', 'archive', id])).json.active, false);
    assert.equal((await run(['group', 'list', '--active', 'no'])).json.data[0].group_id, id);
    assert.equal((await run(['group', 'bring-back', id])).json.active, true);
    assert.equal((await run(['group', 'list', '--type', 'king'])).code, 2);
    assert.match((await run(['group', 'archive', org.publicId])).said, /No group with the ID/);
  });

  test('everybody moves, however many they are', async () => {
    const [from, to] = [
      (await run(['group', 'create', '--type', 'cohort', '--ref', 'ALL', '--name', 'All'])).json.group_id,
      (await run(['group', 'create', '--type', 'cohort', '--ref', 'NEXT', '--name', 'Next'])).json.group_id,
    ];
    const count = limits.pastedRefs + 1;
    await service.app.db.query(
      `with made as (
         insert into learner (organisation_id, learner_id, ref, full_name, created_at)
         select $1, md5('all' || n)::uuid, 'all-' || n, 'All ' || n, to_timestamp(0) from generate_series(1, $2) n returning learner_id)
       insert into learner_feed (organisation_id, learner_id, position, group_set_id)
       select $1, learner_id, row_number() over (), md5('{}')::uuid from made`,
      [org.id, count],
    );
    const refs = Array.from({ length: count }, (_, n) => `all-${n + 1}`).join('\n');
    assert.equal((await run(['group', 'add', from, '-'], refs)).json.changed, count);
    const admin = await personOf(service, org.id, 'admin');
    const asked = await admin.get(`/console/${org.publicId}/groups/${from}/move-all`);
    assert.match(asked.text, /Move 10,000 learners out of <bdi>All<\/bdi>/);
    assert.match(asked.text, /This moves only some learners:<\/strong> 1 learner more stays until/);
    assert.equal((await run(['group', 'move', '--from', from, '--to', to, '--all'])).json.changed, count);
    assert.deepEqual((await run(['group', 'members', from])).json.data, []);
  });

  test('a team has staff by address, and learners that move to another team; groups’ commands leave it alone', async () => {
    const tutor = await personOf(service, org.id, 'tutor');
    const [north, south] = [
      (await run(['team', 'create', '--ref', 'N', '--name', 'North'])).json.group_id,
      (await run(['team', 'create', '--ref', 'S', '--name', 'South'])).json.group_id,
    ];
    assert.equal((await run(['team', 'create', '--ref', 'N', '--name', 'Again'])).code, 1);
    const staff = await run(['team', 'staff', north, '--add', tutor.email]);
    assert.deepEqual(
      staff.json.data.map((one: any) => one.user_id),
      [tutor.userId],
    );
    assert.deepEqual((await run(['team', 'staff', north, '--remove', tutor.userId])).json.data, []);
    await run(['team', 'add', north, '-'], 'ana\nbo');
    const moved = await run(['team', 'move', '--from', north, '--to', south, '-'], 'ana');
    assert.equal(moved.json.changed, 1);
    assert.equal((await run(['team', 'move', '--from', north, '--to', south, '--all'])).json.changed, 1);
    assert.equal((await run(['team', 'members', south])).json.data.length, 2);
    const refused = await run(['group', 'remove', south, '-'], 'ana');
    assert.equal(refused.code, 1);
    assert.match(refused.said, /cannot change groups of type team/);
  });
});
