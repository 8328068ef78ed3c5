import assert from 'node:assert/strict';

/** Which references are one person's, as the writers of a history made it. */
export class Persons {
  #of = new Map<string, Set<string>>();

  /** From now on both references are one person's, whatever else is. */
  areOne(one: string, other: string): void {
    const both = new Set([one, other].flatMap((ref) => [...(this.#of.get(ref) ?? [ref])]));
    for (const ref of both) this.#of.set(ref, both);
  }

  /** Law 1: every reference that somebody ever had reaches them, and nobody else. @param reached learners' ids */
  assertReached(refs: readonly string[], reached: ReadonlyMap<string, string>): void {
    const persons = new Map<string, Set<string>>();
    for (const ref of refs) {
      const id = reached.get(ref);
      assert.ok(id, `law 1: ${ref} reaches nobody`);
      persons.set(id, (persons.get(id) ?? new Set()).add(ref));
    }
    for (const together of persons.values())
      for (const ref of together)
        assert.deepEqual(together, this.#of.get(ref) ?? new Set([ref]), `law 1: ${ref} reaches somebody else`);
  }
}
