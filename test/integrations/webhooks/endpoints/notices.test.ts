import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../../../src/platform/time/clock.ts';
import { startMailer } from '../../../../src/platform/mail/worker.ts';
import { noticeAfterMs } from '../../../../src/integrations/webhooks/endpoints/health.ts';
import { editEndpoint } from '../../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { writeOfEndpoints } from '../../../../src/integrations/webhooks/endpoints/notices.ts';
import type { Outcome } from '../../../../src/integrations/webhooks/outcome.ts';
import { Recorder } from '../../../../src/integrations/webhooks/outcome.ts';
import { personOf } from '../../../web/console/visitor.ts';
import { readMessage, startMailServer } from '../../../platform/mail/mail-server.ts';
import { caFile } from '../receiver.ts';
import type { Endpoint } from '../scene.ts';
import { withScene } from '../scene.ts';

const minuteMs = 60_000;

suite('notices of endpoints', async () => {
  const mail = await startMailServer();
  const scene = await withScene({ ARS_SMTP_URL: mail.url, ARS_MAIL_FROM: 'results@example.org' });
  const { service, organisation, clock } = scene;
  const { app } = service;
  const startMs = clock.nowMs();
  const connections = [app.db.dedicated(), app.db.dedicated()];
  const recorders = connections.map((connection) => new Recorder(connection));
  after(async () => {
    for (const recorder of recorders) recorder.stop();
    await Promise.all(connections.map((connection) => connection.close()));
  });

  const noticesOf = async (endpoint: Endpoint) => {
    const rows = await app.db.query<{ kind: string; at: Date; since: Date | null }>(
      'select kind, at, since from endpoint_notice where endpoint_id = $1 order by at, kind desc',
      [endpoint.id],
    );
    return rows.map(({ kind, at, since }) => `${kind} at ${minutes(at)} since ${minutes(since)}`);
  };
  const minutes = (date: Date | null) => (date === null ? null : (date.getTime() - startMs) / minuteMs);

  type Kind = 'ok' | 'fails' | 'gone';
  type Try = [kind: Kind, endedMinutes: number, more?: { began?: number; by?: 0 | 1 }];
  const outcomeOf = (endpoint: Endpoint, deliveryId: string, [kind, ended, { began = ended } = {}]: Try): Outcome => ({
    organisationId: organisation.id,
    endpointId: endpoint.id,
    deliveryId,
    attemptsBefore: 0,
    resentAfter: 0,
    status: kind === 'ok' ? 'succeeded' : 'dead',
    nextAttemptMs: null,
    atMs: startMs + began * minuteMs,
    endedMs: startMs + ended * minuteMs,
    statusCode: kind === 'ok' ? 204 : kind === 'gone' ? 410 : 500,
    durationMs: 7,
    error: null,
    sent: null,
  });

  /** Records attempts on an endpoint of their own: those of one list at the same moment, lists one after the other. */
  async function recorded(together: Try[][], between: (endpoint: Endpoint) => Promise<void> = async () => {}) {
    const endpoint = await scene.endpoint();
    const count = together.flat().length;
    await scene.emit(Array.from({ length: count }, (_, i) => `learner-${i}`));
    const ids = (await scene.deliveries(endpoint)).map((delivery) => delivery.id);
    for (const tries of together) {
      const writing = tries.map((one) => recorderOf(one).record(outcomeOf(endpoint, ids.pop()!, one)).written);
      await Promise.all(writing);
      await between(endpoint);
    }
    return endpoint;
  }
  const recorderOf = ([, , more]: Try): Recorder => recorders[more?.by ?? 0]!;

  const sequences: [
    what: string,
    together: Try[][],
    notices: string[],
    failingSince: number | null,
    status?: string,
  ][] = [
    ['a hiccup is no news', [[['fails', 1]], [['fails', 15]], [['ok', 16]]], [], null],
    [
      'failing and recovering are told once each',
      [[['fails', 1]], [['fails', 16]], [['fails', 20]], [['ok', 30]], [['ok', 31]]],
      ['failing at 16 since 1', 'recovered at 30 since 1'],
      null,
    ],
    [
      'each change anew',
      [[['fails', 1]], [['fails', 16]], [['ok', 17]], [['fails', 18]], [['fails', 33]]],
      ['failing at 16 since 1', 'recovered at 17 since 1', 'failing at 33 since 18'],
      18,
    ],
    [
      'in one batch a success begins the count anew',
      [
        [['fails', 1]],
        [
          ['fails', 16],
          ['ok', 17],
          ['fails', 18],
          ['fails', 19],
        ],
      ],
      [],
      18,
    ],
    [
      'in one batch what came before the success does not count',
      [
        [['fails', 1]],
        [['fails', 16]],
        [
          ['ok', 40],
          ['fails', 39],
        ],
      ],
      ['failing at 16 since 1', 'recovered at 40 since 1'],
      null,
    ],
    [
      'one batch that lasts long enough is told of',
      [
        [
          ['fails', 1],
          ['fails', 17],
        ],
      ],
      ['failing at 17 since 1'],
      1,
    ],
    [
      'a success from before the failures, recorded late, ends nothing',
      [[['fails', 5]], [['ok', 4]], [['fails', 20]]],
      ['failing at 20 since 5'],
      5,
    ],
    [
      '410 disables, and is told instead of failing',
      [[['fails', 1]], [['gone', 20]], [['fails', 21]]],
      ['disabled at 20 since 1'],
      1,
      'disabled',
    ],
    [
      'five days disable',
      [[['fails', 0]], [['fails', 60]], [['fails', 5 * 24 * 60]]],
      ['failing at 60 since 0', 'disabled at 7200 since 0'],
      0,
      'disabled',
    ],
  ];
  for (const [what, together, notices, failingSince, status = 'active'] of sequences)
    test(what, async () => {
      const endpoint = await recorded(together);
      assert.deepEqual(await noticesOf(endpoint), notices);
      const row = await scene.row(endpoint);
      assert.deepEqual([minutes(row.failing_since), row.status], [failingSince, status]);
    });

  test('two workers that record at the same moment tell one thing once', async () => {
    const many = (kind: Kind, from: number): Try[] =>
      Array.from({ length: 12 }, (_, i) => [kind, from + i, { by: (i % 2) as 0 | 1 }]);
    const endpoint = await recorded([many('fails', 1), many('fails', 30), many('ok', 50), many('ok', 70)]);
    const kinds = (await noticesOf(endpoint)).map((one) => one.split(' ')[0]);
    assert.deepEqual(kinds, ['failing', 'recovered']);
    assert.equal((await scene.row(endpoint)).failing_since, null);
  });

  test('what is recorded twice is told once', async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana', 'ben']);
    const ids = (await scene.deliveries(endpoint)).map((delivery) => delivery.id);
    const outcomes = (['1', '16'] as const).map((at, i) => outcomeOf(endpoint, ids[i]!, ['fails', Number(at)]));
    for (let i = 0; i < 2; i++)
      for (const recorder of recorders) for (const one of outcomes) await recorder.record(one).written;
    assert.deepEqual(await noticesOf(endpoint), ['failing at 16 since 1']);
  });

  test('an attempt on the address of before neither disables the new one nor begins its record', async () => {
    const endpoint = await recorded([[['fails', 1]], [['gone', 20, { began: -1 }]]], async (one) => {
      const given = { url: 'https://new.example.org/', eventTypes: ['learner.groups.updated'], groupIds: null };
      await service.withUnitOfWork((work) => editEndpoint(work, organisation.id, one.id, given));
    });
    const row = await scene.row(endpoint);
    assert.deepEqual([row.status, row.failing_since], ['active', null]);
    assert.deepEqual(await noticesOf(endpoint), []);
  });

  test('owners, admins and integration developers are written to, once, by whichever worker looks first', async () => {
    for (const role of ['owner', 'admin', 'developer', 'reviewer', 'tutor', 'auditor'] as const)
      await personOf(service, organisation.id, role, { email: `${role}@college.example` });
    await app.db.query('update endpoint_notice set told_at = at');
    const endpoint = await recorded([[['fails', 1]], [['fails', 16]], [['ok', 30]]]);
    const mailers = [0, 1].map(() => startMailer(app, [writeOfEndpoints]));
    for (let i = 0; i < 2; i++) await Promise.all(mailers.map((one) => one.round()));
    await Promise.all(mailers.map((one) => one.stop()));
    const letters = mail.received.map((one) => ({ to: one.to.join(), ...readMessage(one.raw) }));
    const name = 'Test College';
    const subjects = ['started failing', 'recovered'].map((word) => `A webhook endpoint of ${name} has ${word}`);
    const people = ['admin', 'developer', 'owner'].map((role) => `${role}@college.example`);
    assert.deepEqual(
      letters.map((one) => `${one.to} ${one.headers.subject}`).sort(),
      people.flatMap((to) => subjects.map((subject) => `${to} ${subject}`)).sort(),
    );
    const way = `${service.url}/console/${organisation.publicId}/webhooks/${endpoint.id}`;
    for (const one of letters) {
      assert.ok(one.text.includes(way) && one.html.includes(`href="${way}"`));
      const said = `${one.text}${one.html}`.replaceAll(service.url, '');
      assert.ok(!said.includes(new URL(endpoint.receiver.url).hostname), 'mail programs make links of hosts');
      assert.doesNotMatch(one.text.replaceAll(service.url, ''), /https?:/);
    }
  });

  test('a worker killed between a delivery and its notice: the recovery is told once', async () => {
    const endpoint = await scene.endpoint();
    const long = new Date(systemClock.nowMs() - 4 * noticeAfterMs);
    // By the clock of a process of its own.
    await app.db.query(
      'update webhook_endpoint set failing_since = $2, noticed_at = $2, updated_at = $2 where endpoint_id = $1',
      [endpoint.id, long],
    );
    await scene.emit(Array.from({ length: 40 }, (_, i) => `learner-${i}`));
    const serve = () =>
      spawn(
        process.execPath,
        [fileURLToPath(new URL('../../../../cli/ars.ts', import.meta.url)), 'serve', '--role', 'worker'],
        {
          stdio: 'ignore',
          env: {
            ...process.env,
            DATABASE_URL: service.databaseUrl,
            ARS_SECRET: app.settings.secret,
            ARS_LOG: 'none',
            ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8',
            NODE_EXTRA_CA_CERTS: caFile,
          },
        },
      );
    const first = serve();
    await endpoint.receiver.arrived(1);
    first.kill('SIGKILL');
    await once(first, 'exit');
    const told = async () => {
      const [row] = await app.db.query<{ succeeded: number; recovered: number; failing: boolean }>(
        `select (select count(*) from delivery where endpoint_id = $1 and status = 'succeeded') as succeeded, failing_since is not null as failing,
                (select count(*) from endpoint_notice where endpoint_id = $1 and kind = 'recovered') as recovered
           from webhook_endpoint where endpoint_id = $1`,
        [endpoint.id],
      );
      return row!;
    };
    const { succeeded, recovered, failing } = await told();
    assert.deepEqual([recovered, failing], succeeded > 0 ? [1, false] : [0, true]);
    await app.db.query('update webhook_endpoint set leased_until = null');
    const second = serve();
    while ((await told()).succeeded < 40) await endpoint.receiver.arrived(endpoint.receiver.received.length);
    second.kill('SIGTERM');
    assert.deepEqual(await once(second, 'exit'), [0, null]);
    assert.deepEqual(await told(), { succeeded: 40, recovered: 1, failing: false });
  });
});
