/** What keeps a database that is there from taking changes. */
export type StorageFault = 'disk_full' | 'read_only';

const byCode: Record<string, StorageFault> = { '53100': 'disk_full', '25006': 'read_only' };

/** What the error says of the whole database; null for every other error. */
export function storageFaultOf(error: unknown): StorageFault | null {
  return byCode[(error as { code?: string } | null)?.code ?? ''] ?? null;
}

/**
 * What statements found out. A disk with some free blocks takes one statement and refuses the next one, so a hindrance
 * counts for a while after it was last met, and until the database answers again.
 */
export type StorageFaults = {
  note(what: StorageFault): void;
  /** @param works whether the database answers now, and takes what it was asked */
  seen(works: boolean): StorageFault | null;
};

const keptMs = 5_000;

export function createStorageFaults(monotonicMs: () => number): StorageFaults {
  let last: { what: StorageFault; atMs: number } | null = null;
  return {
    note: (what) => {
      last = { what, atMs: monotonicMs() };
    },
    seen(works) {
      if (works && last !== null && monotonicMs() - last.atMs > keptMs) last = null;
      return last?.what ?? null;
    },
  };
}

/** More than fits into the least `work_mem`, so PostgreSQL writes a temporary file. Nothing else about a full disk is sure. */
const spill = `set local work_mem = '64kB'; select count(*) from generate_series(1, 5000)`;

/**
 * Asks whether the database takes changes, and notes the answer.
 * @throws what the database says, unless that is a hindrance
 */
export async function findStorageFault(
  storageFaults: StorageFaults,
  on: { query(sql: string): Promise<Record<string, unknown>[]> },
): Promise<StorageFault | null> {
  try {
    const [row] = await on.query(`select current_setting('transaction_read_only') as read_only`);
    if (row!.read_only === 'on') storageFaults.note('read_only');
    else await on.query(spill);
  } catch (error) {
    if (storageFaultOf(error) === null) throw error;
    return storageFaults.seen(false);
  }
  return storageFaults.seen(true);
}
