import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/platform/time/clock.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { DatabaseUnavailable } from '../../../src/platform/db/connection/unavailable.ts';
import { startHousekeeping } from '../../../src/server/housekeeping.ts';
import type { LogFields } from '../../../src/platform/observability/log.ts';
import { errorFields, streamLog } from '../../../src/platform/observability/log.ts';
import { withService } from '../../support/service.ts';

/** What an operator learns from the log about a failure, and what stays out of it. */

const here = /test\/platform\/observability\/log\.test\.ts:\d+:\d+$/;
const of = (failing: Promise<unknown>): Promise<LogFields> =>
  failing.then(
    () => assert.fail('it did not fail'),
    (error: unknown) => errorFields(error),
  );

suite('the fields of an error', () => {
  test('name its class, its causes with their codes, and the place that threw', () => {
    class PageMissing extends Error {}
    const thrown = () => Object.assign(new Error('Ada Lovelace'), { code: 'ECONNRESET', syscall: 'read' });
    const cause = thrown();
    const fields = errorFields(new PageMissing('Ada', { cause: new DatabaseUnavailable(cause) }));
    assert.equal(fields.error, 'PageMissing');
    assert.equal(fields.code, 'ECONNRESET');
    assert.equal(fields.syscall, 'read');
    assert.equal(fields.cause, 'DatabaseUnavailable ECONNRESET, Error ECONNRESET');
    const line = /log\.test\.ts:(\d+):/.exec(cause.stack!)![1];
    assert.match(
      String(fields.where),
      new RegExp(
        `^test/platform/observability/log\\.test\\.ts:${line}:|/test/platform/observability/log\\.test\\.ts:${line}:`,
      ),
    );
    assert.doesNotMatch(JSON.stringify(fields), /Ada/);
  });

  test('hold no code that is no code, and end with causes that lead in a circle', () => {
    const one: Error & { code?: string } = new Error('x');
    const other = new Error('y', { cause: one });
    one.cause = other;
    one.code = 'Ada Lovelace';
    const fields = errorFields(one);
    assert.equal(fields.code, undefined);
    assert.equal(fields.cause, 'Error');
    assert.deepEqual(errorFields('Ada'), { error: 'string' });
  });

  test('tell why the database is away, and who asked', async () => {
    const silent = streamLog(systemClock, 'none', { write: () => true });
    const refused = openDatabase('postgres://ars:x@127.0.0.1:1/ars', silent, 1);
    const fields = await of(refused.query('select 1'));
    await refused.close();
    assert.deepEqual([fields.error, fields.code, fields.syscall], ['DatabaseUnavailable', 'ECONNREFUSED', 'connect']);
    assert.match(String(fields.where), here);

    // It takes connections, and says nothing.
    const server = createServer((socket) => setTimeout(() => socket.destroy(), 50)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const ended = openDatabase(`postgres://ars:x@127.0.0.1:${port}/ars`, silent, 1);
    const { reason } = await of(ended.query('select 1'));
    await ended.close();
    server.close();
    assert.equal(reason, 'Connection terminated unexpectedly');
  });

  test('name table and constraint of a refused row, and none of its values', async () => {
    const insert = `insert into organisation select * from organisation where name = 'Ada Lovelace College'`;
    const service = await withService({ own: 'Reads the whole log.' });
    await service.organisation({ name: 'Ada Lovelace College' });
    const fields = await of(service.app.db.query(insert));
    assert.equal(fields.error, 'DatabaseError');
    assert.equal(fields.code, '23505');
    assert.equal(fields.table, 'organisation');
    assert.match(String(fields.constraint), /^organisation_/);
    assert.match(String(fields.where), here);
    assert.doesNotMatch(JSON.stringify(fields), /Ada/);
    assert.equal((await of(service.app.db.query(`select 'Ada'::int`))).code, '22P02');
  });
});

suite('a connection that is lost', () => {
  test('is logged with what ended it, and in a transaction its next statement tells that, too', async () => {
    const service = await withService({ own: 'Reads the whole log.' });
    const { db } = service.app;
    const end = (pid: number) => db.query('select pg_terminate_backend($1)', [pid]);
    const fields = await of(
      db.transaction(
        async (tx) => {
          const [row] = await tx.query<{ pid: number }>('select pg_backend_pid() as pid');
          await service.sibling().then((other) => other.app.db.query('select pg_terminate_backend($1)', [row!.pid]));
          await delay(200);
          await tx.query('select 1');
        },
        { queue: { name: 'test', atOnce: 1 }, signal: new AbortController().signal, again: false },
      ),
    );
    assert.deepEqual([fields.error, fields.code], ['DatabaseUnavailable', '57P01']);
    const rest = await db.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'`,
    );
    for (const { pid } of rest) await end(pid);
    const lost = () =>
      service.logged
        .join('')
        .split('\n')
        .filter((line) => line.includes('"database.connection_lost"'));
    while (lost().length === 0) await delay(20);
    for (const line of lost()) assert.match(line, /"connection":"\w+","error":"DatabaseError","code":"57P01"/);
  });
});

suite('a connection that is given up', () => {
  test('is logged with the failure behind it', async () => {
    const service = await withService();
    const connection = service.app.db.dedicated();
    await connection.listen('given_up', () => {});
    await connection.query('set statement_timeout = 50');
    assert.equal((await of(connection.query('select pg_sleep(5)'))).code, '57014');
    const lost = () => service.logged.join('').match(/\{[^\n]*"database\.connection_lost"[^\n]*/g) ?? [];
    while (lost().length === 0) await delay(20);
    for (const line of lost())
      assert.match(line, /"error":"DatabaseUnavailable","code":"57014","cause":"DatabaseError 57014"/);
    await connection.close();
  });
});

suite('a stop', () => {
  test('is no failure of upkeep or upgrade, whatever they were at', async () => {
    const service = await withService({ own: 'Reads the whole log.' });
    const holding = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const held = service.app.db.transaction(async (tx) => {
      await tx.query('lock table user_session, feed');
      holding.resolve();
      await release.promise;
    });
    await holding.promise;
    const sibling = await service.sibling();
    const housekeeping = startHousekeeping(sibling.app, 40);
    const waiting = `select pid from pg_locks where not granted and relation = any('{user_session,feed}'::regclass[])
      and database = (select oid from pg_database where datname = current_database())`;
    const waits = () => service.app.db.query<{ pid: number }>(waiting);
    while ((await waits()).length < 2) await delay(20);
    const stopped = [housekeeping.stop(), sibling.stop()];
    for (const { pid } of await waits()) await service.app.db.query('select pg_terminate_backend($1)', [pid]);
    await Promise.all(stopped);
    release.resolve();
    await held;
    assert.doesNotMatch(sibling.logged.join(''), /"(?:upgrade|housekeeping)\.failed"/);
  });
});
