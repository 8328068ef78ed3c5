import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createKey, rollKey } from '../../../src/integrations/access-keys/keys.ts';
import { writeOfEndingKeys } from '../../../src/integrations/access-keys/email-templates.ts';
import { updateOrganisation } from '../../../src/organisations/organisations.ts';
import { startMailer } from '../../../src/platform/mail/worker.ts';
import { codeNow, password, personOf, visitor } from '../../web/console/visitor.ts';
import { withService } from '../../support/service.ts';
import { trustTestAuthority } from '../../integrations/webhooks/receiver.ts';
import { readMessage, startMailServer } from './mail-server.ts';

trustTestAuthority();

/** Who is written of what, by what people do at the console. */
suite('letters', async () => {
  const server = await startMailServer();
  const service = await withService({
    own: 'Sends mail.',
    settings: { ARS_SMTP_URL: server.url, ARS_MAIL_FROM: 'results@example.org' },
  });
  const org = await service.organisation({ name: 'Northfield College' });
  const base = `/console/${org.publicId}`;
  const mailer = startMailer(service.app, [writeOfEndingKeys]);
  const owner = await personOf(service, org.id, 'owner', { email: 'owner@college.example' });
  const admin = await personOf(service, org.id, 'admin', { email: 'admin@college.example' });
  const developer = await personOf(service, org.id, 'developer', { email: 'dev@college.example' });
  await personOf(service, org.id, 'tutor', { email: 'tutor@college.example' });
  await mailer.round();

  /** What arrived since the last time: to whom, and what. */
  async function arrived() {
    await mailer.round();
    return server.received
      .splice(0)
      .map((one) => ({ to: one.to.join(), ...readMessage(one.raw) }))
      .sort((a, b) => a.to.localeCompare(b.to));
  }
  const told = async () => (await arrived()).map((one) => `${one.to}: ${one.headers.subject}`);
  /** The ways in a letter, which all lead to the service. */
  const waysIn = (one: { text: string; html: string }) => {
    const ways = [...one.text.matchAll(/https?:\/\/\S+/g), ...one.html.matchAll(/https?:\/\/[^"<\s]+/g)].map(
      (way) => way[0],
    );
    assert.ok(ways.length >= 2 && ways.every((way) => way.startsWith(`${service.url}/`)), ways.join(' '));
    return ways.map((way) => way.slice(service.url.length));
  };
  await arrived();

  test('a colleague is invited by a mail whose link works, and can be copied as well', async () => {
    const page = await owner.post(`${base}/people/invite`, { email: 'Cy@College.example', role: 'tutor' });
    assert.match(page.text, /sending the link to Cy@College\.example/);
    const [one, ...others] = await arrived();
    assert.deepEqual([one!.to, others], ['cy@college.example', []]);
    assert.match(one!.headers.subject!, /^Northfield College invites you/);
    assert.match(one!.text, /Your role is tutor[^]*7 days/);
    const [way] = waysIn(one!);
    assert.ok(page.text.includes(`${service.url}${way}`));
    assert.match((await visitor(service).get(way!)).text, /Northfield College<\/bdi> invites cy@college\.example/);
  });

  test('an invitation that is withdrawn, replaced or used before its mail went is not mailed', async () => {
    for (let i = 0; i < 2; i++)
      await owner.post(`${base}/people/invite`, { email: 'dee@college.example', role: 'tutor' });
    const people = (await owner.get(`${base}/people`)).text;
    const id = /dee@college\.example[^]*?\/invitations\/([0-9a-f-]{36})\/withdraw/.exec(people)![1];
    await owner.post(`${base}/invitations/${id}/withdraw`);
    assert.deepEqual(await told(), []);
  });

  test('a vendor is mailed its link where an address is given, for as long as the link works', async () => {
    const once = service.app.random.uuid();
    const fields = { label: 'OneFile', minutes: '15', once };
    const wrong = await owner.post(`${base}/key-links/create`, { ...fields, email: 'a@b.example\r\nBcc: c@d.example' });
    assert.equal(wrong.status, 422);
    const page = await owner.post(`${base}/key-links/create`, { ...fields, email: 'vendor@onefile.example' });
    await owner.post(`${base}/key-links/create`, { ...fields, email: 'vendor@onefile.example' });
    const [one, ...others] = await arrived();
    assert.deepEqual([one!.to, others], ['vendor@onefile.example', []]);
    const [way] = waysIn(one!);
    assert.ok(page.text.includes(`${service.url}${way}`));
    // Whoever manages the organisation hears of the key that the vendor made.
    assert.equal((await visitor(service).post(way!)).status, 200);
    assert.deepEqual(await told(), [
      'admin@college.example: A key was created for Northfield College',
      'owner@college.example: A key was created for Northfield College',
    ]);
    await owner.post(`${base}/key-links/create`, { label: 'OneFile', minutes: '15', once: service.app.random.uuid() });
    assert.deepEqual(await told(), [], 'without an address');
  });

  test('a key is told of when it is made and rolled, and once before it ends; a rolled one ends in silence', async () => {
    const nowMs = service.app.clock.nowMs();
    const make = (days: number, label: string) =>
      service.withUnitOfWork((work) =>
        createKey(work, org.id, { label, kind: 'live', expiresAt: new Date(nowMs + days * 86_400_000) }),
      );
    const soon = await make(10, 'see https://evil.example');
    const rolled = await make(11, 'Another');
    await make(30, 'Later');
    assert.equal((await told()).filter((one) => one.includes('A key was created')).length, 6);
    server.received.length = 0;
    await service.app.db.query('update access_key set ending_told_at = null');
    await service.app.db.query('delete from mail');
    const until = new Date(nowMs + 2 * 86_400_000);
    await service.withUnitOfWork((work) =>
      rollKey(work, org.id, rolled.access_key_id, { until, kind: 'live', expiresAt: null }),
    );
    const all = await arrived();
    const rolls = all.filter((one) => one.headers.subject === 'A key was rotated for Northfield College');
    assert.deepEqual(
      rolls.map((one) => one.to),
      ['admin@college.example', 'owner@college.example'],
    );
    const ends = all.filter((one) => one.headers.subject!.startsWith('A key of Northfield College ends on'));
    assert.deepEqual(
      ends.map((one) => one.to),
      ['admin@college.example', 'dev@college.example', 'owner@college.example'],
    );
    assert.ok(ends.every((one) => one.text.includes(soon.access_key_id)));
    assert.equal(rolls.length + ends.length, all.length);
    for (const one of all) assert.ok(waysIn(one).every((way) => way.startsWith(`${base}/keys/`)));
    assert.deepEqual(await told(), []);
  });

  test('the mailbox that the organisation has set for notices is told with its admins, and once', async () => {
    const set = (address: string) =>
      service.withUnitOfWork((work) =>
        updateOrganisation(work, org.id, { notices_email: address === '' ? null : address }),
      );
    const made = () => service.withUnitOfWork((work) => createKey(work, org.id, { label: 'Boxed', kind: 'live' }));
    await set('data@college.example');
    await made();
    assert.deepEqual(
      (await arrived()).map(({ to }) => to),
      ['admin@college.example', 'data@college.example', 'owner@college.example'],
    );
    await set('owner@college.example');
    await made();
    assert.equal((await told()).length, 2, 'one letter for each address');
    await set('');
    await made();
    assert.equal((await told()).length, 2);
  });

  test('a person hears of what changed in how they prove who they are, and nobody else does', async () => {
    assert.equal(
      (await admin.post('/console/account/password', { present: password, password: 'several-other-words-7' })).status,
      303,
    );
    assert.deepEqual(await told(), ['admin@college.example: Your password was changed']);

    const page = await developer.get('/console/account/second-factor');
    const secret = /<code>([A-Z2-7 ]{39,})<\/code>/.exec(page.text)![1]!.replaceAll(' ', '');
    const done = await developer.post('/console/account/second-factor', { code: codeNow(service, secret) });
    assert.deepEqual(await told(), ['dev@college.example: Your second factor was set up']);

    const [code] = /[a-z2-7]{4}(?:-[a-z2-7]{4}){5}/.exec(done.text)!;
    assert.equal((await developer.post('/console/confirm', { code })).status, 303);
    const [used, ...others] = await arrived();
    assert.deepEqual(
      [used!.to, used!.headers.subject, others],
      ['dev@college.example', 'A recovery code was used', []],
    );
    assert.match(used!.text, /7 are left/);
    assert.ok(waysIn(used!).every((way) => way === '/console/account'));

    // A wrong code or password changes nothing, and is told to nobody.
    await developer.post('/console/confirm', { code });
    await admin.post('/console/account/password', { present: password, password: 'several-other-words-8' });
    assert.deepEqual(await told(), []);
  });

  test('somebody whose account is replaced by a new one hears of it', async () => {
    await owner.post(`${base}/people/${admin.userId}/link`);
    const [invited] = await arrived();
    assert.equal(invited!.to, 'admin@college.example');
    const joined = await visitor(service).post(waysIn(invited!)[0]!, {
      full_name: 'Eve',
      password: 'words-that-eve-chose',
    });
    assert.equal(joined.status, 303);
    assert.deepEqual(await told(), ['admin@college.example: Your account was replaced']);
  });

  test('without a mail server nothing is written, no field asks for an address, and links are there', async () => {
    await service.app.db.query('delete from mail');
    const plain = await service.sibling({ settings: { ARS_SMTP_URL: '', ARS_MAIL_FROM: '' } });
    const one = visitor(plain, `session-${new URL(plain.url).port}=${owner.cookie!.split('=')[1]}`);
    const page = await one.post(`${base}/people/invite`, { email: 'fay@college.example', role: 'tutor' });
    assert.match(page.text, /Send the link only to fay@college\.example[^]*\/console\/invitation\//);
    assert.doesNotMatch((await one.get(`${base}/key-links/create`)).text, /name="email"/);
    await plain.withUnitOfWork((work) => createKey(work, org.id, { label: 'Quiet', kind: 'live' }));
    await startMailer(plain.app).round();
    assert.deepEqual(await plain.app.db.query('select 1 from mail'), []);
    await plain.stop();
  });
});
