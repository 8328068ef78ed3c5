export type StorageFault = 'disk_full' | 'read_only';

const byCode: Record<string, StorageFault> = { '53100': 'disk_full', '25006': 'read_only' };

export function storageFaultOf(error: unknown): StorageFault | null {
  return byCode[(error as { code?: string } | null)?.code ?? ''] ?? null;
}

/**
 * A nearly full disk refuses only some statements. A fault is therefore reported for at least 5 seconds, and until a
 * probe succeeds.
 */
export type StorageFaults = {
  note(what: StorageFault): void;
  probed(works: boolean): StorageFault | null;
};

const keptMs = 5_000;

export function createStorageFaults(monotonicMs: () => number): StorageFaults {
  let last: { what: StorageFault; atMs: number } | null = null;
  return {
    note: (what) => {
      last = { what, atMs: monotonicMs() };
    },
    probed(works) {
      if (works && last !== null && monotonicMs() - last.atMs > keptMs) last = null;
      return last?.what ?? null;
    },
  };
}

/** The rows exceed this `work_mem`, so PostgreSQL writes a temporary file. Only a write shows that the disk is full. */
const spill = `set local work_mem = '64kB'; select count(*) from generate_series(1, 5000)`;

/** Probes whether the database takes changes. @throws any error that is no storage fault */
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
    return storageFaults.probed(false);
  }
  return storageFaults.probed(true);
}
