import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { strFromU8, unzipSync } from 'fflate';
import { queries } from '../../../bench/support/console/pages.ts';
import { sealToken } from '../../../src/web/console/kit/reader.ts';
import type { ConsoleRoute, Visit } from '../../../src/web/console/kit/route.ts';
import { consoleRoutes } from '../../../src/web/console/routes.ts';
import { addressOf } from '../../../src/web/console/kit/route.ts';
import { createKey } from '../../../src/integrations/access-keys/keys.ts';
import { scheduleReport } from '../../../src/organisations/scheduled-reports/scheduled-reports.ts';
import { addTeamStaff, createTeam, removeTeamStaff } from '../../../src/organisations/teams.ts';
import { addToTeam, removeFromTeam } from '../../support/teams.ts';
import type { Answer } from '../../contract/support/client.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';
import { personOf } from './visitor.ts';

/**
 * A tutor sees the learners of their teams, and nobody else: every page that tutors may open, made from the table of
 * routes. A new page with a new kind of id fails here until it is said what stands in its address.
 */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const unknown = '5f1a7f3e-2f43-4f6c-8d0a-0c4f6a1b2c3d';

/** Everything of one learner that may stand in an address, by the parameter; all of it is named after them. */
type Ids = Record<string, string>;

async function learnerOf(name: string, team: string | null): Promise<{ ref: string; ids: Ids }> {
  const ref = `canary-${name}`;
  const made = await org.post('/learners', { ref, full_name: `Canary ${name} Person` });
  const learner = await scene.learner(ref, `Canary ${name} Person`);
  const cohort = await scene.group(`canary-cohort-${name}`);
  await learner.joins(cohort);
  const result = await learner.completes();
  if (team !== null) await service.withUnitOfWork((work) => addToTeam(work, org.id, team, [ref]));
  const { learner_id, invitation_id } = made.body.data;
  return {
    ref,
    ids: {
      learner_id,
      invitation_id,
      assessment_id: result.id,
      group_id: cohort.id,
      ...(team === null ? {} : { team_id: team }),
    },
  };
}

/** A table of learners to be invited, which only the tutor who pasted it sees; nobody is invited by it. */
async function pastedBy(person: typeof tutor, team: string, name: string): Promise<string> {
  const once = service.app.random.uuid();
  const rows = `full_name,ref\nCanary ${name} Person,canary-${name}`;
  const answer = await person.post(`/console/${org.publicId}/invite`, { rows, once, team });
  assert.equal(answer.status, 303, answer.text);
  return once;
}

const makeTeam = async (ref: string) =>
  (await service.withUnitOfWork((work) => createTeam(work, org.id, { ref, name: `Team ${ref}` })))!;
const [ours, theirs] = [await makeTeam('ours'), await makeTeam('canary-theirs')];
async function viewOf(person: typeof tutor, name: string): Promise<string> {
  await person.post(`/console/${org.publicId}/views/save`, { list: '/groups', view: '', view_name: `canary-${name}` });
  const [view] = await service.app.db.query<{ view_id: string }>(
    'select view_id from saved_view where organisation_id = $1 and user_id = $2',
    [org.id, person.userId],
  );
  return view!.view_id;
}

async function reportOf(person: typeof tutor): Promise<string> {
  const report = { every: 'week', day: 1, hour: 8, page: 'results', query: '', zone: 'Europe/London' } as const;
  return (await service.withUnitOfWork((work) => scheduleReport(work, org.id, { ...report, userId: person.userId })))!;
}

const seen = await learnerOf('Visible', ours);
const outside = [await learnerOf('Elsewhere', theirs), await learnerOf('Nowhere', null)];
const tutor = await personOf(service, org.id, 'tutor');
const colleague = await personOf(service, org.id, 'tutor');
await service.withUnitOfWork((work) => addTeamStaff(work, org.id, ours, [tutor.userId]));
await service.withUnitOfWork((work) => addTeamStaff(work, org.id, theirs, [colleague.userId]));
seen.ids.run_id = await pastedBy(tutor, ours, 'Visible');
for (const { ids } of outside) ids.run_id = await pastedBy(colleague, theirs, 'Elsewhere');
for (const { ids } of [seen, ...outside]) ids.position = '1';
seen.ids.view_id = await viewOf(tutor, 'Visible');
for (const { ids } of outside) ids.view_id = await viewOf(colleague, 'Elsewhere');
for (const { ids } of outside) ids.report_id = await reportOf(colleague);
/** Of a result that was imported there are no questions, whosever it is. */
const ofSittings = ['position'];
/** What is a person's own, whoever is in it. */
const ofPerson = ['run_id', 'team_id', 'view_id', 'report_id'];

const routes = consoleRoutes.filter(
  (route) => typeof route.for !== 'string' && (route.for as readonly string[]).includes('tutor'),
);
const names = (route: ConsoleRoute) => [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

/** The address with these ids; ids of nothing where there is none. */
const filled = (text: string, ids: Ids) =>
  text.replace('{organisation}', org.publicId).replace(/\{(\w+)\}/g, (_all, name: string) => ids[name] ?? unknown);

function bytes({ status, headers, text }: Awaited<ReturnType<typeof tutor.get>>) {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, rest, text };
}

