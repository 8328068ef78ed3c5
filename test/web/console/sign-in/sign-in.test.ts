import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { suite, test } from 'node:test';
import { inviteUser } from '../../../../src/organisations/users/invitations.ts';
import { listMembers } from '../../../../src/organisations/users/members.ts';
import { manualClock } from '../../../platform/time/manual-clock.ts';
import { systemClock } from '../../../../src/platform/time/clock.ts';
import { readAudit } from '../../../../src/platform/audit/read.ts';
import { limits } from '../../../../src/platform/config/limits.ts';
import { withService } from '../../../support/service.ts';
import { codeNow, password, personOf, visitor } from '../visitor.ts';

const clock = manualClock(systemClock.nowMs());
const service = await withService({
  own: 'Moves the clock.',
  clock,
  settings: { ARS_TRUSTED_PROXIES: '127.0.0.0/8, ::1/128' },
});
const org = await service.organisation({ name: 'Northfield College' });
const base = `/console/${org.publicId}`;
const nextStep = () => clock.advance(30_000);

const linkFor = (organisationId: number, email: string, role: 'owner' | 'tutor' = 'owner') =>
  service.withUnitOfWork(async (work) => {
    const made = await inviteUser(work, organisationId, { email, role, invitedBy: 'operator', again: true });
    return `/console/invitation/${(made as { token: string }).token}`;
  });

suite('an invitation', () => {
  test('from the link to the first page: account, second factor, recovery codes', async () => {
    const ana = visitor(service);
    const link = await linkFor(org.id, 'Ana@College.example');
    assert.match((await ana.get(link)).text, /Northfield College/);
    const weak = await ana.post(link, { full_name: '', password: 'Password123!!' });
    assert.equal(weak.status, 422);
    assert.match(weak.text, /guessed first/);
    assert.doesNotMatch(weak.text, /Password123/);
    const made = await ana.follow(await ana.post(link, { full_name: 'Ana Silva', password }));
    assert.match(made.text, /Set up second factor/);
    const secret = /<code>([A-Z2-7 ]{39})<\/code>/.exec(made.text)![1]!.replaceAll(' ', '');
    assert.equal((await ana.post('/console/account/second-factor', { code: '000000' })).status, 422);
    const before = ana.cookie;
    const on = await ana.post('/console/account/second-factor', { code: codeNow(service, secret) });
    assert.notEqual(ana.cookie, before, 'more rights, another token');
    const recovery = [...on.text.matchAll(/<code>([a-z2-7-]{29})<\/code>/g)].map(([, code]) => code!);
    assert.equal(recovery.length, 8);
    assert.match((await ana.follow(await ana.get('/console'))).text, /Owner/);
    // The link is used up.
    assert.equal((await visitor(service).get(link)).status, 404);
    assert.equal((await visitor(service).post(link, { full_name: 'Eve', password })).status, 404);
    // A recovery code lets in once.
    for (const expected of ['full', 'code']) {
      const again = visitor(service);
      await again.post('/console/sign-in', { email: 'ana@college.example', password });
      await again.post('/console/sign-in/code', { code: recovery[0]!.toUpperCase() });
      assert.equal((await again.get(base)).status === 200, expected === 'full');
    }
  });

  test('expires, and an address that has an account looks like any other', async () => {
    const old = await linkFor(org.id, 'late@college.example');
    clock.advance(limits.userInvitationMs + 1);
    assert.equal((await visitor(service).get(old)).status, 404);
    const known = await personOf(service, org.id, 'tutor', { email: 'known@college.example' });
    const other = await service.organisation({ name: 'Elsewhere College' });
    const pages = await Promise.all(
      [known.email, 'unknown@college.example'].map(async (email) => {
        const { text } = await visitor(service).get(await linkFor(other.id, email));
        return text.replaceAll(email, 'EMAIL').replace(/invitation(\/|%2F)[\w-]{43}/g, 'LINK');
      }),
    );
    assert.equal(pages[0], pages[1]);
  });

  test('the same address in two organisations: an account of one never opens the other', async () => {
    const here = await service.organisation({ name: 'Here College' });
    const there = await service.organisation({ name: 'There College' });
    const ana = await personOf(service, here.id, 'owner', { email: 'both@college.example' });
    // Whoever holds the other organisation's link, its admin for one, makes an account of that organisation only.
    const thief = visitor(service);
    await thief.post(await linkFor(there.id, 'both@college.example', 'tutor'), {
      full_name: 'Thief',
      password: 'another long password 7',
    });
    assert.equal((await thief.get(`/console/${there.publicId}`)).status, 200);
    assert.equal((await thief.get(`/console/${here.publicId}`)).status, 404);
    assert.equal((await ana.get(`/console/${there.publicId}`)).status, 404);
    // Either password opens its own.
    const again = visitor(service);
    await again.post('/console/sign-in', { email: 'both@college.example', password: 'another long password 7' });
    assert.equal((await again.get(`/console/${there.publicId}`)).status, 200);
    assert.equal((await again.get(`/console/${here.publicId}`)).status, 404);
  });

  test('joined by an account that is there: one person switches between two organisations', async () => {
    const there = await service.organisation({ name: 'Second College' });
    const ana = await personOf(service, org.id, 'owner');
    const link = await linkFor(there.id, ana.email, 'tutor');
    const joined = await ana.follow(await ana.post(`${link}/join`));
    assert.match(joined.text, /Second College/);
    assert.equal((await ana.get(`/console/${there.publicId}`)).status, 200);
    assert.equal((await ana.get(base)).status, 200);
    // Somebody else's account can't use it.
    const bo = await personOf(service, org.id, 'tutor');
    assert.equal((await bo.post(`${await linkFor(there.id, 'cy@college.example')}/join`)).status, 404);
  });

  test('two accounts with one address and one password: the organisation is asked for', async () => {
    const one = await service.organisation({ name: 'One College' });
    const two = await service.organisation({ name: 'Two College' });
    for (const { id } of [one, two])
      await personOf(service, id, 'tutor', { email: 'twice@college.example', secondFactor: false });
    const ana = visitor(service);
    const asked = await ana.post('/console/sign-in', { email: 'twice@college.example', password });
    assert.equal(asked.status, 422);
    assert.match(asked.text, /One College[^]*Two College/);
    assert.equal(ana.cookie, null);
    await ana.post('/console/sign-in', { email: 'twice@college.example', password, account: two.publicId });
    assert.equal((await ana.get(`/console/${two.publicId}`)).status, 200);
  });

  test('a new link for somebody who lost everything takes the old account’s place, in the same role only', async () => {
    const owner = await personOf(service, org.id, 'owner');
    const bo = await personOf(service, org.id, 'tutor');
    const answer = await owner.post(`${base}/people/${bo.userId}/link`);
    const link = /\/console\/invitation\/[\w-]{43}/.exec(answer.text)![0];
    assert.equal((await bo.get(base)).status, 200, 'until it is used');
    const again = visitor(service);
    await again.post(link, { full_name: 'Bo', password: 'a wholly new password 1' });
    assert.equal((await again.get(base)).status, 200);
    assert.equal((await bo.get(base)).status, 303);
    assert.equal((await listMembers(service.app.db, org.id)).filter((one) => one.email === bo.email).length, 1);
  });
});

