import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { systemRandom } from '../../crypto/random.ts';

/**
 * This module copies a PostgreSQL data folder while its server runs (PostgreSQL's manual, "Making a Base Backup Using
 * the Low Level API"). The WAL is copied last, because it must contain all changes made during the copy.
 */

export type CopiedFile = { path: string; bytes: number; sha256: string };

/** `onCopied` receives the number of bytes copied so far. `signal` stops the copy. */
export type CopyOptions = { onCopied(bytes: number): void; signal: AbortSignal };

/** Files of the running server. The copies of its folders stay empty. */
const leftOut =
  /^pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)\/|(^|\/)(postmaster\.(pid|opts)$|backup_label$|tablespace_map$|pg_internal\.init|pgsql_tmp)/;
const control = 'global/pg_control';

const hashed = (text: string) => createHash('sha256').update(text).digest('hex');

/**
 * Copies a file and computes its hash.
 * @returns null if the file no longer exists
 * @throws the signal's reason
 */
export async function copyFile(
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<{ bytes: number; sha256: string } | null> {
  const digest = createHash('sha256');
  const source = createReadStream(from).on('data', (part) => digest.update(part));
  try {
    await pipeline(source, createWriteStream(to, { mode: 0o600, flush: true }), { signal });
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || path !== from) throw error;
    await rm(to, { force: true });
    return null;
  }
  return { bytes: source.bytesRead, sha256: digest.digest('hex') };
}

async function readTree(root: string): Promise<{ folders: string[]; files: string[] }> {
  const folders: string[] = [];
  const files: string[] = [];
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/');
    if (leftOut.test(path)) continue;
    if (entry.isSymbolicLink()) throw new Error(`${path} is a link. Only complete data folders can be backed up.`);
    if (entry.isDirectory()) folders.push(path);
    else if (entry.isFile() && path !== control) files.push(path);
  }
  return { folders: [...folders.sort(), 'pg_wal/archive_status'], files };
}

/**
 * Copies the data folder of a running server. `client` must be a superuser's connection that nothing else uses.
 * @throws the signal's reason
 */
export async function copyOnline(
  client: pg.Client,
  from: string,
  to: string,
  { onCopied, signal }: CopyOptions,
): Promise<{ folders: string[]; files: CopiedFile[] }> {
  const value = async <R extends pg.QueryResultRow>(sql: string, values: unknown[] = []) =>
    (await client.query<R>(sql, values)).rows[0]!;
  // The slot keeps the WAL until the connection ends.
  const slot = `ars_backup_${systemRandom.bytes(6).toString('hex')}`;
  await value('select pg_create_physical_replication_slot($1, true, true)', [slot]);
  const { first } = await value<{ first: string }>(
    `select pg_walfile_name(pg_backup_start('ars backup', true)) as first`,
  );
  const { folders, files } = await readTree(from);
  for (const folder of ['', ...folders]) await mkdir(join(to, folder), { mode: 0o700 });
  const copied: CopiedFile[] = [];
  let bytes = 0;
  const take = async (path: string) => {
    const found = await copyFile(join(from, path), join(to, path), signal);
    if (found === null) return;
    copied.push({ path, ...found });
    onCopied((bytes += found.bytes));
  };
  // The control file is copied after all other files, because it says where recovery begins.
  for (const path of [...files, control]) await take(path);
  const { last, label } = await value<{ last: string; label: string }>(
    'select pg_walfile_name(lsn) as last, labelfile as label from pg_backup_stop(false)',
  );
  await writeFile(join(to, 'backup_label'), label, { mode: 0o600, flush: true });
  copied.push({ path: 'backup_label', bytes: Buffer.byteLength(label), sha256: hashed(label) });
  const log = (await readdir(join(from, 'pg_wal'))).filter(
    (name) => /^[0-9A-F]{8}\.history$/.test(name) || (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last),
  );
  for (const name of log.sort()) await take(`pg_wal/${name}`);
  if (!copied.some(({ path }) => path === `pg_wal/${last}`)) throw new Error('The end of the log could not be copied.');
  await value('select pg_drop_replication_slot($1)', [slot]);
  return { folders, files: copied };
}
