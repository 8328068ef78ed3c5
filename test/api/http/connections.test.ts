import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer as createListener } from 'node:net';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Connections } from '../../../src/api/http/connections.ts';

/** Connects and sends when it is told to, whatever the loop of the others does; says when the system has taken it. */
const sender = `
  const { connect } = require('node:net');
  const { parentPort, workerData: { port, told } } = require('node:worker_threads');
  parentPort.once('message', () => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('POST / HTTP/1.1\\r\\nHost: here\\r\\nContent-Length: 0\\r\\n\\r\\n', () => {
        Atomics.store(told, 0, 1);
        Atomics.notify(told, 0);
      });
    });
    let got = '';
    socket.on('data', (bytes) => (got += bytes));
    socket.on('error', (error) => (got += error.code));
    socket.on('close', () => parentPort.postMessage(got));
  });
`;

/** Two ends of one connection. */
async function pipe(t: TestContext): Promise<{ reader: Socket; writer: Socket }> {
  const server = createListener().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const reader = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [writer] = (await once(server, 'connection')) as [Socket];
  t.after(() => {
    reader.destroy();
    writer.destroy();
    server.close();
  });
  return { reader, writer };
}

test('a connection that comes while the last turn before the end of listening is busy is answered', async (t) => {
  const server = createServer((_request, response) => response.end());
  const connections = new Connections(server, () => '');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const told = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(sender, { eval: true, workerData: { port, told } });
  t.after(() => worker.terminate());
  await once(worker, 'online');
  const replied = once(worker, 'message');
  // A reply of the database, for one: the turn finds it, and no connection, and is busy with it while one comes.
  const { reader, writer } = await pipe(t);
  reader.pause();
  await new Promise((written) => writer.write('x', written));
  reader.once('data', () => {
    worker.postMessage('now');
    assert.notEqual(Atomics.wait(told, 0, 0, 10_000), 'timed-out');
  });
  await setTimeout(50);
  setImmediate(() => reader.resume());
  await connections.drain(10_000);
  const [got] = (await replied) as [string];
  assert.match(got, /^HTTP\/1\.1 200 OK\r\n/);
});
