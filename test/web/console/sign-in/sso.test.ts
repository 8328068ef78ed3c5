import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../../src/platform/time/clock.ts';
import { inviteUser } from '../../../../src/organisations/users/invitations.ts';
import { changeMember, listMembers } from '../../../../src/organisations/users/members.ts';
import type { Role } from '../../../../src/organisations/users/roles.ts';
import { endSessions, pruneSessions } from '../../../../src/organisations/users/sessions.ts';
import { connectIdentity, dropProvider, setProvider } from '../../../../src/organisations/users/single-sign-on.ts';
import { withService } from '../../../support/service.ts';
import { trustTestAuthority } from '../../../integrations/webhooks/receiver.ts';
import { browserOf, startProvider, typed } from './provider.ts';
import { fieldsOf, password, personOf, visitor } from '../visitor.ts';

/** Sign-in at a real OpenID provider, which runs in a process of its own. */

trustTestAuthority();
let laterMs = 0;
const service = await withService({
  own: 'Moves the clock.',
  settings: { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8, ::1/128' },
  clock: { ...systemClock, nowMs: () => systemClock.nowMs() + laterMs },
});
const issuer = await startProvider(`${service.url}/console/sso/callback`);

const org = await service.organisation({ name: 'Northfield College' });
const base = `/console/${org.publicId}`;
const owner = await personOf(service, org.id, 'owner');
const settings = { issuer, client_id: 'console', client_secret: 'secret-of-the-console', tenant: '' };

const signInThere = `/console/sso/sign-in/${org.publicId}`;

const { throughProvider, away, by } = browserOf(service, issuer);

/** Something that happens once the provider has answered for whoever comes back, just before that is taken for true. */
function meanwhile(inside: Parameters<typeof service.withUnitOfWork>[0]): void {
  const { transaction } = service.app.db;
  let begun = 0;
  service.app.db.transaction = async (work, turn) => {
    // The return is counted before the provider is asked, and taken off again after.
    if (++begun < 3) return transaction(work, turn);
    service.app.db.transaction = transaction;
    await service.withUnitOfWork(inside);
    return transaction(work, turn);
  };
}

const identitiesOf = async (userId: string) =>
  (await service.app.db.query('select from user_identity where user_id = $1', [userId])).length;

const linkFor = async (email: string, role: Role = 'admin') => {
  const made = await service.withUnitOfWork((work) =>
    inviteUser(work, org.id, { email, role, invitedBy: 'operator', again: true }),
  );
  return `/console/sso/invitation/${(made as { token: string }).token}`;
};

suite('single sign-on', () => {
  test('is set up by an owner; addresses of this machine, shared issuers and a missing tenant are refused', async () => {
    const admin = await personOf(service, org.id, 'admin');
    assert.equal((await admin.get(`${base}/sso`)).status, 404);
    for (const wrong of [
      { issuer: 'http://id.college.example' },
      { issuer: 'https://169.254.169.254/' },
      { issuer: 'javascript:alert(1)' },
      { issuer: 'https://login.microsoftonline.com/common/v2.0', tenant: 'x' },
      { issuer: 'https://accounts.google.com' },
      { client_id: '' },
      { client_secret: '' },
    ])
      assert.equal((await owner.fill(`${base}/sso`, { ...settings, ...wrong })).status, 422, JSON.stringify(wrong));
    assert.equal((await visitor(service).get(signInThere)).status, 404);
    assert.equal((await owner.fill(`${base}/sso`, settings)).status, 303);
    const shown = (await owner.get(`${base}/sso`)).text;
    assert.match(shown, /console\/sso\/callback/);
    assert.doesNotMatch(shown, /secret-of-the-console/);
    const [{ text }] = (await service.app.db.query<{ text: string }>(
      'select s::text as text from organisation_sso s',
    )) as [{ text: string }];
    assert.doesNotMatch(text, /secret-of-the-console/);
  });

  test('an invitation is accepted there, and the person signs in again without password or code', async () => {
    const ana = visitor(service);
    const accepted = await by(ana, await linkFor('ana@college.example'), 'ana');
    assert.equal(accepted.headers.location, base, accepted.text);
    const people = await ana.get(`${base}/people`);
    assert.match(people.text, /Name of ana/);
    const again = visitor(service);
    const signed = await by(again, signInThere, 'ana');
    assert.equal(signed.status, 303, signed.text);
    assert.equal((await again.get(`${base}/people`)).status, 200);
    // Nobody who wasn't invited, whatever address the provider says is theirs.
    const eve = visitor(service);
    assert.equal((await by(eve, signInThere, 'eve')).status, 403);
    assert.equal((await eve.get(base)).status, 303);
  });

  test('a session that began there opens this organisation only, and changes no password', async () => {
    const elsewhere = await service.organisation({ name: 'Elsewhere College' });
    const bo = await personOf(service, org.id, 'tutor');
    await service.app.db.query(`insert into user_membership values ($1, $2, 'owner', now())`, [
      elsewhere.id,
      bo.userId,
    ]);
    assert.equal((await bo.get(`/console/${elsewhere.publicId}`)).status, 200);
    const connected = await by(bo, `/console/sso/connect/${org.publicId}`, 'bo');
    assert.equal(connected.headers.location, '/console/account?did=connected', connected.text);
    const there = visitor(service);
    await by(there, signInThere, 'bo');
    assert.equal((await there.get(base)).status, 200);
    for (const path of [
      `/console/${elsewhere.publicId}`,
      '/console/account/password',
      '/console/account/second-factor',
    ])
      assert.equal((await there.get(path)).status, 404, path);
    assert.equal((await there.post('/console/account/sessions/end-others')).status, 404);
    // An identity is one person's.
    const cy = await personOf(service, org.id, 'tutor');
    assert.equal((await by(cy, `/console/sso/connect/${org.publicId}`, 'bo')).status, 403);
  });

  test('a session that began there joins no other organisation, and leaves its invitation open', async () => {
    const elsewhere = await service.organisation({ name: 'Inviting College' });
    const email = 'vi@college.example';
    const vi = visitor(service);
    await by(vi, await linkFor(email, 'tutor'), 'vi');
    const made = await service.withUnitOfWork((work) =>
      inviteUser(work, elsewhere.id, { email, role: 'owner', invitedBy: 'operator', again: false }),
    );
    const link = `/console/invitation/${(made as { token: string }).token}`;
    const shown = await vi.get(link);
    assert.deepEqual(
      [shown.status, /Join as/.test(shown.text), /Sign out, sign in/.test(shown.text)],
      [200, false, true],
    );
    assert.equal((await vi.post(`${link}/join`)).status, 404);
    assert.deepEqual(await listMembers(service.app.db, elsewhere.id), []);
    assert.equal((await visitor(service).get(link)).status, 200);
  });

  test('a form whose session ended is filled again after the sign-in there, for the same person only', async () => {
    const link = await linkFor('kim@college.example', 'admin');
    const kim = visitor(service);
    await by(kim, link, 'kim');
    const asks = async (path: string, form: Record<string, string>, what: string) => {
      const whose = `where user_id = (select user_id from user_account where email = 'kim@college.example')`;
      await service.app.db.query(`update user_session set ${what} = ${what} - interval '3 hours' ${whose}`);
      return kim.post(path, form);
    };
    const keeps = (text: string) =>
      fieldsOf(text)
        .filter(([name]) => name === 'to' || name === 'kept')
        .slice(-2);
    const leave = async (at: string, kept: [string, string][]) => (await kim.post(at, kept)).headers.location!;
    const stored = async () =>
      (await service.app.db.query('select from user_session where kept_form is not null')).length;
    const sent = { type: 'cohort', ref: 'KEPT-1', group_name: 'Zoë’s “evening” class', ...{ long: 'x'.repeat(6000) } };
    const asked = await asks(`${base}/groups/create`, sent, 'last_seen_at');
    assert.equal(asked.status, 401);
    assert.match(asked.text, new RegExp(`action="${signInThere}"[^]*Sign in at the identity provider`));
    assert.match(String(asked.headers['content-security-policy']), /form-action 'self' https:/);
    const to = await leave(signInThere, keeps(asked.text));
    const [row] = await service.app.db.query<{ text: string }>(
      'select s::text as text from user_session s where kept_form is not null',
    );
    assert.doesNotMatch(row!.text, /KEPT-1|evening/);
    const filled = await kim.get(await throughProvider(to, 'kim'));
    assert.match(filled.text, /<h1>Create group<\/h1>/);
    for (const text of ['nothing was sent', 'value="KEPT-1"', 'Zoë’s “evening” class'])
      assert.ok(filled.text.includes(text), text);
    assert.equal(await stored(), 0);
    assert.equal((await kim.get(`${base}/groups`)).status, 200);
    const proof = await asks(`${base}/people/invite`, { email: 'kept@college.example', role: 'auditor' }, 'proved_at');
    assert.match(proof.text, /<h1>Confirm that it is you<\/h1>/);
    const proved = await kim.get(await throughProvider(await leave('/console/sso/confirm', keeps(proof.text)), 'kim'));
    assert.ok(proved.text.includes('value="kept@college.example"'), proved.text);
    // Another person who signs in there gets nothing of it, and what is not taken is deleted.
    const other = await asks(`${base}/groups/create`, sent, 'last_seen_at');
    const ana = await kim.get(await throughProvider(await leave(signInThere, keeps(other.text)), 'ana'));
    assert.deepEqual([ana.status, ana.text.includes('KEPT-1'), await stored()], [303, false, 0]);
    const own = visitor(service);
    await by(own, signInThere, 'kim');
    kim.cookie = own.cookie;
    await leave(signInThere, keeps((await asks(`${base}/groups/create`, sent, 'last_seen_at')).text));
    assert.equal(await stored(), 1);
    laterMs = 16 * 60_000;
    await service.withUnitOfWork(pruneSessions).finally(() => (laterMs = 0));
    assert.equal(await stored(), 0);
    await leave(signInThere, [['kept', 'not sealed by us']]);
    assert.equal(await stored(), 0);
  });

  test('a fresh proof is asked of the provider', async () => {
    const ana = visitor(service);
    await by(ana, signInThere, 'ana');
    await service.app.db.query(
      `update user_session set proved_at = proved_at - interval '11 minutes' where sso_organisation_id is not null`,
    );
    assert.match((await ana.get(`${base}/people/invite`)).headers.location!, /^\/console\/confirm/);
    assert.match((await ana.get('/console/confirm')).text, /\/console\/sso\/confirm/);
    // Neither a password of theirs nor somebody else's sign-in will do.
    assert.equal((await ana.post('/console/confirm', { password })).status, 422);
    assert.equal((await by(ana, '/console/sso/confirm', 'bo')).status, 403);
    const before = ana.cookie;
    assert.equal((await by(ana, '/console/sso/confirm', 'ana')).status, 303);
    assert.notEqual(ana.cookie, before);
    assert.equal((await ana.get(`${base}/people/invite`)).status, 200);
  });

  test('the provider’s own session proves nothing by itself, however somebody comes by it', async () => {
    const wanted = `${base}/people/invite`;
    const jar = new Map<string, string>();
    const ana = visitor(service);
    await by(ana, signInThere, 'ana', jar);
    assert.match((await ana.get(wanted)).headers.location!, /^\/console\/confirm/);
    // Straight past the proof: the provider answers for whoever sits at the browser, and asks nothing.
    const again = await by(ana, `/console/sso/sign-in/${org.publicId}?to=${wanted}`, 'nobody', jar);
    assert.equal(again.headers.location, wanted, again.text);
    assert.match((await ana.get(wanted)).headers.location!, /^\/console\/confirm/);
    assert.equal((await by(ana, `/console/sso/confirm?to=${wanted}`, 'ana', jar)).headers.location, wanted);
    assert.equal((await ana.get(wanted)).status, 200);
  });

  test('where the provider says when it had the password, that counts for ten minutes from then', async () => {
    const wanted = `${base}/people/invite`;
    await owner.fill(`${base}/sso`, { ...settings, client_id: 'says-when' });
    const jar = new Map<string, string>();
    const ana = visitor(service);
    await by(ana, signInThere, 'ana', jar);
    assert.equal((await ana.get(wanted)).status, 200);
    laterMs = 11 * 60_000;
    try {
      assert.equal((await by(ana, signInThere, 'nobody', jar)).status, 303);
      assert.match((await ana.get(wanted)).headers.location!, /^\/console\/confirm/);
    } finally {
      laterMs = 0;
    }
  });

  test('a provider that doesn’t say when it had the password proves nothing, which is said', async () => {
    await owner.fill(`${base}/sso`, { ...settings, client_id: 'never-says' });
    const ana = visitor(service);
    await by(ana, signInThere, 'ana');
    const refused = await by(ana, '/console/sso/confirm', 'ana');
    assert.deepEqual([refused.status, /the claim auth_time/.test(refused.text)], [403, true]);
    assert.match((await ana.get(`${base}/people/invite`)).headers.location!, /^\/console\/confirm/);
    assert.ok(service.logged.some((line) => line.includes('"sso.failed"') && line.includes('no_auth_time')));
    await owner.fill(`${base}/sso`, settings);
  });

  test('a fresh proof that is old by this host’s clock is refused with a word of clocks', async () => {
    const ana = visitor(service);
    await by(ana, signInThere, 'ana');
    laterMs = 3 * 60_000;
    const refused = await by(ana, '/console/sso/confirm', 'ana').finally(() => (laterMs = 0));
    assert.deepEqual(
      [refused.status, /the clock of this service may be ahead/.test(refused.text)],
      [403, true],
      refused.text,
    );
    assert.match((await ana.get(`${base}/people/invite`)).headers.location!, /^\/console\/confirm/);
    assert.ok(service.logged.some((line) => line.includes('"sso.failed"') && line.includes('stale_proof')));
  });

  test('whoever is signed out or removed while they are at the provider connects nothing', async () => {
    const elsewhere = await service.organisation();
    const connected = `/console/sso/connect/${org.publicId}`;
    const out = await personOf(service, org.id, 'tutor');
    const back = await away(out, connected, 'out');
    meanwhile((work) => endSessions(work, out.userId));
    assert.deepEqual([(await out.get(back)).status, await identitiesOf(out.userId)], [403, 0]);
    // Removed here, and still somewhere else: nothing of them stays here, and they can be removed there.
    const gone = await personOf(service, org.id, 'tutor');
    await service.app.db.query(`insert into user_membership values ($1, $2, 'tutor', now())`, [
      elsewhere.id,
      gone.userId,
    ]);
    const way = await away(gone, connected, 'gone');
    meanwhile((work) => changeMember(work, org.id, gone.userId, { to: null, by: 'owner' }));
    assert.deepEqual([(await gone.get(way)).status, await identitiesOf(gone.userId)], [403, 0]);
    assert.equal(
      await service.withUnitOfWork((work) => changeMember(work, elsewhere.id, gone.userId, { to: null, by: 'owner' })),
      'done',
    );
    // A sign-in that was somebody else's all along takes nothing from who tries to connect it.
    const kept = await personOf(service, org.id, 'tutor');
    await by(kept, connected, 'kept');
    assert.equal((await by(kept, connected, 'ana')).status, 403);
    assert.equal(await identitiesOf(kept.userId), 1);
    await service.app.db.query('delete from user_membership where user_id = $1', [kept.userId]);
    assert.equal(await identitiesOf(kept.userId), 0, 'it goes with the membership, whoever takes that');
  });

  test('an invitation accepted with a sign-in that has just become somebody else’s stays open', async () => {
    const [link, other] = [await linkFor('two@college.example', 'tutor'), await personOf(service, org.id, 'tutor')];
    const one = visitor(service);
    const back = await away(one, link, 'two');
    meanwhile((work) => connectIdentity(work, org.id, { issuer, subject: 'two', userId: other.userId }));
    const count = (await listMembers(service.app.db, org.id)).length;
    assert.deepEqual([(await one.get(back)).status, one.cookie], [403, null]);
    assert.equal((await listMembers(service.app.db, org.id)).length, count);
    assert.equal((await by(visitor(service), link, 'three')).status, 303);
  });

  test('a way back counts once, in the browser that left, with its own state, within ten minutes', async () => {
    const ana = visitor(service);
    const left = await ana.get(signInThere, typed);
    const back = await throughProvider(left.headers.location!, 'ana');
    // Login CSRF: somebody else's way back in my browser.
    assert.equal((await visitor(service).get(back)).status, 403);
    const mine = visitor(service);
    await mine.get(signInThere, typed);
    assert.equal((await mine.get(back)).status, 403);
    assert.equal((await ana.get(back.replace(/state=[^&]*/, 'state=other'))).status, 403);
    const fresh = visitor(service);
    const address = (await fresh.get(signInThere, typed)).headers.location!;
    const way = await throughProvider(address, 'ana');
    assert.equal((await fresh.get(way)).status, 303);
    assert.equal((await fresh.get(way)).status, 403, 'used');
    for (const query of ['', '?code=x', '?error=access_denied', '?code=x&state=y&iss=https://elsewhere.example'])
      assert.equal((await visitor(service).get(`/console/sso/callback${query}`)).status, 403);
  });

  test('failed returns of others in the same network keep no browser out that was signed in there', async () => {
    const [ana, late] = [visitor(service), visitor(service)];
    await by(ana, signInThere, 'ana');
    const address = service.app.secrets.mac('sign-in', 'return 127.0.0.1', 16);
    await service.app.db.query(
      `insert into sign_in_attempts values ($1, 10000, now()) on conflict (subject) do update set failures = 10000`,
      [address],
    );
    await ana.post('/console/sign-out');
    assert.equal((await by(ana, signInThere, 'ana')).status, 303);
    assert.equal((await by(late, signInThere, 'ana')).status, 429);
    await service.app.db.query('delete from sign_in_attempts');
  });

  test('no other site signs its reader in as somebody else: they are asked, and so is whoever has a session', async () => {
    const jar = new Map<string, string>();
    await by(visitor(service), signInThere, 'ana', jar);
    const [fresh, tutor] = [visitor(service), await personOf(service, org.id, 'tutor')];
    const link = await linkFor('led@college.example', 'tutor');
    for (const [one, path, headers] of [
      [fresh, signInThere, { 'sec-fetch-site': 'cross-site' }],
      [fresh, signInThere, { 'sec-fetch-site': 'same-site' }],
      [fresh, signInThere, {}],
      [fresh, link, { 'sec-fetch-site': 'cross-site' }],
      [tutor, signInThere, typed],
      [tutor, link, { 'sec-fetch-site': 'same-origin' }],
    ] as const) {
      const asked = await one.get(path, headers);
      assert.deepEqual(
        [asked.status, asked.headers['set-cookie']],
        [200, undefined],
        `${path} ${headers['sec-fetch-site']}`,
      );
      assert.match(asked.text, /Sign in through <bdi>Northfield College<\/bdi>’s identity provider\?/);
      assert.equal((await one.post(path, fieldsOf(asked.text), { 'sec-fetch-site': 'cross-site' })).status, 403);
    }
    assert.equal((await tutor.get(base)).status, 200, 'their session is still theirs');
    // Whoever presses the button means it, and goes where they wanted to go.
    const to = `${base}/account-of-nobody`;
    const asked = await fresh.get(`${signInThere}?to=${to}`, { 'sec-fetch-site': 'cross-site' });
    const left = await fresh.post(signInThere, fieldsOf(asked.text));
    const back = await fresh.get(await throughProvider(left.headers.location!, 'nobody', jar));
    assert.deepEqual([back.status, back.headers.location], [303, to]);
    assert.equal((await fresh.get(base)).status, 200);
  });

  test('another tenant is refused, and a provider that does not answer is said to', async () => {
    await owner.fill(`${base}/sso`, { ...settings, tenant: 'ours' });
    const dan = visitor(service);
    assert.equal((await by(dan, await linkFor('dan@college.example', 'tutor'), 'dan@theirs')).status, 403);
    assert.equal((await by(dan, await linkFor('dan@college.example', 'tutor'), 'dan')).status, 303);
    assert.equal((await dan.get(base)).status, 200);
    // The provider has moved since.
    await service.withUnitOfWork((work) =>
      setProvider(work, org.id, { ...settings, issuer: `${issuer}/none`, tenant: null }),
    );
    assert.equal((await dan.get(base)).status, 303, 'sessions of the provider of before have ended');
    assert.equal((await visitor(service).get(signInThere, typed)).status, 502);
    await owner.post(`${base}/sso/off`);
    assert.equal((await visitor(service).get(signInThere)).status, 404);
  });

  test('a provider that was turned off, or changed, while somebody was on their way back lets nobody in', async () => {
    assert.equal((await owner.fill(`${base}/sso`, settings)).status, 303);
    assert.equal((await by(visitor(service), await linkFor('late@college.example'), 'late')).status, 303);
    const { transaction } = service.app.db;
    const others = async () =>
      (await service.app.db.query('select from user_session where sso_organisation_id = $1', [org.id])).length;
    // Turned off just before the session is made: what was checked is not so any more.
    const early = visitor(service);
    const back = await away(early, signInThere, 'late');
    meanwhile((work) => dropProvider(work, org.id));
    const refused = await early.get(back);
    assert.deepEqual([refused.status, early.cookie, await others()], [403, null, 0]);
    // While it is made: turning off waits for it, and ends it.
    assert.equal((await owner.fill(`${base}/sso`, settings)).status, 303);
    const late = visitor(service);
    const way = await away(late, signInThere, 'late');
    const reached = Promise.withResolvers<void>();
    const off = reached.promise.then(() => service.withUnitOfWork((work) => dropProvider(work, org.id)));
    service.app.db.transaction = (inside, turn) =>
      transaction(
        (tx) =>
          inside({
            async query(sql, values) {
              if (typeof sql !== 'string' && sql.name === 'session.insert') {
                service.app.db.transaction = transaction;
                reached.resolve();
                await Promise.race([off, delay(500)]);
              }
              return tx.query(sql, values);
            },
          }),
        turn,
      );
    assert.equal((await late.get(way)).status, 303);
    await off;
    assert.deepEqual([(await late.get(base)).status, await others()], [303, 0]);
  });

  test('two owners who set it up at the same time don’t undo each other unseen', async () => {
    assert.equal((await owner.fill(`${base}/sso`, settings)).status, 303);
    const second = await personOf(service, org.id, 'owner');
    const [mine, theirs] = [fieldsOf((await owner.get(`${base}/sso`)).text), (await second.get(`${base}/sso`)).text];
    const secret: [string, string] = ['client_secret', settings.client_secret];
    const changed = [...fieldsOf(theirs).filter(([name]) => name !== 'client_id'), ['client_id', 'says-when'], secret];
    assert.equal((await second.post(`${base}/sso`, changed as [string, string][])).status, 303);
    const late = await owner.post(`${base}/sso`, [...mine, secret]);
    assert.equal(late.status, 409);
    assert.match(late.text, /<span>says-when<\/span><\/td><td[^>]*><span>console/);
    assert.ok(!late.text.includes(settings.client_secret));
    assert.equal((await owner.post(`${base}/sso`, [...fieldsOf(late.text), secret])).status, 303);
    assert.match((await owner.get(`${base}/sso`)).text, /value="console"/);
  });

  test('the same form sent twice is saved once, and ends no sessions', async () => {
    const sent = fieldsOf((await owner.get(`${base}/sso`)).text).filter(([name]) => name !== 'client_id');
    sent.push(['client_id', 'console'], ['client_secret', 'a newer secret']);
    assert.equal((await owner.post(`${base}/sso`, sent)).status, 303);
    assert.equal((await owner.post(`${base}/sso`, sent)).headers.location, `${base}/sso?did=changed`);
    sent[sent.length - 1] = ['client_secret', 'yet another secret'];
    assert.equal((await owner.post(`${base}/sso`, sent)).status, 409, 'a secret alone counts, too');
  });
});
