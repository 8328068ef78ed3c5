// Tier: full. Restores backups and kills the commands.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, chown, lstat, mkdir, mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openApp } from '../../../src/server/open-app.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { begin as beginIn } from '../../support/ars.ts';

/** Backups without the service's secret, and those that are told to stop. */

const secret = 'a secret of this test, longer than 32 characters';
const folder = await mkdtemp(join(tmpdir(), 'ars-apart-'));
await chmod(folder, 0o755);
after(() => rm(folder, { recursive: true, force: true }));
const data = join(folder, 'data');

const begin = (env: Record<string, string>, ...words: string[]) =>
  beginIn([...words, '--json'], { DATABASE_URL: undefined, ARS_SECRET: undefined, ...env });
const run = (...given: Parameters<typeof begin>) => begin(...given).ended;

suite('a service whose secret is its setting', async () => {
  const out = join(folder, 'out');
  const env = { ARS_SECRET: secret };
  const settings = { ...readSettings({ ARS_DATA_DIR: data, ARS_SECRET: secret }), log: 'none' as const };
  await (await openApp(settings)).close();

  test('is told by its backup to keep that apart, and a restore without it puts nothing in place', async () => {
    const backup = await run({ ...env, ARS_DATA_DIR: data }, 'backup', '--out', out);
    assert.deepEqual([backup.code, backup.json.secret], [0, false], backup.said);
    assert.deepEqual(await readdir(join(out, 'own')), ['server.json']);
    const [there, else_] = [join(folder, 'there'), join(folder, 'else')];
    const without = await run({ ARS_DATA_DIR: there }, 'restore', '--from', out);
    assert.equal(without.code, 1);
    assert.match(without.said, /^ars: the service's secret is not in the backup: set ARS_SECRET [^\n]+\n$/);
    assert.equal(existsSync(there), false);
    const wrong = await run({ ARS_DATA_DIR: else_, ARS_SECRET: `not ${secret}` }, 'restore', '--from', out);
    assert.equal(wrong.code, 1);
    assert.match(wrong.said, /^ars: The backup of \S+ is in \S+, but can't be opened yet: ARS_SECRET is not the one/);
    const right = await run({ ...env, ARS_DATA_DIR: there }, 'restore', '--from', out);
    assert.equal(right.code, 0, right.said);
    assert.deepEqual((await readdir(there)).sort(), ['postgres']);
  });

  test('makes no other one where the setting is left out', async () => {
    for (const words of [['organisation', 'list'], ['serve']]) {
      const { code, said } = await run({ ARS_DATA_DIR: data, ARS_PORT: '0', ARS_LOG: 'none' }, ...words);
      assert.equal(code, 1, words.join());
      assert.match(said, /^ars: The service's secret is neither in ARS_SECRET nor in \S+, and this database/);
    }
    assert.deepEqual((await readdir(data)).sort(), ['postgres']);
    // A file from before the setting is not the one that the database is used with.
    await writeFile(join(data, 'secret'), `an older ${secret}\n`);
    const stale = await run({ ...env, ARS_DATA_DIR: data }, 'backup', '--out', join(folder, 'stale'));
    assert.equal(stale.json.secret, false);
    await rm(join(data, 'secret'));
    const accepted = await run({ ARS_DATA_DIR: data }, 'secret', 'accept');
    assert.equal(accepted.code, 0, accepted.said);
    const inside = await run({ ARS_DATA_DIR: data }, 'backup', '--out', join(folder, 'inside'));
    assert.equal(inside.json.secret, true);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    test(`${signal} ends a backup and a restore, and nothing is left of them`, async () => {
      const broken = join(folder, `broken ${signal}`);
      const backup = begin({ ...env, ARS_DATA_DIR: data }, 'backup', '--out', broken);
      while (!existsSync(join(broken, 'cluster', 'base'))) await delay(1);
      backup.child.kill(signal);
      const said = 'ars: Stopped before the end: nothing is left of it.\n';
      const stopped = { code: 1, out: '', said, lines: [], json: undefined };
      assert.deepEqual(await backup.ended, stopped);
      assert.equal(existsSync(broken), false);
      await mkdir(broken);
      const restore = begin({ ...env, ARS_DATA_DIR: broken }, 'restore', '--from', out);
      while (!existsSync(join(broken, 'postgres'))) await delay(1);
      restore.child.kill(signal);
      assert.deepEqual(await restore.ended, stopped);
      assert.deepEqual(await readdir(broken), []);
    });

  test(
    'where PostgreSQL runs as another user, and the data stand elsewhere, they are removed or named',
    { skip: process.getuid?.() !== 0 },
    async () => {
      const closed = await mkdtemp(join(tmpdir(), 'ars-closed-'));
      after(() => rm(closed, { recursive: true, force: true }));
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        const there = join(closed, signal);
        const { child, ended } = begin({ ...env, ARS_DATA_DIR: there }, 'restore', '--from', out);
        const place = async () => readlink(join(there, 'postgres', 'cluster')).catch(() => null);
        while (!existsSync(`${await place()}.new/base`)) await delay(1);
        const home = dirname((await place())!);
        child.kill(signal);
        if (signal === 'SIGKILL') await assert.rejects(ended, { code: null, signal });
        else assert.equal((await ended).code, 1);
        assert.equal(existsSync(home), signal === 'SIGKILL');
        if (signal === 'SIGTERM') continue;
        after(() => rm(home, { recursive: true, force: true }));
        const { said } = await run({ ...env, ARS_DATA_DIR: there }, 'restore', '--from', out);
        assert.match(
          said,
          new RegExp(`broken off: wait for its end, or remove ${home}, empty the folder and restore again`),
        );
      }
    },
  );

  test(
    'a restore and a new secret that root makes belong to whose folder it is, so that its service can start',
    { skip: process.getuid?.() !== 0 },
    async () => {
      // As a user of systemd's whom nobody knows while the service stands still.
      const owner = 54_321;
      const there = join(folder, "another user's");
      await mkdir(there);
      await chown(there, owner, owner);
      const restored = await run({ ...env, ARS_DATA_DIR: there }, 'restore', '--from', out);
      assert.equal(restored.code, 0, restored.said);
      const accepted = await run({ ARS_DATA_DIR: there }, 'secret', 'accept');
      assert.equal(accepted.code, 0, accepted.said);
      const names = await readdir(there, { recursive: true });
      for (const name of ['secret', 'postgres/server.json', 'postgres/cluster/PG_VERSION'])
        assert.ok(names.includes(name));
      const others = [];
      for (const name of names) {
        const { uid, gid } = await lstat(join(there, name));
        if (uid !== owner || gid !== owner) others.push(name);
      }
      assert.deepEqual(others, []);
    },
  );
});
