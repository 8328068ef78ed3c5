/** Milliseconds of this thread's processor that something takes; above `maxMs` at its quickest of three times. */
export function processorMs(act: () => unknown, maxMs: number): number {
  let quickest = Infinity;
  for (let tries = 0; tries < 3 && quickest > maxMs; tries++) {
    const before = process.threadCpuUsage();
    act();
    const { user, system } = process.threadCpuUsage(before);
    quickest = Math.min(quickest, (user + system) / 1000);
  }
  return quickest;
}
