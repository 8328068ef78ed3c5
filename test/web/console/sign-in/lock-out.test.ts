import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { manualClock } from '../../../platform/time/manual-clock.ts';
import { limits } from '../../../../src/platform/config/limits.ts';
import type { Letter } from '../../../../src/platform/mail/template.ts';
import { inviteUser } from '../../../../src/organisations/users/invitations.ts';
import { makeRecoveryCodes, recoveryHash } from '../../../../src/organisations/users/totp.ts';
import { withService } from '../../../support/service.ts';
import type { Person, Visitor } from '../visitor.ts';
import { codeNow, password, personOf, visitor } from '../visitor.ts';

/** Guesses from elsewhere slow the attacker down, and keep no person out. */

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({
  own: 'Moves the clock.',
  clock,
  settings: {
    ARS_TRUSTED_PROXIES: '127.0.0.0/8, ::1/128',
    ARS_SMTP_URL: 'smtp://127.0.0.1:9',
    ARS_MAIL_FROM: 'results@example.org',
  },
});
const org = await service.organisation({ name: 'Northfield College' });
const base = `/console/${org.publicId}`;
const { signInFailuresPerAccount: perAddress, signInFailuresPerDay: perDay } = limits;

const at = (address: string) => ({ 'sec-fetch-site': 'same-origin', 'x-forwarded-for': address });
let next = 0;
const fresh = () => `198.51.${Math.floor(++next / 250)}.${(next % 250) + 1}`;
const signIn = (one: Visitor, email: string, address: string, given = password) =>
  one.post('/console/sign-in', { email, password: given }, at(address));
const wrongCode = (totp: string) => (codeNow(service, totp) === '123456' ? '654321' : '123456');

/** Wrong passwords from as many addresses as it takes. @returns the statuses */
async function guess(email: string, count: number, make: () => Visitor = () => visitor(service)): Promise<number[]> {
  const answers = [];
  for (let done = 0; done < count; done += perAddress) {
    const address = fresh();
    const some = Array.from({ length: Math.min(perAddress, count - done) }, (_, i) =>
      signIn(make(), email, address, `wrong ${i}`),
    );
    answers.push(...(await Promise.all(some)));
  }
  return answers.map(({ status }) => status);
}

/** A browser in which the person has signed in once, and signed out. @returns its cookies */
async function knownBrowser({ email, totp }: Person): Promise<string> {
  const one = visitor(service);
  clock.advance(30_000);
  const first = await signIn(one, email, fresh());
  const last =
    totp === null ? first : await one.post('/console/sign-in/code', { code: codeNow(service, totp) }, at(fresh()));
  assert.equal(last.status, 303);
  return /device-\d+=[^;]+/.exec(last.headers['set-cookie']!)![0];
}

async function lettersTo(email: string): Promise<Letter[]> {
  const rows = await service.app.db.query<{ sealed: Buffer }>(`select sealed from mail where cause like 'sign_in_%'`);
  return rows
    .map(({ sealed }) => JSON.parse(service.app.secrets.open('mail', sealed)!) as Letter & { address: string })
    .filter(({ address }) => address === email);
}

/** The email is written after the response. */
async function until(isDone: () => Promise<boolean>) {
  while (!(await isDone())) await delay(10);
}

const linkIn = (letter: Letter) => letter.says.flatMap((one) => (typeof one === 'string' ? [] : [one.to]))[0]!;

