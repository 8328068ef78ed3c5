/**
 * Where units of work wait for their turn: those of one lane in the order in which they came, `atOnce` of them under
 * way.
 */
export type WriteQueue = { readonly name: string; readonly atOnce: number };

/** No turn came: too many wait in the lane, the wait was too long or was given up, or the service stops. */
export class WriteQueueRefusal extends Error {
  readonly why: 'full' | 'late' | 'left' | 'stopping';
  constructor(why: WriteQueueRefusal['why']) {
    super('Other changes are still being made; repeat this one in a few seconds.');
    this.why = why;
  }
}

/** Ends a turn. */
export type Leave = () => void;

export type WriteQueues = {
  /**
   * Waits for a turn of the lane.
   * @param signal ends the wait; its reason is what is thrown
   * @param again goes before those who wait in the lane: its turn had come, and came to nothing
   * @throws WriteQueueRefusal
   */
  take(queue: WriteQueue, signal?: AbortSignal, again?: boolean): Promise<Leave>;
  /** Refuses those who wait, and whoever comes. */
  close(): void;
};

type Waiting = { start(leave: Leave): void; refuse(error: unknown): void };
type Line = { queue: WriteQueue; underWay: number; waiting: Waiting[] };

/**
 * Hands out turns, fairly between lanes: each lane that can go on gets one in its turn, however many wait in the
 * others. A turn that lasts long makes room for another one, so that it takes as many slow lanes as there is such room,
 * and then all quick turns as well, to keep the others waiting.
 * @param quick turns under way at once
 * @param slow turns that have lasted longer than `slowMs` and no longer count as quick
 * @param most who may wait in one lane
 */
export function createWriteQueues(options: { quick: number; slow: number; slowMs: number; max: number }): WriteQueues {
  const lines = new Map<string, Line>();
  // Lanes that can go on, in the order of their turns.
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
      // To the end of the order: a set's loop comes to what is added while it runs.
      offer(line);
      first.start(begin(line));
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
    take(queue, signal, again = false) {
      return new Promise<Leave>((resolve, reject) => {
        if (closed) return reject(new WriteQueueRefusal('stopping'));
        if (signal?.aborted === true) return reject(signal.reason as Error);
        let line = lines.get(queue.name);
        if (line === undefined) lines.set(queue.name, (line = { queue, underWay: 0, waiting: [] }));
        const mine = line;
        if (mine.waiting.length >= options.max && !again) return reject(new WriteQueueRefusal('full'));
        const giveUp = () => {
          mine.waiting.splice(mine.waiting.indexOf(waiting), 1);
          offer(mine);
          reject(signal!.reason as Error);
        };
        const waiting: Waiting = {
          start(leave) {
            signal?.removeEventListener('abort', giveUp);
            resolve(leave);
          },
          refuse(error) {
            signal?.removeEventListener('abort', giveUp);
            reject(error as Error);
          },
        };
        signal?.addEventListener('abort', giveUp, { once: true });
        if (again) mine.waiting.unshift(waiting);
        else mine.waiting.push(waiting);
        offer(mine);
        goOn();
      });
    },
    close() {
      closed = true;
      for (const line of lines.values())
        for (const waiting of line.waiting.splice(0)) waiting.refuse(new WriteQueueRefusal('stopping'));
      ready.clear();
    },
  };
}
