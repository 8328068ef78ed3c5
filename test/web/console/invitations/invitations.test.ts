import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { feedQueue, withUnitOfWork } from '../../../../src/platform/db/unit-of-work.ts';
import type { Visibility } from '../../../../src/organisations/groups/visibility.ts';
import type { InvitationToken, InvitationState } from '../../../../src/sittings/invitations/browse.ts';
import { browseInvitations, invitationStates } from '../../../../src/sittings/invitations/browse.ts';
import { provisionLearner } from '../../../../src/sittings/invitations/provision.ts';
import { addTeamStaff, ensureTeam } from '../../../../src/organisations/teams.ts';
import { addToTeam } from '../../../support/teams.ts';
import { pauseSitting } from '../../../../src/sittings/answer.ts';
import { cancelInvitation } from '../../../../src/governance/erasure/cancel-invitation.ts';
import { withService } from '../../../support/service.ts';
import { invited } from '../../../sittings/learner.ts';
import { personOf } from '../visitor.ts';

const service = await withService({
  own: 'Sends mail.',
  settings: { ARS_SMTP_URL: 'smtp://mail.example:587', ARS_MAIL_FROM: 'results@example.org' },
});
const { app } = service;
const org = await service.organisation({ name: 'Northfield College', plan: 'standard', credits: 100 });
const owner = await personOf(service, org.id, 'owner');
const base = `/console/${org.publicId}`;
const inFeed = <T>(inside: Parameters<typeof withUnitOfWork<T>>[2]) => withUnitOfWork(app, feedQueue(org.id), inside);
const creditsOf = async () =>
  (await app.db.query<{ credits: number }>('select credits from organisation where organisation_id = $1', [org.id]))[0]!
    .credits;

const one = { full_name: 'Ana Silva', ref: 'A-1', email: 'ana@x.example', subjects: 'maths', purpose: 'progress' };

