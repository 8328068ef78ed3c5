import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { after, suite, test } from 'node:test';
import { systemClock } from '../../src/clock.ts';
import type { ByteRow } from '../../src/db/byte-rows.ts';
import { asBytes, asByteText, byteRows } from '../../src/db/byte-rows.ts';
import { openDatabase, statement } from '../../src/db/database.ts';
import { streamLog } from '../../src/log.ts';
import { freshDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';

/** A way to the database on which what it sends comes in pieces of so many bytes, each in a turn of its own. */
async function inPieces(url: string, size: number): Promise<string> {
  const address = new URL(url);
  const { hostname, port } = address;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), hostname);
    near.setNoDelay(true);
    const waiting: Buffer[] = [];
    const send = () => {
      const piece = waiting.shift();
      if (piece === undefined) return;
      near.write(piece);
      setImmediate(send);
    };
    far.on('data', (bytes: Buffer) => {
      const isIdle = waiting.length === 0;
      for (let at = 0; at < bytes.length; at += size) waiting.push(bytes.subarray(at, at + size));
      if (isIdle) send();
    });
    near.on('data', (bytes) => far.write(bytes));
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  address.port = String((server.address() as { port: number }).port);
  return address.href;
}

suite('rows whose bytes are passed on', async () => {
  const { url } = await freshDatabase(await thisServer(), { migrated: false });
  const silent = streamLog(systemClock, 'none', { write: () => true });
  const open = (address: string) => {
    const db = openDatabase(address, silent, 1);
    after(() => db.close());
    return db;
  };
  const direct = open(url);
  // Of every length of a text in UTF-8, empty and missing ones, and one that is longer than what a socket gives at once.
  const shown = `select case when n % 3 = 0 then '' when n % 3 = 1 then repeat('Zoë 😀 “ñ” 李', n) else null end as text, n`;
  const rows = (count: number, longest: number) => ` from generate_series(1, ${count}) n
    union all select repeat('x', ${longest}), 0 where ${longest} > 0`;
  const plain = (from: string) => `${shown}${from}`;
  const bytes = (from: string) => {
    const sql = `select 'a' as ${asBytes}, text, n from (${plain(from)}) s`;
    return { ...statement(`bytes ${sql}`, sql), arrays: true };
  };
  const textOf = ([kind, text, n]: ByteRow) => {
    assert.equal(kind, 'a');
    return { text: text === null ? null : Buffer.from(text!, 'latin1').toString(), n: Number(n) };
  };

  for (const [size, count, longest] of [
    [1, 40, 100],
    [3, 40, 5000],
    [7, 100, 0],
    [4096, 400, 300_000],
    [65_536, 600, 3_000_000],
  ] as const) {
    test(`are what the database holds, in pieces of ${size} bytes`, async () => {
      const db = open(await inPieces(url, size));
      const from = rows(count, longest);
      const expected = await direct.query(plain(from));
      for (let again = 0; again < 2; again++) {
        const answer = await db.query<[ByteRow[]]>(bytes(from), []);
        assert.deepEqual(byteRows(answer).map(textOf), expected);
        // Whatever else the connection is asked comes by the driver.
        assert.deepEqual(await db.query(plain(from)), expected);
      }
    });
  }

  test('come between other statements of one connection that are under way', async () => {
    const from = rows(300, 0);
    const expected = await direct.query(plain(from));
    await direct.snapshot(async (tx) => {
      const answers = await Promise.all([
        tx.query(plain(from)),
        tx.query<[ByteRow[]]>(bytes(from), []),
        tx.query('select 1 as one'),
        tx.query<[ByteRow[]]>(bytes(' from generate_series(1, 0) n'), []),
        tx.query(plain(from)),
      ]);
      assert.deepEqual(answers[0], expected);
      assert.deepEqual(byteRows(answers[1]).map(textOf), expected);
      assert.deepEqual(answers[2], [{ one: 1 }]);
      assert.deepEqual(byteRows(answers[3]), []);
      assert.deepEqual(answers[4], expected);
    });
  });

  test('end with the error of a statement that fails behind some of them, and the next one is answered', async () => {
    const sql = `select 'a' as ${asBytes}, 1 / (500 - n) from generate_series(1, 600) n`;
    await assert.rejects(direct.query({ ...statement('bytes that fail', sql), arrays: true }, []), { code: '22012' });
    assert.deepEqual(await direct.query('select 2 as two'), [{ two: 2 }]);
  });

  test('are told of as a fault on a connection that does not read them', async () => {
    const dedicated = direct.dedicated();
    const answer = await dedicated.query<[ByteRow[]]>(bytes(rows(3, 0)), []);
    assert.throws(() => byteRows(answer), /connections of a pool/);
    await dedicated.close();
  });

  test('can be spliced with texts', () => {
    assert.equal(Buffer.from(`${asByteText('Zoë')}, ${asByteText('李')}`, 'latin1').toString(), 'Zoë, 李');
  });
});
