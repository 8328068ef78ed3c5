import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { changeMember, listMembers } from '../../../../src/organisations/users/members.ts';
import { readAudit } from '../../../../src/platform/audit/read.ts';
import { limits } from '../../../../src/platform/config/limits.ts';
import { readOrganisation } from '../../../../src/organisations/organisations.ts';
import { ensureTeam } from '../../../../src/organisations/teams.ts';
import { grantSandbox } from '../../../../src/sandbox/own.ts';
import { withService } from '../../../support/service.ts';
import type { Answer } from '../../../contract/support/client.ts';
import type { Person } from '../visitor.ts';
import { personOf, visitor } from '../visitor.ts';

const service = await withService();

const linkIn = ({ text }: Answer): string => /\/console\/invitation\/[\w-]{43}/.exec(text)![0];
const statuses = (links: string[]) => Promise.all(links.map(async (link) => (await visitor(service).get(link)).status));

const offered = async (base: string, by: Person) => {
  const once = service.app.random.uuid();
  const made = await by.post(`${base}/key-links/create`, { label: 'VLE', minutes: '240', once });
  return /\/setup\/[\w-]+/.exec(made.text)![0];
};

suite('people', () => {
  test('are invited, given roles and removed; each act is in the log under the person’s id, without a name', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner', { name: 'Zebedee Quillfeather' });
    const bo = await personOf(service, org.id, 'tutor');
    const made = await owner.post(`${base}/people/invite`, { email: 'cy@college.example', role: 'auditor' });
    assert.match(made.text, /\/console\/invitation\//);
    assert.match((await owner.get(`${base}/people`)).text, /cy@college\.example/);
    assert.equal((await bo.get(base)).status, 200);
    await owner.post(`${base}/people/${bo.userId}/role`, { role: 'auditor' });
    assert.equal((await bo.get(base)).status, 303, 'a new role begins with a new sign-in');
    await owner.post(`${base}/people/${bo.userId}/remove`);
    assert.ok(!(await listMembers(service.app.db, org.id)).some((one) => one.user_id === bo.userId));
    const rows = [];
    for await (const row of readAudit(service.app, org.id, null, null)) rows.push(row);
    assert.deepEqual(
      rows.map(({ actor, action }) => [actor, action]),
      [
        [owner.userId, 'POST /console/people/invite'],
        [owner.userId, 'POST /console/people/{user_id}/role'],
        [owner.userId, 'POST /console/people/{user_id}/remove'],
      ],
    );
    assert.doesNotMatch(JSON.stringify(rows), /Zebedee|college\.example/);
  });

  test('were last here when they last opened a page of the organisation or its sandbox, from the first one on', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    const by = { actor: 'operator', action: 'sandbox grant', requestId: service.app.random.uuid() };
    const sandbox = await grantSandbox(service.app, await readOrganisation(service.app.db, org.id), by);
    const [home, there, nowhere] = [
      await personOf(service, org.id, 'tutor'),
      await personOf(service, org.id, 'developer'),
      await personOf(service, org.id, 'auditor'),
    ];
    // The session is seen on a page of nobody's first: that alone is no use of the organisation.
    const aged = "update user_session set last_seen_at = last_seen_at - interval '5 minutes'";
    await service.app.db.query(aged);
    for (const one of [home, there, nowhere]) assert.equal((await one.get('/console/account')).status, 200);
    assert.equal((await home.get(base)).status, 200);
    assert.equal((await there.get(`/console/${sandbox}`)).status, 200);
    const usedBy = new Map((await listMembers(service.app.db, org.id)).map((one) => [one.user_id, one.last_used_at]));
    assert.ok(usedBy.get(home.userId)! > new Date(service.app.clock.nowMs() - 60_000));
    assert.ok(usedBy.get(there.userId)! > new Date(service.app.clock.nowMs() - 60_000));
    assert.equal(usedBy.get(nowhere.userId), null);
    assert.equal([...(await owner.get(`${base}/people`)).text.matchAll(/<span>Never<\/span>/g)].length, 1);
    // An hour later another page counts anew; within a minute it doesn't.
    const hourAgo = "update user_membership set last_used_at = last_used_at - interval '1 hour' where user_id = $1";
    await service.app.db.query(hourAgo, [home.userId]);
    await home.get(base);
    const again = (await listMembers(service.app.db, org.id)).find((one) => one.user_id === home.userId)!.last_used_at!;
    assert.ok(again > new Date(service.app.clock.nowMs() - 60_000));
    await home.get(base);
    const same = (await listMembers(service.app.db, org.id)).find((one) => one.user_id === home.userId)!.last_used_at!;
    assert.deepEqual(same, again);
  });

  test('an admin makes, changes and removes no owner', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    const admin = await personOf(service, org.id, 'admin');
    assert.equal(
      (await admin.post(`${base}/people/invite`, { email: 'x@college.example', role: 'owner' })).status,
      422,
    );
    assert.equal((await admin.post(`${base}/people/${owner.userId}/role`, { role: 'tutor' })).status, 422);
    assert.equal((await admin.post(`${base}/people/${admin.userId}/role`, { role: 'owner' })).status, 422);
    assert.equal((await admin.post(`${base}/people/${owner.userId}/remove`)).status, 404);
    assert.equal((await admin.post(`${base}/people/${owner.userId}/link`)).status, 404);
    // Nor by inviting an owner's address again in a smaller role.
    assert.equal((await admin.post(`${base}/people/invite`, { email: owner.email, role: 'tutor' })).status, 422);
    assert.equal((await owner.get(base)).status, 200);
  });

  test('an admin ends no invitation that an owner made for an owner', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    const admin = await personOf(service, org.id, 'admin');
    const link = linkIn(await owner.post(`${base}/people/invite`, { email: 'new@college.example', role: 'owner' }));
    const refused = await admin.post(`${base}/people/invite`, { email: 'NEW@college.example', role: 'tutor' });
    assert.deepEqual([refused.status, /has invited this email address as an owner/.test(refused.text)], [422, true]);
    assert.equal((await visitor(service).get(link)).status, 200);
    // An owner's new one takes its place.
    const again = linkIn(await owner.post(`${base}/people/invite`, { email: 'new@college.example', role: 'tutor' }));
    assert.deepEqual(await statuses([link, again]), [404, 200]);
  });

  test('whoever is removed or given less leaves no open link behind that they could not make any more', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    const [ana, bo] = [await personOf(service, org.id, 'owner'), await personOf(service, org.id, 'admin')];
    const invited = async (by: Person, email: string, role: string) =>
      linkIn(await by.post(`${base}/people/invite`, { email, role }));
    const links = [
      await invited(ana, 'one@college.example', 'owner'),
      await invited(ana, 'two@college.example', 'tutor'),
      await invited(bo, 'three@college.example', 'admin'),
      await invited(owner, 'four@college.example', 'owner'),
    ];
    const setUps = [await offered(base, ana), await offered(base, bo)];
    assert.equal((await owner.post(`${base}/people/${ana.userId}/role`, { role: 'admin' })).status, 303);
    assert.deepEqual(await statuses(links), [404, 200, 200, 200]);
    assert.deepEqual(await statuses(setUps), [200, 200]);
    assert.equal((await owner.post(`${base}/people/${ana.userId}/role`, { role: 'tutor' })).status, 303);
    assert.equal((await owner.post(`${base}/people/${bo.userId}/remove`)).status, 303);
    assert.deepEqual(await statuses(links), [404, 404, 404, 200]);
    assert.ok((await statuses(setUps)).every((status) => status !== 200));
  });

  test('a new account that takes the place of an old one keeps the invitations that its person made', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const [owner, ana] = [await personOf(service, org.id, 'owner'), await personOf(service, org.id, 'admin')];
    const link = linkIn(await ana.post(`${base}/people/invite`, { email: 'kept@college.example', role: 'admin' }));
    const setUp = await offered(base, ana);
    const anew = linkIn(await owner.post(`${base}/people/${ana.userId}/link`));
    await visitor(service).post(anew, { full_name: 'Ana', password: 'a wholly new password 1' });
    assert.deepEqual(await statuses([link, setUp]), [200, 200]);
    const { user_id: userId } = (await listMembers(service.app.db, org.id)).find(({ email }) => email === ana.email)!;
    assert.equal((await owner.post(`${base}/people/${userId}/remove`)).status, 303);
    assert.deepEqual(await statuses([link]), [404]);
    assert.notDeepEqual(await statuses([setUp]), [200], 'set-up links of the old account end with the new one');
  });

  test('set-up links that somebody made in the sandbox end with their role, too', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const [owner, ana] = [await personOf(service, org.id, 'owner'), await personOf(service, org.id, 'developer')];
    const by = { actor: 'operator', action: 'sandbox grant', requestId: service.app.random.uuid() };
    const sandbox = await grantSandbox(service.app, await readOrganisation(service.app.db, org.id), by);
    const setUps = [await offered(`/console/${sandbox}`, ana), await offered(`/console/${sandbox}`, owner)];
    assert.deepEqual(await statuses(setUps), [200, 200]);
    assert.equal((await owner.post(`${base}/people/${ana.userId}/role`, { role: 'tutor' })).status, 303);
    const [gone, still] = await statuses(setUps);
    assert.deepEqual([gone === 200, still], [false, 200]);
  });

  test('a full organisation invites nobody more, and still mends a lost password', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const [owner, ana] = [await personOf(service, org.id, 'owner'), await personOf(service, org.id, 'admin')];
    await service.app.db.query(
      `insert into user_invitation (organisation_id, invitation_id, token_sha256, email, role, invited_by, created_at, expires_at)
       select $1, gen_random_uuid(), sha256((random()::text || n)::bytea), n || '@college.example', 'tutor', 'operator', now(), now() + interval '1 day'
         from generate_series(1, $2) n`,
      [org.id, limits.usersPerOrganisation - 2],
    );
    const refused = await owner.post(`${base}/people/invite`, { email: 'more@college.example', role: 'tutor' });
    assert.deepEqual([refused.status, /too many people/.test(refused.text)], [422, true]);
    const anew = linkIn(await owner.post(`${base}/people/${ana.userId}/link`));
    assert.deepEqual(await statuses([anew]), [200]);
  });

  test('an admin is offered to withdraw what they may withdraw', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const [owner, admin] = [await personOf(service, org.id, 'owner'), await personOf(service, org.id, 'admin')];
    await owner.post(`${base}/people/invite`, { email: 'one@college.example', role: 'owner' });
    await owner.post(`${base}/people/invite`, { email: 'two@college.example', role: 'tutor' });
    const offers = async (one: Person) => (await one.get(`${base}/people`)).text.match(/\/withdraw"/g)?.length;
    assert.deepEqual([await offers(owner), await offers(admin)], [2, 1]);
  });

  test('a tutor who accepts an invitation is in the team that the invitation names, if it is still active', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    assert.doesNotMatch((await owner.get(`${base}/people/invite`)).text, /name="team"/, 'there is no team yet');
    const [north, south] = await service.withUnitOfWork(async (work) => [
      await ensureTeam(work, org.id, { ref: 'T-N', name: 'North <b>' }),
      await ensureTeam(work, org.id, { ref: 'T-S', name: 'South' }),
    ]);
    const elsewhere = await service.organisation();
    const theirs = await service.withUnitOfWork((work) => ensureTeam(work, elsewhere.id, { ref: 'T', name: 'T' }));
    const invited = (email: string, team: string) =>
      owner.post(`${base}/people/invite`, { email, role: 'tutor', team });
    for (const team of [theirs!, 'x', '\0']) {
      const refused = await invited('no@college.example', team);
      assert.deepEqual([refused.status, /Choose an active team/.test(refused.text)], [422, true]);
    }
    const links = [
      linkIn(await invited('one@college.example', north!)),
      linkIn(await invited('two@college.example', south!)),
    ];
    assert.match((await owner.get(`${base}/people`)).text, /North &lt;b&gt;/);
    await service.app.db.query('update learner_group set active = false where group_id = $1', [south]);
    for (const link of links)
      await visitor(service).post(link, { full_name: 'Tutor', password: 'a wholly new password 1' });
    const members = await listMembers(service.app.db, org.id);
    const teamsOf = (email: string) =>
      service.app.db.query('select group_id from team_staff where organisation_id = $1 and user_id = $2', [
        org.id,
        members.find((one) => one.email === email)!.user_id,
      ]);
    assert.deepEqual(await teamsOf('one@college.example'), [{ group_id: north }]);
    assert.deepEqual(await teamsOf('two@college.example'), []);
  });

  test('an organisation can require a second factor for all roles', async () => {
    const org = await service.organisation();
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner');
    const without = await Promise.all(
      (['reviewer', 'tutor', 'auditor'] as const).map((role) =>
        personOf(service, org.id, role, { secondFactor: false }),
      ),
    );
    const answers = () => Promise.all(without.map(async (one) => (await one.get(base)).headers.location ?? 'opens'));
    assert.deepEqual(await answers(), ['opens', 'opens', 'opens']);
    assert.doesNotMatch((await owner.get(`${base}/people`)).text, /Not yet set up/);
    assert.equal((await owner.fill(`${base}/settings`, { secondFactor: 'all' })).status, 303);
    for (const location of await answers()) assert.match(location, /^\/console\/account\/second-factor/);
    assert.match((await without[1]!.get('/console/account/second-factor')).text, /requires a second factor/);
    assert.equal((await owner.get(`${base}/people`)).text.match(/Not yet set up/g)!.length, 3);
    const elsewhere = await service.organisation();
    const tutor = await personOf(service, elsewhere.id, 'tutor', { secondFactor: false });
    assert.equal((await tutor.get(`/console/${elsewhere.publicId}`)).status, 200);
    assert.equal((await owner.fill(`${base}/settings`, { secondFactor: 'some' })).status, 303);
    assert.deepEqual(await answers(), ['opens', 'opens', 'opens']);
  });

  test('one owner remains, whoever removes whom at the same moment', async () => {
    const org = await service.organisation();
    const owners = await Promise.all(Array.from({ length: 4 }, () => personOf(service, org.id, 'owner')));
    await Promise.all(
      owners.flatMap(({ userId }) => [
        service.withUnitOfWork((work) => changeMember(work, org.id, userId, { to: null, by: 'owner' })),
        service.withUnitOfWork((work) => changeMember(work, org.id, userId, { to: 'tutor', by: 'owner' })),
      ]),
    );
    const left = (await listMembers(service.app.db, org.id)).filter((one) => one.role === 'owner');
    assert.equal(left.length, 1);
    const owner = owners.find((one) => one.userId === left[0]!.user_id)!;
    const page = await (
      await personOf(service, org.id, 'owner')
    ).post(`/console/${org.publicId}/people/${owner.userId}/remove`);
    assert.equal(page.status, 303);
  });

  test('what people call themselves is text on every page', async () => {
    const org = await service.organisation({ name: '<img src=x onerror=alert(1)>"\'' });
    const base = `/console/${org.publicId}`;
    const owner = await personOf(service, org.id, 'owner', { name: '"><script>alert(1)</script>' });
    for (const path of [
      base,
      `${base}/people`,
      `${base}/people/${owner.userId}`,
      '/console/account',
      `${base}/people/${owner.userId}/remove`,
    ]) {
      const { text, status } = await owner.get(path);
      assert.equal(status, 200);
      assert.doesNotMatch(text, /<script>|<img/);
    }
    const typed = await owner.post(`${base}/people/invite`, { email: '"><script>alert(1)</script>', role: '<b>' });
    assert.doesNotMatch(typed.text, /<script>|<b>/);
  });
});
