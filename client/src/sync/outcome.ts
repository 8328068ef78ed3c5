import { ApiError, ArsError, isLostCursor, RestoredError } from '../errors.ts';
import { maxRestarts } from '../walk.ts';

/** The mirror cannot continue. The message has the reason and the remedy. */
export class SyncStopped extends Error {
  override name = 'SyncStopped';
}

/** Another process has changed the mirror; its state counts. */
export class Overtaken extends Error {
  override name = 'Overtaken';

  constructor() {
    super('Other processes have changed this mirror repeatedly, before this process could. Try again.');
  }
}

/** How often in a row another process may come first. */
const maxOvertakings = 50;

/** Repeats work that begins with the stored state, if another process was first. */
export async function inSpiteOfOthers(work: () => Promise<void>): Promise<void> {
  for (let overtakings = 0; ;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Overtaken) || ++overtakings > maxOvertakings) throw error;
    }
  }
}

/** Repeats a read of several parts of one state, if the service was restored meanwhile. */
export async function inSpiteOfRestores<T>(operation: string, work: () => Promise<T>): Promise<T> {
  for (let restarts = 0; ; restarts++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof RestoredError) && !isLostCursor(error)) throw error;
      if (restarts === maxRestarts) throw new RestoredError(operation, { cause: error });
    }
  }
}

/** @throws RestoredError if two responses of the service are from before and after a restore */
export function refuseRestored(operation: string, one: string | null, other: string | null): void {
  if (one !== other) throw new RestoredError(operation);
}

/** The kind of the request that failed. */
export type Asked = 'page' | 'record' | 'digest' | 'organisation';

/** The reaction to a fault. */
export type Outcome = 'try later' | 'walk everything' | 'is gone' | 'has no digest' | SyncStopped;

/** How each refusal of the service ends: nothing is asked again that can't pass, and nothing that can is given up. */
export function outcomeOf(error: ArsError, asked: Asked): Outcome {
  // A page of a proxy or a captive portal says nothing about the mirror.
  if (error.isTransient || !(error instanceof ApiError)) return 'try later';
  const { status, code } = error;
  if (status === 401)
    return new SyncStopped(
      'The service refuses the access key. It was revoked, has expired, or was copied incompletely. Use a valid key.',
    );
  if (asked === 'digest' && [400, 404, 405].includes(status)) return 'has no digest';
  if (asked === 'record' && status === 404) return 'is gone';
  // The state in which the walk, or the checkpoint, began is lost on the other side: a backup came back.
  if (asked === 'page' && (code === 'invalid_cursor' || code === 'invalid_since')) return 'walk everything';
  if (asked === 'page' && status === 400)
    return new SyncStopped(`The service refuses the filters: ${error.message}. Correct them, and start again.`);
  return new SyncStopped(`The service refuses a request that the mirror needs: ${error.message}`);
}
