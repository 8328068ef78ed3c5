import { chmod, link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Database } from '../platform/db/database.ts';
import { statement } from '../platform/db/database.ts';
import { handToOwnerOf } from '../platform/db/embedded/cluster.ts';
import { makeFolder } from '../platform/db/embedded/folder.ts';
import type { Random } from '../platform/crypto/random.ts';
import { secretFingerprint } from '../platform/crypto/secrets.ts';
import type { Settings } from '../platform/config/settings.ts';
import { SettingsError } from '../platform/config/settings.ts';

const undefinedTable = '42P01';
const known = statement('service_secret.known', 'select fingerprint from service_secret');
const put = statement(
  'service_secret.put',
  `
  insert into service_secret as s (fingerprint, since) values ($1, $2)
  on conflict (one) do update set fingerprint = excluded.fingerprint, since = excluded.since
   where s.fingerprint = any($3::text[])`,
);
const accept = statement(
  'service_secret.accept',
  `
  insert into service_secret (fingerprint, since) values ($1, $2)
  on conflict (one) do update set fingerprint = excluded.fingerprint, since = excluded.since`,
);

/** Whether the database is used with this secret, as far as it knows. */
export async function isSecretOf(db: Database, secret: string): Promise<boolean> {
  const fingerprint = await lastUsed(db).catch((error: { code?: string }) => {
    // The database is still empty.
    if (error.code !== undefinedTable) throw error;
  });
  return fingerprint === undefined || fingerprint === secretFingerprint(secret);
}

async function lastUsed(db: Database): Promise<string | undefined> {
  return (await db.query<{ fingerprint: string }>(known))[0]?.fingerprint;
}

/**
 * The service's secret: from its setting, or generated once beside the embedded database. Two processes that generate
 * it at once agree.
 * @param mayMake another one than the database is used with may take its place
 * @throws SettingsError where there is none, and the database is used with one
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
  // Another process writes it before the database knows of it.
  const isUsed = (await lastUsed(db)) !== undefined;
  if (isUsed) found = await read();
  if (found !== undefined) return found;
  if (isUsed && !mayMake)
    throw new SettingsError(
      `The service's secret is neither in ARS_SECRET nor in ${path}, and this database is used with one: set ARS_SECRET, or put the file back. ` +
        'If it is lost, ars secret accept begins anew with another.',
    );
  await makeFolder(settings.dataDir);
  const draft = `${path}.${random.uuid()}`;
  await writeFile(draft, `${random.bytes(32).toString('base64url')}\n`, { mode: 0o600, flush: true });
  await chmod(draft, 0o600);
  handToOwnerOf(settings.dataDir, draft);
  // A link appears whole or not at all, and only the first one does.
  await link(draft, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  await rm(draft);
  return (await read())!;
}

/**
 * Holds the service's secrets against the one that the database was last used with. Of processes that start at once
 * on an empty database with different secrets, one is refused.
 * @throws SettingsError when that one isn't listed: links, cursors and stored secrets could not be read
 */
export async function proveSecret(db: Database, current: string, previous: string[], nowMs: number): Promise<void> {
  const wanted = secretFingerprint(current);
  const before = await lastUsed(db);
  if (before === wanted) return;
  await db.query(put, [wanted, new Date(nowMs), previous.map(secretFingerprint)]);
  if ((await lastUsed(db)) === wanted) return;
  throw new SettingsError(
    'ARS_SECRET is not the one that this database is used with: restore that one, or list it in ARS_PREVIOUS_SECRETS. ' +
      'If it is lost, ars secret accept begins anew with this one.',
  );
}

/** Lets the database be used with another secret from here on, after the one before was lost. */
export async function acceptSecret(db: Database, current: string, nowMs: number): Promise<void> {
  await db.query(accept, [secretFingerprint(current), new Date(nowMs)]);
}
