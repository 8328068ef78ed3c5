import type { App } from '../../platform/app.ts';
import { type Status, readStatus } from './status.ts';

/** Pages and metrics of this time share one reading. */
const freshMs = 5000;
const patience = 'set statement_timeout = 5000';

export type StatusReader = (maxAgeMs?: number) => Promise<Status>;

/** Opens a connection of its own, because the status matters most when all other connections are busy. */
export function statusReader(app: App): StatusReader {
  const connection = app.db.dedicated();
  let last: Promise<Status> | null = null;
  let askedMs = 0;
  const ask = async () => {
    await connection.query(patience);
    return readStatus(connection, { nowMs: app.clock.nowMs(), silentAfter: app.settings.silentAfter });
  };
  return (maxAgeMs = freshMs) => {
    const nowMs = app.clock.monotonicMs();
    if (last === null || nowMs - askedMs >= maxAgeMs) {
      askedMs = nowMs;
      const asked = ask();
      last = asked;
      // A failed reading is not kept.
      asked.catch(() => {
        if (last === asked) last = null;
      });
    }
    return last;
  };
}
