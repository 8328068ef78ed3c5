import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { startMailer } from '../../../src/platform/mail/worker.ts';
import { postLetter } from '../../../src/platform/mail/outbox.ts';
import type { TestService } from '../../support/service.ts';
import { withService } from '../../support/service.ts';
import { trustTestAuthority } from '../../integrations/webhooks/receiver.ts';
import type { MailServer } from './mail-server.ts';
import { startMailServer } from './mail-server.ts';

trustTestAuthority();

suite('the mail server', async () => {
  const service = await withService({ own: 'Sends all mails of the database.' });
  const login = { user: 'results@example.org', password: 'p@ss:word/%' };
  let count = 0;

  /** One letter by a service with this mail server; what is left to send is forgotten. */
  async function sends(url: string): Promise<{ status: string; said: string; sibling: TestService }> {
    const sibling = await service.sibling({ settings: { ARS_SMTP_URL: url, ARS_MAIL_FROM: 'results@example.org' } });
    const cause = `test ${++count}`;
    const letter = { subject: 'News', says: ['It is so.'] };
    await sibling.withUnitOfWork((work) =>
      postLetter(work, { organisationId: null, cause, address: 'ana@college.example', letter }),
    );
    const mailer = startMailer(sibling.app);
    await mailer.round();
    await mailer.stop();
    const [row] = await service.app.db.query<{ status: string }>('delete from mail where cause = $1 returning status', [
      cause,
    ]);
    const said = sibling.logged.join('');
    await sibling.stop();
    return { status: row!.status, said, sibling };
  }

  for (const tls of ['always', 'starttls', 'off'] as const)
    test(`takes mail with a login, TLS: ${tls}`, async () => {
      const server = await startMailServer({ tls, login });
      assert.equal((await sends(server.url)).status, 'sent');
      assert.deepEqual(
        server.received.map(({ secure, user }) => ({ secure, user })),
        [{ secure: tls !== 'off', user: login.user }],
      );
    });

  for (const pipelining of [true, false])
    for (const [behaviour, status, sessions] of [
      ['refuse_bad', 'refused', 1],
      ['cut_bad', 'waiting', 2],
    ] as const)
      test(`${behaviour}, pipelining: ${pipelining}: one that isn't taken puts off none of the others`, async () => {
        const server = await startMailServer({ pipelining });
        server.behave(behaviour);
        const sibling = await service.sibling({
          settings: { ARS_SMTP_URL: server.url, ARS_MAIL_FROM: 'results@example.org' },
        });
        const letter = { subject: 'News', says: ['It is so.'] };
        const names = ['ana', 'bad', 'ben', 'cleo'];
        for (const name of names)
          await sibling.withUnitOfWork((work) =>
            postLetter(work, { organisationId: null, cause: name, address: `${name}@college.example`, letter }),
          );
        // In their order.
        await service.app.db.query(
          `update mail set next_attempt_at = next_attempt_at - (9 - array_position($1::text[], cause)) * interval '1 second'`,
          [names],
        );
        const mailer = startMailer(sibling.app);
        await mailer.round();
        await mailer.stop();
        await sibling.stop();
        const rows = await service.app.db.query<{ cause: string; status: string }>(
          'delete from mail returning cause, status, attempts',
        );
        assert.deepEqual(
          rows.sort((a, b) => a.cause.localeCompare(b.cause)),
          names.map((cause) => ({ cause, status: cause === 'bad' ? status : 'sent', attempts: 1 })),
        );
        assert.equal(server.received.length, 3);
        assert.equal(server.sessions, sessions);
      });

  const refusals: [what: string, server: () => Promise<MailServer>, url: (url: string) => string][] = [
    ['does not offer STARTTLS', () => startMailServer({ tls: 'off' }), (url) => url.replace('?starttls=off', '')],
    [
      'is not whom its certificate names',
      () => startMailServer({ tls: 'always' }),
      (url) => url.replace('localhost', '127.0.0.3'),
    ],
    ['wants another password', () => startMailServer({ login }), (url) => url.replace(/:[^:@]+@/, ':wrong@')],
  ];
  for (const [what, start, urlOf] of refusals)
    test(`gets nothing when it ${what}; the letter waits`, async () => {
      const server = await start();
      const { status, said } = await sends(urlOf(server.url));
      assert.equal(status, 'waiting');
      assert.deepEqual(server.received, []);
      assert.match(said, /"event":"mail\.server_unreachable"/);
      assert.doesNotMatch(said, /wrong|college\.example|example\.org/);
    });

  test('that is dead or silent holds up neither start nor requests nor stop', async () => {
    const silent = await startMailServer();
    silent.behave('silent');
    const sibling = await service.sibling({
      role: 'all',
      settings: { ARS_SMTP_URL: silent.url, ARS_MAIL_FROM: 'results@example.org' },
    });
    const letter = { subject: 'News', says: ['It is so.'] };
    await sibling.withUnitOfWork((work) =>
      postLetter(work, { organisationId: null, cause: 'test silent', address: 'ana@college.example', letter }),
    );
    const mailer = startMailer(sibling.app);
    // It hangs here for as long as the server is silent.
    void mailer.round();
    assert.equal((await sibling.client(null).get('/health')).status, 401);
    await Promise.all([mailer.stop(), sibling.stop()]);
    const [row] = await service.app.db.query<{ status: string }>("select status from mail where cause = 'test silent'");
    assert.equal(row!.status, 'waiting');
  });
});
