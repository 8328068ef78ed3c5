import assert from 'node:assert/strict';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';

/** Counts the places at which learners see keys, by number of options and number of keys. */
export class KeyPlaces {
  readonly #counts = new Map<string, { right: number; at: number[] }>();

  add(item: RenderedItem): void {
    if (item.type !== 'single_choice' && item.type !== 'multiple_choice') return;
    const keys = [item.key].flat();
    const name = `${keys.length} of ${item.options.length}`;
    const found = this.#counts.get(name) ?? { right: keys.length, at: item.options.map(() => 0) };
    this.#counts.set(name, found);
    item.options.forEach(({ id }, place) => (found.at[place]! += keys.includes(id) ? 1 : 0));
  }

  /** Each place must be within 10 points of an equal share, for kinds of question with at least this many. */
  assertEven(min: number, what: string): void {
    let checked = 0;
    for (const [name, { right, at }] of this.#counts) {
      const all = at.reduce((sum, count) => sum + count, 0) / right;
      if (all < min) continue;
      checked++;
      for (const [place, count] of at.entries())
        assert.ok(
          Math.abs(count / all - right / at.length) <= 0.1,
          `${what}, ${name}, place ${place + 1}: ${(count / all).toFixed(3)} of ${all}`,
        );
    }
    assert.ok(checked > 0, what);
  }
}
