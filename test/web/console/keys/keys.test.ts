import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { sealNow } from '../../../platform/audit/sealed.ts';
import { endOfDay } from '../../../../src/organisations/zone.ts';
import type { Answer } from '../../../contract/support/client.ts';
import { ask } from '../../../contract/support/client.ts';
import { assertRefused } from '../../../contract/support/expect.ts';
import { scenario } from '../../../support/scenario.ts';
import { withService } from '../../../support/service.ts';
import { personOf, visitor } from '../visitor.ts';

/** The pages of keys, as an integration developer uses them. */

const service = await withService();
const scene = await scenario(service);
const { org } = scene;
const base = `/console/${org.publicId}`;
const hostile = '"><script>alert(1)</script>';
const cohort = await scene.group('C1');
const ana = await scene.learner('ana');
await ana.joins(cohort);
await ana.completes();

const onceOf = ({ text }: Answer) => /name="once" value="([\w-]+)"/.exec(text)![1]!;
const pairOf = ({ text }: Answer) => {
  const [, access_key_id] = /value="(ARSK\w+)"/.exec(text)!;
  const [, secret_access_key] = /value="(ars_live_\w+)"/.exec(text)!;
  return { access_key_id: access_key_id!, secret_access_key: secret_access_key! };
};
const countKeys = async () =>
  (await service.app.db.query('select key_id from access_key where organisation_id = $1', [org.id])).length;

