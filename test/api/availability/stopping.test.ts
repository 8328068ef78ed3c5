import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { credentials } from '../../contract/support/client.ts';
import { withService } from '../../support/service.ts';

/** Reads until the text has come, or the service hangs up. */
async function readUntil(socket: Socket, text: string): Promise<string> {
  let got = '';
  for await (const chunk of socket) {
    got += String(chunk);
    if (got.includes(text)) break;
  }
  return got;
}

/** Whether anybody waits for a lock of the transaction that asks. */
const waitsForThis = 'select from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))';

test('while the service stops, requests under way are answered, and their connections end with the answer', async () => {
  const service = await withService({ own: 'Is stopped.' });
  const org = await service.organisation();
  const { hostname, port } = new URL(service.url);
  const sockets: Socket[] = [];
  after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const open = async () => {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    sockets.push(socket);
    return socket;
  };
  const keys = Object.entries(credentials(org.key))
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const body = '{"full_name":"A Learner"}';
  const [waiting, arriving] = [await open(), await open()];
  let stopped: Promise<void> | undefined;
  await service.app.db.transaction(async (tx) => {
    await tx.query('select from feed where organisation_id = $1 for update', [org.id]);
    arriving.write('GET /api/v1/health HTTP/1.1\r\n');
    waiting.write(
      `POST /api/v1/learners HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n${keys}\r\n${body}`,
    );
    while ((await tx.query(waitsForThis)).length === 0);
    stopped = service.stop();
    while (
      await open().then(
        async (socket) => {
          socket.destroy();
          await setTimeout(10);
          return true;
        },
        () => false,
      )
    );
    arriving.write(`Host: x\r\n${keys}\r\n`);
    const answer = await readUntil(arriving, '"api_version"');
    assert.match(answer, /^HTTP\/1\.1 200 /);
    assert.match(answer, /\r\nconnection: close\r\n/i);
  });
  const answer = await readUntil(waiting, '"invitation_id"');
  assert.match(answer, /^HTTP\/1\.1 201 /);
  assert.match(answer, /\r\nconnection: close\r\n/i);
  await stopped;
});

test('so is a repeated read', async () => {
  const service = await withService({ own: 'Is stopped.' });
  const org = await service.organisation();
  const held = { 'if-none-match': (await org.get('/groups')).headers.etag! };
  for (let i = 0; i < 2; i++) assert.equal((await org.get('/groups', held)).status, 304);
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  after(() => socket.destroy());
  await once(socket, 'connect');
  let stopped: Promise<void> | undefined;
  await service.app.db.transaction(async (tx) => {
    await tx.query('select from rate_window where key_id = $1 for update', [org.key.access_key_id]);
    const headers = Object.entries({ host: 'x', ...credentials(org.key), ...held })
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('');
    socket.write(`GET /api/v1/groups HTTP/1.1\r\n${headers}\r\n`);
    while ((await tx.query(waitsForThis)).length === 0);
    stopped = service.stop();
  });
  const answer = await readUntil(socket, '\r\n\r\n');
  assert.match(answer, /^HTTP\/1\.1 304 /);
  assert.match(answer, /\r\nconnection: close\r\n/i);
  await stopped;
});

test('who is connected already, but has not been taken, is answered', async () => {
  const service = await withService({ own: 'Is stopped.' });
  const org = await service.organisation();
  const { hostname, port } = new URL(service.url);
  const headers = Object.entries({ host: 'x', ...credentials(org.key) })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  const sockets = Array.from({ length: 20 }, () => connect(Number(port), hostname));
  after(() => {
    for (const socket of sockets) socket.destroy();
  });
  const answers = sockets.map((socket) => readUntil(socket, '"api_version"'));
  for (const socket of sockets) socket.write(`GET /api/v1/health HTTP/1.1\r\n${headers}\r\n`);
  // A turn of the loop takes one of them at most; the others wait in the kernel's queue.
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const stopped = service.stop();
  for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1\.1 200 /);
  await stopped;
});