/** What browsers, proxies and logs keep of an answer: its title, addresses in it, and the name of a file. */
const kept = ({ text, headers }: Answer): string =>
  [
    ...[...text.matchAll(/<title>([^<]*)|(?:href|action|src|formaction)="([^"]*)"/g)].map(
      ([, title, to]) => title ?? decodeURIComponent(to!.replaceAll('+', ' ')),
    ),
    headers.location ?? '',
    headers['content-disposition'] ?? '',
  ].join('\n');

const ask = (route: ConsoleRoute, address: string) =>
  route.method === 'GET' ? tutor.get(address) : tutor.post(address);

/** What must not stand on any page of the tutor's. */
const canaries = outside.flatMap(({ ref, ids }) => [
  ref,
  ref.replace('canary-', 'Canary '),
  ...Object.entries(ids).flatMap(([name, id]) => (ofSittings.includes(name) ? [] : [id])),
]);

function assertNoCanary(text: string, where: string): void {
  for (const canary of canaries) assert.ok(!text.includes(canary), `${where}: ${canary}`);
}

suite('a tutor’s sight', () => {
  test('there are pages for tutors, and it is known what stands in the address of each', () => {
    assert.ok(routes.length > 5);
    for (const route of routes)
      for (const name of names(route))
        assert.ok(
          Object.hasOwn(outside[0]!.ids, name),
          `${addressOf(route)}: add an example of {${name}} to learnerOf of this test, named after its learner`,
        );
  });

  test('what is of a learner of another team, or of none, has the same bytes as what isn’t there', async () => {
    for (const route of routes) {
      if (names(route).length === 0) continue;
      const missing = bytes(await ask(route, filled(addressOf(route), {})));
      assert.equal(missing.status, 404, addressOf(route));
      for (const { ids, ref } of outside)
        assert.deepEqual(
          bytes(await ask(route, filled(addressOf(route), ids))),
          missing,
          `${route.method} ${addressOf(route)} of ${ref}`,
        );
    }
  });

  test('what is of their own learners opens', async () => {
    for (const route of routes) {
      if (route.method !== 'GET' || names(route).length === 0) continue;
      if (names(route).some((name) => ofSittings.includes(name))) continue;
      const answer = await tutor.get(filled(addressOf(route), seen.ids));
      // A link, such as to a team's own page.
      const status = answer.status === 303 ? (await tutor.follow(answer)).status : answer.status;
      assert.equal(status, 200, addressOf(route));
      assertNoCanary(answer.text, addressOf(route));
    }
  });

  test('no list, under no filter, shows anybody else', async () => {
    for (const route of routes) {
      if (route.method !== 'GET') continue;
      const kinds = ['', ...(queries[route.path] ?? [])];
      for (const query of kinds)
        for (const ids of [seen.ids, ...outside.map((one) => one.ids)]) {
          if (names(route).length > 0 && ids !== seen.ids) continue;
          const path = filled(`${addressOf(route)}${query === '' ? '' : `?${query}`}`, { ...seen.ids, ...ids });
          const answer = await tutor.get(path);
          // What was asked for may stand in the page again; nothing of what it names may.
          const shown = query === '' ? answer.text : answer.text.replaceAll(/(?:href|action|value)="[^"]*"/g, '');
          assertNoCanary(shown, path);
        }
    }
  });

  test('no title, address or name of a file holds what somebody typed: names, references, labels', async () => {
    const name = 'Canary Visible Colleague';
    const owner = await personOf(service, org.id, 'owner', { name, email: 'canary-visible@college.example' });
    const member = await personOf(service, org.id, 'developer', { name });
    const { access_key_id: keyId } = await service.withUnitOfWork((work) =>
      createKey(work, org.id, { label: 'Canary Visible key', kind: 'test' }),
    );
    const ids: Ids = { ...seen.ids, user_id: member.userId, key_id: keyId, other_id: outside[0]!.ids.learner_id! };
    let named = 0;
    for (const person of [owner, tutor]) {
      const answers: [string, Answer][] = [];
      for (const route of consoleRoutes) {
        if (route.method !== 'GET' || typeof route.for === 'string') continue;
        const path = filled(addressOf(route), ids);
        answers.push([path, await person.get(path)]);
      }
      const base = `/console/${org.publicId}`;
      for (const [path, fields] of [
        ['/learners', { wanted: 'Canary' }],
        ['/search', { reference: seen.ref }],
        ['/results/export', { format: 'csv' }],
      ] as const)
        answers.push([path, await person.post(`${base}${path}`, fields)]);
      for (const [path, answer] of answers) {
        if (/canary/i.test(answer.text)) named++;
        assert.doesNotMatch(kept(answer), /canary/i, path);
      }
    }
    assert.ok(named > 40, `${named} pages name somebody`);
  });

  test('a place in a list tells nothing of whom they don’t see, and none can be made up', async () => {
    // Groups, members and results by name: a place of somebody hidden is the beginning, whichever name it has.
    const base = `/console/${org.publicId}`;
    const rows = (text: string) => [...new Set(text.match(/(?:groups|teams|results|learners)\/[0-9a-f-]{36}/g))];
    for (const [path, whose] of [
      ['/groups?', 'group_id'],
      ['/teams?', 'team_id'],
      ['/results/spread?type=cohort&', 'group_id'],
      [`/groups/${seen.ids.group_id}?`, 'learner_id'],
      ['/learners?', 'learner_id'],
      ['/results?sort=learner&', 'assessment_id'],
      ['/results?sort=-learner&', 'assessment_id'],
    ] as const) {
      const first = rows((await tutor.get(`${base}${path}`)).text);
      for (const { ids } of [...outside, { ids: {} as Ids }])
        assert.deepEqual(rows((await tutor.get(`${base}${path}after=${ids[whose] ?? unknown}`)).text), first, path);
    }
    // A list that looks through everybody's may end at a row of somebody else: its place is sealed.
    const reader = (path: string, userId: string) => ({
      app: service.app,
      organisation: { organisation_id: org.id } as Visit['organisation'],
      session: { user_id: userId } as Visit['session'],
      path,
    });
    const theirs = `0.${outside[0]!.ids.invitation_id}`;
    const sealed = sealToken(reader(`${base}/invitations`, tutor.userId), [ours], theirs);
    assert.ok(!Buffer.from(sealed, 'base64url').toString('latin1').includes(outside[0]!.ids.invitation_id!));
    const shown = async (after: string) =>
      /Canary Visible/.test((await tutor.get(`${base}/invitations?after=${after}`)).text);
    assert.equal(await shown(sealed), false, 'behind all of them');
    const of = (path: string, userId: string) => sealToken(reader(path, userId), [ours], theirs);
    for (const forged of [theirs, of(`${base}/results`, tutor.userId), of(`${base}/invitations`, colleague.userId)])
      assert.equal(await shown(forged), true, 'the beginning');
  });

  test('no file and no search brings anybody else', async () => {
    const files = routes.filter(({ method, path }) => method === 'POST' && path.endsWith('/export'));
    assert.ok(files.length > 2);
    // The snapshot of a file ends shortly after the file was read, and until then few others begin.
    const exported = async (path: string, format: string) => {
      for (;;) {
        const answer = await tutor.post(path, { format });
        if (answer.status !== 429) return answer;
        await delay(20);
      }
    };
    for (const route of files)
      for (const format of ['csv', 'xlsx']) {
        const where = `${filled(addressOf(route), seen.ids)}?group=${seen.ids.group_id}`;
        const answer = await exported(where, format);
        assert.equal(answer.status, 200, where);
        const parts =
          format === 'csv' ? [answer.text] : Object.values(unzipSync(answer.bytes)).map((one) => strFromU8(one));
        for (const text of parts) assertNoCanary(text, where);
      }
    const everything = await exported(`/console/${org.publicId}/results/export`, 'csv');
    assert.match(everything.text, /Canary Visible Person/);
    assertNoCanary(everything.text, 'all results');
    const found = await tutor.post(`/console/${org.publicId}/learners`, { wanted: 'Person' });
    assert.match(found.text, /Canary Visible Person/);
    assertNoCanary(found.text, 'names');
    const of = async (reference: string) => bytes(await tutor.post(`/console/${org.publicId}/search`, { reference }));
    for (const { ref, ids } of outside)
      for (const one of [ref, ids.learner_id!, ids.assessment_id!])
        assert.deepEqual(await of(one), await of(unknown), one);
  });

  test('is gone at once with the team, and follows a learner who moves', async () => {
    const other = await personOf(service, org.id, 'tutor');
    await service.withUnitOfWork((work) => addTeamStaff(work, org.id, theirs, [other.userId]));
    const pages = routes.filter(
      (route) =>
        route.method === 'GET' &&
        names(route).some((name) => !ofPerson.includes(name)) &&
        !names(route).some((name) => ofSittings.includes(name)),
    );
    const opens = async (person: typeof tutor, ids: Ids) => {
      const found: number[] = [];
      for (const route of pages) found.push((await person.get(filled(addressOf(route), ids))).status);
      return [...new Set(found)];
    };
    assert.deepEqual([await opens(tutor, seen.ids), await opens(other, seen.ids)], [[200], [404]]);
    await service.withUnitOfWork((work) => removeFromTeam(work, org.id, ours, [seen.ref]));
    await service.withUnitOfWork((work) => addToTeam(work, org.id, theirs, [seen.ref]));
    assert.deepEqual([await opens(tutor, seen.ids), await opens(other, seen.ids)], [[404], [200]]);
    await service.withUnitOfWork((work) => removeTeamStaff(work, org.id, theirs, [other.userId]));
    assert.deepEqual(await opens(other, seen.ids), [404]);
  });
});
