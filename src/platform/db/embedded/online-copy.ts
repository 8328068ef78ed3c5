import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';

/**
 * This module copies a PostgreSQL data folder while its server runs (PostgreSQL's manual, "Making a Base Backup Using
 * the Low Level API"). The WAL is copied last, because it contains changes during the copy.
 */

export type CopiedFile = { path: string; bytes: number; sha256: string };

export type Copied = { folders: string[]; files: CopiedFile[] };

/** The content of these folders belongs to the running server, so the copies stay empty. */
const emptyFolders = 'pg_wal pg_replslot pg_dynshmem pg_notify pg_serial pg_snapshots pg_stat_tmp pg_subtrans'.split(
  ' ',
);
const leftOut = /^(postmaster\.(pid|opts)|backup_label|tablespace_map|pg_internal\.init.*|pgsql_tmp.*)$/;
const control = 'global/pg_control';

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
  let bytes = 0;
  const source = createReadStream(from);
  try {
    await pipeline(
      source,
      async function* (parts: AsyncIterable<Buffer>) {
        for await (const part of parts) {
          digest.update(part);
          bytes += part.length;
          yield part;
        }
      },
      createWriteStream(to, { mode: 0o600, flush: true }),
      { signal },
    );
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' || path !== from) throw error;
    await rm(to, { force: true });
    return null;
  }
  return { bytes, sha256: digest.digest('hex') };
}

async function readTree(root: string): Promise<{ folders: string[]; files: string[] }> {
  const folders: string[] = [];
  const files: string[] = [];
  const read = async (path: string): Promise<void> => {
    for (const entry of await readdir(join(root, path), { withFileTypes: true })) {
      const here = path === '' ? entry.name : `${path}/${entry.name}`;
      if (leftOut.test(entry.name)) continue;
      if (entry.isSymbolicLink()) throw new Error(`${here} is a link: only whole data folders can be backed up.`);
      if (entry.isFile()) files.push(here);
      if (!entry.isDirectory()) continue;
      folders.push(here);
      if (!emptyFolders.includes(here)) await read(here);
    }
  };
  await read('');
  return { folders: [...folders, 'pg_wal/archive_status'], files: files.filter((path) => path !== control) };
}

/**
 * Copies the data folder of a running server. `client` must be a superuser's connection that nothing else uses.
 * @param slot the name of a replication slot, which keeps the WAL until the connection ends
 * @param onCopied receives the number of bytes copied so far
 * @throws the signal's reason
 */
export async function copyOnline(
  client: pg.Client,
  from: string,
  to: string,
  { slot, onCopied, signal }: { slot: string; onCopied?: (bytes: number) => void; signal: AbortSignal },
): Promise<Copied> {
  const value = async <R extends pg.QueryResultRow>(sql: string, values: unknown[] = []) =>
    (await client.query<R>(sql, values)).rows[0]!;
  await value('select pg_create_physical_replication_slot($1, true, true)', [slot]);
  const { first } = await value<{ first: string }>(
    `select pg_walfile_name(pg_backup_start('ars backup', true)) as first`,
  );
  const { folders, files } = await readTree(from);
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const folder of folders) await mkdir(join(to, folder), { mode: 0o700 });
  const copied: CopiedFile[] = [];
  let bytes = 0;
  const take = async (path: string) => {
    const found = await copyFile(join(from, path), join(to, path), signal);
    if (found === null) return;
    copied.push({ path, ...found });
    onCopied?.((bytes += found.bytes));
  };
  for (const path of files) await take(path);
  // The control file comes after all others, because it says where recovery begins.
  await take(control);
  const { last, label } = await value<{ last: string; label: string }>(
    'select pg_walfile_name(lsn) as last, labelfile as label from pg_backup_stop(false)',
  );
  await writeFile(join(to, 'backup_label'), label, { mode: 0o600, flush: true });
  copied.push({
    path: 'backup_label',
    bytes: Buffer.byteLength(label),
    sha256: createHash('sha256').update(label).digest('hex'),
  });
  const log = (await readdir(join(from, 'pg_wal'))).filter(
    (name) => /^[0-9A-F]{8}\.history$/.test(name) || (/^[0-9A-F]{24}$/.test(name) && name >= first && name <= last),
  );
  for (const name of log.sort()) await take(`pg_wal/${name}`);
  if (!copied.some(({ path }) => path === `pg_wal/${last}`)) throw new Error('The end of the log could not be copied.');
  await value('select pg_drop_replication_slot($1)', [slot]);
  return { folders, files: copied };
}
