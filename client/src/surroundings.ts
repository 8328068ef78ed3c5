/** What the client takes from where it runs: every runtime has it, and tests give their own. */
export type Surroundings = {
  fetch: (address: string, init: RequestInit) => Promise<Response>;
  /** Milliseconds since 1970. */
  nowMs(): number;
  /** Milliseconds on a clock that nobody sets. */
  monotonicMs(): number;
  /** From 0 up to, but never, 1. */
  random(): number;
  uuid(): string;
  /** Resolves after so long; rejects with the signal's reason as soon as it is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
};

/** Some 24 days: a timer that is given more ends at once. */
export const longestTimerMs = 2 ** 31 - 1;

export const ordinarySurroundings: Surroundings = {
  // Asked for at each call, so that whoever replaces the global later is heard.
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
