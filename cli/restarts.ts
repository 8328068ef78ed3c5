/** Failed starts in a row, of all processes together; with one more all end, where none serves. */
const mostFailures = 10;
const longestWaitMs = 30_000;

/** When a process that ended unasked is started again. */
export class Restarts {
  /** What keeps the first from starting keeps the others, and starting them again. */
  #failures = mostFailures;

  /** One has come to serve. */
  cameUp(): void {
    this.#failures = 0;
  }

  /**
   * @param hadServed whether it had come to serve
   * @param serving how many others serve: what keeps a new one from starting may pass, and they go on
   * @returns after how many ms the next is started; null: all end
   */
  afterEnd(hadServed: boolean, serving: number): number | null {
    if (hadServed) {
      // Failures beside one that served are not those of a time when none does.
      if (serving === 0) this.#failures = 0;
      return 0;
    }
    if (++this.#failures > mostFailures && serving === 0) return null;
    return Math.min(longestWaitMs, 1000 * 2 ** (this.#failures - 1));
  }
}