suite('invitations in the console', () => {
  test('one learner is invited by the rules of the table, and the link opens', async () => {
    const bad = await owner.post(`${base}/invite/one`, { ...one, ref: 'Ana', extra_time: '900', subjects: '' });
    assert.equal(bad.status, 422);
    assert.match(bad.text, /href="#extra_time"/);
    assert.match(bad.text, /href="#subjects"/);
    const before = await creditsOf();
    const answer = await owner.post(`${base}/invite/one`, { ...one, extra_time: '25', groups: 'cohort: C1 = Cohort' });
    assert.equal(answer.status, 303, answer.text);
    const page = await owner.follow(answer);
    assert.match(page.text, /The learner is invited/);
    assert.match(page.text, /Progress/);
    const [, path] = /value="[^"]*(\/a\/[\w-]+)"/.exec(page.text)!;
    assert.equal((await owner.get(path!)).status, 200);
    assert.equal(await creditsOf(), before - 1);
    const again = await owner.follow(await owner.post(`${base}/invite/one`, one));
    assert.match(again.text, /already had this open invitation/);
    assert.equal(await creditsOf(), before - 1);
    assert.ok(!service.logged.some((line) => line.includes(path!.slice(3)) || line.includes('Silva')));
  });

  test('each state is found by its filter, and by no other', async () => {
    const states = ['sent', 'opened', 'paused', 'used', 'expired', 'cancelled'] as const;
    const ids = new Map<string, string>();
    for (const state of states) {
      const learner = await invited(service, org, { ref: `S-${state}` });
      ids.set(state, learner.invitationId);
      if (state === 'opened') await learner.starts();
      if (state === 'paused') await pauseSitting(app, await learner.starts(), { position: 1, answer: {} });
      if (state === 'used')
        await app.db.query("update invitation set status = 'used' where invitation_id = $1", [learner.invitationId]);
      if (state === 'expired')
        await app.db.query('update invitation set expires_at = created_at where invitation_id = $1', [
          learner.invitationId,
        ]);
      if (state === 'cancelled')
        await inFeed((work) =>
          cancelInvitation(work, org.id, learner.invitationId, { actor: 'operator', reason: 'x' }),
        );
    }
    for (const state of states) {
      const { text } = await owner.get(`${base}/invitations?state=${state}`);
      for (const [other, id] of ids)
        assert.equal(text.includes(`/invitations/${id}`), other === state, `${other} in ${state}`);
    }
    const all = await owner.get(`${base}/invitations`);
    for (const id of ids.values()) assert.ok(all.text.includes(id));
    assert.match(all.text, /Paused<\/span> until/);
  });

  test('page by page, the lists of all states together are the list of all, for a tutor of everybody too', async () => {
    const team = await inFeed((work) => ensureTeam(work, org.id, { ref: 'everybody', name: 'Everybody' }));
    const refs = await app.db.query<{ ref: string }>('select ref from learner where organisation_id = $1', [org.id]);
    await inFeed((work) =>
      addToTeam(
        work,
        org.id,
        team,
        refs.map(({ ref }) => ref),
      ),
    );
    const walk = async (state: InvitationState | null, visibility: Visibility): Promise<string[]> => {
      const found: string[] = [];
      const now = new Date(app.clock.nowMs());
      for (let after: InvitationToken | null = null; ;) {
        const page = await browseInvitations(app.db, org.id, { state, after, visibility, limit: 2, now });
        found.push(...page.rows.map((one) => one.invitation_id));
        if (page.next === null) return found;
        after = page.next;
      }
    };
    const all = await walk(null, null);
    assert.ok(all.length >= invitationStates.length);
    assert.deepEqual(await walk(null, [team]), all);
    const states = await Promise.all(invitationStates.map((state) => walk(state, null)));
    assert.deepEqual(states.flat().sort(), all.toSorted());
    assert.deepEqual(await Promise.all(invitationStates.map((state) => walk(state, [team]))), states);
  });

  test('the list goes on page by page, each invitation once', async () => {
    const { id, publicId, post } = await service.organisation();
    const admin = await personOf(service, id, 'admin');
    for (let i = 0; i < 53; i++) await post('/learners', { full_name: `Learner ${i}`, ref: `P-${i}` });
    const found = new Set<string>();
    let path: string | undefined = `/console/${publicId}/invitations`;
    for (let pages = 0; path !== undefined; pages++) {
      assert.ok(pages < 3);
      const { text } = await admin.get(path);
      for (const [, one] of text.matchAll(/href="[^"]*\/invitations\/([0-9a-f-]{36})"/g)) {
        assert.ok(!found.has(one!));
        found.add(one!);
      }
      path = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
    }
    assert.equal(found.size, 53);
  });

  test('a page that has met none among many says how many, and leads on to what there is', async () => {
    const college = await service.organisation();
    const { id, publicId } = college;
    const admin = await personOf(service, id, 'admin');
    const { invitationId } = await invited(service, college);
    // The one that is begun ends before all the others.
    const many = 15_100;
    await app.db.query(
      `insert into invitation (organisation_id, invitation_id, learner_id, subjects, credit_spent, created_at, expires_at)
       select $1, gen_random_uuid(), learner_id, '{maths}', false, created_at, expires_at + n * interval '1 second'
         from invitation, generate_series(1, $3) n where invitation_id = $2`,
      [id, invitationId, many],
    );
    await app.db.query(
      `insert into sitting (organisation_id, sitting_id, invitation_id, learner_id, subject, bank_version, settings, time_limit_ms, withheld,
                            last_seen_at, started_at, on_screen_since, status)
       select $1, gen_random_uuid(), $2, learner_id, 'maths', version, '{}', 1000, '{}', $3, $3, $3, 'open'
         from invitation, (select version from bank_version limit 1) b where invitation_id = $2`,
      [id, invitationId, new Date(app.clock.nowMs())],
    );
    const { text } = await admin.get(`/console/${publicId}/invitations?state=opened`);
    assert.match(text, /15,000 invitations were checked for this page, and none matches\./);
    assert.ok(!text.includes('No invitation matches'));
    const next = /rel="next" href="([^"]+)"/.exec(text)![1]!.replaceAll('&amp;', '&');
    const further = await admin.get(next);
    assert.match(further.text, new RegExp(`/invitations/${invitationId}"`));
    assert.ok(!further.text.includes('were checked for this page'));
  });

  test('cancelled with a reason: the credit comes back once; another end lets an expired one work again', async () => {
    const { invitationId: id, token } = await invited(service, org, { ref: 'C-1' });
    const here = `${base}/invitations/${id}`;
    await app.db.query('update invitation set expires_at = created_at where invitation_id = $1', [id]);
    assert.equal((await owner.get(`/a/${token}`)).status, 410);
    assert.equal((await owner.post(`${here}/extend`, { until: '2020-01-01' })).status, 422);
    const until = new Date(app.clock.nowMs() + 5 * 86_400_000).toISOString().slice(0, 10);
    for (let i = 0; i < 2; i++) {
      const extended = await owner.follow(await owner.post(`${here}/extend`, { until }));
      assert.match(extended.text, /The last day is changed/);
      assert.ok(extended.text.includes(`value="${until}"`), 'the last day is the one that was chosen');
    }
    assert.equal((await owner.get(`/a/${token}`)).status, 200);
    assert.match((await owner.get(`${here}/cancel`)).text, /credit is returned, because no sitting has begun/);
    assert.equal((await owner.post(`${here}/cancel`, { reason: '' })).status, 422);
    assert.equal((await owner.post(`${here}/cancel`, { reason: 'QQ 12 34 56 C' })).status, 422);
    const before = await creditsOf();
    const both = await Promise.all([1, 2].map(() => owner.post(`${here}/cancel`, { reason: 'Left the course' })));
    assert.deepEqual(both.map((answer) => answer.headers.location!.includes('did=returned')).sort(), [false, true]);
    assert.equal(await creditsOf(), before + 1);
    assert.equal((await owner.get(`/a/${token}`)).status, 410);
  });

  test('pressed twice, one learner without a reference is invited once', async () => {
    const before = await creditsOf();
    const once = /name="once" value="([^"]+)"/.exec((await owner.get(`${base}/invite/one`)).text)![1]!;
    const fields = { full_name: 'Twice Pressed', subjects: 'maths', once };
    const both = await Promise.all([1, 2].map(() => owner.post(`${base}/invite/one`, fields)));
    assert.deepEqual(
      both.map((answer) => answer.headers.location),
      [1, 2].map(() => `${base}/invitations/${once}?did=invited`),
    );
    assert.equal(await creditsOf(), before - 1);
    assert.equal((await app.db.query("select from learner where full_name = 'Twice Pressed'")).length, 1);
  });

  test('where no credit comes back, no reason is asked for that nothing would keep', async () => {
    const unlimited = await service.organisation({ plan: 'unlimited' });
    const admin = await personOf(service, unlimited.id, 'admin');
    const { invitationId } = await invited(service, unlimited, { ref: 'U-1' });
    const here = `/console/${unlimited.publicId}/invitations/${invitationId}`;
    assert.doesNotMatch((await admin.get(`${here}/cancel`)).text, /name="reason"/);
    assert.match((await admin.follow(await admin.post(`${here}/cancel`))).text, /The invitation is cancelled/);
  });

  test('links for hand-out are cards and cells; by mail, once within some minutes', async () => {
    const { reply } = await inFeed((work) =>
      provisionLearner(work, org.id, { full_name: '=cmd()', email: 'm@x.example', ref: 'M-1', groups: [] }, 'key'),
    );
    const fields: [string, string][] = [
      ['invitation', reply.invitation_id],
      ['invitation', app.random.uuid()],
      ['invitation', 'nonsense'],
    ];
    const { text } = await owner.post(`${base}/invitations/links`, fields);
    assert.equal([...text.matchAll(/<li class="card">/g)].length, 1);
    assert.match(text, /<svg[^>]*aria-label="The link of =cmd\(\)"/);
    assert.ok(text.includes('&#39;=cmd()\tM-1\t'), 'a spreadsheet runs no formula');
    const mails = async () => (await app.db.query("select from mail where cause like 'invitation %'")).length;
    const before = await mails();
    assert.match((await owner.post(`${base}/invitations/mail`, fields)).headers.location!, /mailed/);
    assert.match((await owner.post(`${base}/invitations/mail`, fields)).headers.location!, /none/);
    assert.equal(await mails(), before + 1);
    await owner.post(`${base}/invitations/${reply.invitation_id}/cancel`, { reason: 'Left' });
    assert.equal(await mails(), before, 'a letter that waits is taken back with its link');
  });

  test('every selected learner of a page gets the email, and a page of cards says how many it leaves out', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 18; n++) {
      const learner = { full_name: `Many ${n}`, email: `many-${n}@x.example`, ref: `N-${n}`, groups: [] };
      ids.push((await inFeed((work) => provisionLearner(work, org.id, learner, 'key'))).reply.invitation_id);
    }
    const fields = ids.map((id): [string, string] => ['invitation', id]);
    assert.match(
      (await owner.get(`${base}/invitations?state=sent`)).text,
      /<button class="second" formaction="[^"]+\/invitations\/mail">Send email to selected learners/,
    );
    const cards = async (some: typeof fields) => (await owner.post(`${base}/invitations/links`, some)).text;
    assert.match(await cards(fields), /16 of 18 selected learners/);
    assert.doesNotMatch(await cards(fields.slice(0, 16)), /selected learners/);
    assert.match((await owner.post(`${base}/invitations/mail`, fields)).headers.location!, /mailed/);
    const mails = await app.db.query('select from mail where cause like any($1)', [
      ids.map((id) => `invitation ${id} %`),
    ]);
    assert.equal(mails.length, 18);
  });

  test('a letter that waits is never sent to an address that the learner has no more', async () => {
    const provision = (email: string) =>
      inFeed((work) => provisionLearner(work, org.id, { full_name: 'Wu Li', email, ref: 'A-1', groups: [] }, 'key'));
    const { reply } = await provision('typo@x.example');
    const fields: [string, string][] = [['invitation', reply.invitation_id]];
    const mailed = () => owner.post(`${base}/invitations/mail`, fields);
    const letters = async () =>
      (await app.db.query('select sealed from mail where cause like $1', [`invitation ${reply.invitation_id} %`])).map(
        (row) => JSON.parse(app.secrets.open('mail', row['sealed'])!).address,
      );
    await mailed();
    assert.deepEqual(await letters(), ['typo@x.example']);
    await provision('typo@x.example');
    assert.deepEqual(await letters(), ['typo@x.example'], 'the same address again takes nothing back');
    await provision('right@x.example');
    assert.deepEqual(await letters(), []);
    assert.match((await mailed()).headers.location!, /mailed/, 'and the next one may follow at once');
    assert.deepEqual(await letters(), ['right@x.example']);

    const learner = `${base}/learners/${reply.learner_id}`;
    const changed = (email: string) => owner.post(`${learner}/email`, { email, reason: 'Asked', confirmed: 'yes' });
    await changed('other@x.example');
    assert.deepEqual(await letters(), []);
    await mailed();
    assert.deepEqual(await letters(), ['other@x.example']);
    await changed('');
    assert.deepEqual(await letters(), []);

    const invite = (email: string) =>
      owner.post(`${base}/invite/one`, {
        ...one,
        ref: 'A-1',
        full_name: 'Wu Li',
        email,
        mail: 'on',
        once: app.random.uuid(),
      });
    await invite('again@x.example');
    assert.deepEqual(await letters(), ['again@x.example']);
    await invite('last@x.example');
    assert.deepEqual(await letters(), ['last@x.example']);
  });

  test('a tutor sees the invitations of their teams; the others are not there', async () => {
    const tutor = await personOf(service, org.id, 'tutor');
    assert.match((await tutor.get(`${base}/invite`)).text, /You are in no team yet/);
    const teamId = await inFeed(async (work) => {
      const id = await ensureTeam(work, org.id, { ref: 'T1', name: 'Team one' });
      await addTeamStaff(work, org.id, id, [tutor.userId]);
      return id;
    });
    const [near, far] = [await invited(service, org, { ref: 'near' }), await invited(service, org, { ref: 'far' })];
    await inFeed((work) => addToTeam(work, org.id, teamId, ['near']));
    const { text } = await tutor.get(`${base}/invitations`);
    assert.deepEqual([text.includes(near.invitationId), text.includes(far.invitationId)], [true, false]);
    const unknown = await tutor.get(`${base}/invitations/${app.random.uuid()}`);
    const hidden = await tutor.get(`${base}/invitations/${far.invitationId}`);
    assert.deepEqual([hidden.status, hidden.text], [404, unknown.text]);
    for (const act of ['extend', 'cancel']) {
      const answer = await tutor.post(`${base}/invitations/${far.invitationId}/${act}`, {
        until: '2099-01-01',
        reason: 'x',
      });
      assert.equal(answer.status, 404, act);
    }
    const links = await tutor.post(`${base}/invitations/links`, [
      ['invitation', far.invitationId],
      ['invitation', near.invitationId],
    ]);
    assert.deepEqual([links.text.includes(near.token), links.text.includes(far.token)], [true, false]);
    assert.equal(
      (await tutor.post(`${base}/invite/one`, { ...one, ref: 'new-1' })).status,
      422,
      'a team must be chosen',
    );
    assert.equal((await tutor.post(`${base}/invite/one`, { ...one, ref: 'far', team: teamId })).status, 422);
    const made = await tutor.post(`${base}/invite/one`, { ...one, ref: 'new-1', team: teamId });
    assert.match((await tutor.follow(made)).text, /The learner is invited/);
    const auditor = await personOf(service, org.id, 'auditor');
    const page = await auditor.get(`${base}/invitations/${near.invitationId}`);
    assert.equal(page.status, 200);
    assert.ok(!page.text.includes('/a/'), 'who changes nothing gets no link either');
  });
});
