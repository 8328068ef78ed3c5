import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { recordAccess } from '../../../src/governance/access-log/access-log.ts';
import { maxScanned } from '../../../src/records/directory/browse.ts';
import { ars } from '../../support/ars.ts';
import { recordResults } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

suite('what the console shows of learners and groups, at the command line', async () => {
  const service = await withService();
  const { app } = service;
  const org = await service.organisation();
  const run = (...words: string[]) => ars([...words, '--json', '--organisation', org.publicId], service.environment);
  for (const [ref, name] of [
    ['L-1', 'Ana Silva'],
    ['L-2', 'Łukasz O’Brien'],
    ['L-3', 'Ana Berg'],
  ] as const) {
    const groups = [{ type: 'cohort', ref: 'C', name: 'Cohort' }];
    const { status, text } = await org.post('/learners', { ref, full_name: name, groups });
    assert.equal(status, 201, text);
  }
  await service.withUnitOfWork((work) =>
    recordResults(work, org.id, [
      { ref: 'L-1', assessed_at: '2026-01-10T09:00:00Z', level: 1 },
      { ref: 'L-1', assessed_at: '2026-04-10T09:00:00Z', level: 2 },
      { ref: 'L-2', assessed_at: '2026-03-11T09:00:00Z' },
    ]),
  );
  const [group] = (await org.get('/groups')).body.data;
  const learners = (await org.get('/learners')).body.data as { ref: string; learner_id: string }[];
  const idOf = (ref: string) => learners.find((one) => one.ref === ref)!.learner_id;

  test('learners are found by parts of names, by references, and by what is known of them', async () => {
    const refsOf = async (...words: string[]) =>
      (await run('learner', 'list', ...words)).json.data.map((one: { ref: string }) => one.ref);
    const found = await Promise.all([
      refsOf('--sort', '-ref'),
      refsOf('--find', 'lukasz obr', '--state', 'invited'),
      refsOf('--find', 'ana', '--placement', 'below_level_1', '--group', group.id),
      refsOf('--sort', 'ref', '--after', idOf('L-2')),
    ]);
    assert.deepEqual(found, [['L-3', 'L-2', 'L-1'], ['L-2'], ['L-1'], ['L-3']]);
    const { code, said } = await run('learner', 'list', '--find', 'AB 12 34 56 C');
    assert.deepEqual([code, /^ars: --find must be [^\n]+\n$/.test(said), said.includes('34')], [2, true, false]);
  });

  test('a list says where it has not everything, and who listed is in the log without what was looked for', async () => {
    const alike = maxScanned + 5;
    await app.db.query(
      `with made as (
         insert into learner (organisation_id, learner_id, ref, full_name, created_at)
         select $1, md5('alike' || n)::uuid, 'alike-' || n, 'Zara Alike', to_timestamp(0) from generate_series(1, $2) n returning learner_id)
       insert into learner_feed (organisation_id, learner_id, position, group_set_id)
       select $1, learner_id, row_number() over (), md5('{}')::uuid from made`,
      [org.id, alike],
    );
    const some = (await run('learner', 'list', '--find', 'zara alike', '--limit', '1000')).json;
    assert.deepEqual([some.extent, some.data.length], ['some', 1000]);
    const all = (await run('learner', 'list', '--find', 'ana')).json;
    assert.deepEqual([all.extent, all.next, all.data.length], ['whole', null, 2]);
    await run('learner', 'list', '--find', 'ana', '--group', group.id);
    const rows = await app.db.query<{ action: string; resource: string }>(
      `select action, resource from audit where organisation_id = $1 and action = 'learner list' order by audit_id desc limit 3`,
      [org.id],
    );
    assert.deepEqual(
      rows.map(({ resource }) => resource),
      [`learners: group=${group.id}`, 'learners', 'learners: limit=1000'],
    );
  });

  test('holds and cases are listed to the last one', async () => {
    const many = 1001;
    await app.db.query(
      `insert into legal_hold (organisation_id, hold_id, reason, placed_at, placed_by)
       select $1, md5('hold' || n)::uuid, 'Claim', to_timestamp(n), 'operator' from generate_series(1, $2) n`,
      [org.id, many],
    );
    await app.db.query(
      `insert into data_case (organisation_id, case_id, kind, about, received_at, due_at, opened_by)
       select $1, md5('case' || n)::uuid, 'complaint', 'Somebody', to_timestamp(n), to_timestamp(n), 'operator' from generate_series(1, $2) n`,
      [org.id, many],
    );
    const [holds, cases] = await Promise.all([run('hold', 'list'), run('case', 'list')]);
    assert.equal(new Set(holds.json.data.map((one: { hold_id: string }) => one.hold_id)).size, many);
    assert.equal(new Set(cases.json.data.map((one: { case_id: string }) => one.case_id)).size, many);
  });

  test('one learner as the page has it, and who looked', async () => {
    const id = idOf('L-1');
    const userId = app.random.uuid();
    const atMs = app.clock.nowMs();
    await recordAccess(app.db, {
      ...{ organisationId: org.id, userId, atMs, page: '/learners/{learner_id}', of: 'learner', id },
    });
    const [{ json }, seen] = await Promise.all([
      run('learner', 'show', 'L-1'),
      run('learner', 'lookups', '--learner-id', id),
    ]);
    assert.deepEqual(
      [json.learner_id, json.full_name, json.results.map((one: { level: string }) => one.level)],
      [id, 'Ana Silva', ['Entry Level', 'Working towards Entry Level']],
    );
    const rows = await app.db.query(
      `select action, resource from audit
        where organisation_id = $1 and action in ('learner show', 'learner lookups', 'hold list', 'case list') order by action`,
      [org.id],
    );
    assert.deepEqual(
      rows.map((row) => [row.action, row.resource]),
      [
        ['case list', 'open'],
        ['hold list', null],
        ['learner lookups', id],
        ['learner show', id],
      ],
    );
    assert.deepEqual([json.invitations.length, json.groups[0].name, json.history], [1, 'Cohort', []]);
    assert.deepEqual(seen.json.data, [
      { at: new Date(atMs).toISOString(), user_id: userId, page: '/learners/{learner_id}' },
    ]);
    await recordAccess(app.db, {
      ...{ organisationId: org.id, userId, atMs: atMs - 1, page: '/learners', of: 'learner', id },
    });
    const { json: newest } = await run('learner', 'lookups', '--learner-id', id, '--limit', '1');
    assert.deepEqual([seen.json.more, newest.data, newest.more], [false, seen.json.data, true]);
  });

  test('lists for funding, spread and progress', async () => {
    const list = ['results', 'list', '--list', 'english-maths-below-level-2', '--group', group.id];
    const [{ lines }, wrong, spread, progress] = await Promise.all([
      run(...list, '--start', '2026-02-01'),
      run(...list, '--subject', 'maths'),
      run('results', 'spread', '--group', group.id, '--subject', 'maths'),
      run('results', 'progress', '--group', group.id),
    ]);
    assert.ok(lines.every((one) => one.after_start === 'Yes' && 'probability_below' in one));
    const ofAna = lines.find((one) => one.reference === 'L-1');
    assert.equal(ofAna.assessed, '2026-04-10T09:00:00.000Z', 'an instant, not what the clocks of London showed then');
    assert.match(ofAna.changed, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(wrong.code, 2);
    const [row, ...others] = spread.json.data;
    assert.deepEqual([others.length, row.results, row.levels['Entry Level'], row.domains[0].name], [0, 3, 1, 'Number']);
    const first = progress.lines.find((one) => one.reference === 'L-1');
    assert.deepEqual(
      [first.first_assessed, first.latest_assessed],
      ['2026-01-10T09:00:00.000Z', '2026-04-10T09:00:00.000Z'],
    );
    const gained = progress.lines.map((one) => [one.reference, one.results, one.levels_gained]);
    assert.deepEqual(
      gained.toSorted((a, b) => a[0].localeCompare(b[0])),
      [
        ['L-1', 2, 1],
        ['L-2', 1, null],
      ],
    );
  });
});
