// Tier: full. Kills PostgreSQL and its host.
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { readPostmaster } from '../../../../src/platform/db/embedded/cluster.ts';
import { startEmbedded } from '../../../../src/platform/db/embedded/embedded.ts';
import { ask, clusterOf, dataFolder, gone, userOf, withoutPackage } from './folders.ts';

suite('embedded PostgreSQL that is killed', { skip: withoutPackage, timeout: 600_000 }, () => {
  test('after kill -9 of the host the next start adopts the server with every committed row', async (context) => {
    const dataDir = await dataFolder(context);
    const host = await userOf(dataDir);
    await ask(host.url, 'create table committed as select generate_series(1, 1000) as n');
    const before = readPostmaster(await clusterOf(dataDir));
    await host.isKilled();

    const next = await startEmbedded({ dataDir });
    assert.equal(next.adopted, true);
    assert.equal(readPostmaster(await clusterOf(dataDir))!.pid, before!.pid);
    assert.deepEqual(await ask(next.url, 'select count(*)::int from committed'), [1000]);
    await next.stop();
    assert.equal(readPostmaster(await clusterOf(dataDir)), null);
  });

  test('after kill -9 of host and server the next start recovers every committed row', async (context) => {
    const dataDir = await dataFolder(context);
    const host = await userOf(dataDir);
    await ask(host.url, 'create table committed as select generate_series(1, 1000) as n');
    const cluster = await clusterOf(dataDir);
    const { pid } = readPostmaster(cluster)!;
    await host.isKilled();
    process.kill(pid, 'SIGKILL');
    await gone(pid, cluster);

    const next = await startEmbedded({ dataDir });
    assert.equal(next.adopted, false);
    assert.deepEqual(await ask(next.url, 'select count(*)::int from committed'), [1000]);
    await next.stop();
  });

  test('after kill -9 at any moment of the first start the next start needs no help', async (context) => {
    for (const afterMs of [100, 700, 1200, 1700, 2200, 2700]) {
      const dataDir = await dataFolder(context);
      const host = fork(join(import.meta.dirname, 'embedded-crash.ts'), [dataDir]);
      await delay(afterMs);
      host.kill('SIGKILL');
      const next = await startEmbedded({ dataDir });
      assert.deepEqual(await ask(next.url, 'select 1'), [1], `killed after ${afterMs} ms`);
      await next.stop();
      assert.equal(readPostmaster(await clusterOf(dataDir)), null);
    }
  });

  test('a server that dies under its users is started again at the same address', async (context) => {
    const dataDir = await dataFolder(context);
    let revived = () => {};
    const revival = new Promise<void>((resolve) => {
      revived = resolve;
    });
    const server = await startEmbedded({
      dataDir,
      log: (line) => {
        if (line.includes('has started')) revived();
      },
    });
    const firstStart = revival;
    await firstStart;
    const again = new Promise<void>((resolve) => {
      revived = resolve;
    });
    await ask(server.url, 'create table committed as select 7 as n');
    const cluster = await clusterOf(dataDir);
    const { pid } = readPostmaster(cluster)!;
    process.kill(pid, 'SIGKILL');
    // The watch alone doesn't keep a process alive.
    const alive = setInterval(() => {}, 1_000);
    await again;
    clearInterval(alive);
    assert.notEqual(readPostmaster(cluster)!.pid, pid);
    assert.deepEqual(await ask(server.url, 'select n from committed'), [7]);
    await server.stop();
  });
});
