// Tier: full. Installs Newman, and runs the collection against a sandbox.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { routes } from '../../../src/api/route-table.ts';
import { installTools } from '../../support/npm-tools.ts';
import { withService } from '../../support/service.ts';
import { root } from '../../support/structure/source-tree.ts';

/** A sandbox in its own process, as integrators start it. */
async function startSandbox() {
  const { databaseUrl } = await withService();
  const folder = await mkdtemp(join(tmpdir(), 'ars-sandbox-'));
  const child = spawn(process.execPath, [join(root, 'cli/ars.ts'), 'sandbox', '--learners', '20', '--json'], {
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      ARS_PORT: '0',
      ARS_DATA_DIR: folder,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  after(async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true });
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return JSON.parse(line) as { base_url: string; access_key_id: string; secret_access_key: string };
}

test('Newman runs the Postman collection without a failure, again too', async (context) => {
  const newman = await installTools('newman@6.2.2');
  if (newman.missing !== null) return context.skip(newman.missing);
  const sandbox = await startSandbox();
  const collection = join(newman.folder, 'postman.json');
  const served = await fetch(new URL('/postman.json', sandbox.base_url));
  await writeFile(collection, await served.text());
  const report = join(newman.folder, 'report.json');
  const words = [
    ...['--env-var', `accessKeyId=${sandbox.access_key_id}`],
    ...['--env-var', `secretAccessKey=${sandbox.secret_access_key}`],
    ...['--reporters', 'json', '--reporter-json-export', report, '--timeout-request', '20000'],
  ];
  for (const turn of ['first', 'second']) {
    const { code, output } = await newman.call('newman', 'run', collection, ...words);
    const { run } = JSON.parse(await readFile(report, 'utf8')) as { run: any };
    assert.deepEqual(
      run.failures.map(({ error }: any) => error.message),
      [],
      turn,
    );
    assert.equal(code, 0, output);
    const codes = run.executions.map(({ response }: any) => response?.code).filter((one: unknown) => one !== undefined);
    // The stream of events has no end, so its request is skipped.
    assert.equal(codes.length, routes.length - 1, turn);
    assert.ok(
      codes.every((one: number) => one >= 200 && one < 300),
      `${turn}: ${codes}`,
    );
  }
});
