import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { acceptInvitation, inviteUser } from '../../../../src/organisations/users/invitations.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf } from '../visitor.ts';

/** Teams: made with their groups, staffed, and what a tutor sees by them. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const admin = await personOf(service, org.id, 'admin');
const tutor = await personOf(service, org.id, 'tutor', { name: 'Tamsin Tutor' });

async function makeTeam(ref: string): Promise<string> {
  const made = await admin.post(`${base}/teams/create`, { ref, group_name: `Team ${ref}` });
  assert.equal(made.status, 303, made.text);
  return /teams\/([0-9a-f-]{36})/.exec(made.headers.location!)![1]!;
}
const hidden = (text: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';

async function confirm(path: string, text: string, more: Record<string, string> = {}) {
  const fields = ['how', 'learners', 'all', 'once'].map((name) => [name, hidden(text, name)] as [string, string]);
  return admin.follow(await admin.post(path, [...fields, ...Object.entries(more)]));
}

async function adds(team: string, references: string): Promise<void> {
  const asked = await admin.post(`${base}/groups/${team}/add`, { references });
  await confirm(`${base}/groups/${team}/members`, asked.text);
}

suite('teams', () => {
  test('are made once with a group that the API shows and can’t change', async () => {
    const team = await makeTeam('ONE');
    const group = (await org.get(`/groups/${team}`)).body.data;
    assert.deepEqual([group.type, group.ref, group.name], ['team', 'ONE', 'Team ONE']);
    assert.equal((await org.patch(`/groups/${team}`, { name: 'x' })).status, 422);
    const again = await admin.post(`${base}/teams/create`, { ref: 'ONE', group_name: 'Other' });
    assert.match(again.text, /A team with this reference exists/);
    assert.equal((await admin.get(`${base}/groups/${team}`)).headers.location, `${base}/teams/${team}`);
    const cohort = await scene.group('NOTEAM');
    assert.equal((await admin.get(`${base}/teams/${cohort.id}`)).status, 404);
  });

  test('whoever is staff sees the team’s learners from then on, and nobody of it once removed', async () => {
    const [north, south] = [await makeTeam('NORTH'), await makeTeam('SOUTH')];
    await scene.learner('ana', 'Ana Silva');
    await scene.learner('bo', 'Bo Berg');
    const cohort = await scene.group('COHORT');
    const empty = await scene.group('EMPTY');
    await org.post(`/groups/${cohort.id}/members`, { learner_refs: ['ana', 'bo'] });
    await adds(north, 'ana');
    await adds(south, 'bo');
    assert.match((await tutor.get(`${base}/teams`)).text, /You are in no team yet/);
    assert.equal((await tutor.get(`${base}/teams/${north}`)).status, 404);

    const choosing = await admin.get(`${base}/teams/${north}/staff`);
    assert.match(choosing.text, /Tamsin Tutor/);
    assert.equal((await admin.post(`${base}/teams/${north}/staff`)).status, 422);
    await admin.post(`${base}/teams/${north}/staff`, { staff: tutor.userId });
    const seen = await tutor.get(`${base}/teams/${north}`);
    assert.match(seen.text, /Ana Silva/);
    assert.match(seen.text, /Tamsin Tutor/);
    assert.doesNotMatch(seen.text, /<button class="second"/);
    const groups = await tutor.get(`${base}/groups`);
    assert.match(groups.text, /The cohort COHORT/);
    assert.doesNotMatch(groups.text, /EMPTY|SOUTH/);
    const mixed = await tutor.get(`${base}/groups/${cohort.id}`);
    assert.match(mixed.text, /Ana Silva/);
    assert.match(mixed.text, /Learners<\/dt><dd>1</, 'only theirs are counted');
    assert.doesNotMatch(mixed.text, /Bo Berg/);
    assert.doesNotMatch((await tutor.get(`${base}/groups/${cohort.id}/history`)).text, /Bo Berg/);
    for (const id of [empty.id, south]) assert.equal((await tutor.get(`${base}/groups/${id}`)).status, 404);

    const nobody = await admin.post(`${base}/teams/${north}/staff/chosen`);
    assert.equal(nobody.status, 422);
    const asked = await admin.post(`${base}/teams/${north}/staff/chosen`, { staff: tutor.userId });
    assert.match(asked.text, /Remove <bdi>Tamsin Tutor<\/bdi> from <bdi>Team NORTH<\/bdi>\?/);
    assert.match(asked.text, /no longer sees its 1 learner/);
    await admin.post(`${base}/teams/${north}/staff/remove`, { staff: tutor.userId });
    for (const path of [`teams/${north}`, `groups/${north}`, `groups/${cohort.id}`, `groups/${cohort.id}/history`])
      assert.equal((await tutor.get(`${base}/${path}`)).status, 404, path);
  });

  test('everybody moves to another team in one step; an archived team gives no sight', async () => {
    const [from, to] = [await makeTeam('FROM'), await makeTeam('TO')];
    for (const ref of ['m1', 'm2']) await scene.learner(ref, `Mover ${ref}`);
    await adds(from, 'm1\nm2');
    await admin.post(`${base}/teams/${to}/staff`, { staff: tutor.userId });
    const asked = await admin.get(`${base}/groups/${from}/move-all`);
    assert.match(asked.text, /Move 2 learners out of <bdi>Team FROM<\/bdi>/);
    assert.doesNotMatch(asked.text, /The cohort/, 'only teams are offered');
    await confirm(`${base}/groups/${from}/members`, asked.text, { target: to });
    assert.match((await tutor.get(`${base}/teams/${to}`)).text, /Mover m1[^]*Mover m2/);
    assert.match((await admin.get(`${base}/teams/${from}`)).text, /The group has no learners/);
    assert.match(
      (await admin.get(`${base}/groups/${to}/archive`)).text,
      /Tutors no longer see the learners of an archived team/,
    );
    await admin.post(`${base}/groups/${to}/archive`);
    assert.equal((await tutor.get(`${base}/teams/${to}`)).status, 404);
  });

  test('a person with a new account goes on working with their teams, and one who is removed doesn’t', async () => {
    const team = await makeTeam('STAY');
    const person = await personOf(service, org.id, 'tutor', { email: 'stays@college.example' });
    await admin.post(`${base}/teams/${team}/staff`, { staff: person.userId });
    const invited = await service.withUnitOfWork((work) =>
      inviteUser(work, org.id, { email: 'stays@college.example', role: 'tutor', invitedBy: 'operator', again: true }),
    );
    const accepted = await service.withUnitOfWork((work) =>
      acceptInvitation(work, (invited as { token: string }).token, { fullName: 'New Account', password: null }),
    );
    const page = await admin.get(`${base}/teams/${team}`);
    assert.match(page.text, /New Account/);
    assert.equal((await person.get(`${base}/teams/${team}`)).status, 303, 'the old account is signed out');
    await admin.post(`${base}/people/${accepted!.userId}/remove`);
    assert.match((await admin.get(`${base}/teams/${team}`)).text, /The team has no staff yet/);
  });
});
