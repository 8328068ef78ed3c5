/** A queue in which units of work wait for their turn, in the order of arrival. `atOnce`: how many run together. */
export type WriteQueue = { readonly name: string; readonly atOnce: number };

/** A change got no turn: the queue is full, the wait was too long or was given up, or the service stops. */
export class WriteQueueRefusal extends Error {
  readonly why: 'full' | 'late' | 'left' | 'stopping';
  constructor(why: WriteQueueRefusal['why']) {
    super('Other changes are still being made; repeat this one in a few seconds.');
    this.why = why;
  }
}

export type Leave = () => void;

export type WriteQueues = {
  /**
   * @param signal ends the wait with its reason
   * @param again puts the change at the front of its queue, because its last turn waited too long for a lock
   * @throws WriteQueueRefusal
   */
  take(queue: WriteQueue, signal?: AbortSignal, again?: boolean): Promise<Leave>;
  close(): void;
};

type Line = { queue: WriteQueue; underWay: number; waiting: PromiseWithResolvers<Leave>[] };

/**
 * Gives turns to the queues one after another, regardless of how many changes wait in each. A long turn counts as slow
 * and makes room for a quick turn.
 * @param quick the most quick turns at one time
 * @param slow the most slow turns at one time
 * @param slowMs after this time a turn counts as slow
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
      // If more changes wait, `offer` adds the queue at the end of the set, so this loop reaches it again.
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
