/**
 * At most `size` passes are out at a time; the rest wait in the order in which they came.
 * @returns a function that gives a pass: call it once to give the pass back, further calls do nothing
 */
export function createGate(size: number): () => Promise<() => void> {
  const queue: (() => void)[] = [];
  let out = 0;
  let head = 0;

  const leave = () => {
    const next = queue[head];
    if (next === undefined) {
      out -= 1;
      return;
    }
    head += 1;
    if (head > 1000) {
      queue.splice(0, head);
      head = 0;
    }
    next();
  };
  return () =>
    new Promise((resolve) => {
      const pass = () => {
        let held = true;
        resolve(() => {
          if (held) {
            held = false;
            leave();
          }
        });
      };
      if (out < size) {
        out += 1;
        pass();
      } else queue.push(pass);
    });
}
