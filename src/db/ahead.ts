import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';
import type { Log } from '../log.ts';
import type { Database, Tx } from './database.ts';
import { statement } from './database.ts';

const now = statement('clock.of_the_database', 'select clock_timestamp() as at');

/** The database's clock. */
export async function databaseMs(tx: Tx): Promise<number> {
  const [row] = await tx.query<{ at: Date }>(now);
  return row!.at.getTime();
}

/** By how much a time is later than the database's clock, where that is too much; 0 where it isn't. */
async function aheadMs(tx: Tx, ms: number): Promise<number> {
  const ahead = ms - (await databaseMs(tx));
  return ahead > limits.clockAheadMs ? ahead : 0;
}

/**
 * Whether the clock is so far ahead of the database's that nothing may be deleted by it: a machine that has just started may
 * be months ahead, and what it deleted as over would be lost.
 */
export async function clockIsAhead({ db, clock, log }: { db: Database; clock: Clock; log: Log }): Promise<boolean> {
  const ahead = await aheadMs(db, clock.nowMs());
  if (ahead > 0) log.error('clock.ahead', { seconds: Math.round(ahead / 1000) });
  return ahead > 0;
}

/**
 * Whether this clock and the database's agree, so that what lies further ahead was dated by one that was wrong. A clock that is
 * behind deletes nothing that it shouldn't, but receivers refuse what it signs.
 */
export async function clocksAgree({ db, clock, log }: { db: Database; clock: Clock; log: Log }): Promise<boolean> {
  const behind = (await databaseMs(db)) - clock.nowMs();
  if (behind > limits.clockAheadMs) log.error('clock.behind', { seconds: Math.round(behind / 1000) });
  return Math.abs(behind) <= limits.clockAheadMs;
}

/**
 * From where on a stored time is none that a clock has written that agrees with the database's: two of them may lie that far
 * on either side of it.
 * @param lateMs how far ahead of its clock it was written
 */
export function datedAheadFrom(nowMs: number, lateMs = 0): Date {
  return new Date(nowMs + 2 * limits.clockAheadMs + lateMs);
}

/** Whether a time that was stored is later than any right clock could have written by now. */
export async function isOfAheadClock(tx: Tx, at: Date): Promise<boolean> {
  return (await aheadMs(tx, at.getTime())) > 0;
}

/** The latest time that a right clock can show now. */
export async function latestRight(tx: Tx): Promise<Date> {
  return new Date((await databaseMs(tx)) + limits.clockAheadMs);
}

/** Something was to be deleted by a clock that is ahead. The message is a whole sentence for whoever asked. */
export class ClockAhead extends Error {
  constructor(ms: number) {
    super(
      `This machine's clock is ${Math.round(ms / 60_000)} minutes ahead of the database's, so nothing is counted or deleted by it: have the clock set.`,
    );
  }
}

/** @throws ClockAhead where a clock's time is too far ahead of the database's */
export async function refuseAhead(tx: Tx, nowMs: number): Promise<void> {
  const ahead = await aheadMs(tx, nowMs);
  if (ahead > 0) throw new ClockAhead(ahead);
}
