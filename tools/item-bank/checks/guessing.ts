import { parseInline } from '../../../src/engine/item-bank/markup.ts';
import type { RenderedItem, TaskField } from '../../../src/engine/item-bank/schema.ts';

function spotCount(item: Extract<RenderedItem, { type: 'hotspot' }>): number {
  if (item.surface.kind === 'picture') return item.surface.spots.length;
  return item.surface.lines.flatMap(parseInline).filter((part) => part.kind === 'spot').length;
}

const factorial = (n: number): number => (n <= 1 ? 1 : n * factorial(n - 1));

/** The chance that a learner who fills in every field at random is right. Typed text is never right by chance. */
export function guessChance(item: RenderedItem): number {
  switch (item.type) {
    case 'single_choice':
      return 1 / item.options.length;
    case 'multiple_choice':
      return chooseChance(item.options.length, item.key.length);
    case 'hotspot':
      return chooseChance(spotCount(item), item.key.length);
    case 'ordering':
      return 1 / factorial(item.options.length);
    case 'matching':
      return (1 / item.right.length) ** item.left.length;
    case 'numeric':
    case 'short_text':
      return 0;
    case 'task':
      return item.fields.reduce(
        (chance, field) => (Object.hasOwn(item.key, field.id) ? chance * fieldChance(field) : chance),
        1,
      );
  }
}

function fieldChance(field: TaskField): number {
  if (field.control === 'text') return 0;
  if (field.control === 'checkboxes') return 0.5 ** field.options.length;
  // A guesser does not pick "Choose", the first entry of a menu.
  const real = field.options.filter(({ id, text }) => id !== field.initial || !/^Choose\b/u.test(text));
  return 1 / real.length;
}

function chooseChance(from: number, choose: number): number {
  return (factorial(choose) * factorial(from - choose)) / factorial(from);
}

/** If the item has no list of answers, a guess may be right with at most this probability. */
export const guessLimit = 1 / 6;

/** If a random answer is right less often than this, the item gets no guessing parameter. */
const minC = 0.02;

/**
 * The lower asymptote c until items are calibrated: the chance that a random answer is right, with 4 decimals. "Choose
 * two of five" has 1/10, and two spots of four have 1/6.
 */
export function fixedC(item: RenderedItem): number {
  const chance = guessChance(item);
  return chance < minC ? 0 : Math.round(chance * 1e4) / 1e4;
}
