/** What keeps a database that is there from taking changes. */
export type Hindrance = 'disk_full' | 'read_only';

const byCode: Record<string, Hindrance> = { '53100': 'disk_full', '25006': 'read_only' };

/** What the error says of the whole database; null for every other error. */
export function hindranceOf(error: unknown): Hindrance | null {
  return byCode[(error as { code?: string } | null)?.code ?? ''] ?? null;
}

/**
 * What statements found out. A disk with some free blocks takes one statement and refuses the next one, so a hindrance
 * counts for a while after it was last met, and until the database answers again.
 */
export type Hindrances = {
  note(what: Hindrance): void;
  /** @param works whether the database answers now, and takes what it was asked */
  seen(works: boolean): Hindrance | null;
};

const keptMs = 5_000;

export function createHindrances(monotonicMs: () => number): Hindrances {
  let last: { what: Hindrance; atMs: number } | null = null;
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
export async function findHindrance(
  hindrances: Hindrances,
  on: { query(sql: string): Promise<Record<string, unknown>[]> },
): Promise<Hindrance | null> {
  try {
    const [row] = await on.query(`select current_setting('transaction_read_only') as read_only`);
    if (row!.read_only === 'on') hindrances.note('read_only');
    else await on.query(spill);
  } catch (error) {
    if (hindranceOf(error) === null) throw error;
    return hindrances.seen(false);
  }
  return hindrances.seen(true);
}
