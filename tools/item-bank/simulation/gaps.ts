import { information } from '../../../src/engine/scoring/irt.ts';
import type { AtAbility } from './delivered.ts';
import type { CountedItem, SubjectBank } from '../../../src/engine/item-bank/load.ts';

/** An ability at which even a full sitting gives too little information, and the new items that would close the gap. */
export type Gap = {
  theta: number;
  full: number;
  domain: string;
  items: number;
  b: readonly [min: number, max: number];
};

/** The information for the goal of the standard error. The prior contributes an information of 1. */
const errorGoal = 0.295;
export const wantedInformation = 1 / errorGoal ** 2 - 1;

/** The maximum length of a sitting. Each domain gets its share of these items. */
const longest = 40;
/** Few learners have abilities beyond these. */
const looksWithin = 2;

/** The mean information of a domain's best items at θ, for as many items as a sitting takes. */
function strength(items: readonly CountedItem[], theta: number, count: number): number {
  const best = items
    .map((item) => information(item, theta))
    .sort((a, b) => b - a)
    .slice(0, count);
  return best.reduce((sum, one) => sum + one, 0) / count;
}

/**
 * Finds abilities at which 40 items give less information than the goal needs. For each, it names the domain with the
 * weakest best items, and how many new items (a = 1.3, constructed response, b near θ) would close the gap.
 */
export function informationGaps({ version }: SubjectBank, abilities: readonly AtAbility[]): Gap[] {
  const newItem = 1.3 ** 2 / 4;
  return abilities.flatMap(({ theta, meanItems, meanInformation }) => {
    const full = (meanInformation / meanItems) * longest;
    if (Math.abs(theta) > looksWithin || full >= wantedInformation) return [];
    const strengths = version.domains.map(({ name, share }) => ({
      name,
      strength: strength(
        version.items.filter((item) => item.domain === name),
        theta,
        Math.round(share * longest),
      ),
    }));
    const weakest = strengths.toSorted((a, b) => a.strength - b.strength)[0]!;
    const gain = Math.max(0.02, newItem - weakest.strength);
    return [
      {
        theta,
        full,
        domain: weakest.name,
        items: Math.ceil((wantedInformation - full) / gain),
        b: [theta - 0.3, theta + 0.3] as const,
      },
    ];
  });
}

export function bankInformation(items: readonly CountedItem[], theta: number): number {
  return items.reduce((sum, item) => sum + information(item, theta), 0);
}
