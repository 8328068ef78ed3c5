import type { BankFiles } from '../load.ts';
import type { Item, Passage, RenderedItem } from '../schema.ts';

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

/** Every text of a value, with a path to each, for rules about text wherever it stands. */
export function textsOf(value: unknown, path = ''): { path: string; text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((entry, at) => textsOf(entry, `${path}[${at}]`));
  if (value !== null && typeof value === 'object') {
    return Object.entries(value).flatMap(([name, member]) => textsOf(member, path === '' ? name : `${path}.${name}`));
  }
  return [];
}
