import { closeSync, openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseSync } from 'node:sqlite';

/** Node has no file locks between processes, so this lock uses SQLite. The kernel releases it when the process ends. */
export type FileLock = { release(): void };

const sqliteBusy = 5;
const retryMs = 15;

/** Locks a file, which is created if missing. Null: another process holds the lock. */
export function tryLock(path: string, mode: 'shared' | 'exclusive'): FileLock | null {
  closeSync(openSync(path, 'a', 0o600));
  const file = new DatabaseSync(path, { timeout: 0 });
  try {
    // The journal is in memory, because a journal on a full disk would fail and no command could run.
    file.exec('pragma journal_mode = memory');
    file.exec(mode === 'shared' ? 'begin; select * from sqlite_schema' : 'begin exclusive');
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return null;
    throw error;
  }
  return { release: () => file.close() };
}

/** Waits as long as another process holds the lock. @throws the signal's reason */
export async function waitForLock(path: string, mode: 'shared' | 'exclusive', signal?: AbortSignal): Promise<FileLock> {
  for (;;) {
    signal?.throwIfAborted();
    const lock = tryLock(path, mode);
    if (lock) return lock;
    await delay(retryMs);
  }
}
