import { information } from '../../scoring/irt.ts';
import type { CountedItem, SubjectBank } from '../load.ts';

/** Where a sitting of the greatest length can't reach the error that is aimed at, and what would mend it. */
export type Gap = { theta: number; reachable: number; wanted: number; domain: string; items: number; b: readonly [least: number, most: number] };

/** The goal for the error of an estimate; the prior's own information is 1. */
const errorGoal = 0.295;
export const wantedInformation = 1 / errorGoal ** 2 - 1;

const longest = 40;
/** The draw among the best five, exposure limits and items seen before cost about this share of the best. */
const deliveredShare = 0.8;
const looksAt = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2];

const best = (items: readonly CountedItem[], theta: number, count: number): number =>
  items.map((item) => information(item, theta)).sort((a, b) => b - a).slice(0, count).reduce((sum, one) => sum + one, 0);

/**
 * For each ability between −2 and 2: the information of a sitting of 40 items by blueprint, as delivery can reach it. Where that
 * is too little, the domain that gives least for its share, and how many new items (a = 1.3, constructed) would close the gap.
 */
export function informationGaps({ version }: SubjectBank): Gap[] {
  const newItem = 1.3 ** 2 / 4;
  return looksAt.flatMap((theta) => {
    const perDomain = version.domains.map(({ name, share }) => {
      const own = version.items.filter((item) => item.domain === name);
      const count = Math.round(share * longest);
      return { name, count, total: best(own, theta, count) };
    });
    const reachable = deliveredShare * perDomain.reduce((sum, domain) => sum + domain.total, 0);
    if (reachable >= wantedInformation) return [];
    const weakest = perDomain.toSorted((a, b) => a.total / a.count - b.total / b.count)[0]!;
    const gain = Math.max(0.02, newItem - weakest.total / weakest.count);
    return [{
      theta, reachable, wanted: wantedInformation, domain: weakest.name,
      items: Math.ceil((wantedInformation - reachable) / (deliveredShare * gain)), b: [theta - 0.3, theta + 0.3] as const,
    }];
  });
}

/** The information of all items together. */
export function bankInformation(items: readonly CountedItem[], theta: number): number {
  return items.reduce((sum, item) => sum + information(item, theta), 0);
}
