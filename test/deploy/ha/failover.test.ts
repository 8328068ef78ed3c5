// Tier: full. Starts three database hosts and loses their primary 20 times.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';

/** PostgreSQL under Patroni, set up by deploy/ha as docs/operate/database.md says, in network namespaces. */

const namespaces = 'unshare --net --mount --pid --ipc --fork --kill-child=SIGKILL --mount-proc'.split(' ');
const programs = ['unshare', 'setpriv', 'nsenter', 'ip', 'etcd', 'patroni', 'haproxy', 'psql'];

function whyNot(): string | false {
  const missing = programs.filter((one) => spawnSync('bash', ['-c', `command -v ${one}`]).status !== 0);
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  if (!existsSync('/usr/lib/postgresql')) return "PostgreSQL is not installed from Debian's packages";
  const mayDo =
    spawnSync(namespaces[0]!, [...namespaces.slice(1), 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
  return mayDo ? false : 'namespaces need root';
}

const title = 'a lost primary is replaced within 30 s: nothing acknowledged is lost, and polling mirrors miss nothing';
test(title, { skip: whyNot() }, async (context) => {
  const node = `${process.execPath} --test-force-exit ${join(import.meta.dirname, 'rounds.ts')}`;
  // The kernel ends all hosts with their namespaces, which end with this process. Bash reaps the orphans.
  const words = ['--pdeathsig', 'KILL', ...namespaces, 'bash', '-c', `${node}; exit $?`];
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const child = spawn('setpriv', words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let report = '';
  child.stdout.on('data', (part: Buffer) => (report += String(part)));
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.startsWith('{')) context.diagnostic(line);
    else report += `${line}\n`;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 0, report);
});
