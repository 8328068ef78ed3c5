/** A queue of units of work in the order of arrival. `atOnce`: how many units of work run at the same time. */
export type WriteQueue = { readonly name: string; readonly atOnce: number };

/** A change cannot start: its queue is full, it waited too long, its caller left, or the service is stopping. */
export class WriteQueueRefusal extends Error {
  readonly why: 'full' | 'late' | 'left' | 'stopping';
  constructor(why: WriteQueueRefusal['why']) {
    super('Other changes of the organisation are still being made. Repeat this change after a few seconds.');
    this.why = why;
  }
}

export type Leave = () => void;

type Line = { queue: WriteQueue; underWay: number; waiting: PromiseWithResolvers<Leave>[] };

/** `quick` and `slow`: the most changes of each kind at one time. `max`: the most changes that wait in one queue. */
type QueueLimits = { quick: number; slow: number; slowMs: number; max: number };

/**
 * Lets changes of all queues start in rotation, regardless of how many changes wait in each queue. A change that runs
 * longer than `slowMs` counts as slow, so that a quick change can start.
 */
export class WriteQueues {
  readonly #limits: QueueLimits;
  readonly #lines = new Map<string, Line>();
  readonly #ready = new Set<Line>();
  #quick = 0;
  #slow = 0;
  #closed = false;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /**
   * @param signal aborts the wait
   * @param again puts the change at the front of its queue, because its previous attempt waited too long for a lock
   * @throws WriteQueueRefusal
   */
  async take(queue: WriteQueue, signal?: AbortSignal, again = false): Promise<Leave> {
    if (this.#closed) throw new WriteQueueRefusal('stopping');
    signal?.throwIfAborted();
    let line = this.#lines.get(queue.name);
    if (line === undefined) this.#lines.set(queue.name, (line = { queue, underWay: 0, waiting: [] }));
    const mine = line;
    if (mine.waiting.length >= this.#limits.max && !again) throw new WriteQueueRefusal('full');
    const waiting = Promise.withResolvers<Leave>();
    const giveUp = () => {
      if (!mine.waiting.includes(waiting)) return;
      mine.waiting.splice(mine.waiting.indexOf(waiting), 1);
      this.#offer(mine);
      waiting.reject(signal!.reason);
    };
    signal?.addEventListener('abort', giveUp, { once: true });
    if (again) mine.waiting.unshift(waiting);
    else mine.waiting.push(waiting);
    this.#offer(mine);
    this.#goOn();
    return waiting.promise.finally(() => signal?.removeEventListener('abort', giveUp));
  }

  close(): void {
    this.#closed = true;
    for (const line of this.#lines.values())
      for (const waiting of line.waiting.splice(0)) waiting.reject(new WriteQueueRefusal('stopping'));
    this.#ready.clear();
  }

  #offer(line: Line): void {
    if (line.waiting.length > 0 && line.underWay < line.queue.atOnce) this.#ready.add(line);
    else this.#ready.delete(line);
    if (line.waiting.length === 0 && line.underWay === 0) this.#lines.delete(line.queue.name);
  }

  #goOn(): void {
    for (const line of this.#ready) {
      if (this.#quick === this.#limits.quick) return;
      this.#ready.delete(line);
      const first = line.waiting.shift()!;
      line.underWay++;
      // If more changes wait in this queue, `#offer` adds it at the end of the set, so this loop reaches it again.
      this.#offer(line);
      first.resolve(this.#begin(line));
    }
  }

  #begin(line: Line): Leave {
    let kind: 'quick' | 'slow' | 'over' = 'quick';
    this.#quick++;
    const timer = setTimeout(() => {
      if (this.#slow === this.#limits.slow) return;
      kind = 'slow';
      this.#quick--;
      this.#slow++;
      this.#goOn();
    }, this.#limits.slowMs);
    timer.unref();
    return () => {
      if (kind === 'over') return;
      clearTimeout(timer);
      if (kind === 'quick') this.#quick--;
      else this.#slow--;
      kind = 'over';
      line.underWay--;
      this.#offer(line);
      this.#goOn();
    };
  }
}
