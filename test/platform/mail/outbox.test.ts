import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { manualClock } from '../time/manual-clock.ts';
import { resumeOrganisation, suspendOrganisation } from '../../../src/governance/offboarding/suspend.ts';
import { startMailer } from '../../../src/platform/mail/worker.ts';
import { cancelLetter, mailsHeldBy, outboxBacklog, postLetter } from '../../../src/platform/mail/outbox.ts';
import { readOrganisation } from '../../../src/organisations/organisations.ts';
import { withService } from '../../support/service.ts';
import { trustTestAuthority } from '../../integrations/webhooks/receiver.ts';
import { readMessage, startMailServer } from './mail-server.ts';

trustTestAuthority();
const minuteMs = 60_000;
const from = 'Assessment Results <results@example.org>';
const clock = manualClock(Date.UTC(2026, 0, 31, 9));

suite('the outbox', async () => {
  const server = await startMailServer();
  const service = await withService({
    own: 'Moves the clock.',
    clock,
    settings: { ARS_SMTP_URL: server.url, ARS_MAIL_FROM: from },
  });
  const { app } = service;
  const mailer = startMailer(app);
  const letter = { subject: 'News', says: ['It is so.', { to: '/console/account', label: 'Your account' }] } as const;
  let count = 0;
  const post = (given: Partial<Parameters<typeof postLetter>[1]> = {}) =>
    service.withUnitOfWork((work) =>
      postLetter(work, {
        organisationId: null,
        cause: `test ${'cause' in given ? count : ++count}`,
        address: 'ana@college.example',
        letter,
        ...given,
      }),
    );
  const rows = () =>
    app.db.query<{ cause: string; status: string; sealed: Buffer | null; attempts: number }>(
      'select cause, status, sealed, attempts from mail order by created_at, cause',
    );
  const lastRow = async () => (await rows()).find((row) => row.cause === `test ${count}`)!;
  const arrivals = async () => {
    const before = server.received.length;
    await mailer.round();
    return server.received.slice(before);
  };

  test('a letter arrives once, as text and as HTML, and is then forgotten', async () => {
    assert.ok(await post());
    assert.equal(await post({ cause: `test ${count}` }), false, 'nobody is told of one thing twice');
    const [one, ...others] = await arrivals();
    assert.deepEqual(others, []);
    assert.deepEqual([one!.from, one!.to, one!.secure], ['results@example.org', ['ana@college.example'], true]);
    const { headers, text, html } = readMessage(one!.raw);
    assert.equal(headers.from, from);
    assert.equal(headers.to, 'ana@college.example');
    assert.equal(headers.subject, 'News');
    assert.equal(headers['auto-submitted'], 'auto-generated');
    assert.match(headers['message-id']!, /^<[0-9a-f-]{36}@example\.org>$/);
    assert.match(text, new RegExp(`It is so\\.\\s+Your account:\\s+${service.url}/console/account\\s`));
    assert.match(
      html,
      new RegExp(`<p>It is so\\.</p>\\s*<p><a href="${service.url}/console/account">Your account</a></p>`),
    );
    assert.deepEqual(await lastRow(), { cause: `test ${count}`, status: 'sent', sealed: null, attempts: 1 });
    assert.deepEqual(await arrivals(), []);
    assert.equal(await post({ cause: `test ${count}` }), false, 'nor after it has gone');
  });

  test('addresses and subjects add no header and no recipient', async () => {
    for (const address of [
      'ana@college.example\r\nBcc: eve@example.org',
      'ana@college.example, eve@example.org',
      '<a@b.example>',
      'a@b.example>',
      '',
    ])
      assert.equal(await post({ address }), false, address);
    await post({ letter: { subject: 'News\r\nBcc: eve@example.org\r\n\r\nAnd a body', says: ['.\r\nQUIT\r\n.'] } });
    const [one] = await arrivals();
    const { headers, text } = readMessage(one!.raw);
    assert.deepEqual(one!.to, ['ana@college.example']);
    assert.deepEqual(
      Object.keys(headers).filter((name) => /cc/.test(name)),
      [],
    );
    assert.match(headers.subject!, /^News Bcc: eve@example\.org/);
    assert.match(text, /^\.\s+QUIT\s+\.\s*$/);
  });

  test('what is taken back or too old is not sent', async () => {
    await post();
    await service.withUnitOfWork((work) => cancelLetter(work, `test ${count}`));
    await post({ expiresMs: clock.nowMs() + minuteMs });
    clock.advance(2 * minuteMs);
    assert.deepEqual(await arrivals(), []);
    assert.deepEqual({ ...(await lastRow()), cause: '' }, { cause: '', status: 'expired', sealed: null, attempts: 0 });
  });

  test('what an organisation has to say waits while it is suspended, and is no mail that is stuck', async () => {
    const { id } = await service.organisation();
    await service.withUnitOfWork((work) => suspendOrganisation(work, id, 'The end'));
    await post({ organisationId: id });
    await post();
    assert.equal((await arrivals()).length, 1, 'others go');
    clock.advance(60 * minuteMs);
    assert.deepEqual(await arrivals(), []);
    assert.equal((await outboxBacklog(app.db)).count, 0);
    await service.withUnitOfWork(async (work) => resumeOrganisation(work, await readOrganisation(work.tx, id)));
    assert.equal((await outboxBacklog(app.db)).count, 1);
    assert.equal((await arrivals()).length, 1);
    await service.withUnitOfWork((work) => suspendOrganisation(work, id, 'The end'));
    await post({ organisationId: id, expiresMs: clock.nowMs() + minuteMs });
    clock.advance(2 * minuteMs);
    assert.deepEqual(await arrivals(), []);
    const { status, sealed } = await lastRow();
    assert.deepEqual({ status, sealed }, { status: 'expired', sealed: null });
  });

  test('what is taken back while it is handed over is never tried again', async () => {
    await post();
    const outbox = mailsHeldBy(app.random.uuid(), app.db, clock);
    const [held] = await outbox.take(minuteMs, 10);
    assert.ok(await outbox.begin(held!.mail_id));
    await service.withUnitOfWork((work) => cancelLetter(work, held!.cause));
    assert.equal((await lastRow()).status, 'sending');
    await outbox.putOff(held!.mail_id, minuteMs);
    const { status, sealed } = await lastRow();
    assert.deepEqual({ status, sealed }, { status: 'expired', sealed: null });
    clock.advance(2 * minuteMs);
    assert.deepEqual(await arrivals(), []);
  });

  test('what the server certainly does not have is tried again, later and later', async () => {
    for (const behaviour of ['busy', 'cut_before_data', 'refuse_sender'] as const) {
      await post();
      server.behave(behaviour);
      assert.deepEqual(await arrivals(), []);
      assert.equal((await lastRow()).status, 'waiting', behaviour);
      server.behave('take');
      assert.deepEqual(await arrivals(), [], 'not at once');
      clock.advance(minuteMs);
      assert.equal((await arrivals()).length, 1, behaviour);
    }
  });

  test("one recipient's full mailbox is not mail that is stuck; a server that takes none is, also beside it", async () => {
    const minutes = async () => {
      const { count: waiting, oldestMs, stuckMs } = await outboxBacklog(app.db);
      const since = (ms: number | null) => (ms === null ? null : (clock.nowMs() - ms) / minuteMs);
      return { waiting, oldest: since(oldestMs), stuck: since(stuckMs) };
    };
    assert.deepEqual(await minutes(), { waiting: 0, oldest: null, stuck: null });
    await post();
    server.behave('busy');
    assert.deepEqual(await arrivals(), []);
    clock.advance(20 * minuteMs);
    assert.deepEqual(await minutes(), { waiting: 1, oldest: 20, stuck: 20 });
    await mailer.round();
    server.behave('take');
    await post();
    assert.equal((await arrivals()).length, 1, 'the first one waits');
    clock.advance(minuteMs);
    assert.deepEqual(await minutes(), { waiting: 1, oldest: 21, stuck: 1 });
    await post();
    server.behave('busy');
    assert.deepEqual(await arrivals(), []);
    clock.advance(40 * minuteMs);
    assert.deepEqual(await minutes(), { waiting: 2, oldest: 61, stuck: 41 });
    server.behave('take');
    assert.equal((await arrivals()).length, 2);
    assert.deepEqual(await minutes(), { waiting: 0, oldest: null, stuck: null });
  });

  test('where it may have arrived it is never sent again, and what is refused for good is not either', async () => {
    for (const [behaviour, status] of [
      ['cut_after_data', 'unknown'],
      ['refuse_recipient', 'refused'],
    ] as const) {
      await post();
      server.behave(behaviour);
      await mailer.round();
      server.behave('take');
      assert.equal((await lastRow()).status, status);
      assert.equal((await lastRow()).sealed, null);
      clock.advance(24 * 60 * minuteMs);
      assert.deepEqual(await arrivals(), []);
    }
  });

  test('a worker that died before it began is followed by another; one that died while handing over is not', async () => {
    const dead = mailsHeldBy(app.random.uuid(), app.db, clock);
    await post();
    await post();
    const held = await dead.take(minuteMs, 10);
    assert.equal(held.length, 2);
    assert.ok(await dead.begin(held[0]!.mail_id));
    assert.deepEqual(await arrivals(), [], 'they are in its hands');
    clock.advance(2 * minuteMs);
    assert.equal(await dead.begin(held[1]!.mail_id), false, 'its time is over');
    assert.equal((await arrivals()).length, 1);
    const states = (await rows()).filter((row) => held.some((one) => one.cause === row.cause));
    assert.deepEqual(states.map((row) => row.status).sort(), ['sent', 'unknown']);
  });

  test('two workers at once send each letter once', async () => {
    for (let i = 0; i < 30; i++) await post({ address: `person-${i}@college.example` });
    const before = server.received.length;
    const other = startMailer(app);
    await Promise.all([mailer.round(), other.round(), mailer.round()]);
    await other.stop();
    const to = server.received.slice(before).map((one) => one.to[0]);
    assert.equal(to.length, 30);
    assert.equal(new Set(to).size, 30);
  });

  test('neither the log nor the table names anybody', async () => {
    assert.ok(service.logged.some((line) => line.includes('mail.attempt')));
    assert.doesNotMatch(service.logged.join(''), /college\.example|is no good/);
    const [{ text }] = (await app.db.query<{ text: string }>(
      "select string_agg(m::text, ' ') as text from mail m",
    )) as [{ text: string }];
    assert.doesNotMatch(text, /college/);
  });
});