suite('signing in', () => {
  test('password, then code; before the code nothing opens', async () => {
    const { email, totp } = await personOf(service, org.id, 'owner');
    const ana = visitor(service);
    nextStep();
    const first = await ana.post('/console/sign-in', {
      email: ` ${email.toUpperCase()} `,
      password,
      to: `${base}/people`,
    });
    assert.match(first.headers.location!, /^\/console\/sign-in\/code/);
    const half = ana.cookie;
    for (const path of [base, '/console/account', '/console/account/second-factor', '/console/confirm'])
      assert.match((await ana.get(path)).headers.location!, /^\/console\/sign-in\/code/, path);
    const second = await ana.post('/console/sign-in/code', { code: codeNow(service, totp!), to: `${base}/people` });
    assert.equal(second.headers.location, `${base}/people`);
    assert.notEqual(ana.cookie, half);
    // The token of before is worth nothing now: neither is one that somebody put into the browser.
    for (const cookie of [half, `${half!.split('=')[0]}=chosen-by-somebody-else`])
      assert.equal((await visitor(service, cookie).get(base)).status, 303);
  });

  test('a code counts once, also when it is sent ten times at the same moment', async () => {
    const { email, totp } = await personOf(service, org.id, 'owner');
    nextStep();
    const tries = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const one = visitor(service);
        await one.post('/console/sign-in', { email, password });
        return one;
      }),
    );
    const code = codeNow(service, totp!);
    const answers = await Promise.all(tries.map((one) => one.post('/console/sign-in/code', { code })));
    assert.equal(answers.filter(({ status }) => status === 303).length, 1);
    nextStep();
    assert.equal((await tries.at(-1)!.get(base)).status === 200, answers.at(-1)!.status === 303);
  });

  test('a wrong password and an unknown address get the same page', async () => {
    const { email } = await personOf(service, org.id, 'tutor');
    const pages = await Promise.all(
      [email, 'nobody@college.example'].map(async (given) => {
        const answer = await visitor(service).post('/console/sign-in', { email: given, password: 'wrong' });
        return [answer.status, answer.text.replaceAll(given, 'EMAIL'), answer.headers['set-cookie']];
      }),
    );
    assert.deepEqual(pages[0], pages[1]);
    assert.equal(pages[0]![0], 422);
  });

  test('brute force of the password, at once or one by one, known address or not, waits; then it goes on', async () => {
    const { email } = await personOf(service, org.id, 'tutor', { secondFactor: false });
    for (const given of [email, 'nobody-2@college.example']) {
      const answers = await Promise.all(
        Array.from({ length: limits.signInFailuresPerAccount + 5 }, (_, i) =>
          visitor(service).post('/console/sign-in', { email: given, password: `wrong ${i}` }),
        ),
      );
      assert.equal(answers.filter(({ status }) => status === 422).length, limits.signInFailuresPerAccount);
      assert.equal(answers.filter(({ status }) => status === 429).length, 5);
      // Not even the right one gets through.
      assert.equal((await visitor(service).post('/console/sign-in', { email: given, password })).status, 429);
    }
    // Another address has a count of its own, also after ten thousand guesses: without a mail server no link helps.
    const all = service.app.secrets.mac('sign-in', `everywhere ${email}`, 16);
    await service.app.db.query('update sign_in_attempts set failures = 10000 where subject = $1', [all]);
    const there = { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': '198.51.100.7' };
    assert.equal((await visitor(service).post('/console/sign-in', { email, password }, there)).status, 303);
    clock.advance(limits.signInFailuresMs);
    const late = visitor(service);
    await late.post('/console/sign-in', { email, password });
    assert.equal((await late.get(base)).status, 200);
  });

  test('brute force from one address waits whatever the accounts are', async () => {
    clock.advance(limits.signInFailuresMs);
    const statuses = await Promise.all(
      Array.from({ length: limits.signInFailuresPerAddress + 3 }, async (_, i) => {
        const answer = await visitor(service).post('/console/sign-in', {
          email: `n${i}@college.example`,
          password: 'no',
        });
        return answer.status;
      }),
    );
    assert.equal(statuses.filter((status) => status === 429).length, 3);
    clock.advance(limits.signInFailuresMs);
  });

  test('brute force of the code waits, over any number of sessions', async () => {
    const { email, totp } = await personOf(service, org.id, 'owner');
    const sessions = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const one = visitor(service);
        await one.post('/console/sign-in', { email, password });
        return one;
      }),
    );
    const wrong = codeNow(service, totp!) === '123456' ? '654321' : '123456';
    const answers = await Promise.all(
      Array.from({ length: limits.signInFailuresPerAccount + 4 }, (_, i) =>
        sessions[i % 3]!.post('/console/sign-in/code', { code: wrong }),
      ),
    );
    assert.equal(answers.filter(({ status }) => status === 429).length, 4);
    nextStep();
    assert.equal((await sessions[0]!.post('/console/sign-in/code', { code: codeNow(service, totp!) })).status, 429);
    clock.advance(limits.signInFailuresMs);
  });

  test('each failure leaves an audit row with keyed hashes of account and IP address, and no plain value', async () => {
    const { email, totp } = await personOf(service, org.id, 'owner');
    const from = new Date(clock.nowMs());
    const one = visitor(service);
    const tried = (given: string, word: string) => one.post('/console/sign-in', { email: given, password: word });
    const unknown = 'no-such-person@college.example';
    await tried(unknown, 'a wrong word');
    await tried(` ${email.toUpperCase()}`, 'a wrong word');
    await tried(email, password);
    await one.post('/console/sign-in/code', { code: codeNow(service, totp!) === '123456' ? '654321' : '123456' });
    for (let i = 0; i < limits.signInFailuresPerAccount; i++) await tried(unknown, 'a wrong word');
    const rows = [];
    for await (const row of readAudit(service.app, 0, from, null)) rows.push(row);
    const said = rows.map(({ action, status, detail }) => [action, status, (JSON.parse(detail!) as Said).code]);
    assert.deepEqual(said.slice(0, 3), [
      ['POST /console/sign-in', 422, 'unknown_account'],
      ['POST /console/sign-in', 422, 'wrong_password'],
      ['POST /console/sign-in/code', 422, 'wrong_code'],
    ]);
    assert.deepEqual(said.at(-1), ['POST /console/sign-in', 429, 'too_many_attempts']);
    assert.equal(said.length, 3 + limits.signInFailuresPerAccount);
    type Said = { code: string; account: string };
    const accounts = rows.map(({ detail }) => (JSON.parse(detail!) as Said).account);
    assert.equal(accounts[1], accounts[2], 'the same account, however it was written');
    assert.equal(accounts[0], accounts.at(-1));
    assert.notEqual(accounts[0], accounts[1]);
    assert.equal(new Set(rows.map(({ address }) => address)).size, 1);
    for (const mac of [...accounts, rows[0]!.address!]) assert.match(mac, /^[0-9a-f]{32}$/);
    for (const plain of [email, unknown, '127.0.0.1', '::1', 'a wrong word'])
      for (const text of [plain, hash('sha256', plain, 'hex').slice(0, 32)])
        assert.ok(!JSON.stringify(rows).includes(text), text);
    clock.advance(limits.signInFailuresMs);
  });

  test('afterwards one goes on to pages of the console only', async () => {
    const { email } = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const elsewhere = [
      'https://elsewhere.example/',
      '//elsewhere.example/console',
      '/\\elsewhere.example/console',
      '\\\\elsewhere.example',
      '/console/../../elsewhere',
      '/console/..//elsewhere.example',
      '/console//elsewhere.example',
      '/%2fconsole',
      '/consolexyz',
      'javascript:alert(1)',
      '/\t/elsewhere.example',
      '/console\r\nset-cookie: a=b',
      '/console\u0000',
      `/console/${'x'.repeat(3000)}`,
    ];
    for (const to of elsewhere) {
      const one = visitor(service);
      const { location } = (await one.post('/console/sign-in', { email, password, to })).headers;
      assert.match(location!, /^\/console($|\/(?!\/)|set)/, to);
      assert.ok(!/elsewhere\.example/.test(new URL(location!, service.url).host), to);
      assert.doesNotMatch(location!, /[\r\n]/);
    }
    const asked = await visitor(service).get(`${base}/people?did=x&a=%0d%0aset-cookie:b`);
    assert.equal(asked.status, 303);
    assert.equal(asked.headers['set-cookie'], undefined);
  });
});

