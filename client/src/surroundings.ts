/** Functions of the runtime; tests pass their own. */
export type Surroundings = {
  fetch: (address: string, init: RequestInit) => Promise<Response>;
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Milliseconds of a monotonic clock. */
  monotonicMs(): number;
  /** From 0 up to, but never, 1. */
  random(): number;
  uuid(): string;
  /** Resolves after this time; rejects with the signal's reason when it aborts. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
};

/** About 24 days: longer timers fire immediately. */
export const longestTimerMs = 2 ** 31 - 1;

export const ordinarySurroundings: Surroundings = {
  // Read at each call, so that a later replacement of the global counts.
  fetch: (address, init) => globalThis.fetch(address, init),
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
  uuid: () => globalThis.crypto.randomUUID(),
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted === true) return reject(signal.reason as Error);
      const stop = () => {
        clearTimeout(timer);
        reject(signal!.reason as Error);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
        Math.min(ms, longestTimerMs),
      );
      signal?.addEventListener('abort', stop, { once: true });
    }),
};
