import { copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TestService } from '../../support/service.ts';
import { changedProcess } from '../world/processes.ts';
import { settings } from './previous-release.ts';

/** A process of a release that doesn't exist, whose second migration and payload version are in next-release.ts. */
export async function startNextRelease(service: TestService, port?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'ars-next-'));
  const shipped = new URL('../../../src/platform/db/migrations/', import.meta.url);
  for (const name of await readdir(shipped)) await copyFile(new URL(name, shipped), join(folder, name));
  await writeFile(join(folder, '9001_nickname.sql'), 'alter table learner add column nickname text;\n');
  const next = new URL('./next-release.ts', import.meta.url).href;
  const environment = { ...service.environment, ...settings, ARS_TEST_MIGRATIONS: pathToFileURL(`${folder}/`).href };
  const { url, stop } = await changedProcess(next, environment, port);
  return { url, stop: () => stop().then(() => rm(folder, { recursive: true })) };
}
