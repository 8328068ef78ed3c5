import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { program } from '../../support/ars.ts';
import { freePort } from '../../support/ports.ts';
import type { TestService } from '../../support/service.ts';
import { settings } from './previous-release.ts';

/** A process of a release that doesn't exist, whose second migration and payload version are in next-release.ts. */
export async function startNextRelease(service: TestService, port?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'ars-next-'));
  const shipped = new URL('../../../src/platform/db/migrations/', import.meta.url);
  for (const name of await readdir(shipped)) await copyFile(new URL(name, shipped), join(folder, name));
  await writeFile(join(folder, '9001_nickname.sql'), 'alter table learner add column nickname text;\n');
  port ??= await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(
    process.execPath,
    [`--import=${new URL('./next-release.ts', import.meta.url).href}`, program, 'serve'],
    {
      env: {
        ...process.env,
        ...service.environment,
        ...settings,
        ARS_PORT: String(port),
        ARS_LOG: 'none',
        ARS_DRAIN_DELAY_SECONDS: '0',
        ARS_TEST_MIGRATIONS: pathToFileURL(`${folder}/`).href,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    assert.equal(child.exitCode, null, 'the next release has ended');
    await delay(50);
  }
  return {
    url,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}