suite('sessions', () => {
  test('end after two idle hours, after twelve at all, and when their owner says so', async () => {
    const ana = await personOf(service, org.id, 'tutor');
    clock.advance(limits.sessionIdleMs - 1000);
    assert.equal((await ana.get(base)).status, 200);
    clock.advance(limits.sessionIdleMs - 1000);
    assert.equal((await ana.get(base)).status, 200);
    clock.advance(limits.sessionIdleMs);
    assert.equal((await ana.get(base)).status, 303);
    const bo = await personOf(service, org.id, 'tutor');
    for (let i = 0; i < 8; i++) {
      clock.advance(limits.sessionMs / 8);
      assert.equal((await bo.get(base)).status, i < 7 ? 200 : 303);
    }
  });

  test('are listed and ended; signing out ends the session itself, not only the cookie', async () => {
    const ana = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const phone = visitor(service);
    await phone.post('/console/sign-in', { email: ana.email, password });
    const listed = await ana.get('/console/account');
    const ids = [...listed.text.matchAll(/sessions\/([\w-]{36})\/end"/g)].map(([, id]) => id!);
    assert.equal(ids.length, 2);
    await ana.post('/console/account/sessions/end-others');
    assert.equal((await phone.get(base)).status, 303);
    // Nobody ends somebody else's.
    const bo = await personOf(service, org.id, 'owner');
    for (const id of ids) assert.equal((await bo.post(`/console/account/sessions/${id}/end`)).status, 404);
    const token = ana.cookie;
    await ana.post('/console/sign-out');
    assert.equal(ana.cookie, null);
    assert.equal((await visitor(service, token).get(base)).status, 303);
  });

  test('a new password ends the others and gives this one another token', async () => {
    const ana = await personOf(service, org.id, 'tutor', { secondFactor: false });
    const other = visitor(service);
    await other.post('/console/sign-in', { email: ana.email, password });
    const before = ana.cookie;
    assert.equal(
      (await ana.post('/console/account/password', { present: 'wrong', password: 'brand new words 12' })).status,
      422,
    );
    await ana.post('/console/account/password', { present: password, password: 'brand new words 12' });
    assert.notEqual(ana.cookie, before);
    assert.equal((await ana.get(base)).status, 200);
    assert.equal((await other.get(base)).status, 303);
    assert.equal((await visitor(service, before).get(base)).status, 303);
  });
});
