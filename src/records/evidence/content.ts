import { belowEntry } from '../../engine/scoring/levels.ts';

export type Fact = { label: string; value: string };
/** A rung of the ladder. `from` and `to` are abilities; null: an open end of the ladder, or no ability scale. */
export type Rung = { label: string; short: string; from: number | null; to: number | null; placed: boolean };
export type Scale = {
  estimate: number;
  low: number;
  high: number;
  cuts: { level: string; theta: number }[];
  deciding: string;
};
export type DomainBar = {
  name: string;
  percent: number | null;
  figure: string;
  status: string;
  answered: string | null;
};
export type Column = { label: string; width: number; align: 'left' | 'right' };

export type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'list'; items: string[] }
  | { kind: 'facts'; facts: Fact[] }
  | { kind: 'placement'; level: string; sentences: string[]; flags: { label: string; text: string }[] }
  | { kind: 'ladder'; description: string; rungs: Rung[]; scale: Scale | null; caption: string }
  /** `head`: the headings of the first three columns, if they are not those of domains. */
  | { kind: 'bars'; caption: string; marks: number[]; rows: DomainBar[]; head?: [string, string, string] }
  | { kind: 'table'; caption: string; columns: Column[]; rows: string[][]; small?: true }
  | { kind: 'answers'; answers: { id: string; outcome: string; time?: string }[] }
  | { kind: 'countersign'; fields: { label: string; width: number }[] };

/** The content of the evidence pack, without its layout. `title` and `reference` contain no personal data. */
export type EvidenceDocument = {
  version: number;
  language: 'en-GB';
  title: string;
  reference: string;
  organisation: string;
  heading: string;
  subheading: string;
  learner: Fact;
  verify: { url: string; label: string } | null;
  blocks: Block[];
};

export const heading = (text: string): Block => ({ kind: 'heading', text });
export const paragraph = (text: string): Block => ({ kind: 'paragraph', text });

/** A block of facts. Facts without a value are left out. */
export const facts = (...rows: [label: string, value: string | undefined][]): Block => ({
  kind: 'facts',
  facts: rows.flatMap(([label, value]) => (value === undefined ? [] : { label, value })),
});

export const columns = (widths: Record<string, number>): Column[] =>
  Object.entries(widths).map(([label, width]) => ({ label, width, align: 'left' }));

export function shortLevel(level: string): string {
  if (level === belowEntry) return 'Below Entry';
  return level.replace(/^Entry Level (\d)$/, 'Entry $1').replace(/^Entry Level$/, 'Entry');
}

const ladder = [belowEntry, 'Entry Level', 'Level 1', 'Level 2', 'Level 3'];

/**
 * How many full levels the two engines' levels are apart; Entry sub-levels count as one level. Null if an engine found
 * no level.
 */
export function levelsApart(one: string, other: string): number | null {
  const [a, b] = [one, other].map((level) => ladder.indexOf(level.replace(/^Entry Level [1-3]$/, 'Entry Level')));
  return a! < 0 || b! < 0 ? null : Math.abs(a! - b!);
}
