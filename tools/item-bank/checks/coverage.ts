import { domainsOf, shownType } from '../../../src/engine/item-bank/schema.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { error } from './finding.ts';
import type { Finding } from './finding.ts';
import { levelsOf, subjects } from '../../../src/engine/scoring/levels.ts';
import type { Level, Subject } from '../../../src/engine/scoring/levels.ts';

/** The minimum number of items: for a subject, for each of its levels, and for each domain at each level. */
type Plan = { items: number; level: Partial<Record<Level, number>>; domainAtLevel: (level: Level) => number };

const sixLevels = { entry1: 25, entry2: 20, entry3: 20, level1: 20, level2: 20, level3: 30 };

export const plan: Record<Subject, Plan> = {
  digital: {
    items: 140,
    level: { entry: 40, level1: 50, level2: 25, level3: 25 },
    domainAtLevel: (level) => (level === 'entry' || level === 'level1' ? 8 : 4),
  },
  english: { items: 150, level: sixLevels, domainAtLevel: () => 4 },
  maths: { items: 150, level: sixLevels, domainAtLevel: () => 4 },
};

/** The largest share of a subject's items that may be single or multiple choice. */
export const choiceShareLimit = 0.4;

export function isChoice(item: Item): boolean {
  const type = shownType(item);
  return type === 'single_choice' || type === 'multiple_choice';
}

/** Compares the numbers of items with the plan. */
export function coverageFindings(items: readonly Item[]): Finding[] {
  const findings: Finding[] = [];
  const min = (what: string, has: number, wants: number) => {
    if (has < wants) findings.push(error('coverage', null, `${what}: ${has} of at least ${wants} items.`));
  };
  for (const subject of subjects) {
    const own = items.filter((item) => item.subject === subject);
    min(subject, own.length, plan[subject].items);
    for (const level of levelsOf(subject)) {
      const atLevel = own.filter((item) => item.level === level);
      min(`${subject} ${level}`, atLevel.length, plan[subject].level[level] ?? 0);
      for (const domain of domainsOf[subject]) {
        min(
          `${subject} ${level} ${domain}`,
          atLevel.filter((item) => item.domain === domain).length,
          plan[subject].domainAtLevel(level),
        );
      }
    }
    const choice = own.filter(isChoice).length;
    if (choice > choiceShareLimit * own.length) {
      findings.push(
        error(
          'choice share',
          null,
          `${subject}: ${choice} of ${own.length} items are choice items; at most ${choiceShareLimit * 100} % may be.`,
        ),
      );
    }
  }
  return findings;
}
