import { belowEntry } from '../../engine/scoring/levels.ts';

export type Fact = { label: string; value: string };
/** One rung; `from` and `to` are abilities, open at the ends, and null throughout when there is no scale. */
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

/** A part of the page, as content: nothing here says where it stands or how it looks. */
export type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'list'; items: string[] }
  | { kind: 'facts'; facts: Fact[] }
  | { kind: 'placement'; level: string; sentences: string[]; flags: { label: string; text: string }[] }
  | { kind: 'ladder'; description: string; rungs: Rung[]; scale: Scale | null; caption: string }
  | { kind: 'bars'; caption: string; marks: number[]; rows: DomainBar[] }
  | { kind: 'table'; caption: string; columns: Column[]; rows: string[][] }
  | { kind: 'answers'; answers: { id: string; outcome: string; time?: string }[] }
  | { kind: 'countersign'; fields: { label: string; width: number }[] };

/** The evidence pack as data, complete: rendering adds no fact. `title` and `reference` hold no personal data. */
export type EvidenceDocument = {
  version: number;
  language: 'en-GB';
  title: string;
  reference: string;
  organisation: string;
  heading: string;
  subheading: string;
  learner: Fact;
  /** Where the file can be checked; null for what has no such page. */
  verify: { url: string; label: string } | null;
  blocks: Block[];
};

/** Labels narrow enough for a rung, for levels that have one. */
export function shortLevel(level: string): string {
  if (level === belowEntry) return 'Below Entry';
  return level.replace(/^Entry Level (\d)$/, 'Entry $1').replace(/^Entry Level$/, 'Entry');
}

/**
 * Full levels between what the two engines found (Entry sub-levels don't count), or null when one of them found none.
 */
export function levelsApart(one: string, other: string): number | null {
  const [a, b] = [order(one), order(other)];
  return a === null || b === null ? null : Math.abs(a - b);
}

function order(level: string): number | null {
  if (level === belowEntry) return -1;
  if (/^Entry Level( [1-3])?$/.test(level)) return 0;
  const match = /^Level ([1-3])$/.exec(level);
  return match === null ? null : Number(match[1]);
}