suite('wrong passwords from elsewhere', () => {
  test('leave the person’s browser alone, and a new browser gets in by the link of an email, sent once a day', async () => {
    const ana = await personOf(service, org.id, 'tutor', { secondFactor: false, name: 'Ana Silva' });
    const known = await knownBrowser(ana);
    const statuses = await guess(ana.email, perDay + 2 * perAddress);
    assert.equal(statuses.filter((status) => status === 422).length, perDay, 'the guesses of a day');
    assert.equal((await signIn(visitor(service, known), ana.email, fresh())).status, 303);
    // A new browser waits, and learns of the email. An unknown address gets the same page.
    const phone = visitor(service);
    const refused = await signIn(phone, ana.email, fresh());
    assert.equal(refused.status, 429);
    assert.match(refused.text, /open the link that we sent to your email address/);
    await until(async () => (await lettersTo(ana.email)).length === 1);
    const [letter] = await lettersTo(ana.email);
    assert.doesNotMatch(JSON.stringify(letter!.says), /Ana|Silva|198\.51|college\.example/);
    const opened = await phone.get(linkIn(letter!), at(fresh()));
    assert.match((await phone.follow(opened)).text, /Sign in now/);
    assert.equal((await signIn(phone, ana.email, fresh())).status, 303);
    assert.equal((await phone.get(base)).status, 200);
    // All browsers that open the link share a count.
    const tries = await Promise.all(
      [1, 2, 3].map(async (n) => {
        const one = visitor(service);
        await one.get(linkIn(letter!), at(fresh()));
        return Promise.all(Array.from({ length: 5 }, (_, i) => signIn(one, ana.email, fresh(), `wrong ${n}${i}`)));
      }),
    );
    assert.equal(tries.flat().filter(({ status }) => status === 422).length, perAddress);
    assert.equal((await lettersTo(ana.email)).length, 1);
    clock.advance(limits.signInDayMs);
    await guess(ana.email, perAddress);
    await until(async () => (await lettersTo(ana.email)).length === 2);
    const late = await visitor(service).get(linkIn(letter!), at(fresh()));
    assert.match(late.headers.location!, /old-link/, 'the link has expired');
  });

  test('from an address that the person shares keep only unknown browsers waiting', async () => {
    const bo = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const known = await knownBrowser(bo);
    const college = fresh();
    for (let i = 0; i < limits.signInFailuresPerAddress; i++)
      await signIn(visitor(service), `other-${i % 9}@college.example`, college, 'wrong');
    assert.equal((await signIn(visitor(service), bo.email, college)).status, 429);
    assert.equal((await signIn(visitor(service, known), bo.email, college)).status, 303);
    assert.equal((await signIn(visitor(service), bo.email, fresh())).status, 303, 'another address');
    await until(async () => (await lettersTo(bo.email)).length === 1);
    assert.deepEqual(await lettersTo('other-1@college.example'), []);
  });

  test('get nothing out of a device cookie: its count holds for parallel guesses, and it fits one account', async () => {
    const cy = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const di = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const known = await knownBrowser(cy);
    const own = () => visitor(service, known);
    const parallel = await guess(cy.email, 3 * perAddress, own);
    assert.equal(parallel.filter((status) => status === 422).length, perAddress);
    // For another account, changed, or made up, it is no cookie.
    const address = fresh();
    for (const cookie of [known, `${known.slice(0, -6)}AAAAAA`, known.replace(/=.*/, '=e30')]) {
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => signIn(visitor(service, cookie), di.email, address, 'wrong')),
      );
      assert.equal(answers.filter(({ status }) => status === 422).length, cookie.endsWith('=e30') ? 0 : 5, cookie);
    }
  });

  test('a colleague’s account of the same email address gives no count of its own', async () => {
    const victim = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const elsewhere = await service.organisation();
    const { token } = (await service.withUnitOfWork((work) =>
      inviteUser(work, elsewhere.id, { email: victim.email, role: 'tutor', invitedBy: 'operator', again: true }),
    )) as { token: string };
    const rogue = visitor(service);
    const made = await rogue.post(`/console/invitation/${token}`, { full_name: 'R', password: 'another-long-one-7' });
    const cookie = /device-\d+=[^;]+/.exec(made.headers['set-cookie']!)![0];
    const address = fresh();
    const answers = [];
    for (let i = 0; i < 2 * perAddress; i++)
      answers.push((await signIn(visitor(service, cookie), victim.email, address, `wrong ${i}`)).status);
    assert.equal(answers.filter((status) => status === 422).length, perAddress);
    assert.equal((await signIn(visitor(service, cookie), victim.email, address)).status, 429);
  });

  test('a new password ends the trust in other browsers', async () => {
    const ed = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const [old, here] = [await knownBrowser(ed), await knownBrowser(ed)];
    const changer = visitor(service, `${ed.cookie!}; ${here}`);
    const changed = await changer.post('/console/account/password', {
      present: password,
      password: 'brand new words 12',
    });
    const again = /device-\d+=[^;]+/.exec(changed.headers['set-cookie']!)![0];
    const given = 'brand new words 12';
    const address = fresh();
    for (let i = 0; i < perAddress; i++) await signIn(visitor(service), ed.email, address, 'wrong');
    assert.equal((await signIn(visitor(service, old), ed.email, address, given)).status, 429);
    assert.equal((await signIn(visitor(service, again), ed.email, address, given)).status, 303);
  });
});

suite('wrong codes from a person who knows the password', () => {
  test('are bounded over all addresses, and keep neither a known browser nor a recovery code out', async () => {
    const ana = await personOf(service, org.id, 'owner');
    const known = await knownBrowser(ana);
    const codes = makeRecoveryCodes(service.app.random);
    await service.app.db.query('update user_account set recovery_codes = $2 where user_id = $1', [
      ana.userId,
      codes.map((one) => recoveryHash(one)!),
    ]);
    const half = visitor(service);
    assert.equal((await signIn(half, ana.email, fresh())).status, 303);
    const statuses: number[] = [];
    for (let i = 0; i < perDay / perAddress + 1; i++) {
      const address = fresh();
      const some = Array.from({ length: perAddress + 2 }, () =>
        half.post('/console/sign-in/code', { code: wrongCode(ana.totp!) }, at(address)),
      );
      statuses.push(...(await Promise.all(some)).map(({ status }) => status));
    }
    assert.equal(statuses.filter((status) => status === 422).length, perDay);
    clock.advance(30_000);
    const enter = async (cookie: string | null, code: string) => {
      const one = visitor(service, cookie);
      const address = fresh();
      const first = await signIn(one, ana.email, address);
      one.cookie = [one.cookie, cookie].filter(Boolean).join('; ');
      assert.equal(first.status, 303);
      return (await one.post('/console/sign-in/code', { code }, at(address))).status;
    };
    assert.equal(await enter(null, codeNow(service, ana.totp!)), 429);
    assert.equal(await enter(null, codes[0]!), 303, 'a recovery code is too long to guess');
    assert.equal(await enter(known, codeNow(service, ana.totp!)), 303);
    await until(async () => (await lettersTo(ana.email)).length === 1);
    assert.match(JSON.stringify(await lettersTo(ana.email)), /another person knows your password/);
  });
});
