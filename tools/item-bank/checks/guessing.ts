import { parseInline } from '../../../src/engine/item-bank/markup.ts';
import type { RenderedItem, TaskField } from '../../../src/engine/item-bank/schema.ts';

function spotCount(item: Extract<RenderedItem, { type: 'hotspot' }>): number {
  if (item.surface.kind === 'picture') return item.surface.spots.length;
  return item.surface.lines.flatMap(parseInline).filter((part) => part.kind === 'spot').length;
}

const factorial = (n: number): number => (n <= 1 ? 1 : n * factorial(n - 1));

/**
 * The chance that somebody who fills in everything at random is right; text that must be typed counts as never guessed.
 */
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
  // "Choose", which a menu shows at first, is nobody's guess.
  const real = field.options.filter(({ id, text }) => id !== field.initial || !/^Choose\b/u.test(text));
  return 1 / real.length;
}

function chooseChance(from: number, choose: number): number {
  return (factorial(choose) * factorial(from - choose)) / factorial(from);
}

/** Where nothing is chosen from a list of answers, a guess must be rare: at most this often right. */
export const guessLimit = 1 / 6;

/** A blind answer that is right less often than this is no reason for a guessing parameter. */
const minC = 0.02;

/**
 * The lower asymptote that the bank's rule fixes until items are calibrated: the chance that a blind answer is right,
 * whatever the format; 4 decimals. So "choose two of five" has 1/10, not 1/5, and two spots of four have 1/6, not 0.
 */
export function fixedC(item: RenderedItem): number {
  const chance = guessChance(item);
  return chance < minC ? 0 : Math.round(chance * 1e4) / 1e4;
}
