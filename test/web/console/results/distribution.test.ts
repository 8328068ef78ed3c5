import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { limits } from '../../../../src/platform/config/limits.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { ars } from '../../../support/ars.ts';
import { recordResults, scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';
import { latestOf } from '../../../../src/records/results/lists/distribution.ts';

/** Domains of groups with many results, and the counts of groups that a tutor sees. */

const service = await withService();
const { app } = service;

suite('domains of a group with many results', async () => {
  const scene = await scenario(service);
  const { org } = scene;
  const [old, large, others] = [await scene.group('old'), await scene.group('large'), await scene.group('others')];
  const refsOf = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}-${n}`);
  const parts = [
    { group: old, refs: refsOf('old', 30), each: 70, day: '2020-01-01' },
    { group: large, refs: refsOf('large', 310), each: 7, day: '2024-01-01' },
    { group: others, refs: refsOf('other', 5), each: 1200, day: '2025-01-01' },
  ];
  for (const { group, refs, each, day } of parts) {
    await app.db.query(
      `with made as (
         insert into learner (organisation_id, learner_id, ref, full_name, created_at)
         select $1, gen_random_uuid(), ref, 'Learner ' || ref, to_timestamp(0) from unnest($2::text[]) as r(ref) returning learner_id)
       insert into learner_feed (organisation_id, learner_id, position, group_set_id)
       select $1, learner_id, row_number() over (), md5('{}')::uuid from made`,
      [org.id, refs],
    );
    for (let from = 0; from < refs.length; from += limits.refsPerRequest) {
      const some = { learner_refs: refs.slice(from, from + limits.refsPerRequest) };
      assert.equal((await org.post(`/groups/${group.id}/members`, some)).status, 200);
    }
    const of = (ref: string, n: number) => ({
      ref,
      assessed_at: new Date(Date.parse(day) + n * 60_000).toISOString(),
    });
    await service.withUnitOfWork((work) =>
      recordResults(work, org.id, [
        ...refs.flatMap((ref) => Array.from({ length: each }, (_, n) => of(ref, n))),
        ...(group === large ? [{ ...of(refs[0]!, -1), subject: 'english' as const }] : []),
      ]),
    );
  }
  const owner = await personOf(service, org.id, 'owner');
  const page = async (id: string) => (await owner.get(`/console/${org.publicId}/results/spread?group=${id}`)).text;
  const command = async (id: string) => {
    const words = ['results', 'spread', '--organisation', org.publicId, '--group', id, '--json'];
    const { code, said, json } = await ars(words, service.environment);
    assert.equal(code, 0, said);
    return Object.fromEntries((json.data as any[]).map((row) => [row.subject, row]));
  };

  test('are found behind newer results of others', async () => {
    const first = await latestOf(app.db, org.id, old.id, null, 1);
    assert.deepEqual([first.bySubject.flat().length, first.isMore], [0, true], 'one look does not reach them');
    assert.match(await page(old.id), /Maths: domains in each learner’s latest result \(30 of them\)/);
    const { maths } = await command(old.id);
    assert.deepEqual([maths.domains_of, maths.domains[0].results], [{ results: 30, all: true }, 30]);
  });

  test('are those of the latest assessed in a large group, and say so', async () => {
    const text = await page(large.id);
    assert.match(text, /Maths: domains in each learner’s latest result \(the 300 latest assessed\)/);
    assert.match(text, /English: the domains are not shown/);
    assert.doesNotMatch(text, /Digital[^<]*: the domains are not shown/);
    const { maths, english } = await command(large.id);
    assert.deepEqual(
      [maths.domains_of, english.domains_of, english.domains],
      [{ results: 300, all: false }, { results: 0, all: false }, []],
    );
  });
});

suite('types of groups in a choice', async () => {
  const scene = await scenario(service);
  const { org } = scene;
  const ana = await scene.learner('ana');
  const groups = [];
  for (let n = 0; n <= limits.groupsListed; n++) groups.push(await scene.group(`c${n}`));
  await ana.joins(groups[0]!);
  const team = await service.withUnitOfWork((work) => ensureTeam(work, org.id, { ref: 'north', name: 'North' }));
  const [tutor, owner] = [await personOf(service, org.id, 'tutor'), await personOf(service, org.id, 'owner')];
  await service.withUnitOfWork((work) => addTeamStaff(work, org.id, team, [tutor.userId]));
  await service.withUnitOfWork((work) => addToTeam(work, org.id, team, ['ana']));

  test('are counted among those that a tutor sees', async () => {
    const base = `/console/${org.publicId}/results`;
    const all = `Cohort (${limits.groupsListed + 1})`;
    for (const path of [base, `${base}/spread`, `${base}/progress`]) {
      assert.ok((await owner.get(path)).text.includes(all), path);
      const { text } = await tutor.get(path);
      assert.doesNotMatch(text, /Cohort \((?!1\))/, path);
    }
    assert.match((await tutor.get(`${base}/spread`)).text, /Cohort \(1\)/);
  });
});
