import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { addToTeam } from '../../../support/teams.ts';
import { type Person, fieldsOf, personOf } from '../visitor.ts';

/** The queue of reviews as a series: the next result, several results together, tutor, group, assignment. */

const service = await withService();

async function queueOf(...refs: string[]) {
  const scene = await scenario(service);
  const { org } = scene;
  const base = `/console/${org.publicId}`;
  const ids: string[] = [];
  for (const ref of refs) {
    const learner = await scene.learner(ref);
    ids.push((await learner.completes()).id);
  }
  await service.app.db.query('delete from review where organisation_id = $1', [org.id]);
  await service.app.db.query(
    `insert into review (organisation_id, assessment_id, review_no, learner_id, subject, opened_at, flags)
     select organisation_id, assessment_id, 1, learner_id, 'digital',
            timestamptz '2026-01-01' - array_position($2::uuid[], assessment_id) * interval '1 hour', '{needs_review}'
       from assessment where organisation_id = $1 and assessment_id = any($2)`,
    [org.id, ids],
  );
  const linksOn = async (person: Person, query = '') =>
    [...(await person.get(`${base}/review${query}`)).text.matchAll(/href="([^"]*\/review\/[0-9a-f-]{36}[^"]*)"/g)].map(
      (found) => found[1]!.replaceAll('&amp;', '&'),
    );
  const shownOn = async (person: Person, query = '') =>
    (await linksOn(person, query)).map((link) => ids.findIndex((id) => link.includes(id)));
  return { org, base, ids, linksOn, shownOn };
}

const hidden = (text: string, field: RegExp) => fieldsOf(text).filter(([name]) => field.test(name));

