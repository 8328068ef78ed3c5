import type { Subject } from '../../../src/engine/scoring/levels.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';
import { movable } from '../../../src/engine/item-bank/option-order.ts';
import type { Option, RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { error } from './finding.ts';
import type { CheckedBank, Finding } from './finding.ts';
import { isUsed } from './statements.ts';

/**
 * Checks the places of keys. A guesser must gain nothing from always choosing the same place, the longest option or one
 * order of the steps.
 */

/** Keys of one place may differ from an equal share by this much. */
const uneven = 0.1;
/** The largest allowed excess over chance of keys that are the longest option. */
const aboveChance = 0.15;
/** The largest share of orderings, or matchings, of one size that may have the same solution. */
const sameSolutionShare = 0.25;
/** Fewer items than this give no reliable share. */
const fewest = 20;

/** A habit of a guesser, the share of items in which it may be right, and its chance in this item. */
type Habit = { group: string; habit: string; min?: number; max: number; chance?: number };

/** For each place, the chance that learners see one of the keys there. */
function placesOf(options: readonly Option[], keepOrder: boolean | undefined, keys: readonly string[]): number[] {
  const { free, last } = movable(options, keepOrder);
  const isKey = ({ id }: Option) => keys.includes(id);
  return options.map((_, place) => {
    if (place >= free.length) return isKey(last[place - free.length]!) ? 1 : 0;
    return free.filter(isKey).length / free.length;
  });
}

function* placeHabits(item: RenderedItem & { type: 'single_choice' | 'multiple_choice' }): Generator<Habit> {
  const [n, keys] = [item.options.length, [item.key].flat()];
  const group =
    item.type === 'single_choice'
      ? `single choices of ${n} options`
      : `multiple choices of ${keys.length} of ${n} options`;
  for (const [place, chance] of placesOf(item.options, item.keep_order, keys).entries())
    yield {
      group,
      habit: `have option ${place + 1} as ${item.type === 'single_choice' ? 'their key' : 'a key'}`,
      min: keys.length / n - uneven,
      max: keys.length / n + uneven,
      chance,
    };
}

function* habitsOf(item: RenderedItem): Generator<Habit> {
  if (item.type === 'single_choice' || item.type === 'multiple_choice') yield* placeHabits(item);
  if (item.type === 'single_choice') {
    const n = item.options.length;
    const at = item.options.findIndex(({ id }) => id === item.key);
    const lengths = item.options.map(({ text }) => text.length);
    const isLongest = lengths.every((length, other) => other === at || length < lengths[at]!);
    if (isLongest)
      yield {
        group: `single choices of ${n} options`,
        habit: 'have the longest option as their key',
        max: 1 / n + aboveChance,
      };
  }
  if (item.type === 'ordering') {
    const places = item.key.map((id) => 1 + item.options.findIndex((option) => option.id === id));
    yield solution(`orderings of ${places.length} steps`, places);
  }
  if (item.type === 'matching' && movable(item.right, item.keep_order).free.length === 0) {
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
    return [...habits].flatMap(([habit, having]) => {
      const count = having.reduce((sum, { chance = 1 }) => sum + chance, 0);
      const { min = 0, max } = having[0]!;
      if (count >= min * members.length && count <= max * members.length) return [];
      const found = `${count < min * members.length ? 'only ' : ''}${Math.round(count)} of ${members.length}`;
      return [error('positions', null, `${subject}: ${found} ${group} ${habit}`)];
    });
  });
}

export function positionFindings(bank: CheckedBank): Finding[] {
  const live = bank.shown.filter(({ item }) => isUsed(item));
  return subjects.flatMap((subject) =>
    findingsOf(
      subject,
      live.filter(({ item }) => item.subject === subject).map(({ rendered }) => rendered),
    ),
  );
}
