import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { keepMs, pruneDeliveries } from '../../../src/integrations/webhooks/retention.ts';
import { redeliverOne, replayRange } from '../../../src/integrations/webhooks/resend.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import {
  pauseEndpoint,
  rotateSecret,
  rotationMs,
  removeEndpoint,
  findEndpoint,
} from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import {
  renewEncryption,
  secretContext,
  signingSecrets,
} from '../../../src/integrations/webhooks/endpoints/secrets.ts';
import { createKeyring } from '../../../src/platform/crypto/keyring.ts';
import { onCitus } from '../../support/postgres.ts';
import { answer } from './receiver.ts';
import { withScene } from './scene.ts';

suite('pruning', async () => {
  const scene = await withScene({ ARS_WEBHOOK_RETRY_SCHEDULE: '1s' });
  const { app } = scene.service;
  const rows = async (table: string) =>
    (
      await app.db.query<{ count: number }>(`select count(*) as count from ${table} where organisation_id = $1`, [
        scene.organisation.id,
      ])
    )[0]!.count;

  test('keeps what is finished, dead letters too, for 30 days and then removes it with its attempts and events', async () => {
    const worker = scene.worker();
    const [healthy, failing] = [await scene.endpoint(), await scene.endpoint({ behaviour: answer(500) })];
    await scene.emit(['ana', 'ben']);
    await scene.settle(worker);
    scene.clock.advance(2_000);
    await scene.settle(worker);
    assert.deepEqual(
      (await scene.deliveries(failing)).map((delivery) => delivery.status),
      ['dead', 'dead'],
    );
    scene.clock.advance(keepMs - 2_000);
    assert.deepEqual(await pruneDeliveries(app), { deliveries: 0, events: 0 });
    assert.equal((await scene.deliveries(healthy)).length, 2);
    // The healthy endpoint's had their attempt two seconds before the dead letters died.
    scene.clock.advance(1);
    assert.deepEqual(await pruneDeliveries(app), { deliveries: 2, events: 0 });
    assert.equal((await scene.deliveries(failing)).length, 2);
    scene.clock.advance(2_000);
    assert.deepEqual(await pruneDeliveries(app), { deliveries: 2, events: 2 });
    assert.deepEqual([await rows('delivery'), await rows('delivery_attempt'), await rows('event')], [0, 0, 0]);
    await worker.stop();
  });

  test('leaves what is sent again at the same moment', { skip: onCitus }, async () => {
    const worker = scene.worker();
    const endpoint = await scene.endpoint();
    await scene.emit(['ana', 'ben']);
    await scene.settle(worker);
    await worker.stop();
    scene.clock.advance(keepMs + 1);
    const [again] = await scene.deliveries(endpoint);
    const [held, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const resending = scene.service.withUnitOfWork(async (work) => {
      assert.equal(await redeliverOne(work, scene.organisation.id, again!.id), null);
      held.resolve();
      await done.promise;
    });
    await Promise.race([held.promise, resending]);
    const pruning = pruneDeliveries(app);
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%delete from delivery%'`;
    while ((await app.db.query(waits)).length === 0) await setTimeout(10);
    done.resolve();
    await resending;
    assert.equal((await pruning).deliveries, 1);
    const left = await scene.deliveries(endpoint);
    assert.deepEqual(
      left.map(({ id, status }) => [id, status]),
      [[again!.id, 'pending']],
    );
    await app.db.query('delete from delivery');
    await app.db.query('delete from event');
  });

  test('passes events that are replayed at the same moment', async () => {
    await scene.emit(['ana']);
    const before = new Date(scene.clock.nowMs() + 1);
    scene.clock.advance(1);
    await scene.emit(['ben']);
    scene.clock.advance(keepMs + 1);
    const later = await scene.endpoint();
    const [held, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const replaying = scene.service.withUnitOfWork(async (work) => {
      assert.equal(await replayRange(work, scene.organisation.id, later.id, new Date(0), before), 1);
      held.resolve();
      await done.promise;
    });
    await Promise.race([held.promise, replaying]);
    const pruning = pruneDeliveries(app);
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%delete from event%'`;
    const waited = async () => {
      while ((await app.db.query(waits)).length === 0) await setTimeout(10);
      return 'waited';
    };
    const came = await Promise.race([pruning, waited()]);
    done.resolve();
    await replaying;
    await pruning;
    assert.deepEqual(came, { deliveries: 0, events: 1 });
    const left = await app.db.query(
      'select d.status from delivery d join event e using (organisation_id, event_id) where d.endpoint_id = $1',
      [later.id],
    );
    assert.deepEqual(left, [{ status: 'pending' }]);
    await app.db.query('delete from delivery');
    await app.db.query('delete from event');
  });

  test('leaves what an active endpoint still waits for, and drops what a paused one has waited for too long', async () => {
    const [active, paused] = [await scene.endpoint(), await scene.endpoint()];
    await scene.emit(['ana']);
    await scene.service.withUnitOfWork((work) => pauseEndpoint(work, scene.organisation.id, paused.id));
    scene.clock.advance(keepMs + 1);
    assert.deepEqual(await pruneDeliveries(app), { deliveries: 1, events: 0 });
    assert.equal((await scene.deliveries(active)).length, 1);
  });

  test('removes the deliveries of a removed endpoint with the others of their time', async () => {
    const endpoint = await scene.endpoint();
    await scene.emit(['ana']);
    await scene.service.withUnitOfWork((work) => removeEndpoint(work, scene.organisation.id, endpoint.id));
    assert.equal((await scene.deliveries(endpoint)).length, 0);
    scene.clock.advance(keepMs + 1);
    await pruneDeliveries(app);
    assert.equal((await app.db.query('select from delivery where endpoint_id = $1', [endpoint.id])).length, 0);
  });

  test('encrypts secrets again when the service has a new one, and forgets rotated ones when their day is over', async () => {
    const endpoint = await scene.endpoint();
    const row = async () => (await findEndpoint(app.db, scene.organisation.id, endpoint.id))!;
    const context = secretContext(scene.organisation.id, endpoint.id);
    await scene.service.withUnitOfWork((work) => rotateSecret(work, scene.organisation.id, endpoint.id));
    const newer = 'another secret of the tests, longer than 32 characters';
    const rekeyed = { ...app, keyring: createKeyring([newer, app.settings.secret!], app.random) };
    assert.equal(await renewEncryption(rekeyed), 1);
    const alone = createKeyring([newer], app.random);
    assert.equal(alone.decrypt((await row()).previous_secret!, context), endpoint.secret);
    assert.match(alone.decrypt((await row()).secret, context), /^whsec_/);
    assert.equal(await renewEncryption(rekeyed), 0);
    scene.clock.advance(rotationMs);
    assert.equal(await renewEncryption(rekeyed), 1);
    assert.deepEqual([(await row()).previous_secret, (await row()).previous_secret_until], [null, null]);
  });

  test('every rotated secret signs until its own day is over, also after the service got a new one', async () => {
    const endpoint = await scene.endpoint();
    const row = async () => (await findEndpoint(app.db, scene.organisation.id, endpoint.id))!;
    const secrets = [endpoint.secret];
    for (let i = 0; i < 3; i++) {
      scene.clock.advance(3600_000);
      const rotated = await scene.service.withUnitOfWork((work) =>
        rotateSecret(work, scene.organisation.id, endpoint.id),
      );
      secrets.unshift(rotated!.secret);
    }
    assert.deepEqual(signingSecrets(app, await row(), scene.clock.nowMs()), secrets);
    const newer = 'one more secret of the tests, longer than 32 characters';
    const rekeyed = { ...app, keyring: createKeyring([newer, app.settings.secret!], app.random) };
    await renewEncryption(rekeyed);
    const alone = { ...app, keyring: createKeyring([newer], app.random) };
    const signed = async () => signingSecrets(alone, await row(), scene.clock.nowMs());
    assert.deepEqual(await signed(), secrets);
    scene.clock.advance(rotationMs - 2 * 3600_000);
    assert.deepEqual(await signed(), secrets.slice(0, 3));
    scene.clock.advance(3600_000);
    assert.deepEqual(await signed(), secrets.slice(0, 2));
    await renewEncryption(alone);
    assert.deepEqual((await row()).earlier_secrets, []);
    assert.deepEqual(await signed(), secrets.slice(0, 2));
  });

  test('as many secrets sign at once as may, and a rotation beyond that says from when it is possible', async () => {
    const endpoint = await scene.endpoint();
    const rotated = () =>
      scene.service.withUnitOfWork((work) => rotateSecret(work, scene.organisation.id, endpoint.id));
    const signing = async () =>
      signingSecrets(app, (await findEndpoint(app.db, scene.organisation.id, endpoint.id))!, scene.clock.nowMs());
    const firstEnds = new Date(scene.clock.nowMs() + rotationMs).toISOString();
    for (let i = 1; i < limits.webhookSecrets; i++) {
      await rotated();
      scene.clock.advance(1000);
    }
    const before = await signing();
    assert.equal(before.length, limits.webhookSecrets);
    await assert.rejects(rotated(), {
      message: new RegExp(`with ${limits.webhookSecrets} secrets already, .* from ${firstEnds}, when the oldest ends`),
    });
    assert.deepEqual(await signing(), before);
    scene.clock.advance(Date.parse(firstEnds) - scene.clock.nowMs());
    const { secret } = (await rotated())!;
    assert.deepEqual(await signing(), [secret, ...before.slice(0, -1)]);
  });

  test("encrypts the other endpoints' secrets again though one can't be read", async () => {
    const [lost, endpoint] = [await scene.endpoint(), await scene.endpoint()].toSorted((a, b) =>
      a.id < b.id ? -1 : 1,
    );
    const strange = createKeyring(['a secret that nobody has any more, longer than 32 characters'], app.random);
    await app.db.query('update webhook_endpoint set secret = $2 where endpoint_id = $1', [
      lost!.id,
      strange.encrypt(lost!.secret, secretContext(scene.organisation.id, lost!.id)),
    ]);
    const newer = 'yet another secret of the tests, longer than 32 characters';
    await renewEncryption({ ...app, keyring: createKeyring([newer, app.settings.secret!], app.random) });
    const { secret } = await scene.row(endpoint!);
    assert.equal(
      createKeyring([newer], app.random).decrypt(secret, secretContext(scene.organisation.id, endpoint!.id)),
      endpoint!.secret,
    );
  });
});
