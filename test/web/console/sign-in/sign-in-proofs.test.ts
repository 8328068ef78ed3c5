// Process: own. Counts the password hashes that the process makes.
import { derived } from './counted-argon2.ts';
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../../../platform/time/manual-clock.ts';
import type { App } from '../../../../src/platform/app.ts';
import { limits } from '../../../../src/platform/config/limits.ts';
import { changePassword, createAccount } from '../../../../src/organisations/users/accounts.ts';
import { inviteUser } from '../../../../src/organisations/users/invitations.ts';
import { addMember } from '../../../../src/organisations/users/members.ts';
import { hashPassword } from '../../../../src/organisations/users/password.ts';
import { openSession } from '../../../../src/organisations/users/sessions.ts';
import { makeRecoveryCodes, recoveryHash } from '../../../../src/organisations/users/totp.ts';
import { tellApart } from '../../../laws/world/interleaved.ts';
import { withService } from '../../../support/service.ts';
import type { Visitor } from '../visitor.ts';
import { codeNow, password, personOf, visitor } from '../visitor.ts';

/** What an attacker at the sign-in page must not learn, and must not be able to do by being quick. */

const samples = Number(process.env.ARS_TIMING ?? 0);
const clock = manualClock(Date.UTC(2026, 0, 31, 9));
let asked: string[] = [];

/** Keeps which statements are run. */
function listen({ db }: App): void {
  const { query, transaction } = db;
  const named = (sql: { name: string } | string) => {
    const name = typeof sql === 'string' ? sql : sql.name;
    // What the process asks by itself, at a new connection and from time to time.
    if (!/^(lineage|migration)\./.test(name)) asked.push(name);
  };
  db.query = (sql, values) => (named(sql), query(sql, values));
  db.transaction = (inside, turn) =>
    transaction((tx) => inside({ query: (sql, values) => (named(sql), tx.query(sql, values)) }), turn);
}

const service = await withService({ own: 'Moves the clock.', clock, settings: { ARS_LOG: 'none' }, prepare: listen });
const org = await service.organisation({ name: 'Northfield College' });
const base = `/console/${org.publicId}`;
const cookieOf = (token: string) => `session-${new URL(service.url).port}=${token}`;
const forgetFailures = () => service.app.db.query('delete from sign_in_attempts');

/** A session that has shown a password and still owes its code. */
async function halfSession(userId: string) {
  const token = await service.withUnitOfWork((work) => openSession(work, { userId, stage: 'code', client: 'Test' }));
  return visitor(service, cookieOf(token));
}

const account = (email: string, hash: string | null) =>
  service.withUnitOfWork(async (work) => {
    const userId = await createAccount(work, { email, fullName: 'Ana', password: hash });
    await addMember(work, org.id, userId, 'tutor');
    return userId;
  });

