import { clockOf } from './export.ts';
import { isProvisional, placementOf, intervalWords } from './interval.ts';
import { type Progress, changeOf, outcomeNames } from './progress.ts';
import type { Column } from '../../../platform/formats/sheet.ts';

/** The columns of the file of the distance travelled. */

export function distanceColumns(zone: string): Column<Progress>[] {
  const clock = clockOf(zone);
  type Value<T> = (row: Progress) => T | null;
  const text = (key: string, head: string, width: number, value: Value<string>): Column<Progress> => ({
    ...{ key, head, width, value },
    kind: 'text',
  });
  const figure = (key: string, head: string, value: Value<number>): Column<Progress> => ({
    ...{ key, head, width: 10, value },
    kind: 'number',
  });
  const rounded = (value: number | undefined) => (value === undefined ? null : Math.round(value * 100) / 100);
  const of = (key: 'first' | 'latest', head: string): Column<Progress>[] => [
    text(`${key}_placement`, `${head} placement`, 24, (row) => placementOf(row[key].content)),
    text(`${key}_provisional`, `${head}, provisional`, 10, (row) => (isProvisional(row[key]) ? 'Yes' : 'No')),
    text(`${key}_likely`, `${head}, likely level`, 24, (row) => intervalWords(row[key].content.level_probabilities)),
    {
      key: `${key}_assessed`,
      head: `${head} assessed (${zone})`,
      width: 18,
      kind: 'moment',
      clock,
      value: (row) => row[key].content.assessed_at_us / 1000,
    },
  ];
  return [
    text('learner', 'Learner', 28, (row) => row.full_name),
    text('reference', 'Reference', 16, (row) => row.ref),
    text('subject', 'Subject', 10, (row) => row.first.content.subject),
    figure('results', 'Results', (row) => row.results),
    ...of('first', 'First'),
    ...of('latest', 'Latest'),
    text('change', 'Change', 16, (row) => {
      const change = changeOf(row);
      return change && outcomeNames[change.outcome];
    }),
    figure('levels_gained', 'Levels gained', (row) => changeOf(row)?.gained ?? null),
    figure('ability_change', 'Change of the ability estimate', (row) => rounded(changeOf(row)?.ability?.change)),
    figure('ability_margin', '95 % margin of the change', (row) => rounded(changeOf(row)?.ability?.margin)),
  ];
}
