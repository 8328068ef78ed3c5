import type { Answer } from '../../src/engine/item-bank/mark.ts';
import { fieldNames, mark, markField } from '../../src/engine/item-bank/mark.ts';
import type { RenderedItem } from '../../src/engine/item-bank/schema.ts';

/** The verdict on an answer as `ars bank mark` prints it: `ask again` if the page would not take the answer yet. */
export type Verdict = 'right' | 'wrong' | 'ask again';

export function verdictOn(item: RenderedItem, answer: Answer): Verdict {
  const { answered, correct, problem } = mark(item, answer);
  return !answered || problem !== null ? 'ask again' : correct ? 'right' : 'wrong';
}

/**
 * The verdict on one field of a task, whatever the other fields contain.
 * @returns null if the item has no such field
 */
export function verdictOnField(item: RenderedItem, fieldId: string, text: string): Verdict | null {
  const field = item.type === 'task' ? item.fields.find(({ id }) => id === fieldId) : undefined;
  if (item.type !== 'task' || field === undefined) return null;
  const key = Object.hasOwn(item.key, field.id) ? item.key[field.id] : undefined;
  const verdict = key === undefined ? 'right' : markField(item, field, key, { [fieldNames.task(field.id)]: text });
  return verdict === 'right' || verdict === 'wrong' ? verdict : 'ask again';
}
