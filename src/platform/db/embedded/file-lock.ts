import { closeSync, openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';

/**
 * Locks between processes that share a folder. The kernel drops them when their holder ends, however it ends, so
 * there is no stale lock to recognise and no process number to mistrust. Node offers no lock on files of its own;
 * its SQLite does, on every platform, and the file stays empty.
 */
export type FileLock = { release(): void };

const sqliteBusy = 5;
const retryMs = 15;

/** The lock on `path` (made if it is missing, readable by its owner only), or null while others hold it against us. */
export function tryLock(path: string, mode: 'shared' | 'exclusive'): FileLock | null {
  closeSync(openSync(path, 'a', 0o600));
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is written, but a journal would be begun beside it: on a full disk nobody could back up, erase or stop.
    file.exec('pragma journal_mode = memory');
    file.exec(mode === 'shared' ? 'begin; select * from sqlite_schema' : 'begin exclusive');
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return null;
    throw error;
  }
  return { release: () => file.close() };
}

/** Waits for as long as a living process holds the lock; rejects when the signal is aborted. */
export async function waitForLock(path: string, mode: 'shared' | 'exclusive', signal?: AbortSignal): Promise<FileLock> {
  for (;;) {
    signal?.throwIfAborted();
    const lock = tryLock(path, mode);
    if (lock) return lock;
    await delay(retryMs);
  }
}
