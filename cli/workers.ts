import type { Worker } from 'node:cluster';
import cluster from 'node:cluster';
import type { Snapshot } from '../src/metrics.ts';
import type { Readiness } from '../src/probes.ts';

/** What a process can be asked by the one that started it. `taken`: its connections and requests so far. */
export type Told = { readiness: Readiness; metrics: Snapshot; taken: number };

/** What it is sent, and what it answers. `figures`: the database's are wanted, too. */
export type Question = { question: number; what: keyof Told; figures: boolean };
export type Answer = { question: number; answer: Told[keyof Told] };

/** Who takes longer to tell is left out of what is said of all: probes wait for a second. */
const tellMs = { readiness: 800, metrics: 3000, taken: 200 };

type State = { worker: Worker; reached: boolean; serves: boolean; settled: Promise<void>; settle(): void };

/** The processes that this one has started, until they have exited: cluster forgets those that it disconnects. */
export class Workers {
  #all = new Map<number, State>();
  #waiting = new Map<number, (answer: Answer['answer'] | null) => void>();
  #questions = 0;
  #onStart: (() => void)[] = [];
  #onEnd: ((id: number, hadServed: boolean) => void)[] = [];

  constructor() {
    cluster.on('message', ({ id }, message: Answer | 'reached' | 'started') => {
      if (typeof message !== 'string') return this.#waiting.get(message.question)?.(message.answer);
      const state = this.#all.get(id);
      if (state === undefined) return;
      state.reached = true;
      if (message === 'reached') return;
      state.serves = true;
      state.settle();
      for (const told of this.#onStart) told();
    });
    cluster.on('exit', ({ id }) => {
      const state = this.#all.get(id);
      if (state === undefined) return;
      this.#all.delete(id);
      state.settle();
      for (const told of this.#onEnd) told(id, state.serves);
    });
  }

  /** When one has come to serve. */
  onStart(told: () => void): void {
    this.#onStart.push(told);
  }

  /** When one has exited. */
  onEnd(told: (id: number, hadServed: boolean) => void): void {
    this.#onEnd.push(told);
  }

  start(): void {
    const worker = cluster.fork();
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    this.#all.set(worker.id, { worker, reached: false, serves: false, settled, settle });
  }

  all(): Worker[] {
    return [...this.#all.values()].map(({ worker }) => worker);
  }

  /** Those that have come to serve. */
  serving(): Worker[] {
    return [...this.#all.values()].filter(({ serves }) => serves).map(({ worker }) => worker);
  }

  serves(id: number): boolean {
    return this.#all.get(id)?.serves === true;
  }

  /** Whether the database has answered one of them. */
  haveReachedDatabase(): boolean {
    return [...this.#all.values()].some(({ reached }) => reached);
  }

  /** Waits until each has come to serve, or has exited. */
  async settled(): Promise<void> {
    await Promise.all([...this.#all.values()].map((state) => state.settled));
  }

  /** Null: it is ending, or too busy to say. */
  ask<What extends keyof Told>(worker: Worker, what: What, figures = false): Promise<Told[What] | null> {
    const mine = ++this.#questions;
    return new Promise<Told[What] | null>((resolve) => {
      const end = (answer: Answer['answer'] | null) => {
        clearTimeout(timer);
        this.#waiting.delete(mine);
        resolve(answer as Told[What] | null);
      };
      const timer = setTimeout(end, tellMs[what], null);
      this.#waiting.set(mine, end);
      worker.send({ question: mine, what, figures } satisfies Question, (error) => error !== null && end(null));
    });
  }
}
