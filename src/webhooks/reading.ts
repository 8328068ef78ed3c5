import type { Clock } from '../clock.ts';
import type { Dedicated } from '../db/database.ts';
import type { LaneIo } from './lane.ts';
import { dueDeliveries } from './claim.ts';
import type { Recorder } from './outcome.ts';

const retryMs = 500;

/** What one worker reads from a database that may restart under it. */
export type Reading = {
  /**
   * The connection is up, perhaps because the database has restarted: outcomes that it may have forgotten are written
   * again.
   */
  begin(): void;
  /** Resolves once they are; nothing may be claimed or read before. */
  recovered(): Promise<void>;
  /** Reads what is due; waits while the database is away. */
  fetch: LaneIo['fetch'];
};

export function createReading({
  clock,
  connection,
  recorder,
  stopping,
  failed,
}: {
  clock: Clock;
  connection: Dedicated;
  recorder: Recorder;
  stopping: AbortSignal;
  failed(error: unknown): void;
}): Reading {
  // What was read before outcomes were written again, in another epoch, can't be trusted.
  let epoch = 0;
  let recovering: Promise<void> = Promise.resolve();

  return {
    begin() {
      epoch += 1;
      recovering = recorder.recover().catch(failed);
    },
    recovered: () => recovering,
    async fetch(endpoint, after, limit) {
      while (!stopping.aborted) {
        await recovering;
        const before = epoch;
        try {
          const rows = await dueDeliveries(connection, endpoint, clock.nowMs(), after, limit);
          if (before === epoch) return rows;
        } catch (error) {
          failed(error);
          await new Promise((resolve) => {
            setTimeout(resolve, retryMs);
          });
        }
      }
      return [];
    },
  };
}
