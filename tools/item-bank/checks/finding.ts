import type { BankFiles } from '../../../src/engine/item-bank/load.ts';
import type { Item, Passage, RenderedItem } from '../../../src/engine/item-bank/schema.ts';

/** A fault of the bank. An `error` fails the check. A person decides about a `warning`. */
export type Finding = { severity: 'error' | 'warning'; rule: string; id: string | null; message: string };

/** A bank in which each template item has the rendering of one fixed seed. */
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