suite('the queue of reviews as a series', () => {
  test('after a decision the next waiting result of the same queue opens, and the last decision ends at the list', async () => {
    const { org, base, ids, linksOn } = await queueOf('a', 'b', 'c');
    const reviewer = await personOf(service, org.id, 'reviewer');
    const [first] = await linksOn(reviewer, '?why=needs_review');
    assert.equal(first, `${base}/review/${ids[0]}?why=needs_review&queue=1`);
    const page = await reviewer.get(first!);
    assert.ok(page.text.includes(`/review/${ids[1]}?why=needs_review&amp;queue=1">Next result</a>`));
    const decide = async (path: string, action: string, fields: Record<string, string>) => {
      const { text } = await reviewer.get(path);
      const to = new RegExp(`(?:action|href)="([^"]*/${action}\\?[^"]*)"`).exec(text)![1]!.replaceAll('&amp;', '&');
      const form = action === 'confirm' ? text : (await reviewer.get(to)).text;
      return reviewer.post(to, [...hidden(form, /^version$/), ...Object.entries(fields)]);
    };
    const second = (await decide(first!, 'confirm', {})).headers.location!;
    assert.equal(second, `${base}/review/${ids[1]}?why=needs_review&queue=1&did=next-confirmed`);
    assert.match((await reviewer.get(second)).text, /The last result is confirmed\. This is the next one\./);
    const third = (await decide(second, 'withdraw', { reason: 'Wrong learner' })).headers.location!;
    assert.equal(third, `${base}/review/${ids[2]}?why=needs_review&queue=1&did=next-withdrawn`);
    const last = (await decide(third, 'place', { level: 'Level 2', reason: 'Answers say more' })).headers.location!;
    assert.equal(last, `${base}/review?why=needs_review&did=changed`);
  });

  test('several results are confirmed with one reason; what changed meanwhile is named and stays', async () => {
    const { org, base, ids } = await queueOf('a', 'b', 'c', 'd');
    const owner = await personOf(service, org.id, 'owner');
    await service.app.db.query(
      "update review set requested_at = now(), due_at = now() + interval '1 month' where assessment_id = $1",
      [ids[3]],
    );
    const chosen = ids.map((id) => ['review', id] as [string, string]);
    const asks = await owner.post(`${base}/review/chosen`, [...chosen, ['press', 'confirm']]);
    assert.match(asks.text, /<h1>Confirm 3 results\?<\/h1>/);
    assert.match(asks.text, /1 result can’t be confirmed here: [^<]*requested by the learner/);
    const sent = hidden(asks.text, /^(review|version-)/);
    const without = await owner.post(`${base}/review/confirm`, sent);
    assert.deepEqual([without.status, /Enter a reason/.test(without.text)], [422, true]);
    await service.app.db.query("update assessment set body = body || ' ' where assessment_id = $1", [ids[1]]);
    const done = await owner.post(`${base}/review/confirm`, [...sent, ['reason', 'Sampled']]);
    assert.equal(done.status, 409);
    assert.match(done.text, /<h1>2 of 3 results confirmed<\/h1>[^]*The result has changed since/);
    const rows = await service.app.db.query<{ id: string }>(
      "select assessment_id as id from review where organisation_id = $1 and outcome = 'confirmed' and decided_by = $2",
      [org.id, owner.userId],
    );
    assert.deepEqual(rows.map(({ id }) => id).toSorted(), [ids[0], ids[2]].toSorted());
    const acts = await service.app.db.query(
      "select from audit where organisation_id = $1 and action = 'POST /console/review/confirm' and resource = any($2)",
      [org.id, [ids[0], ids[2]]],
    );
    assert.equal(acts.length, 2, 'each result has its row in the log');
    const single = await owner.post(`${base}/review/chosen`, [
      ['review', ids[1]!],
      ['press', 'confirm'],
    ]);
    const all = await owner.post(`${base}/review/confirm`, [
      ...hidden(single.text, /^(review|version-)/),
      ['reason', 'Sampled'],
    ]);
    assert.equal(all.headers.location, `${base}/review?did=all`);
    assert.equal((await owner.post(`${base}/review/chosen`, { press: 'confirm' })).status, 422);
  });

  test('filters by tutor and group, assignment to a person, and “mine”', async () => {
    const { org, base, ids, shownOn } = await queueOf('a', 'b', 'c');
    const owner = await personOf(service, org.id, 'owner');
    const reviewer = await personOf(service, org.id, 'reviewer', { name: 'Rita Reviewer' });
    const tutor = await personOf(service, org.id, 'tutor', { name: 'Tom Tutor' });
    const auditor = await personOf(service, org.id, 'auditor');
    await service.withUnitOfWork(async (work) => {
      const team = await ensureTeam(work, org.id, { ref: 'T', name: 'Team' });
      await addToTeam(work, org.id, team, ['a', 'b']);
      await addTeamStaff(work, org.id, team, [tutor.userId]);
    });
    const group = (await org.post('/groups', { type: 'cohort', ref: 'C', name: 'C' })).body.data.id as string;
    await org.post(`/groups/${group}/members`, { learner_refs: ['b', 'c'] });
    assert.deepEqual(await shownOn(owner), [0, 1, 2]);
    assert.deepEqual(await shownOn(owner, `?tutor=${tutor.userId}`), [0, 1]);
    assert.deepEqual(await shownOn(owner, `?group=${group}`), [1, 2]);
    assert.deepEqual(await shownOn(owner, `?group=${group}&tutor=${tutor.userId}`), [1]);
    assert.deepEqual(await shownOn(tutor, `?group=${group}`), [1], 'a tutor sees the learners of their teams only');
    const assign = (person: Person, to: string, ...chosen: number[]) =>
      person.post(`${base}/review/chosen`, [
        ...chosen.map((i) => ['review', ids[i]!] as [string, string]),
        ['press', 'assign'],
        ['person', to],
      ]);
    assert.equal((await assign(owner, reviewer.userId, 0, 2)).headers.location, `${base}/review?did=assigned`);
    assert.deepEqual(await shownOn(reviewer, '?assigned=me'), [0, 2]);
    assert.deepEqual(await shownOn(owner, `?assigned=${reviewer.userId}&group=${group}`), [2]);
    assert.match((await owner.get(`${base}/review`)).text, /data-head="Assigned to"><span>Rita Reviewer/);
    assert.match((await owner.get(`${base}/review/${ids[0]}`)).text, /Assigned to<\/dt><dd>Rita Reviewer/);
    // A tutor gets results of their own learners only, and assigns to themselves only.
    const partly = await assign(owner, tutor.userId, 1, 2);
    assert.deepEqual([partly.status, /1 of 2 results assigned/.test(partly.text)], [409, true]);
    assert.equal((await assign(tutor, reviewer.userId, 1)).status, 422);
    assert.equal((await assign(tutor, tutor.userId, 0)).status, 303);
    assert.deepEqual(await shownOn(tutor, '?assigned=me'), [0, 1]);
    assert.match((await assign(tutor, tutor.userId, 2)).text, /0 of 1 result assigned/);
    assert.doesNotMatch((await tutor.get(`${base}/review`)).text, /Rita/);
    assert.equal((await assign(owner, 'none', 2)).status, 303);
    assert.deepEqual(await shownOn(reviewer, '?assigned=me'), []);
    for (const to of [auditor.userId, 'x', '']) assert.equal((await assign(owner, to, 0)).status, 422);
    assert.equal((await assign(auditor, auditor.userId, 0)).status, 404);
    assert.doesNotMatch((await auditor.get(`${base}/review`)).text, /name="review"/);
    await service.app.db.query(
      "update review set outcome = 'confirmed', decided_at = opened_at, decided_by = 'operator' where organisation_id = $1",
      [org.id],
    );
    const decided = (person: Person, query = '') => shownOn(person, `?state=decided${query}`);
    assert.deepEqual(await decided(owner), [0, 1, 2]);
    assert.deepEqual(await decided(owner, `&tutor=${tutor.userId}`), [0, 1]);
    assert.deepEqual(await decided(owner, `&group=${group}`), [1, 2]);
    assert.deepEqual(await decided(owner, `&group=${group}&tutor=${tutor.userId}&subject=digital`), [1]);
    assert.deepEqual(await decided(owner, '&subject=maths'), []);
    assert.deepEqual(await decided(tutor, `&group=${group}`), [1]);
    assert.match((await owner.get(`${base}/review?state=decided`)).text, /name="group"/);
  });
});
