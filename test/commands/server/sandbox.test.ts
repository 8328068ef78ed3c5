// Tier: full. Starts two sandboxes together, and kills one.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { withService } from '../../support/service.ts';

const ars = new URL('../../../cli/ars.ts', import.meta.url).pathname;

test('two sandboxes that start at once on the same data are one sandbox', async () => {
  const { databaseUrl } = await withService();
  const folder = await mkdtemp(join(tmpdir(), 'ars-sandbox-'));
  after(() => rm(folder, { recursive: true }));
  const env = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    ARS_SECRET: 'a secret of the tests, longer than 32 characters',
    ARS_PORT: '0',
    ARS_DATA_DIR: folder,
  };
  const children = [1, 2].map(() =>
    spawn(process.execPath, [ars, 'sandbox', '--learners', '5', '--json'], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const told = await Promise.all(
    children.map(async (child) => {
      const ended = once(child, 'exit');
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const { base_url, console_url: _, ...sandbox } = JSON.parse((await lines.next()).value!);
      const { access_key_id, secret_access_key } = sandbox;
      const { status } = await fetch(`${base_url}/health`, {
        headers: { 'X-Access-Key-Id': access_key_id, 'X-Secret-Access-Key': secret_access_key },
      });
      child.kill('SIGTERM');
      assert.deepEqual([status, await ended], [200, [0, null]]);
      return sandbox;
    }),
  );
  assert.deepEqual(told[0], told[1]);
});

test('a sandbox shows data as soon as it prints its key pair; killed there, the next start completes it', async () => {
  const { databaseUrl } = await withService();
  const folder = await mkdtemp(join(tmpdir(), 'ars-sandbox-'));
  after(() => rm(folder, { recursive: true }));
  const run = (...words: string[]) => {
    const child = spawn(process.execPath, [ars, 'sandbox', '--learners', '320', ...words], {
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        ARS_SECRET: 'a secret of the tests, longer than 32 characters',
        ARS_PORT: '0',
        ARS_DATA_DIR: folder,
      },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    after(() => child.kill('SIGKILL'));
    return child;
  };
  const firstPage = async (base: string, id: string, secret: string) => {
    const headers = { 'X-Access-Key-Id': id, 'X-Secret-Access-Key': secret };
    const answer = await fetch(`${base}/assessments`, { headers });
    return ((await answer.json()) as { data: unknown[] }).data.length;
  };

  const killed = run();
  const ended = once(killed, 'exit');
  let printed = '';
  for await (const line of createInterface({ input: killed.stdout })) {
    printed += `${line}\n`;
    if (line === 'Stop with Ctrl+C.') break;
  }
  // A shell runs the printed lines as they are pasted.
  const lines = (begin: string) =>
    printed
      .split('\n')
      .filter((line) => line.startsWith(`  ${begin}`))
      .map((line) => line.trim());
  const shell = promisify(execFile);
  const exports = `${lines('export ').join('\n')}\n`;
  const shown = await shell('sh', ['-c', `${exports}printf '%s\\n' "$API" "$ACCESS_KEY_ID" "$SECRET_ACCESS_KEY"`]);
  const [api, id, secret] = shown.stdout.split('\n') as [string, string, string];
  assert.equal(await firstPage(api, id, secret), 100);
  const curls = lines('curl ');
  assert.equal(curls.length, 3);
  for (const curl of curls) {
    assert.ok(!curl.includes(secret));
    assert.match((await shell('sh', ['-c', `${exports}${curl} -f`])).stdout, /"status":|"data":/);
  }
  killed.kill('SIGKILL');
  await ended;

  const next = run('--json');
  const nextEnded = once(next, 'exit');
  const nextLines = createInterface({ input: next.stdout })[Symbol.asyncIterator]();
  const ready = JSON.parse((await nextLines.next()).value!);
  assert.deepEqual([ready.access_key_id, ready.secret_access_key, ready.learners], [id, secret, 320]);
  next.kill('SIGTERM');
  assert.deepEqual(await nextEnded, [0, null]);
});
