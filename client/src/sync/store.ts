import type { Assessment } from '../openapi.ts';

/** A result as a mirror holds it. */
export type Row = {
  /** The `assessment_id`. */
  id: string;
  /** The text of the record's own `updated_at`. */
  updated_at: string;
  /** The last full walk that showed it. */
  generation: number;
  /** A sum of the record's content, by which damage in the mirror's own database is seen. */
  check: string;
  record: Assessment;
};

/**
 * The storage of a mirror. `@ars/client/conformance` tests your own stores.
 * @template Native the transaction that `onChange` gets, for writes of your own
 */
export type Store<Native = unknown> = {
  /** Creates what the store needs. Every process calls it first. */
  open(): Promise<void>;
  /**
   * Runs the work in one transaction: all of it is kept, durably, once this resolves, or nothing if it rejects or the
   * process dies. Two transactions on one mirror, of different processes too, follow one another: the second one's
   * `readState` waits for the first.
   */
  transaction<Result>(work: (transaction: StoreTransaction<Native>) => Promise<Result>): Promise<Result>;
};

export type StoreTransaction<Native = unknown> = {
  native: Native;
  /** The text that `writeState` kept last, or null. Always asked first. */
  readState(): Promise<string | null>;
  writeState(text: string): Promise<void>;
  /** The existing rows with these IDs, in any order. */
  find(ids: string[]): Promise<Row[]>;
  /** Stores rows. Each replaces the row with its ID. No ID occurs twice. */
  put(rows: Row[]): Promise<void>;
  remove(ids: string[]): Promise<void>;
  /** Up to `limit` rows after this ID, in a stable order of IDs. Null: from the beginning. */
  list(after: string | null, limit: number): Promise<Row[]>;
};
