import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import type { Item, Passage, RenderedItem } from '../../../src/engine/item-bank/schema.ts';

/** Something to mend. An `error` fails the check; a `warning` is for a person to judge. */
export type Finding = { severity: 'error' | 'warning'; rule: string; id: string | null; message: string };

/** A bank as the rules see it: with each template item's rendering of one fixed seed. */
export type CheckedBank = BankFiles & { shown: { item: Item; rendered: RenderedItem; passage: Passage | null }[] };

export const error = (rule: string, id: string | null, message: string): Finding => ({
  severity: 'error',
  rule,
  id,
  message,
});
export const warning = (rule: string, id: string | null, message: string): Finding => ({
  severity: 'warning',
  rule,
  id,
  message,
});
