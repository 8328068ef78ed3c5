import { chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, statement } from '../platform/db/database.ts';
import { handToOwnerOf, makeFolder } from '../platform/db/embedded/folder.ts';
import type { Random } from '../platform/crypto/random.ts';
import { secretFingerprint } from '../platform/crypto/secrets.ts';
import { type Settings, SettingsError } from '../platform/config/settings.ts';

const undefinedTable = '42P01';
const lastSecret = statement('service_secret.known')`select fingerprint from service_secret`;
const put = statement('service_secret.put')`
  insert into service_secret as s (fingerprint, since) values ($1, $2)
  on conflict (one) do update set fingerprint = excluded.fingerprint, since = excluded.since
   where s.fingerprint = any($3::text[])`;
const accept = statement('service_secret.accept')`
  insert into service_secret (fingerprint, since) values ($1, $2)
  on conflict (one) do update set fingerprint = excluded.fingerprint, since = excluded.since`;

export async function isSecretOf(db: Database, secret: string): Promise<boolean> {
  const fingerprint = await lastUsed(db).catch((error: { code?: string }) => {
    // This error means that the database has no tables yet, so no secret was used.
    if (error.code !== undefinedTable) throw error;
  });
  return fingerprint === undefined || fingerprint === secretFingerprint(secret);
}

async function lastUsed(db: Database): Promise<string | undefined> {
  return (await db.query<{ fingerprint: string }>(lastSecret))[0]?.fingerprint;
}

/**
 * Reads the service's secret from ARS_SECRET or from a file next to the embedded database. If neither exists, the first
 * process generates the file.
 * @param mayMake whether to generate a secret although the database has been used with another
 * @throws SettingsError if there is no secret, the database has been used with one, and `mayMake` is false
 */
export async function serviceSecret(
  db: Database,
  settings: Settings,
  random: Random,
  mayMake: boolean,
): Promise<string> {
  if (settings.secret !== undefined) return settings.secret;
  const path = join(settings.dataDir, 'secret');
  const read = () =>
    readFile(path, 'utf8').then(
      (text) => text.trim(),
      () => undefined,
    );
  let found = await read();
  if (found !== undefined) return found;
  // If the database is in use, another process may have written the file since the first read, so read again.
  const isUsed = (await lastUsed(db)) !== undefined;
  if (isUsed) found = await read();
  if (found !== undefined) return found;
  if (isUsed && !mayMake)
    throw new SettingsError(
      `This database needs a secret, which is missing from ARS_SECRET and ${path}. Set ARS_SECRET, or put the file back. ` +
        'If the secret is lost, ars secret accept starts with another secret.',
    );
  await makeFolder(settings.dataDir);
  const draft = `${path}.${random.uuid()}`;
  await writeFile(draft, `${random.bytes(32).toString('base64url')}\n`, { mode: 0o600, flush: true });
  await chmod(draft, 0o600);
  handToOwnerOf(settings.dataDir, draft);
  // Linking is atomic: if several processes generate a secret, only the first one's file is kept.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
  return (await read())!;
}

/**
 * Checks that the database was last used with one of the listed secrets. If two processes with different secrets start
 * together on an empty database, one is refused.
 * @throws SettingsError if it was another secret, because links, cursors and stored secrets would be unreadable
 */
export async function proveSecret(db: Database, current: string, previous: string[], nowMs: number): Promise<void> {
  const wanted = secretFingerprint(current);
  const before = await lastUsed(db);
  if (before === wanted) return;
  await db.query(put, [wanted, new Date(nowMs), previous.map(secretFingerprint)]);
  if ((await lastUsed(db)) === wanted) return;
  throw new SettingsError(
    'ARS_SECRET is not the secret of this database. Restore the old secret, or list it in ARS_PREVIOUS_SECRETS. ' +
      'If the old secret is lost, ars secret accept starts with the new secret.',
  );
}

/** Records the new secret as the database's secret. The old secret was lost, so nothing is compared with it. */
export async function acceptSecret(db: Database, current: string, nowMs: number): Promise<void> {
  await db.query(accept, [secretFingerprint(current), new Date(nowMs)]);
}
