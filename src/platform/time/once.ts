/** Makes something when it is first asked for, and no second time; a failure is not kept, so the next one who asks tries again. */
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
