/**
 * Joins calls that wait at the same time into one batch: natural batching. While batches are under way the next one
 * gathers, so the batch grows with the load and a lone call waits for nobody.
 * @param runBatch answers every call of the batch, in order; when it throws, every call of the batch fails
 * @param most calls in one batch
 * @param atOnce batches under way; with two, one is answered while the database works on the other
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
      // What arrived while the answers were handed out joins the next batch.
      if (batch.length > 1) await new Promise((resolve) => setImmediate(resolve));
    }
    running--;
  }
  return (call) =>
    new Promise<Out>((resolve, reject) => {
      waiting.push({ call, resolve, reject });
      if (running === atOnce) return;
      running++;
      // The calls that arrived in this turn of the event loop go together.
      setImmediate(() => void work());
    });
}
