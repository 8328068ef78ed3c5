import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Random } from './random.ts';
import type { Settings } from './settings.ts';

/** The service's secret: from its setting, or generated once beside the embedded database. Two processes that generate it at once agree. */
export async function serviceSecret(settings: Settings, random: Random): Promise<string> {
  if (settings.secret !== undefined) return settings.secret;
  const path = join(settings.dataDir, 'secret');
  const read = () =>
    readFile(path, 'utf8').then(
      (text) => text.trim(),
      () => undefined,
    );
  const found = await read();
  if (found !== undefined) return found;
  await mkdir(settings.dataDir, { recursive: true });
  const draft = `${path}.${random.uuid()}`;
  await writeFile(draft, `${random.bytes(32).toString('base64url')}\n`, { mode: 0o600, flush: true });
  await chmod(draft, 0o600);
  // A link appears whole or not at all, and only the first one does.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
  return (await read())!;
}
