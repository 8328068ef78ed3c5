import { ApiError, ArsError } from '../errors.ts';
import { explain } from './explain.ts';
import type { Explanation } from './explain.ts';
import type { MirrorOptions } from './mirror.ts';
import { Mirror } from './mirror.ts';
import { outcomeOf, Overtaken, SyncStopped } from './outcome.ts';
import type { Report } from './poll.ts';
import { poll, verify } from './poll.ts';

/** A mirror that runs one command after the other. Each rejects if it fails. */
export type MirrorHandle = {
  /** Brings the mirror up to date. */
  poll(): Promise<Report>;
  /** Counts the mirror's rows too, and repairs differences. */
  verify(): Promise<Report>;
  /** Why a result is, or isn't, in the mirror. */
  explain(id: string): Promise<Explanation>;
};

/** A mirror that polls only when you call it, such as from a nightly job. */
export function openMirror<Native>(options: MirrorOptions<Native>): MirrorHandle {
  const mirror = new Mirror(options as MirrorOptions);
  let isOpen = false;
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(async () => {
      try {
        if (!isOpen) await mirror.open();
        isOpen = true;
        return await work();
      } catch (error) {
        throw judged(error);
      }
    });
    last = turn.catch(() => {});
    return turn;
  };
  return {
    poll: () => inTurn(() => poll(mirror)),
    verify: () => inTurn(() => verify(mirror)),
    explain: (id) => inTurn(() => explain(mirror, id)),
  };
}

/** The fault itself, if it may pass; a sentence in its place, if it won't. */
function judged(error: unknown): unknown {
  if (!(error instanceof ArsError)) return error;
  const outcome = outcomeOf(error, 'organisation');
  return outcome instanceof SyncStopped ? outcome : error;
}

export type SyncOptions<Native = unknown> = MirrorOptions<Native> & {
  /** From the end of one poll to the next: 1 minute. Null: only once a day and by `wake`, for use with webhooks. */
  everyMs?: number | null;
  /** Called after every poll, and after every failure that will be retried. If it throws, the sync ends. */
  onReport?: (report: Report | { failed: unknown; againInMs: number }) => void;
};

/** A mirror that is kept up to date. */
export type Sync = Omit<MirrorHandle, 'poll'> & {
  /**
   * Resolves when `signal` aborts. Rejects with a `SyncStopped` if the mirror cannot continue, and with errors of
   * `onReport`.
   */
  done: Promise<void>;
  /** Polls now, or once more after the poll that runs: call it for every webhook that verifies. */
  wake(): void;
};

const longestWaitMs = 300_000;
/** The longest `Retry-After` that is waited for. After a longer one, the client polls every hour, for a day. */
const longestToldMs = 3_600_000;
const dayMs = 86_400_000;
/** How long the service may be unavailable before the sync ends. */
const patienceMs = dayMs;
/** Failures in a row of the store, onChange or onRestored, after which the sync ends. */
const maxFailures = 10;

/** Keeps a mirror up to date, by polling, by wake-ups, or both. */
export function sync<Native>(options: SyncOptions<Native>): Sync {
  const { client, signal, everyMs = 60_000, onReport } = options;
  const { surroundings } = client;
  const mirror = openMirror(options);
  const isOver = () => signal?.aborted === true;

  let isWoken = false;
  let interrupt = () => {};
  const wake = () => {
    isWoken = true;
    interrupt();
  };

  const rest = async (): Promise<void> => {
    if (isWoken || isOver()) return;
    const resting = new AbortController();
    interrupt = () => resting.abort();
    signal?.addEventListener('abort', interrupt, { once: true });
    await surroundings.wait(everyMs ?? dayMs, resting.signal).catch(() => {});
    signal?.removeEventListener('abort', interrupt);
  };

  const run = async (): Promise<void> => {
    let failures = 0;
    /** In a row, and not the service's. */
    let ownFailures = 0;
    // For the service, and not by the clock: a machine that slept has not asked meanwhile.
    let waitedMs = 0;
    while (!isOver()) {
      isWoken = false;
      let report: Report;
      try {
        report = await mirror.poll();
      } catch (error) {
        if (isOver()) return;
        const isService = error instanceof ArsError;
        // Where another process is always first, the mirror is kept.
        ownFailures = isService || error instanceof Overtaken ? 0 : ownFailures + 1;
        const hopeless = givenUp(error, ownFailures, waitedMs);
        if (hopeless !== null) throw hopeless;
        const againInMs = waitAfter(++failures, error, surroundings.random());
        onReport?.({ failed: error, againInMs });
        if (isService) waitedMs += againInMs;
        await surroundings.wait(againInMs, signal).catch(() => {});
        continue;
      }
      failures = ownFailures = waitedMs = 0;
      onReport?.(report);
      await rest();
    }
  };
  return { done: run(), wake, explain: mirror.explain, verify: mirror.verify };
}

/** Growing waits, and none that ends before the service wants to be asked again. */
function waitAfter(failures: number, error: unknown, random: number): number {
  const growing = Math.min(longestWaitMs, 1000 * 2 ** failures) * (1 - random / 2);
  const told = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(growing, Math.min(longestToldMs, told) * (1 + random / 60));
}

/** The error that ends the mirror: a permanent fault, or one that has lasted too long. */
function givenUp(error: unknown, ownFailures: number, waitedMs: number): SyncStopped | null {
  if (error instanceof SyncStopped) return error;
  const said = error instanceof Error ? error.message : String(error);
  if (error instanceof ArsError)
    return waitedMs < patienceMs
      ? null
      : new SyncStopped(`The service has not answered a poll for a day: ${said}`, { cause: error });
  return ownFailures < maxFailures
    ? null
    : new SyncStopped(`The store, onChange or onRestored has failed ${ownFailures} times in a row: ${said}`, {
        cause: error,
      });
}