suite('at the sign-in page', () => {
  test('known, unknown, shared and password-less addresses cost the same work and get the same answer', async () => {
    const hash = await hashPassword(password, service.app.random);
    await account('known@college.example', hash);
    await account('sso@college.example', null);
    // Two accounts of an address: the second was made by its invitation, beside one that has no password.
    await account('twice@college.example', null);
    await account('twice@college.example', hash);
    const elsewhere = await service.organisation();
    const made = await service.withUnitOfWork((work) =>
      inviteUser(work, elsewhere.id, {
        email: 'twice@college.example',
        role: 'tutor',
        invitedBy: 'operator',
        again: true,
      }),
    );
    const link = `/console/invitation/${(made as { token: string }).token}`;
    assert.equal(
      (await visitor(service).post(link, { full_name: 'Ana', password: 'quite-another-one-5' })).status,
      303,
    );
    const works = [];
    for (const email of ['known', 'nobody', 'sso', 'twice'].map((one) => `${one}@college.example`)) {
      await forgetFailures();
      derived.length = 0;
      asked = [];
      const answer = await visitor(service).post('/console/sign-in', { email, password: 'not-the-right-one' });
      works.push([
        answer.status,
        answer.text.replaceAll(email, 'EMAIL'),
        answer.headers['set-cookie'],
        [...derived],
        [...asked],
      ]);
    }
    for (const one of works) assert.deepEqual(one, works[0]);
    assert.deepEqual(works[0]![3], ['argon2id 19456 2 1 32']);
  });

  test('a wrong code costs the same work whatever is wrong with it', async () => {
    const { userId, totp } = await personOf(service, org.id, 'owner');
    const one = await halfSession(userId);
    const used = codeNow(service, totp!);
    assert.equal((await (await halfSession(userId)).post('/console/sign-in/code', { code: used })).status, 303);
    const works = [];
    for (const code of [used, used === '123456' ? '654321' : '123456', 'aaaa-bbbb-cccc-dddd', 'nonsense']) {
      asked = [];
      const answer = await one.post('/console/sign-in/code', { code });
      works.push([answer.status, answer.text, [...asked]]);
    }
    for (const work of works) assert.deepEqual(work, works[0]);
    await forgetFailures();
  });

  test('one code, sent twice at once in one session, opens one', async () => {
    const { userId, totp } = await personOf(service, org.id, 'owner');
    const half = await halfSession(userId);
    const code = codeNow(service, totp!);
    const [one, other] = [visitor(service, half.cookie), visitor(service, half.cookie)];
    const answers = await Promise.all([one, other].map((each) => each.post('/console/sign-in/code', { code })));
    assert.equal(
      answers.filter(({ status, headers }) => status === 303 && headers['set-cookie'] !== undefined).length,
      1,
    );
    assert.equal((await half.get(base)).status, 303, 'the token from before the code opens nothing');
  });

  test('a session that ends while its code is looked at signs nobody in, and the log says nothing of it', async () => {
    const { userId, totp } = await personOf(service, org.id, 'owner');
    const half = await halfSession(userId);
    const { transaction } = service.app.db;
    let begun = 0;
    // The code is counted, taken, and then the session goes on.
    service.app.db.transaction = async (inside, turn) => {
      if (++begun === 3) await transaction((tx) => tx.query('delete from user_session where user_id = $1', [userId]));
      return transaction(inside, turn);
    };
    const answer = await half
      .post('/console/sign-in/code', { code: codeNow(service, totp!) })
      .finally(() => (service.app.db.transaction = transaction));
    assert.deepEqual([begun, answer.headers.location, half.cookie], [3, '/console/sign-in?did=ended', null]);
    assert.deepEqual(await service.app.db.query('select action from audit where actor = $1', [userId]), []);
  });

  test('a recovery code, used at once by many, lets one in; the others stay good', async () => {
    const { userId } = await personOf(service, org.id, 'owner');
    const codes = makeRecoveryCodes(service.app.random);
    const hashes = codes.map((one) => recoveryHash(one)!);
    await service.app.db.query('update user_account set recovery_codes = $2 where user_id = $1', [userId, hashes]);
    const halves = await Promise.all(Array.from({ length: 6 }, () => halfSession(userId)));
    const answers = await Promise.all(
      halves.map((one, i) => one.post('/console/sign-in/code', { code: i < 5 ? codes[0]! : codes[1]! })),
    );
    const opened = answers.map(({ status }) => status === 303);
    assert.equal(opened.slice(0, 5).filter(Boolean).length, 1);
    assert.equal(opened[5], true, 'another code at the same moment');
    const [row] = await service.app.db.query<{ left: number }>(
      'select cardinality(recovery_codes) as left from user_account where user_id = $1',
      [userId],
    );
    assert.equal(row!.left, codes.length - 2);
    await forgetFailures();
  });

  test('guessing codes from one address waits, whatever the accounts are; so do step-ups', async () => {
    await forgetFailures();
    const perPerson = limits.signInFailuresPerAccount - 2;
    const people = Math.ceil((limits.signInFailuresPerAddress + 4) / perPerson);
    const statuses: number[] = [];
    for (let i = 0; i < people; i++) {
      const { userId, totp, cookie } = await personOf(service, org.id, 'owner');
      const wrong = codeNow(service, totp!) === '123456' ? '654321' : '123456';
      const [half, full] = [await halfSession(userId), visitor(service, cookie)];
      for (let n = 0; n < perPerson; n++) {
        const answer = await (n % 2 === 0
          ? half.post('/console/sign-in/code', { code: wrong })
          : full.post('/console/confirm', { code: wrong }));
        statuses.push(answer.status);
      }
    }
    const { signInFailuresPerAddress: max } = limits;
    assert.deepEqual([...new Set(statuses.slice(0, max))], [422]);
    assert.deepEqual([...new Set(statuses.slice(max))], [429]);
    await forgetFailures();
  });

  test('signing in with an account of one’s own gives no more guesses at others of the same address', async () => {
    await forgetFailures();
    const email = 'victim@college.example';
    const own = 'the-guesser-made-it-7';
    const hash = await hashPassword(password, service.app.random);
    await account(email, hash);
    await account(email, await hashPassword(own, service.app.random, hash));
    const guesser = visitor(service);
    const guess = async (given: string) => (await guesser.post('/console/sign-in', { email, password: given })).status;
    for (let n = 0; n < limits.signInFailuresPerAccount - 1; n++) assert.equal(await guess(`guess ${n}`), 422);
    assert.equal(await guess(own), 303);
    assert.equal((await guesser.post('/console/confirm', { password: own })).status, 303);
    // Only the guesser's own account is tried then: not even the right password opens the other.
    assert.deepEqual([await guess('the last'), await guess(password)], [422, 422]);
    await forgetFailures();
  });

  test('half sign-ins end nobody’s session; of either kind the newest go on', async () => {
    const ana = await personOf(service, org.id, 'owner');
    const full = () =>
      service.withUnitOfWork((work) => openSession(work, { userId: ana.userId, stage: 'full', client: 'Test' }));
    const halves: Visitor[] = [];
    for (let n = 0; n < limits.sessionsPerUser + 1; n++) {
      clock.advance(1);
      halves.push(await halfSession(ana.userId));
    }
    assert.equal((await ana.get(base)).status, 200);
    const ask = async (one: Visitor) => (await one.get('/console/sign-in/code')).status;
    assert.deepEqual([await ask(halves[0]!), await ask(halves[1]!), await ask(halves.at(-1)!)], [303, 200, 200]);
    for (let n = 0; n < limits.sessionsPerUser - 1; n++) {
      clock.advance(1);
      await full();
    }
    assert.equal((await ana.get(base)).status, 200);
    // One more by a code is as much one more as by a password alone.
    clock.advance(1);
    const last = await halfSession(ana.userId);
    clock.advance(30_000);
    assert.equal((await last.post('/console/sign-in/code', { code: codeNow(service, ana.totp!) })).status, 303);
    assert.equal((await last.get(base)).status, 200);
    assert.equal((await ana.get(base)).status, 303);
  });

  test('a password is not changed on an old proof, and is no proof where there is a second factor', async () => {
    const ana = await personOf(service, org.id, 'owner');
    const change = (present: string, next: string) =>
      ana.post('/console/account/password', { present, password: next });
    const to = ({ headers }: { headers: Record<string, string> }) => headers.location!.split('?')[0];
    clock.advance(limits.stepUpMs - 1000);
    assert.equal(to(await change(password, 'several other words 1')), '/console/account');
    clock.advance(2000);
    assert.equal((await ana.get(`${base}/people/invite`)).status, 303, 'the proof is as old as it was');
    assert.equal(to(await change('several other words 1', 'several other words 2')), '/console/confirm');
    assert.equal(to(await ana.get('/console/account/password')), '/console/confirm');
    await ana.post('/console/confirm', { code: codeNow(service, ana.totp!) });
    assert.equal(to(await change('several other words 1', 'several other words 2')), '/console/account');
    await forgetFailures();
  });

  test('a token that somebody put into the browser is not taken on: it dies when its new holder signs in', async () => {
    const eve = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const ana = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const half = await halfSession(eve.userId);
    for (const planted of [eve.cookie, half.cookie]) {
      const browser = visitor(service, planted);
      const answer = await browser.post('/console/sign-in', { email: ana.email, password });
      assert.equal(answer.status, 303);
      assert.notEqual(browser.cookie, planted);
      assert.equal((await visitor(service, planted).get(base)).headers.location!.split('?')[0], '/console/sign-in');
      assert.match((await browser.get('/console/account')).text, new RegExp(ana.email));
    }
  });

  test('a password that was changed while it was checked opens nothing', async () => {
    const hash = await hashPassword(password, service.app.random);
    const userId = await account('racing@college.example', hash);
    const other = await hashPassword('quite-another-one-5', service.app.random);
    const { transaction } = service.app.db;
    // Between the check and the session: the second unit of work of the request.
    let units = 0;
    service.app.db.transaction = async (inside, turn) => {
      if (++units === 2)
        await transaction((tx) =>
          tx.query('update user_account set password = $2 where user_id = $1', [userId, other]),
        );
      return transaction(inside, turn);
    };
    const late = visitor(service);
    const answer = await late.post('/console/sign-in', { email: 'racing@college.example', password });
    service.app.db.transaction = transaction;
    assert.deepEqual([answer.status, late.cookie], [422, null]);
    await service.withUnitOfWork((work) => changePassword(work, userId, hash));
  });

  test('a session that was ended while the password was checked changes none', async () => {
    const ana = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const { transaction } = service.app.db;
    const counted = asked.filter((name) => name === 'sign_in.uncount').length;
    // Once the present password has been found right.
    service.app.db.transaction = async (inside, turn) => {
      if (asked.filter((name) => name === 'sign_in.uncount').length > counted)
        await transaction((tx) => tx.query('delete from user_session where user_id = $1', [ana.userId]));
      return transaction(inside, turn);
    };
    const given = { present: password, password: 'several other words 3' };
    const answer = await ana.post('/console/account/password', given);
    service.app.db.transaction = transaction;
    assert.equal(answer.status, 404);
    const again = visitor(service);
    assert.equal((await again.post('/console/sign-in', { email: ana.email, password })).status, 303);
  });
});

suite('by the clock', { skip: samples === 0 && 'set ARS_TIMING to the number of samples' }, () => {
  const took = async (path: string, fields: Record<string, string>, cookie: string | null = null) => {
    const one = visitor(service, cookie);
    const began = process.hrtime.bigint();
    await one.post(path, fields);
    const us = Number(process.hrtime.bigint() - began) / 1000;
    await forgetFailures();
    return us;
  };

  test('a known and an unknown address', async () => {
    const { email } = await personOf(service, org.id, 'tutor');
    const emails = [email, email.replace('person', 'nobody')];
    await tellApart(samples, 'address', (which) =>
      took('/console/sign-in', { email: emails[which]!, password: 'not-the-right-one' }),
    );
  });

  test('a wrong code and one that was used', async () => {
    const { userId, totp } = await personOf(service, org.id, 'owner');
    const used = codeNow(service, totp!);
    await (await halfSession(userId)).post('/console/sign-in/code', { code: used });
    const { cookie } = await halfSession(userId);
    const codes = [used, used === '123456' ? '654321' : '123456'];
    await tellApart(samples, 'code', (which) => took('/console/sign-in/code', { code: codes[which]! }, cookie));
  });
});
