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

export type WriteQueues = {
  /**
   * @param signal aborts the wait
   * @param again puts the change at the front of its queue, because its previous attempt waited too long for a lock
   * @throws WriteQueueRefusal
   */
  take(queue: WriteQueue, signal?: AbortSignal, again?: boolean): Promise<Leave>;
  close(): void;
};

type Line = { queue: WriteQueue; underWay: number; waiting: PromiseWithResolvers<Leave>[] };

/**
 * Lets changes of all queues start in rotation, regardless of how many changes wait in each queue. A change that runs
 * longer than `slowMs` counts as slow, so that a quick change can start.
 * @param quick the most quick changes at one time
 * @param slow the most slow changes at one time
 * @param max the most changes that wait in one queue
 */
export function createWriteQueues(options: { quick: number; slow: number; slowMs: number; max: number }): WriteQueues {
  const lines = new Map<string, Line>();
  const ready = new Set<Line>();
  let quick = 0;
  let slow = 0;
  let closed = false;

  function offer(line: Line): void {
    if (line.waiting.length > 0 && line.underWay < line.queue.atOnce) ready.add(line);
    else ready.delete(line);
    if (line.waiting.length === 0 && line.underWay === 0) lines.delete(line.queue.name);
  }

  function goOn(): void {
    for (const line of ready) {
      if (quick === options.quick) return;
      ready.delete(line);
      const first = line.waiting.shift()!;
      line.underWay++;
      // If more changes wait in this queue, `offer` adds it at the end of the set, so this loop reaches it again.
      offer(line);
      first.resolve(begin(line));
    }
  }

  function begin(line: Line): Leave {
    let kind: 'quick' | 'slow' | 'over' = 'quick';
    quick++;
    const timer = setTimeout(() => {
      if (slow === options.slow) return;
      kind = 'slow';
      quick--;
      slow++;
      goOn();
    }, options.slowMs);
    timer.unref();
    return () => {
      if (kind === 'over') return;
      clearTimeout(timer);
      if (kind === 'quick') quick--;
      else slow--;
      kind = 'over';
      line.underWay--;
      offer(line);
      goOn();
    };
  }

  return {
    async take(queue, signal, again = false) {
      if (closed) throw new WriteQueueRefusal('stopping');
      signal?.throwIfAborted();
      let line = lines.get(queue.name);
      if (line === undefined) lines.set(queue.name, (line = { queue, underWay: 0, waiting: [] }));
      const mine = line;
      if (mine.waiting.length >= options.max && !again) throw new WriteQueueRefusal('full');
      const waiting = Promise.withResolvers<Leave>();
      const giveUp = () => {
        if (!mine.waiting.includes(waiting)) return;
        mine.waiting.splice(mine.waiting.indexOf(waiting), 1);
        offer(mine);
        waiting.reject(signal!.reason);
      };
      signal?.addEventListener('abort', giveUp, { once: true });
      if (again) mine.waiting.unshift(waiting);
      else mine.waiting.push(waiting);
      offer(mine);
      goOn();
      return waiting.promise.finally(() => signal?.removeEventListener('abort', giveUp));
    },
    close() {
      closed = true;
      for (const line of lines.values())
        for (const waiting of line.waiting.splice(0)) waiting.reject(new WriteQueueRefusal('stopping'));
      ready.clear();
    },
  };
}
