import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { after, suite, test } from 'node:test';
import { systemClock } from '../../../src/platform/time/clock.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import { openDatabase } from '../../../src/platform/db/database.ts';
import { DatabaseUnavailable } from '../../../src/platform/db/connection/unavailable.ts';
import { streamLog } from '../../../src/platform/observability/log.ts';
import { atPort, freshDatabase, serverOf } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';

/** A network before a database, which can lose everything that passes without a word to either side. */
async function network(url: string) {
  const sockets = new Set<Socket>();
  let lost = new WeakSet<Socket>();
  let losesNew = false;
  const server = createServer((near) => {
    const far = connect(serverOf(url));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one);
      if (losesNew) lost.add(one);
      one.on('error', () => {});
      one.on('data', (bytes) => lost.has(one) || other.write(bytes));
      one.on('close', () => {
        sockets.delete(one);
        if (!lost.has(one)) other.destroy();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: atPort(url, (server.address() as { port: number }).port),
    /** What is connected loses everything; and whatever connects, until it is `found`. */
    lose(...which: ('new' | 'open')[]) {
      if (which.includes('open')) lost = new WeakSet(sockets);
      losesNew = which.includes('new');
    },
    find() {
      losesNew = false;
    },
  };
}

suite('a database that vanishes without a word', async () => {
  const database = await freshDatabase(await thisServer(), { migrated: false });
  const way = await network(database.url);
  const logged: string[] = [];
  const log = streamLog(systemClock, 'errors', { write: (line: string) => logged.push(line) > 0 });
  const db = openDatabase(way.url, log, 2, undefined, false, { everyMs: 40, answerMs: 1000 });
  after(() => db.close());
  const dedicated = db.dedicated();
  let up = Promise.withResolvers<void>();
  await dedicated.listen('ars_test', (payload) => {
    if (payload === null) up.resolve();
  });
  const one = 'select 1 as one';
  const ones = [{ one: 1 }];

  /** Asks on every kind of connection, once before `then` and once behind it. */
  async function ask(then: () => void): Promise<PromiseSettledResult<unknown>[]> {
    const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const all = Promise.all(begun.map(({ promise }) => promise)).then(then);
    const asks = [db.transaction, db.snapshot].map((hold, i) =>
      hold(async (tx: Tx) => {
        await tx.query(one);
        begun[i]!.resolve();
        await all;
        return tx.query(one);
      }),
    );
    return Promise.allSettled([...asks, all.then(() => dedicated.query(one))]);
  }
  async function fails(then: () => void): Promise<void> {
    up = Promise.withResolvers();
    for (const result of await ask(then))
      assert.ok(result.status === 'rejected' && result.reason instanceof DatabaseUnavailable, JSON.stringify(result));
  }
  async function answers(): Promise<void> {
    await up.promise;
    for (const result of await ask(() => {})) assert.deepEqual(result, { status: 'fulfilled', value: ones });
    assert.deepEqual(await db.query(one), ones);
  }

  test('another server in its place: what waits for an answer fails and is connected anew, and listeners hear of it', async () => {
    await answers();
    await fails(() => way.lose('open'));
    assert.match(logged.join(''), /"event":"database\.silent".*"reached":true/);
    await answers();
  });

  test('the same network that comes back', async () => {
    await fails(() => way.lose('open', 'new'));
    assert.match(logged.join(''), /"event":"database\.silent".*"reached":false/);
    way.find();
    await answers();
  });

  test('a statement that takes long is left alone, whatever becomes of others', async () => {
    // With time for the answer on a machine that is busy with something else.
    const patient = openDatabase(way.url, log, 2, undefined, false, { everyMs: 40, answerMs: 20_000 });
    after(() => patient.close());
    const soon = logged.length;
    const [slept] = await patient.dedicated().query<{ slept: boolean }>('select pg_sleep(2) is not null as slept');
    assert.deepEqual(slept, { slept: true });
    assert.deepEqual(logged.slice(soon), []);
  });
});
