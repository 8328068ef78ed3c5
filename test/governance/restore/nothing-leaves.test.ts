import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { suite, test } from 'node:test';
import { request } from 'undici';
import { postLetter } from '../../../src/platform/mail/outbox.ts';
import { startMailer } from '../../../src/platform/mail/worker.ts';
import { isPending } from '../../../src/governance/restore/erasures.ts';
import { startMailServer } from '../../platform/mail/mail-server.ts';
import { answer, trustTestAuthority } from '../../integrations/webhooks/receiver.ts';
import { withScene } from '../../integrations/webhooks/scene.ts';

/** What a process sends by itself, or has begun to answer, while a restored database waits for its list. */

suite('while a restore waits for the list of erasures', async () => {
  trustTestAuthority();
  const mails = await startMailServer();
  const from = 'Assessment Results <results@example.org>';
  const scene = await withScene({ ARS_SMTP_URL: mails.url, ARS_MAIL_FROM: from });
  const { organisation, service } = scene;
  const { app } = service;

  const waits = async () => {
    await app.db.query('update lineage set restores = 1, erased_through = 0');
    assert.equal(await isPending(app), true);
  };
  const isApplied = async () => {
    await app.db.query('update lineage set erased_through = 1');
    assert.equal(await isPending(app), false);
  };

  test('no delivery is begun, of those that are queued neither; later each is made', async () => {
    const held: ServerResponse[] = [];
    const endpoint = await scene.endpoint({ behaviour: (_request, response) => void held.push(response) });
    await scene.emit(Array.from({ length: 20 }, (_, i) => `learner-${i}`));
    const worker = scene.worker();
    await endpoint.receiver.arrived(8);
    await waits();
    endpoint.receiver.behave(answer(204));
    for (const response of held) response.writeHead(204).end();
    await worker.settled();
    await scene.emit(['later']);
    worker.wake();
    await worker.settled();
    assert.equal(endpoint.receiver.received.length, 8);
    await isApplied();
    worker.wake();
    await endpoint.receiver.arrived(21);
    await worker.settled();
    assert.equal(endpoint.receiver.received.length, 21);
    await worker.stop();
  });

  test('no mail is sent', async () => {
    const mailer = startMailer(app);
    const letter = { subject: 'News', says: ['It is so.'] };
    await waits();
    await service.withUnitOfWork((work) =>
      postLetter(work, { organisationId: null, cause: 'test', address: 'ana@college.example', letter }),
    );
    await mailer.round();
    assert.equal(mails.received.length, 0);
    await isApplied();
    await mailer.round();
    assert.equal(mails.received.length, 1);
    await mailer.stop();
  });

  test('no read is repeated, and whoever listens is told to come back', async () => {
    const { etag } = (await organisation.get('/learners')).headers;
    const again = async () => (await organisation.get('/learners', { 'if-none-match': etag! })).status;
    assert.deepEqual([await again(), await again()], [304, 304]);
    const { access_key_id: id, secret_access_key: secret } = organisation.key;
    const headers = { 'x-access-key-id': id, 'x-secret-access-key': secret };
    const { body } = await request(`${service.url}/api/v1/events`, { headers });
    const lines = createInterface({ input: body })[Symbol.asyncIterator]();
    assert.equal(JSON.parse((await lines.next()).value!).type, 'open');
    await waits();
    assert.equal(await again(), 503);
    await scene.emit(['one']);
    const last = JSON.parse((await lines.next()).value!);
    assert.deepEqual([last.type, last.reason], ['end', 'stopping']);
    await isApplied();
    assert.equal((await organisation.get('/learners')).status, 200);
  });
});
