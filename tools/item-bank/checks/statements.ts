import { levels } from '../../../src/engine/scoring/levels.ts';
import type { Level } from '../../../src/engine/scoring/levels.ts';
import { isLive } from '../../../src/engine/item-bank/load.ts';
import { skillGroupsOf } from '../../../src/engine/item-bank/schema.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { needs, statements } from '../standards.ts';
import type { Statement } from '../standards.ts';
import { isDrawn } from './drawings.ts';
import { error } from './finding.ts';
import type { Finding } from './finding.ts';

/** Fewer items than this cover a statement poorly, and learners soon see them again. */
export const minPerStatement = 4;

/** A statement with the IDs of its items. A visual statement has only items that draw what it is about. */
export type StatementCount = Statement & { items: string[] };

/** Whether learners get the item: it is live or on trial. */
export const isUsed = (item: Item): boolean => item.state !== 'retired';

export function statementCounts(items: readonly Item[]): StatementCount[] {
  const live = items.filter(isLive);
  return [...statements.values()].map((statement) => ({
    ...statement,
    items: live
      .filter((item) => item.statement === statement.id && (!statement.visual || isDrawn(item)))
      .map(({ id }) => id),
  }));
}

/** An item may test a statement of a lower level in a harder setting, but never a statement of a higher level. */
const isAbove = (level: Level, other: Level): boolean => levels.indexOf(level) > levels.indexOf(other);

function* codingFaults(item: Item): Generator<string> {
  if (item.statement === undefined) yield 'is coded to no statement';
  else {
    const statement = statements.get(item.statement);
    if (!statement) yield `is coded to ${item.statement}, which is no statement`;
    else {
      if (statement.id.slice(0, 3) !== item.id.slice(0, 3))
        yield `is coded to ${statement.id}, which is of another subject`;
      if (isAbove(statement.level, item.level)) yield `is coded to ${statement.id}, which is of a higher level`;
      if (statement.needs !== undefined)
        yield `is coded to ${statement.id}, which can't be asked without ${needs[statement.needs]}`;
    }
  }
  const groups: readonly string[] = skillGroupsOf[item.domain];
  if (item.skill_group === undefined) yield 'has no skill group';
  else if (!groups.includes(item.skill_group))
    yield `has the skill group ${item.skill_group}, not one of ${item.domain}`;
}

export function statementFindings(items: readonly Item[]): Finding[] {
  const faults = items
    .filter(isUsed)
    .flatMap((item) => [...codingFaults(item)].map((fault) => error('statements', item.id, fault)));
  const short = statementCounts(items)
    .filter((statement) => statement.needs === undefined && statement.items.length < minPerStatement)
    .map(({ id, text, visual, items: own }) =>
      error(
        'coverage',
        id,
        `“${text}” has ${own.length} of at least ${minPerStatement} items${visual ? ' with a drawing' : ''}`,
      ),
    );
  return [...faults, ...short];
}

/** Lists the statements of each level, then the statements that cannot be asked, with reasons. */
export function statementLines(counts: readonly StatementCount[]): string[] {
  const asked = counts.filter((statement) => statement.needs === undefined);
  const byLevel = Map.groupBy(asked, ({ id }) => id.slice(0, id.indexOf('-', 4)));
  const lines = [...byLevel].map(
    ([level, list]) =>
      `  ${level.padEnd(6)} ${list.map(({ id, items }) => `${id.slice(level.length + 1)}: ${items.length}`).join(', ')}`,
  );
  const rest = counts.filter((statement) => statement.needs !== undefined);
  return [
    '',
    `Statements and their items: ${asked.length} can be asked, ${rest.length} can't`,
    ...lines,
    ...rest.map((statement) => `  not asked: ${statement.id} (${statement.text}): needs ${needs[statement.needs!]}`),
  ];
}