suite('keys in the console', async () => {
  const person = await personOf(service, org.id, 'developer');

  test('one is made, used, rolled and revoked; its secret is shown once', async () => {
    const shown = await person.get(`${base}/keys/create`);
    assert.equal(shown.status, 200);
    const fields = {
      once: onceOf(shown),
      label: hostile,
      purpose: hostile,
      contact: hostile,
      networks: '127.0.0.0/8\n::1',
      groups: cohort.id,
      subjects: 'maths',
      expires: '2099-12-31',
    };
    const made = await person.post(`${base}/keys/create`, fields);
    assert.equal(made.status, 200, made.text);
    const pair = pairOf(made);
    const client = service.client(pair);
    assert.equal((await client.get('/assessments')).body.data.length, 1);
    assertRefused(await client.get('/learners'), 404, 'not_found');
    // The same form again: one key, and no secret.
    const count = await countKeys();
    const again = await person.post(`${base}/keys/create`, fields);
    assert.equal(await countKeys(), count);
    assert.doesNotMatch(again.text, /ars_live_/);
    assert.match(again.text, /shown when the key was created/);

    const page = await person.get(`${base}/keys/${pair.access_key_id}`);
    assert.match(page.text, /members of the groups below, in maths only/);
    for (const one of [page, await person.get(`${base}/keys`), made, again]) {
      assert.ok(!one.text.includes('<script>'), 'stored script');
      if (one !== made) assert.ok(!one.text.includes(pair.secret_access_key));
    }
    const receipt = await person.get(`${base}/keys/${pair.access_key_id}/receipt`);
    assert.equal(receipt.headers['content-type'], 'application/pdf');
    assert.ok(receipt.bytes.includes('%PDF-'));

    const rolled = await person.post(`${base}/keys/${pair.access_key_id}/roll`, { until: '2098-01-31' });
    const next = pairOf(rolled);
    assert.equal((await service.client(next).get('/assessments')).body.data.length, 1);
    assert.doesNotMatch(
      (await person.post(`${base}/keys/${pair.access_key_id}/roll`, { until: '2098-01-31' })).text,
      /ars_live_/,
    );
    assert.match((await person.get(`${base}/keys/${pair.access_key_id}`)).text, /Last request with this key/);
    assert.match((await person.get(`${base}/keys/${pair.access_key_id}/revoke`)).text, /can’t be undone/);
    const revoked = await person.follow(await person.post(`${base}/keys/${pair.access_key_id}/revoke`));
    assert.match(revoked.text, /The key is revoked/);
    assertRefused(await client.get('/health'), 401, 'invalid_credentials');
    assert.equal((await service.client(next).get('/health')).status, 200);
    const acts = await service.app.db.query<{ action: string }>(
      'select action from audit where organisation_id = $1 and actor = $2 order by audit_id',
      [org.id, person.userId],
    );
    assert.deepEqual(
      acts.map(({ action }) => action),
      ['POST /console/keys/create', 'POST /console/keys/{key_id}/roll', 'POST /console/keys/{key_id}/revoke'],
    );
  });

  test('its requests are counted by the hour, by what came of them', async () => {
    const key = await org.another();
    const { etag } = (await key.get('/assessments')).headers;
    for (let i = 0; i < 3; i++) await key.get('/assessments', { 'if-none-match': etag! });
    await key.get('/assessments?sort=up');
    await sealNow(service.app);
    const { text } = await person.get(`${base}/keys/${key.key.access_key_id}`);
    const row = text.slice(text.indexOf('Requests by hour')).replace(/<[^>]+>/g, ' ');
    assert.match(row, /5 +1 +1 +0 +0 +60 % +100 %/);
  });

  test('what is wrong with a form stands at its fields, and nothing is made', async () => {
    const count = await countKeys();
    const answer = await person.post(`${base}/keys/create`, {
      once: onceOf(await person.get(`${base}/keys/create`)),
      label: '',
      purpose: 'AB 12 34 56 C',
      networks: '10.0.0.1/8',
      groups: org.publicId,
      subjects: 'art',
      expires: '2020-02-30',
    });
    assert.equal(answer.status, 422);
    for (const field of ['label', 'purpose', 'networks', 'groups', 'subjects', 'expires'])
      assert.match(answer.text, new RegExp(`<a href="#${field}">`), field);
    assert.equal(await countKeys(), count);
    const key = await org.another();
    for (const until of ['', '2020-01-01', '2098-02-30', 'tomorrow'])
      assert.equal((await person.post(`${base}/keys/${key.key.access_key_id}/roll`, { until })).status, 422);
  });

  test('a vendor makes its key by a link, which the console then shows as used, or takes back', async () => {
    const fields = async () => ({
      once: onceOf(await person.get(`${base}/key-links/create`)),
      label: hostile,
      minutes: '15',
    });
    const address = ({ text }: Answer) => new URL(/value="(http[^"]+\/setup\/[\w-]+)"/.exec(text)![1]!).pathname;
    const [used, back] = [await fields(), await fields()];
    const made = address(await person.post(`${base}/key-links/create`, used));
    assert.equal(address(await person.post(`${base}/key-links/create`, used)), made);
    assert.equal((await ask(service.url, 'POST', made)).status, 200);
    const other = address(await person.post(`${base}/key-links/create`, back));
    await person.post(`${base}/key-links/${back.once}/revoke`);
    assert.equal((await ask(service.url, 'POST', other)).status, 410);
    const list = await person.get(`${base}/keys`);
    assert.match(list.text, /Used/);
    assert.match(list.text, /Revoked/);
    assert.ok(!list.text.includes('<script>'));
  });

  test('another organisation’s keys and links are not there', async () => {
    const theirs = await service.organisation();
    const stranger = await personOf(service, theirs.id, 'owner');
    const linkId = onceOf(await person.get(`${base}/key-links/create`));
    await person.post(`${base}/key-links/create`, { once: linkId, label: 'Ours', minutes: '15' });
    const at = `/console/${theirs.publicId}`;
    const missing = (await stranger.get(`${at}/no-such-page`)).text;
    for (const part of ['', '/receipt', '/roll', '/revoke'])
      assert.equal((await stranger.get(`${at}/keys/${org.key.access_key_id}${part}`)).text, missing);
    for (const path of [`keys/${org.key.access_key_id}/revoke`, `keys/${org.key.access_key_id}/roll`])
      assert.equal((await stranger.post(`${at}/${path}`, { until: '2098-01-01' })).text, missing);
    assert.equal((await stranger.post(`${at}/key-links/${linkId}/revoke`)).text, missing);
    assert.equal((await org.get('/health')).status, 200);
    assert.equal((await visitor(service).get(`${base}/keys`)).status, 303);
  });
});

test('a day ends by the clocks of its zone', () => {
  for (const [day, zone, end] of [
    ['2026-01-31', 'Europe/London', '2026-02-01T00:00:00.000Z'],
    ['2026-06-30', 'Europe/London', '2026-06-30T23:00:00.000Z'],
    ['2026-03-28', 'Europe/London', '2026-03-29T00:00:00.000Z'],
    ['2026-03-29', 'Europe/London', '2026-03-29T23:00:00.000Z'],
    ['2026-10-25', 'Europe/London', '2026-10-26T00:00:00.000Z'],
    ['2026-02-28', 'Asia/Kathmandu', '2026-02-28T18:15:00.000Z'],
  ] as const)
    assert.equal(endOfDay(day, zone)?.toISOString(), end);
  for (const wrong of ['2026-02-29', '', '31/01/2026', '2026-1-1'])
    assert.equal(endOfDay(wrong, 'Europe/London'), null);
});
