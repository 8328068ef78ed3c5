/**
 * This module counts metrics and writes them as Prometheus text. A series is an index into an array of numbers, so
 * counting allocates no memory.
 */

/** How values of several processes are merged. Counters and histograms are always summed. */
type Over = 'sum' | 'max';

type Kind = 'counter' | 'gauge' | 'histogram';

type Options = { labels?: readonly string[]; over?: Over; bounds?: readonly number[] };

/** Series of `known` label values begin at 0. Prometheus sees no increase if a series begins with its first event. */
type CounterOptions = Options & { known?: readonly (readonly string[])[] };

/** The numbers of each series, by metric name and by the text of its labels. */
export type Snapshot = Record<string, Record<string, number[]>>;

const metrics: Metric[] = [];

const escaped = (value: string) => value.replace(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`));

abstract class Metric {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly over: Over;
  readonly bounds: readonly number[];
  abstract readonly kind: Kind;
  /** The number of array elements of a series. A histogram has one for each bucket and one for the sum. */
  readonly width: number;
  readonly numbers: number[] = [];
  #places = new Map<string, number>();

  constructor(name: string, help: string, { labels = [], over = 'sum', bounds = [] }: Options = {}) {
    if (metrics.some((other) => other.name === name)) throw new Error(`there is a metric ${name} already`);
    this.name = name;
    this.help = help;
    this.labels = labels;
    this.over = over;
    this.bounds = bounds;
    this.width = bounds.length === 0 ? 1 : bounds.length + 2;
    metrics.push(this);
  }

  /** The index of the series with these label values. */
  place(...values: string[]): number {
    const text = this.labels.map((label, i) => `${label}="${escaped(values[i]!)}"`).join(',');
    const found = this.#places.get(text);
    if (found !== undefined) return found;
    const place = this.numbers.length;
    for (let i = 0; i < this.width; i++) this.numbers.push(0);
    this.#places.set(text, place);
    return place;
  }

  clear(): void {
    this.#places.clear();
    this.numbers.length = 0;
  }

  get series(): Record<string, number[]> {
    return Object.fromEntries(
      [...this.#places].map(([text, place]) => [text, this.numbers.slice(place, place + this.width)]),
    );
  }
}

export class Counter extends Metric {
  readonly kind = 'counter';
  constructor(name: string, help: string, { known = [], ...options }: CounterOptions = {}) {
    super(name, help, options);
    if (this.labels.length === 0) this.place();
    for (const values of known) this.place(...values);
  }
  add(place: number, by = 1): void {
    this.numbers[place]! += by;
  }
  count(...labels: string[]): void {
    this.add(this.place(...labels));
  }
  /** Sets the counter to a total that other code has counted. */
  reached(total: number): void {
    this.numbers[this.place()] = total;
  }
}

export class Gauge extends Metric {
  readonly kind = 'gauge';
  set(value: number, ...labels: string[]): void {
    this.numbers[this.place(...labels)] = value;
  }
}

export class Histogram extends Metric {
  readonly kind = 'histogram';
  observe(value: number, place = this.place()): void {
    const { bounds, numbers } = this;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    numbers[place + bucket]!++;
    numbers[place + bounds.length + 1]! += value;
  }
}

/** These callbacks run before each reading. They set metrics that have no event to count. */
const lookers = new Set<() => void>();

export function beforeReading(look: () => void): () => void {
  lookers.add(look);
  return () => lookers.delete(look);
}

export function readMetrics(): Snapshot {
  for (const look of lookers) look();
  return Object.fromEntries(metrics.map((metric) => [metric.name, metric.series]));
}

export function merged(snapshots: readonly Snapshot[]): Snapshot {
  const all: Snapshot = {};
  for (const { name, over } of metrics) {
    const series = (all[name] = {} as Record<string, number[]>);
    for (const snapshot of snapshots)
      for (const [text, numbers] of Object.entries(snapshot[name] ?? {})) {
        const before = series[text];
        const joined = (value: number, i: number) =>
          over === 'max' ? Math.max(before![i]!, value) : before![i]! + value;
        series[text] = before === undefined ? numbers.slice() : numbers.map(joined);
      }
  }
  return all;
}

/** Removes the gauges of an ended process. Its counters stay in the total, because counters must not fall. */
export function outlasting(snapshot: Snapshot): Snapshot {
  const gauges = new Set(metrics.filter(({ kind }) => kind === 'gauge').map(({ name }) => name));
  return Object.fromEntries(Object.entries(snapshot).filter(([name]) => !gauges.has(name)));
}

const shown = (value: number) =>
  Number.isFinite(value) ? String(value) : value > 0 ? '+Inf' : value < 0 ? '-Inf' : 'NaN';

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8';

export function exposition(snapshot: Snapshot): string {
  const lines: string[] = [];
  for (const { name, help, kind, bounds } of metrics) {
    const series = Object.entries(snapshot[name] ?? {});
    if (series.length === 0) continue;
    lines.push(`# HELP ${name} ${help.replace(/[\\\n]/g, (one) => (one === '\n' ? '\\n' : '\\\\'))}`);
    lines.push(`# TYPE ${name} ${kind}`);
    for (const [text, numbers] of series) {
      if (kind === 'histogram') lines.push(...histogramLines(name, text, bounds, numbers));
      else lines.push(`${name}${text === '' ? '' : `{${text}}`} ${shown(numbers[0]!)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function histogramLines(name: string, text: string, bounds: readonly number[], numbers: number[]): string[] {
  const labels = text === '' ? '' : `${text},`;
  let count = 0;
  const buckets = [...bounds, Infinity].map((bound, i) => {
    count += numbers[i]!;
    return `${name}_bucket{${labels}le="${shown(bound)}"} ${count}`;
  });
  const braces = text === '' ? '' : `{${text}}`;
  return [...buckets, `${name}_sum${braces} ${shown(numbers.at(-1)!)}`, `${name}_count${braces} ${count}`];
}

export const metricsTable = (): { name: string; kind: Kind; labels: readonly string[]; help: string; over: Over }[] =>
  metrics.map(({ name, kind, labels, help, over }) => ({ name, kind, labels, help, over }));
