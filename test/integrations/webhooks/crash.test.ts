// Tier: full. Kills services.
import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { App } from '../../../src/platform/app.ts';
import { readPostmaster } from '../../../src/platform/db/embedded/cluster.ts';
import { startEmbedded } from '../../../src/platform/db/embedded/embedded.ts';
import { withUnitOfWork } from '../../../src/platform/db/unit-of-work.ts';
import { emitGroupsUpdated } from '../../../src/feed/events/emit.ts';
import { lockFeed } from '../../../src/feed/position.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { createOrganisation } from '../../../src/organisations/organisations.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { registerEndpoint } from '../../../src/integrations/webhooks/endpoints/endpoints.ts';
import { DeliveryWorker } from '../../../src/integrations/webhooks/worker.ts';
import { withService } from '../../support/service.ts';
import type { Receiver } from './receiver.ts';
import { caFile, startReceiver, trustTestAuthority } from './receiver.ts';

/** Law: a committed event reaches every subscribed endpoint, whatever dies in the meantime, and almost never twice. */

const count = 10_000;
const crashAt = 3_000;
const maxRepeats = count / 1000;
/** Longer than that only where something never comes. */
const patience = { timeout: 400_000 };
const allowed = { ARS_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' };

async function organisationWithBacklog(app: App, url: string): Promise<number> {
  const organisationId = await withUnitOfWork(app, null, async (work) => {
    const made = await createOrganisation(work, {
      name: 'Test College',
      plan: 'unlimited',
      credits: 0,
      groupAutocreate: true,
    });
    await registerEndpoint(work, made.organisation_id, { url, eventTypes: ['learner.groups.updated'], groupIds: null });
    return made.organisation_id;
  });
  for (let done = 0; done < count; done += 1000) {
    await withUnitOfWork(app, null, async (work) => {
      await lockFeed(work, organisationId);
      await emitGroupsUpdated(
        work,
        organisationId,
        Array.from({ length: 1000 }, (_, i) => ({ learner_ref: `learner-${done + i}`, added: [], removed: [] })),
      );
    });
  }
  return organisationId;
}

/** Waits until every one of the deliveries has arrived at least once; answers how many arrived again. */
async function repeats(receiver: Receiver): Promise<number> {
  for (;;) {
    const distinct = new Set(receiver.received.map((request) => request.headers['x-svc-delivery-id'])).size;
    if (distinct === count) return receiver.received.length - distinct;
    await receiver.arrived(receiver.received.length + count - distinct);
  }
}

async function undelivered(app: App, organisationId: number): Promise<number> {
  return (
    await app.db.query<{ count: number }>(
      "select count(*) as count from delivery where organisation_id = $1 and status <> 'succeeded'",
      [organisationId],
    )
  )[0]!.count;
}

const ars = fileURLToPath(new URL('../../../cli/ars.ts', import.meta.url));

suite('10,000 deliveries', async () => {
  const service = await withService({ own: 'Calls addresses of this machine.', settings: allowed });
  const serve = (role: string): ChildProcess =>
    spawn(process.execPath, [ars, 'serve', '--role', role], {
      stdio: 'ignore',
      env: {
        ...process.env,
        DATABASE_URL: service.databaseUrl,
        ARS_SECRET: service.app.settings.secret,
        ARS_PORT: '0',
        ARS_LOG: 'none',
        NODE_EXTRA_CA_CERTS: caFile,
        ...allowed,
      },
    });

  for (const [what, role] of [
    ['the worker', 'worker'],
    ['the server', 'all'],
  ] as const) {
    test(`all arrive when ${what} is killed in the middle, fewer than one in a thousand twice`, patience, async () => {
      const receiver = await startReceiver();
      after(() => receiver.close());
      const organisationId = await organisationWithBacklog(service.app, receiver.url);
      const first = serve(role);
      await receiver.arrived(crashAt);
      first.kill('SIGKILL');
      await once(first, 'exit');
      assert.ok(receiver.received.length < count, 'killed in the middle');
      // The dead worker's lease ends: what takes ten seconds otherwise (worker.test.ts proves that it does).
      await service.app.db.query('update webhook_endpoint set leased_until = null where organisation_id = $1', [
        organisationId,
      ]);
      const second = serve(role);
      const ended = once(second, 'exit');
      const twice = await repeats(receiver);
      second.kill('SIGTERM');
      assert.deepEqual(await ended, [0, null]);
      assert.ok(twice < maxRepeats, `${twice} arrived twice`);
      assert.equal(await undelivered(service.app, organisationId), 0);
    });
  }

  test('all arrive when the database crashes in the middle, fewer than one in a thousand twice', patience, async () => {
    trustTestAuthority();
    const folder = await mkdtemp(join(tmpdir(), 'ars-test-'));
    await chmod(folder, 0o755);
    const database = await startEmbedded({ dataDir: folder });
    const opened = await openApp(
      readSettings({
        DATABASE_URL: database.url,
        ARS_SECRET: service.app.settings.secret,
        ARS_LOG: 'none',
        ...allowed,
      }),
    );
    const receiver = await startReceiver();
    after(async () => {
      await worker.stop();
      await opened.close();
      await database.stop();
      await receiver.close();
      await rm(folder, { recursive: true, force: true });
    });
    const organisationId = await organisationWithBacklog(opened.app, receiver.url);
    const [{ data_directory: path }] = (await opened.app.db.query<{ data_directory: string }>(
      'show data_directory',
    )) as [{ data_directory: string }];
    const worker = new DeliveryWorker(opened.app);
    await receiver.arrived(crashAt);
    process.kill(readPostmaster(path)!.pid, 'SIGKILL');
    const twice = await repeats(receiver);
    await worker.settled();
    assert.ok(twice < maxRepeats, `${twice} arrived twice`);
    assert.equal(await undelivered(opened.app, organisationId), 0);
  });
});
