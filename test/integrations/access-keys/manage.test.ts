import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { manualClock } from '../../platform/time/manual-clock.ts';
import { linkUrl, offerKey, revokeLink } from '../../../src/integrations/access-keys/link.ts';
import type { KeyDescription } from '../../../src/integrations/access-keys/description.ts';
import { findKey, rollKey } from '../../../src/integrations/access-keys/keys.ts';
import { receiptPdf } from '../../../src/integrations/access-keys/receipt.ts';
import { scopeInWords } from '../../../src/integrations/access-keys/scope-words.ts';
import { begin } from '../../support/ars.ts';
import { ask } from '../../contract/support/client.ts';
import { assertRefused } from '../../contract/support/expect.ts';
import { scenario } from '../../support/scenario.ts';
import { withService } from '../../support/service.ts';

const clock = manualClock(Date.UTC(2026, 0, 31, 9));
const service = await withService({ own: 'Moves the clock.', clock });

suite('rolling a key', () => {
  test('both work until the end of the overlap; the new one may do exactly the same', async () => {
    const scene = await scenario(service);
    const cohort = await scene.group('C1');
    const key = await scene.org.another({ label: 'Portfolio', groupIds: [cohort.id], networks: ['127.0.0.0/8'] });
    const { access_key_id: keyId } = key.key;
    const until = new Date(clock.nowMs() + 3600_000);
    const rolled = await service.withUnitOfWork((work) => rollKey(work, scene.org.id, keyId, { until, kind: 'test' }));
    assert.ok(typeof rolled === 'object');
    const next = service.client(rolled.pair);
    for (const one of [key, next]) assert.equal((await one.get('/health')).status, 200);
    assertRefused(await next.get('/learners'), 404, 'not_found');
    const made = (await findKey(service.app.db, scene.org.id, rolled.pair.access_key_id))!;
    assert.deepEqual(
      [made.label, made.group_ids, made.networks, made.replaces, made.expires_at],
      ['Portfolio', [cohort.id], ['127.0.0.0/8'], keyId, null],
    );
    const again = () => service.withUnitOfWork((work) => rollKey(work, scene.org.id, keyId, { until, kind: 'test' }));
    assert.equal(await again(), 'rolled');
    const usedMs = clock.nowMs();
    clock.advance(3600_000);
    assertRefused(await key.get('/health'), 401, 'invalid_credentials');
    assert.equal((await next.get('/health')).status, 200);
    const old = (await findKey(service.app.db, scene.org.id, keyId))!;
    assert.deepEqual([old.last_used_ms, old.replaced_by], [usedMs, rolled.pair.access_key_id]);
    assert.equal(await again(), 'ended');
  });

  test('of two at once, one rolls it', async () => {
    const org = await service.organisation();
    const until = new Date(clock.nowMs() + 1000);
    const both = await Promise.all(
      [1, 2].map(() =>
        service.withUnitOfWork((work) => rollKey(work, org.id, org.key.access_key_id, { until, kind: 'test' })),
      ),
    );
    assert.equal(both.filter((one) => one === 'rolled').length, 1);
    assert.equal(both.filter((one) => typeof one === 'object').length, 1);
  });

  test('never makes an end later', async () => {
    const org = await service.organisation();
    const end = new Date(clock.nowMs() + 1000);
    const key = await org.another({ expiresAt: end });
    const rolled = await service.withUnitOfWork((work) =>
      rollKey(work, org.id, key.key.access_key_id, { until: new Date(clock.nowMs() + 9000), kind: 'test' }),
    );
    assert.ok(typeof rolled === 'object');
    assert.deepEqual(rolled.old.expires_at, end);
    assert.deepEqual((await findKey(service.app.db, org.id, rolled.pair.access_key_id))!.expires_at, end);
  });
});

suite('a set-up link', async () => {
  const scene = await scenario(service);
  const cohort = await scene.group('C1');
  const { org } = scene;
  const description: KeyDescription = {
    label: '<script>alert(1)</script>',
    purpose: 'Portfolio "of" <b>learners</b>',
    contact: null,
    kind: 'test',
    expiresAt: null,
    networks: [],
    groupIds: [cohort.id],
    subjects: ['maths'],
  };
  const offer = () =>
    service.withUnitOfWork((work) => offerKey(work, org.id, description, { createdBy: 'operator', lastsMs: 60_000 }));
  const path = (linkId: string) => new URL(linkUrl('http://x', service.app.secrets, org.id, linkId)).pathname;
  const visit = (method: string, where: string) => ask(service.url, method, where);

  test('makes its key once, by a press of the button, and shows the secret once', async () => {
    const where = path(await offer());
    for (let i = 0; i < 2; i++) {
      const page = await visit('GET', where);
      assert.equal(page.status, 200);
      assert.equal(page.headers['cache-control'], 'no-store');
      assert.doesNotMatch(page.text, /<script|<b>|ars_test_/);
      assert.match(page.text, /Portfolio &quot;of&quot; &lt;b&gt;learners/);
    }
    const pages = await Promise.all([visit('POST', where), visit('POST', where)]);
    const page = pages.find(({ status }) => status === 200)!;
    assert.equal(pages.find((one) => one !== page)!.status, 410);
    const [, id, secret] = /<code>(ARSK\w+)<\/code>.*<code>(ars_test_\w+)<\/code>/s.exec(page.text)!;
    const key = service.client({ access_key_id: id!, secret_access_key: secret! });
    assert.equal((await key.get('/assessments')).status, 200);
    assertRefused(await key.get('/learners'), 404, 'not_found');
    for (const method of ['GET', 'POST']) {
      const after = await visit(method, where);
      assert.equal(after.status, 410);
      assert.ok(!after.text.includes(secret!) && !after.text.includes(id!));
    }
    const [row] = await service.app.db.query('select actor, action, resource from audit where resource = $1', [id]);
    assert.deepEqual(row, { actor: 'vendor', action: 'POST /setup/{link}', resource: id });
    assert.ok(!service.logged.join('').includes(where.slice('/setup/'.length)));
    assert.ok(!service.logged.join('').includes(secret!));
  });

  test('ends after its minutes, and when it is taken back', async () => {
    const [late, back] = [await offer(), await offer()];
    await service.withUnitOfWork((work) => revokeLink(work, org.id, back));
    clock.advance(60_000);
    for (const linkId of [late, back])
      for (const method of ['GET', 'POST']) assert.equal((await visit(method, path(linkId))).status, 410);
    for (const wrong of ['/setup/x', path(org.publicId), path(late).slice(0, -1), `${path(late)}A`])
      for (const method of ['GET', 'POST']) assert.equal((await visit(method, wrong)).status, 404);
  });
});

