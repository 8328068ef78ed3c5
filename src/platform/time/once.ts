/** Makes a value at the first call. A failure is not kept, so the next call tries again. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () => {
    if (made === null) {
      const making = make();
      made = making;
      making.catch(() => {
        made = null;
      });
    }
    return made;
  };
}
