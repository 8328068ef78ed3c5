import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualClock } from '../platform/time/manual-clock.ts';
import { openApp } from '../../src/server/open-app.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import { createKeyring } from '../../src/platform/crypto/keyring.ts';
import type { Answer } from '../contract/support/client.ts';
import { ask, client } from '../contract/support/client.ts';
import { assertRefused } from '../contract/support/expect.ts';
import type { TestService } from '../support/service.ts';
import { withService } from '../support/service.ts';

const first = 'the first secret of this test, longer than 32';
const second = 'the second secret of this test, longer than 32';
const strange = 'a secret that this test never used before, long';

const withSecret = (current: string, ...previous: string[]) => ({
  settings: { ARS_SECRET: current, ARS_PREVIOUS_SECRETS: previous.join(), ARS_RATE_LIMIT: '1000000' },
});

const refusal = { name: 'Error', message: /^ARS_SECRET is not the secret of this database/ };

const pathOf = (url: string) => new URL(url).pathname;

suite('another ARS_SECRET', async () => {
  const service = await withService({ own: 'Other secrets.', ...withSecret(first) });

  test('is refused with a sentence, whoever starts with it', async () => {
    await assert.rejects(service.sibling(withSecret(strange)), refusal);
    await assert.rejects(service.sibling(withSecret(strange, second)), refusal);
    await service.sibling(withSecret(first));
  });

  test('the database shows nothing of the secret', async () => {
    const rows = await service.app.db.query<{ fingerprint: string }>('select fingerprint from service_secret');
    assert.match(rows[0]!.fingerprint, /^[\w-]{16}$/);
    assert.equal(rows.length, 1);
  });

  test('that lists the one before takes its place; the one before alone is then refused', async () => {
    const { databaseUrl, sibling } = await withService({ own: 'Other secrets.', ...withSecret(first) });
    await sibling(withSecret(second, first));
    await sibling(withSecret(second));
    await assert.rejects(sibling(withSecret(first)), refusal);
    const settings = readSettings({ DATABASE_URL: databaseUrl, ARS_SECRET: first });
    await (await openApp({ ...settings, log: 'none' }, { acceptSecret: true })).close();
    await sibling(withSecret(first));
    await assert.rejects(sibling(withSecret(second)), refusal);
  });

  test('of two processes that start at once with different ones, one is refused', async () => {
    const { app, sibling } = await withService({ own: 'Other secrets.' });
    await app.db.query('delete from service_secret');
    const starts = await Promise.allSettled([first, second, first, second].map((one) => sibling(withSecret(one))));
    assert.deepEqual(starts.map(({ status }) => status).sort(), ['fulfilled', 'fulfilled', 'rejected', 'rejected']);
    assert.notEqual(starts[0]!.status, starts[1]!.status);
  });

  test('stored secrets that cannot be decrypted are an error in the log of a start', async () => {
    const { app, organisation, sibling } = await withService({ own: 'Other secrets.', ...withSecret(first) });
    const org = await organisation();
    await org.post('/webhooks', { url: 'https://portfolio.example.org/' });
    await org.post('/webhooks', { url: 'https://portfolio.example.org/other' });
    assert.ok(!(await sibling(withSecret(first))).logged.join('').includes('secrets_lost'));
    await app.db.query(
      'update webhook_endpoint set secret = $1 where endpoint_id = (select endpoint_id from webhook_endpoint limit 1)',
      [createKeyring([strange], app.random).encrypt('whsec_x', 'a')],
    );
    const { logged } = await sibling(withSecret(first));
    await turn();
    assert.match(logged.join(''), /"event":"webhooks.secrets_lost","endpoints":1,/);
  });
});

test('a reply whose secret is no longer listed is neither a fault nor repeated: 409', async () => {
  const clock = manualClock(Date.UTC(2026, 0, 31, 9));
  const service = await withService({ own: 'Other secrets.', clock, ...withSecret(first) });
  const org = await service.organisation();
  const body = { full_name: 'No Reference' };
  await org.post('/learners', body, { 'idempotency-key': 'k' });
  await service.sibling({ clock, ...withSecret(second, first) });
  const alone = client((await service.sibling({ clock, ...withSecret(second) })).url, org.key);
  assertRefused(await alone.post('/learners', body, { 'idempotency-key': 'k' }), 409, 'idempotency_conflict');
  assert.equal((await alone.get('/learners')).body.data.length, 1);
});

test('rotation under load: cursors, links and kept replies live on, whichever process answers', async () => {
  const service = await withService({ own: 'Other secrets.', ...withSecret(first) });
  const org = await service.organisation();
  for (let i = 0; i < 20; i++) await org.post('/learners', { full_name: `Learner ${i}` });
  // Two processes behind one address; each is replaced in its turn, twice: first the next secret is made known, then used.
  let fleet: TestService[] = [service, await service.sibling(withSecret(first))];
  const replaceAll = async (...secrets: [string, ...string[]]) => {
    for (const i of fleet.keys()) {
      const fresh = await service.sibling(withSecret(...secrets));
      fleet = fleet.with(i, fresh);
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  const waiting: (() => void)[] = [];
  let asked = 0;
  const any = () => client(fleet[asked++ % fleet.length]!.url, org.key);
  const answers: Answer[] = [];
  const expect = (answer: Answer, ...allowed: number[]) => {
    answers.push(answer);
    assert.ok(allowed.includes(answer.status), `${answer.status} ${answer.text.slice(0, 200)}`);
    return answer;
  };
  const kept = new Map<string, string>();
  const links: string[] = [];
  let over = false;
  const load = async (who: number) => {
    let page = '/learners?limit=1';
    for (let i = 0; !over; i++) {
      const { next } = expect(await any().get(page), 200).body.pagination;
      page = next === null ? '/learners?limit=1' : next.slice(next.indexOf('/learners'));
      const name = `key-${who}-${i}`;
      const body = { full_name: `Learner ${who} ${i}` };
      const made = expect(await any().post('/learners', body, { 'idempotency-key': name }), 201);
      kept.set(name, made.text);
      links.push(made.body.data.assessment_url);
      const before = i % 2 === 0 ? 0 : i;
      const repeat = expect(
        await any().post(
          '/learners',
          { full_name: `Learner ${who} ${before}` },
          { 'idempotency-key': `key-${who}-${before}` },
        ),
        201,
      );
      assert.equal(repeat.text, kept.get(`key-${who}-${before}`));
      const { url } = fleet[asked++ % fleet.length]!;
      expect(await ask(url, 'GET', pathOf(links[i % 2 === 0 ? 0 : links.length - 1]!)), 200, 303);
      // A process has come: it is waited for until it has answered.
      if (i % 4 === 3) waiting.shift()?.();
    }
  };
  const loads = [0, 1, 2].map(load);
  const rotation = (async () => {
    await replaceAll(first, second);
    await replaceAll(second, first);
  })().finally(() => {
    over = true;
  });
  await Promise.all([...loads, rotation]);
  assert.ok(answers.length > 50);
});