test('a receipt says what a key may see, and the same key at the same instant gives the same bytes', async () => {
  const scene = await scenario(service);
  const cohort = await scene.group('C1');
  const made = await scene.org.another({ groupIds: [cohort.id], subjects: ['english', 'maths'], purpose: 'Portfolio' });
  const key = (await findKey(service.app.db, scene.org.id, made.key.access_key_id))!;
  const visibility = await scopeInWords(service.app.db, scene.org.id, {
    groupIds: key.group_ids!,
    subjects: key.subjects!,
    networks: [],
  });
  assert.match(visibility.may[0]!, /members of the groups below, in english and maths only/i);
  const of = { organisationName: 'Test College', key, visibility, nowMs: clock.nowMs() };
  const pdf = receiptPdf(of);
  assert.ok(pdf.equals(receiptPdf(of)));
  assert.ok(pdf.subarray(0, 5).equals(Buffer.from('%PDF-')));
  assert.ok(pdf.includes(key.key_id));
});

suite('ars key', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ars-key-'));
  after(() => rm(folder, { recursive: true }));
  const scene = await scenario(service);
  const cohort = await scene.group('C1');
  const { org } = scene;
  const run = (...words: string[]) =>
    begin(['key', ...words, '--json', '--organisation', org.publicId], service.environment, { cwd: folder }).ended;

  test('create, list, roll, receipt, link, unlink and revoke', async () => {
    const described = [
      '--label',
      'Portfolio',
      '--purpose',
      'Plans',
      '--contact',
      'it@example.org',
      '--subject',
      'maths',
    ];
    const created = await run('create', ...described, '--group', cohort.id, '--network', '127.0.0.0/8,::1');
    assert.equal(created.code, 0, created.said);
    const key = service.client(created.json);
    assert.equal((await key.get('/assessments')).status, 200);
    const keyId = created.json.access_key_id as string;
    // The command line goes by the machine's clock, the service by the test's.
    const rolled = await run('roll', keyId, '--until', '2126-01-01');
    assert.equal(rolled.code, 0, rolled.said);
    assert.equal((await service.client(rolled.json).get('/assessments')).status, 200);
    assert.equal((await run('roll', keyId)).code, 1);
    const [listed] = (await run('list')).json.data.filter((one: any) => one.access_key_id === keyId);
    assert.deepEqual(
      [listed.status, listed.purpose, listed.contact, listed.networks, listed.group_ids, listed.subjects],
      ['active', 'Plans', 'it@example.org', ['127.0.0.0/8', '::1/128'], [cohort.id], ['maths']],
    );
    assert.equal(listed.last_used_at, new Date(clock.nowMs()).toISOString());
    assert.equal(listed.replaced_by, rolled.json.access_key_id);
    const receipt = await run('receipt', keyId);
    assert.equal(receipt.code, 0, receipt.said);
    assert.ok((await readFile(join(folder, receipt.json.file))).includes('%PDF-'));
    const link = await run('link', ...described, '--minutes', '5');
    assert.match(link.json.url, /\/setup\/[\w-]{60,}$/);
    assert.equal((await run('unlink', link.json.link_id)).code, 0);
    assert.equal((await ask(service.url, 'POST', new URL(link.json.url).pathname)).status, 410);
    const [shown] = (await run('links')).json.data;
    assert.deepEqual([shown.link_id, shown.status], [link.json.link_id, 'revoked']);
    const revoked = await run('revoke', keyId);
    assert.equal(revoked.json.status, 'revoked');
    assertRefused(await key.get('/assessments'), 401, 'invalid_credentials');
  });

  test('says which option is wrong', async () => {
    const elsewhere = (await service.organisation()).publicId;
    for (const [words, says] of [
      [['--group', elsewhere], /--group must be the IDs of groups/],
      [['--group', 'C1'], /--group must be the IDs of groups/],
      [['--subject', 'art'], /--subject must be one or more of digital, english, maths/],
      [['--network', '10.0.0.1/8'], /--network must be networks/],
      [['--expires', '2020-01-01'], /--expires must lie in the future/],
      [['--purpose', 'AB 12 34 56 C'], /--purpose must be text .* without a National Insurance number/],
      [['--label', ''], /--label must not be empty/],
    ] as [string[], RegExp][]) {
      const { code, said } = await run('create', ...words);
      assert.equal(code, 2, words.join(' '));
      assert.match(said, says);
      assert.doesNotMatch(said, /AB 12/);
    }
  });
});
