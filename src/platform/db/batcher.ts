/**
 * Joins calls into batches. The next batch gathers while others run, so batches grow with the load and a lone call does
 * not wait.
 * @param runBatch returns the results in the order of the calls; if it throws, every call of the batch fails
 * @param max the most calls in one batch
 * @param atOnce the most batches that run together
 */
export function batcher<In, Out>(
  runBatch: (calls: In[]) => Promise<Out[]>,
  max: number,
  atOnce = 1,
): (call: In) => Promise<Out> {
  type Waiting = { call: In; resolve(out: Out): void; reject(error: unknown): void };
  let waiting: Waiting[] = [];
  let running = 0;

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.length > max ? waiting.splice(0, max) : waiting;
      if (batch === waiting) waiting = [];
      try {
        const results = await runBatch(batch.map((entry) => entry.call));
        for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i]!);
      } catch (error) {
        for (const entry of batch) entry.reject(error);
      }
      if (batch.length > 1) await new Promise((resolve) => setImmediate(resolve));
    }
    running--;
  }
  return (call) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ call, resolve, reject });
      if (running === atOnce) return;
      running++;
      setImmediate(() => void work());
    });
}
