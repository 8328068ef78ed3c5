// Tier: full. Starts PgBouncer.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { DatabaseUnavailable } from '../../src/platform/db/connection/unavailable.ts';
import { provePooler } from '../../src/platform/db/connection/pooler.ts';
import { atPort, freshDatabase, withDatabase } from '../support/postgres.ts';
import { thisServer, withService } from '../support/service.ts';
import { freePorts } from '../support/ports.ts';

/** PgBouncer as Debian has it (1.18): with a direct address the session mode works, and the start says what is wrong with another. */

const program = process.env.PGBOUNCER ?? 'pgbouncer';
const [, version] =
  /PgBouncer (\d+\.\d+)/.exec(spawnSync(program, ['--version'], { encoding: 'utf8' }).stdout ?? '') ?? [];
const skip = version === undefined ? 'pgbouncer is not installed' : false;
/** It refuses to run as root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

async function pooler(database: URL, mode: 'session' | 'transaction', lines: string[] = []): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'ars-pooler-'));
  chmodSync(folder, 0o755);
  const [port] = await freePorts(1);
  const password = decodeURIComponent(database.password);
  writeFileSync(join(folder, 'users'), `"${decodeURIComponent(database.username)}" "${password}"\n`);
  writeFileSync(
    join(folder, 'ini'),
    [
      '[databases]',
      `* = host=${database.searchParams.get('host') ?? database.hostname} port=${database.port} user=${decodeURIComponent(database.username)} password=${password}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = trust`,
      `auth_file = ${folder}/users\npool_mode = ${mode}`,
      ...lines,
    ].join('\n'),
  );
  const child = spawn(program, ['-q', join(folder, 'ini')], { stdio: 'ignore', ...user });
  after(() => {
    child.kill();
    rmSync(folder, { recursive: true });
  });
  for (;;) {
    assert.equal(child.exitCode, null, 'the pooler ended');
    const socket = connect(port!, '127.0.0.1');
    const answers = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (answers) break;
    await setTimeout(20);
  }
  return atPort(database.href, port!);
}

suite('behind PgBouncer', { skip }, async () => {
  const service = skip === false ? await withService() : null!;
  const direct = service?.databaseUrl;
  const needsDirect = /leads through a pooler. Set DATABASE_DIRECT_URL/;
  const ignoring = ['ignore_startup_parameters = options'];

  test('the start says which settings the role lacks, in the statements that set them', async () => {
    await provePooler(direct, undefined);
    const strict = await pooler(new URL(direct), 'session');
    await assert.rejects(provePooler(strict, undefined), needsDirect);
    const session = await pooler(new URL(direct), 'session', ignoring);
    await assert.rejects(provePooler(session, undefined), needsDirect);
    const said = await provePooler(session, direct).then(
      () => assert.fail('nothing is missing'),
      (error: Error) => error.message,
    );
    assert.match(said, /^A pooler doesn't pass on the settings/);
    const statements = said.match(/alter role .+? set \w+ = '\w+'/g)!;
    assert.ok(statements.length >= 3);
    await withDatabase(direct, async (db) => {
      for (const statement of statements) await db.query(statement);
    });

    const fit = await pooler(new URL(direct), 'session', ignoring);
    await provePooler(fit, direct);
    const behind = await service.sibling({ databaseUrl: fit, settings: { DATABASE_DIRECT_URL: direct } });
    const organisation = await behind.organisation();
    const made = await organisation.post('/groups', { type: 'cohort', ref: 'C', name: 'Cohort' });
    assert.equal(made.status, 201);
    assert.equal((await organisation.get('/groups')).status, 200);
  });

  test('a connection that the pooler has lost is a database that is not available, not a fault of the code', async () => {
    const fit = await pooler(new URL(direct), 'session', ignoring);
    await withDatabase(fit, async (db) => {
      const lost = db.transaction(async (tx) => {
        await tx.query('select pg_terminate_backend(pg_backend_pid())').catch(() => {});
        await tx.query('select 1');
      });
      await assert.rejects(lost, DatabaseUnavailable);
      assert.deepEqual(await db.query('select 1 as one'), [{ one: 1 }]);
    });
  });

  test('a pooler needs an address past it', async () => {
    const shared = await pooler(new URL(direct), 'transaction', ignoring);
    await assert.rejects(provePooler(shared, undefined), needsDirect);
    await assert.rejects(provePooler(shared, shared), needsDirect);
    // From 1.21 on it knows prepared statements; the service then works in full (docs/decisions/0029-run-the-service.md).
    if (Number(version!.split('.')[1]) < 21)
      await assert.rejects(provePooler(shared, direct), /max_prepared_statements = 1000 \(PgBouncer 1.21 or later\)/);
    else await provePooler(await pooler(new URL(direct), 'transaction', ['max_prepared_statements = 1000']), direct);
  });

  test('two addresses that lead to different databases are refused, before a setting of one of them is advised', async () => {
    const fresh = await freshDatabase(await thisServer());
    after(fresh.drop);
    const restored = new URL(fresh.url);
    const other = /^DATABASE_URL and DATABASE_DIRECT_URL lead to two databases \(\w+, \w+\)/;
    const through = await pooler(restored, 'transaction', ignoring);
    await assert.rejects(provePooler(through, direct), (error: Error) => other.test(error.message));
    await assert.rejects(provePooler(restored.href, direct), (error: Error) => other.test(error.message));
  });
});
