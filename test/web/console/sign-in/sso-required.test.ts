import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { inviteUser } from '../../../../src/organisations/users/invitations.ts';
import type { Role } from '../../../../src/organisations/users/roles.ts';
import { ars } from '../../../support/ars.ts';
import { withService } from '../../../support/service.ts';
import { trustTestAuthority } from '../../../integrations/webhooks/receiver.ts';
import type { Person } from '../visitor.ts';
import { codeNow, password, personOf, visitor } from '../visitor.ts';
import { browserOf, startProvider } from './provider.ts';

/** An organisation that accepts only its identity provider, which is a real one here. */

trustTestAuthority();
const service = await withService({
  own: 'Calls addresses of this machine.',
  settings: { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8, ::1/128' },
});
const issuer = await startProvider(`${service.url}/console/sso/callback`);
const { by } = browserOf(service, issuer);
const settings = { issuer, client_id: 'says-when', client_secret: 'secret-of-the-console', tenant: '' };
const newPassword = 'another-long-one-7';

/** An organisation with single sign-on, an owner with a password, and the same owner's session through the provider. */
async function scene() {
  const org = await service.organisation({ name: 'Northfield College' });
  const base = `/console/${org.publicId}`;
  const owner = await personOf(service, org.id, 'owner');
  assert.equal((await owner.fill(`${base}/sso`, settings)).status, 303);
  const login = `owner-${org.id}`;
  assert.equal((await by(owner, `/console/sso/connect/${org.publicId}`, login)).status, 303);
  const there = visitor(service);
  assert.equal((await by(there, `/console/sso/sign-in/${org.publicId}`, login)).status, 303);
  const require = (emergency = owner.userId) => there.fill(`${base}/sso/require`, { owner: emergency });
  return { org, base, owner, there, login, require };
}

const canSignIn = async ({ email, totp }: Person, base: string, given = password) => {
  const one = visitor(service);
  await one.post('/console/sign-in', { email, password: given });
  if (totp !== null && one.cookie !== null) {
    await service.app.db.query('update user_account set totp_step = 0 where email = $1', [email]);
    await one.post('/console/sign-in/code', { code: codeNow(service, totp) });
  }
  return (await one.get(base)).status === 200;
};

const linkFor = async (organisationId: number, email: string, role: Role, again = true) => {
  const made = await service.withUnitOfWork((work) =>
    inviteUser(work, organisationId, { email, role, invitedBy: 'operator', again }),
  );
  return typeof made === 'string' ? made : made.token;
};

suite('single sign-on only', () => {
  test('is required by an owner who is signed in through it, and closes passwords and their sessions at once', async () => {
    const { org, base, owner, there, require } = await scene();
    const [second, tutor] = [await personOf(service, org.id, 'owner'), await personOf(service, org.id, 'tutor')];
    const half = visitor(service);
    await half.post('/console/sign-in', { email: second.email, password });
    // A session that began with a password does not show that the provider works.
    assert.match((await owner.get(`${base}/sso/require`)).text, /sign in through the identity provider/);
    await owner.post(`${base}/sso/require`, { owner: owner.userId });
    assert.equal((await tutor.get(base)).status, 200);
    // Only an owner with a password and a second factor can be the emergency owner.
    const plain = await personOf(service, org.id, 'owner', { secondFactor: false });
    for (const wrong of ['', tutor.userId, plain.userId]) assert.equal((await require(wrong)).status, 422);
    assert.match((await there.get(`${base}/sso/require`)).text, /3 people have not yet signed in there/);
    assert.equal((await require()).headers.location, `${base}/sso?did=required`);
    // Sessions and passwords of the others have ended; the emergency owner and the provider's sessions go on.
    for (const one of [second, tutor, plain]) {
      assert.equal((await one.get(base)).status, 303);
      assert.equal(await canSignIn(one, base), false);
    }
    assert.equal((await half.post('/console/sign-in/code', { code: codeNow(service, second.totp!) })).status, 303);
    assert.equal((await half.get(base)).status, 303);
    assert.equal((await owner.get(base)).status, 200);
    assert.equal((await there.get(base)).status, 200);
    assert.equal(await canSignIn(owner, base), true);
    const stored = await service.app.db.query<{ user_id: string }>(
      `select user_id from user_account join user_membership using (user_id)
        where organisation_id = $1 and (password is not null or totp_secret is not null)`,
      [org.id],
    );
    assert.deepEqual(stored, [{ user_id: owner.userId }]);
  });

  test('gives no password by an invitation, a new link or another organisation', async () => {
    const { org, base, owner, there, require } = await scene();
    const tutor = await personOf(service, org.id, 'tutor');
    const early = await linkFor(org.id, 'early@college.example', 'tutor');
    const elsewhere = await service.organisation({ name: 'Elsewhere College' });
    const both = await personOf(service, org.id, 'admin');
    await service.app.db.query(`insert into user_membership values ($1, $2, 'admin', now())`, [
      elsewhere.id,
      both.userId,
    ]);
    assert.equal((await require()).status, 303);
    // The other organisation still opens with the password, this one does not.
    assert.equal(await canSignIn(both, `/console/${elsewhere.publicId}`), true);
    assert.equal(await canSignIn(both, base), false);
    const answer = await there.post(`${base}/people/${tutor.userId}/link`);
    const again = /\/console\/invitation\/([\w-]{43})/.exec(answer.text)![1]!;
    for (const token of [early, again]) {
      const page = await visitor(service).get(`/console/invitation/${token}`);
      assert.deepEqual([page.status, /type="password"/.test(page.text)], [200, false]);
      const made = visitor(service);
      await made.post(`/console/invitation/${token}`, { full_name: 'Eve', password: newPassword });
      assert.equal(made.cookie, null);
    }
    const joiner = await personOf(service, elsewhere.id, 'tutor', { email: 'joins@college.example' });
    await joiner.post(`/console/invitation/${await linkFor(org.id, joiner.email, 'tutor')}/join`);
    assert.equal((await joiner.get(base)).status, 404);
    // At the provider the link works, and the new account takes the old one's place.
    const ana = visitor(service);
    assert.equal((await by(ana, `/console/sso/invitation/${again}`, `tutor-${org.id}`)).headers.location, base);
    assert.equal((await ana.get(base)).status, 200);
    assert.equal((await ana.get('/console/account/password')).status, 404);
    // The emergency owner keeps their place.
    assert.equal(await linkFor(org.id, owner.email, 'owner'), 'emergency_owner');
    for (const path of ['role', 'remove', 'link']) {
      const refused = await there.post(`${base}/people/${owner.userId}/${path}`, { role: 'admin' });
      assert.match(refused.text, /emergency owner of single sign-on/, path);
    }
    assert.equal(await canSignIn(owner, base), true);
  });

  test('an account that the provider closed stays closed when the requirement is lifted', async () => {
    const { org, base, owner, there, require } = await scene();
    const tutor = await personOf(service, org.id, 'tutor');
    const elsewhere = await service.organisation();
    const both = await personOf(service, org.id, 'tutor');
    await service.app.db.query(`insert into user_membership values ($1, $2, 'tutor', now())`, [
      elsewhere.id,
      both.userId,
    ]);
    assert.equal((await require()).status, 303);
    assert.match((await owner.fill(`${base}/sso`, { ...settings, issuer: `${issuer}/other` })).text, /no person could/);
    assert.match((await there.get(`${base}/sso/require`)).text, /Old passwords do not work again/);
    assert.equal((await there.post(`${base}/sso/lift`)).headers.location, `${base}/sso?did=lifted`);
    for (const one of [tutor, both]) assert.equal(await canSignIn(one, base), false);
    const made = visitor(service);
    const link = await linkFor(org.id, tutor.email, 'tutor');
    await made.post(`/console/invitation/${link}`, { full_name: 'Bo', password: newPassword });
    assert.equal(await canSignIn({ ...tutor, totp: null }, base, newPassword), true);
  });

  test('turned on while a person accepts an invitation with a password, it holds for that person too', async () => {
    const { org, base, require } = await scene();
    const link = await linkFor(org.id, 'racing@college.example', 'tutor');
    const racing = visitor(service);
    const [made] = await Promise.all([
      racing.post(`/console/invitation/${link}`, { full_name: 'Racing', password: newPassword }),
      require(),
    ]);
    assert.notEqual(made.status, 500);
    assert.notEqual((await racing.get(base)).status, 200);
    const person = { ...racing, email: 'racing@college.example', totp: null, userId: '' };
    assert.equal(await canSignIn(person, base, newPassword), false);
  });

  test('is lifted by the operator if the provider and the emergency owner fail', async () => {
    const { org, require } = await scene();
    assert.equal((await require()).status, 303);
    const run = (...words: string[]) =>
      ars(['organisation', 'sso', org.publicId, ...words, '--json'], service.environment);
    assert.deepEqual((await run()).json, { organisation_id: org.publicId, issuer, required: true });
    assert.equal((await run('--required', 'off')).json.required, false);
    assert.equal((await run('--required', 'on')).code, 2);
    const audited = await service.app.db.query(
      `select action from audit where organisation_id = $1 and action in ('organisation sso', 'POST /console/sso/require')
        order by audit_id`,
      [org.id],
    );
    assert.deepEqual(audited, [{ action: 'POST /console/sso/require' }, { action: 'organisation sso' }]);
  });
});
