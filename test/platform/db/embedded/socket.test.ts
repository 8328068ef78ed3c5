import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, test } from 'node:test';
import { startEmbedded } from '../../../../src/platform/db/embedded/embedded.ts';
import { read } from '../../../support/structure/source-tree.ts';
import { ask, clusterOf, dataFolder, userOf } from './folders.ts';

suite('the socket of an embedded PostgreSQL', { skip: process.platform === 'win32' }, () => {
  test('a socket that a killed server left does not prevent the start, whoever has its process number now', async (context) => {
    const dataDir = await dataFolder(context);
    const first = await startEmbedded({ dataDir });
    const lock = join(dirname(await clusterOf(dataDir)), 'socket', '.s.PGSQL.5432.lock');
    const left = await readFile(lock, 'utf8');
    await first.stop();
    await writeFile(lock, left.replace(/^\d+/, String(process.pid)));
    const next = await startEmbedded({ dataDir });
    assert.equal(next.url, first.url);
    assert.deepEqual(await ask(next.url, 'select 1'), [1]);
    await next.stop();
  });

  test('a path that is too long for a socket is one for data, unless somebody else has the folder in its place', async (context) => {
    const dataDir = join(await dataFolder(context), ...Array.from({ length: 4 }, () => 'ö & long?'.repeat(3)));
    const server = await startEmbedded({ dataDir });
    const folder = new URL(server.url).searchParams.get('host')!;
    context.after(() => rm(folder, { recursive: true, force: true }));
    assert.match(folder, /^\/tmp\/ars-[0-9a-f]{16}$/);
    const user = await userOf(dataDir);
    assert.equal(user.url, server.url);
    assert.deepEqual(await ask(user.url, 'select 1'), [1]);
    await user.leaves();
    await server.stop();
    await chmod(folder, 0o777);
    await assert.rejects(startEmbedded({ dataDir }), /\/tmp\/ars-[0-9a-f]{16} must be a folder .* remove it/);
    await rm(folder, { recursive: true });
    await symlink(tmpdir(), folder);
    await assert.rejects(startEmbedded({ dataDir }), /must be a folder/);
  });

  test('people find the address for psql in the guide', async (context) => {
    const dataDir = join(await dataFolder(context), 'my & data? 100%');
    const server = await startEmbedded({ dataDir });
    const [line] = /^address\(\) .*$/m.exec(read('docs/operate/upgrade.md'))!;
    const said = execFileSync('sh', ['-c', `${line}\naddress "$1"`, 'sh', dataDir], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    });
    assert.deepEqual(await ask(said.trim(), 'select current_user::text'), ['ars']);
    assert.equal(new URL(said.trim()).searchParams.get('host'), new URL(server.url).searchParams.get('host'));
    await server.stop();
  });
});
