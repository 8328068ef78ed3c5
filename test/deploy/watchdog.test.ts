import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { program } from '../support/ars.ts';
import { freePort } from '../support/ports.ts';
import { withService } from '../support/service.ts';
import { read } from '../support/structure/source-tree.ts';

/** Receives messages as systemd does, and closes the file descriptor with which systemd-notify waits for that. */
const receiver = `
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('listening', flush=True)
while True:
    text, fds, _, _ = socket.recv_fds(s, 4096, 4)
    for fd in fds: os.close(fd)
    print(text.decode().replace('\\n', ' '), flush=True)
`;

const missing = ['systemd-notify', 'python3'].filter((name) => spawnSync(name, ['--version']).error !== undefined);
const skip = missing.length > 0 ? `${missing.join(' and ')} not installed` : false;

test('the process tells systemd that it runs, until it hangs', { skip, timeout: 60_000 }, async (t) => {
  const service = await withService();
  const folder = mkdtempSync(join(tmpdir(), 'ars-watchdog-'));
  const socket = join(folder, 'notify');
  const python = spawn('python3', ['-c', receiver, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => {
    python.kill();
    rmSync(folder, { recursive: true });
  });
  let received = 0;
  createInterface({ input: python.stdout }).on('line', (line) => {
    if (line.includes('WATCHDOG=1')) received++;
  });
  while (!existsSync(socket)) await delay(20);
  chmodSync(socket, 0o777);
  const env = {
    ...process.env,
    ...service.environment,
    ARS_PORT: String(await freePort()),
    ARS_LOG: 'none',
    ARS_DRAIN_DELAY_SECONDS: '0',
    NOTIFY_SOCKET: socket,
    WATCHDOG_USEC: '300000',
    NODE: process.execPath,
    ARS: program,
  };
  // systemd names the process that it starts.
  const shell = ['-c', 'WATCHDOG_PID=$$ exec "$NODE" "$ARS" serve --processes 2'];
  const child = spawn('bash', shell, { env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  t.after(() => child.kill('SIGKILL'));
  while (received < 6) await delay(20);
  child.kill('SIGSTOP');
  // A message may still be under way.
  await delay(300);
  const before = received;
  await delay(1000);
  assert.equal(received, before);
  child.kill('SIGCONT');
  while (received < before + 3) await delay(20);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
});

test('the unit has a watchdog, a limit of memory and a limit of restarts', () => {
  const unit = read('deploy/ars.service');
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1];
  assert.equal(value('NotifyAccess'), 'all');
  assert.ok(Number(value('WatchdogSec')) >= 30);
  assert.match(value('MemoryMax')!, /^\d+G$/);
  assert.ok(Number(value('StartLimitBurst')) > 0);
  assert.equal(value('StartLimitIntervalSec'), '1h');
});
