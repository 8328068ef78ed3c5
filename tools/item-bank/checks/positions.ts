import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { error } from './finding.ts';
import type { CheckedBank, Finding } from './finding.ts';
import { isLive } from './statements.ts';

/**
 * Checks the places of keys. A guesser must gain nothing from always choosing the same place, the longest option or one
 * order of the steps.
 */

/** The largest allowed excess over chance of keys in one place, or of keys that are the longest option. */
const aboveChance = 0.15;
/** The largest share of orderings, or matchings, of one size that may have the same solution. */
const sameSolutionShare = 0.25;
/** Fewer items than this give no reliable share. */
const fewest = 20;

/** A habit of a guesser, and the largest share of items in which this habit may be right. */
type Habit = { group: string; habit: string; max: number };

function* habitsOf(item: RenderedItem): Generator<Habit> {
  if (item.type === 'single_choice') {
    const n = item.options.length;
    const group = `single choices of ${n} options`;
    const at = item.options.findIndex(({ id }) => id === item.key);
    yield {
      group,
      habit: `have option ${at + 1} as their key`,
      max: 1 / n + aboveChance,
    };
    const lengths = item.options.map(({ text }) => text.length);
    const isLongest = lengths.every((length, other) => other === at || length < lengths[at]!);
    if (isLongest)
      yield {
        group,
        habit: 'have the longest option as their key',
        max: 1 / n + aboveChance,
      };
  }
  if (item.type === 'ordering') {
    const places = item.key.map((id) => 1 + item.options.findIndex((option) => option.id === id));
    yield solution(`orderings of ${places.length} steps`, places);
  }
  if (item.type === 'matching') {
    const places = item.left.map(({ id }) => 1 + item.right.findIndex((option) => option.id === item.key[id]));
    yield solution(`matchings of ${places.length} with ${item.right.length}`, places);
  }
}

const solution = (group: string, places: readonly number[]): Habit => ({
  group,
  habit: `have the solution ${places.join(', ')}`,
  max: sameSolutionShare,
});

function findingsOf(subject: Subject, items: readonly RenderedItem[]): Finding[] {
  const all = items.map((item) => [...habitsOf(item)]).filter((habits) => habits.length > 0);
  return [...Map.groupBy(all, ([first]) => first!.group)].flatMap(([group, members]) => {
    if (members.length < fewest) return [];
    const habits = Map.groupBy(members.flat(), ({ habit }) => habit);
    return [...habits].flatMap(([habit, having]) =>
      having.length > having[0]!.max * members.length
        ? [error('positions', null, `${subject}: ${having.length} of ${members.length} ${group} ${habit}`)]
        : [],
    );
  });
}

export function positionFindings(bank: CheckedBank): Finding[] {
  const live = bank.shown.filter(({ item }) => isLive(item));
  return subjects.flatMap((subject) =>
    findingsOf(
      subject,
      live.filter(({ item }) => item.subject === subject).map(({ rendered }) => rendered),
    ),
  );
}
