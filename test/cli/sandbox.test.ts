import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { withService } from '../service.ts';

const ars = new URL('../../cli/ars.ts', import.meta.url).pathname;

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
      const { base_url, ...sandbox } = JSON.parse((await lines.next()).value!);
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
