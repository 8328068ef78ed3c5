/**
 * At most `size` passes are out at a time; the rest wait in the order in which they came.
 * @param size asked whenever a pass is wanted or given back
 * @returns a function that gives a pass: call it once to give the pass back, further calls do nothing
 */
export function createGate(size: () => number): () => Promise<() => void> {
  const queue: (() => void)[] = [];
  let out = 0;
  let head = 0;

  function admit(): void {
    while (head < queue.length && out < size()) {
      const next = queue[head]!;
      head += 1;
      if (head > 1000) {
        queue.splice(0, head);
        head = 0;
      }
      out += 1;
      next();
    }
  }
  return () =>
    new Promise((resolve) => {
      queue.push(() => {
        let held = true;
        resolve(() => {
          if (!held) return;
          held = false;
          out -= 1;
          admit();
        });
      });
      admit();
    });
}
