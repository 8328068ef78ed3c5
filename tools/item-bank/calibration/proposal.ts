import { bankOf } from '../../../src/engine/item-bank/load.ts';
import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { BankFault } from '../../../src/engine/scoring/cuts.ts';
import type { Cut } from '../../../src/engine/scoring/cuts.ts';
import { itemFaults } from '../validate.ts';
import type { ItemResult, SubjectCalibration } from './calibrate.ts';

/** The bank's items with calibrated parameters. A person decides whether the bank takes them over. */
export type Proposal = {
  items: Item[];
  /** Items with enough answers that keep the bank's parameters, and why. */
  kept: { id: string; why: string }[];
  /** The cuts of each subject before and after; null if the bank could not be used after. */
  cuts: Map<Subject, { before: readonly Cut[]; after: readonly Cut[] | null }>;
  /** Why the service could not start with the proposal; null if it could. */
  fault: string | null;
};

const rounded = (value: number, places: number): number => Number(value.toFixed(places));

function calibratedItem(item: Item, { parameters: { a, b, c } }: ItemResult): Item {
  return { ...item, a: rounded(a, 3), b: rounded(b, 3), c: rounded(c, 4), calibration: 'calibrated' };
}

/** @param minAnswers items with fewer answers are not proposed */
export function proposalOf(
  files: BankFiles,
  found: ReadonlyMap<Subject, SubjectCalibration>,
  itemsOf: (subject: Subject) => readonly Item[],
  minAnswers: number,
): Proposal {
  const items: Item[] = [];
  const kept: Proposal['kept'] = [];
  for (const [subject, { items: results }] of found) {
    for (const result of results) {
      const item = itemsOf(subject)[result.index]!;
      if (result.answers < minAnswers || result.isAnchor) continue;
      const proposed = calibratedItem(item, result);
      if (item.state === 'retired') kept.push({ id: item.id, why: 'is retired' });
      else if (result.errors === null) kept.push({ id: item.id, why: 'has no standard errors' });
      else if (itemFaults(proposed).length > 0) kept.push({ id: item.id, why: itemFaults(proposed).join('; ') });
      else items.push(proposed);
    }
  }
  const changed = new Map(items.map((item) => [item.id, item]));
  const before = bankOf(files);
  let after: ReturnType<typeof bankOf> | null = null;
  let fault: string | null = null;
  try {
    after = bankOf({ ...files, items: files.items.map((item) => changed.get(item.id) ?? item) });
  } catch (cause) {
    if (!(cause instanceof BankFault)) throw cause;
    fault = cause.message;
  }
  const cutsOf = (subject: Subject) => ({
    before: before.subjects[subject].cuts,
    after: after && after.subjects[subject].cuts,
  });
  return { items, kept, cuts: new Map([...found.keys()].map((subject) => [subject, cutsOf(subject)])), fault };
}
