import { parseInline } from '../markup.ts';
import type { RenderedItem } from '../schema.ts';

function spotCount(item: Extract<RenderedItem, { type: 'hotspot' }>): number {
  if (item.surface.kind === 'picture') return item.surface.spots.length;
  return item.surface.lines.flatMap(parseInline).filter((part) => part.kind === 'spot').length;
}

/**
 * The lower asymptote that the bank's rule fixes: 1/options for choice items, 1/spots for a hotspot with one right spot,
 * 0 for constructed responses; 4 decimals.
 */
export function fixedC(item: RenderedItem): number {
  const c =
    item.type === 'single_choice' || item.type === 'multiple_choice'
      ? 1 / item.options.length
      : item.type === 'hotspot' && item.key.length === 1
        ? 1 / spotCount(item)
        : 0;
  return Math.round(c * 1e4) / 1e4;
}

const factorial = (n: number): number => (n <= 1 ? 1 : n * factorial(n - 1));

/** The chance that somebody who fills in everything at random is right; text that must be typed counts as never guessed. */
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
      return item.fields.reduce((chance, field) => {
        if (!Object.hasOwn(item.key, field.id)) return chance;
        if (field.control === 'text') return 0;
        return chance * (field.control === 'checkboxes' ? 0.5 ** field.options.length : 1 / field.options.length);
      }, 1);
  }
}

function chooseChance(from: number, choose: number): number {
  return (factorial(choose) * factorial(from - choose)) / factorial(from);
}

/** A constructed response has no guessing parameter, so a guess must be rare: at most this often right. */
export const guessLimit = 1 / 6;
