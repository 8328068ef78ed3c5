// Tier: full. It kills PostgreSQL twenty times.
import assert from 'node:assert/strict';
import type { Server } from 'node:net';
import { createServer } from 'node:net';
import { chmod, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readPostmaster } from '../../../../src/platform/db/embedded/cluster.ts';
import { createOrganisation } from '../../../../src/organisations/organisations.ts';
import { createKey } from '../../../../src/integrations/access-keys/keys.ts';
import { withUnitOfWork } from '../../../../src/platform/db/unit-of-work.ts';
import { openApp } from '../../../../src/server/open-app.ts';
import { startService } from '../../../../src/main.ts';
import { readSettings } from '../../../../src/platform/config/settings.ts';
import { client, hangUp } from '../../../contract/support/client.ts';

/** How long a killed database may keep the service from being ready. */
const maxAwayMs = 10_000;
const kills = 20;

test('a database that is killed again and again under load is back each time, whoever takes ports meanwhile', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'ars-kills-'));
  await chmod(dataDir, 0o755);
  const opened = await openApp(readSettings({ ARS_DATA_DIR: dataDir, ARS_PORT: '0', ARS_LOG: 'none' }));
  const service = await startService(opened, 'all');
  const taken: Server[] = [];
  after(async () => {
    await hangUp(service.url);
    await service.stop();
    for (const server of taken) server.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const key = await withUnitOfWork(service.app, null, async (work) => {
    const organisation = await createOrganisation(work, {
      name: 'College',
      plan: 'unlimited',
      credits: 0,
      groupAutocreate: true,
    });
    return createKey(work, organisation.organisation_id, { label: 'test', kind: 'test' });
  });
  const { get, post } = client(service.url, key);
  let isOver = false;
  let made = 0;
  const load = Array.from({ length: 4 }, async (_, i) => {
    for (let n = 0; !isOver; n++) {
      const { status } = await post('/groups', { type: 'cohort', ref: `C-${i}-${n}`, name: 'C' });
      if (status === 201) made++;
      // Slower than a burst, so that the limit of requests doesn't end the load.
      else await delay(100);
      await delay(20);
    }
  });
  const cluster = await realpath(join(dataDir, 'postgres', 'cluster'));
  const portOfServer = async () => Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[3]);
  const isReady = async () => (await fetch(`${service.url}/readyz`)).status === 200;
  const away: number[] = [];
  for (let i = 0; i < kills; i++) {
    const { pid } = readPostmaster(cluster)!;
    const port = await portOfServer();
    process.kill(pid, 'SIGKILL');
    const server = createServer().on('error', () => {});
    const take = setInterval(() => server.listening || server.listen(port, '127.0.0.1'), 1);
    taken.push(server);
    const killedMs = performance.now();
    while (readPostmaster(cluster)?.pid === pid) await delay(5);
    while (!((await isReady()) && (readPostmaster(cluster)?.pid ?? pid) !== pid)) {
      assert.ok(performance.now() - killedMs < maxAwayMs, `away after kill ${i + 1}`);
      await delay(50);
    }
    away.push(Math.round(performance.now() - killedMs));
    clearInterval(take);
    const before = made;
    while (made === before) {
      assert.ok(performance.now() - killedMs < 2 * maxAwayMs, 'changes are made again');
      await delay(20);
    }
  }
  isOver = true;
  await Promise.all(load);
  assert.equal((await get('/groups')).status, 200);
  assert.equal(away.length, kills);
});
