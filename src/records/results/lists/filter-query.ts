import { type ResultFilter, resultSorts } from './browse-statements.ts';
import { allFacets } from '../facet.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { groupTypes } from '../../../organisations/groups/types.ts';
import { belowEntry, subjects } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { startOfDay, endOfDay } from '../../../organisations/zone.ts';
import { yesOrNo } from '../../../platform/validation/fields.ts';

/** The URL's query contains the filter of results: IDs, words and dates, never a name. */

/** The levels by their number in a result's facet (src/records/results/facet.ts). */
export const levelChoices = ['not-placed', 'below-entry', 'entry', 'level-1', 'level-2', 'level-3'] as const;
export const levelNames = ['Not placed', belowEntry, 'Entry Level', 'Level 1', 'Level 2', 'Level 3'];
export const flags = { any: 'Any flag', borderline: 'Close to a boundary', review: 'Needs review' } as const;
export const sources = { sitting: 'Sitting', imported: 'Imported' } as const;

const isBelowLevel1 = (facet: number) => (facet & 7) === 1 || (facet & 7) === 2;

const isDay = (value: string) => startOfDay(value, 'UTC') !== null;
const isYes = (value: string) => value === 'yes';

/** The check of each filter parameter. Whether a date exists does not depend on the time zone. */
const checks = {
  team: isUuid,
  type: (value: string) => groupTypes.some((one) => one === value),
  group: isUuid,
  subject: (value: string) => subjects.some((one) => one === value),
  level: (value: string) => levelChoices.some((one) => one === value),
  below: (value: string) => isYes(value) || value === 'no',
  from: isDay,
  to: isDay,
  flag: (value: string) => Object.hasOwn(flags, value),
  source: (value: string) => Object.hasOwn(sources, value),
  changed: isDay,
  latest: isYes,
};

export const filterNames = Object.keys(checks) as (keyof typeof checks)[];

export const valueOf = (query: URLSearchParams, name: (typeof filterNames)[number]) => query.get(name) ?? '';

const usOf = (at: Date | null) => (at === null ? null : at.getTime() * 1000);

function readFacets(query: URLSearchParams): number[] | null {
  const subject = subjects.findIndex((one) => one === valueOf(query, 'subject'));
  const level = levelChoices.findIndex((one) => one === valueOf(query, 'level'));
  const below = yesOrNo(query.get('below'));
  if (subject < 0 && level < 0 && below === null) return null;
  return allFacets.filter(
    (facet) =>
      (subject < 0 || facet >> 3 === subject) &&
      (level < 0 || (facet & 7) === level) &&
      (below === null || ((facet & 7) !== 0 && isBelowLevel1(facet) === below)),
  );
}

export function readFilter(query: URLSearchParams, zone: string, visibility: Visibility): ResultFilter {
  const groupIds = [valueOf(query, 'team'), valueOf(query, 'group')].filter(isUuid).map((id) => id.toLowerCase());
  const flag = valueOf(query, 'flag');
  const source = valueOf(query, 'source');
  return {
    visibility,
    groupIds: [...new Set(groupIds)],
    facets: readFacets(query),
    flag: Object.hasOwn(flags, flag) ? (flag as keyof typeof flags) : null,
    source: Object.hasOwn(sources, source) ? (source as keyof typeof sources) : null,
    assessedFromUs: usOf(startOfDay(valueOf(query, 'from'), zone)),
    assessedBeforeUs: usOf(endOfDay(valueOf(query, 'to'), zone)),
    changedSinceUs: usOf(startOfDay(valueOf(query, 'changed'), zone)),
    latest: valueOf(query, 'latest') === 'yes',
  };
}

const others = { sort: (value: string) => resultSorts.some((one) => one === value.replace(/^-/, '')), start: isDay };
const allChecks: Record<string, (value: string) => boolean> = { ...checks, ...others };

/** Whether a query parameter is part of a filter and has a valid value. */
export const isFilter = (name: string, query: URLSearchParams): boolean =>
  Object.hasOwn(allChecks, name) && allChecks[name]!(query.get(name) ?? '');

/** Keeps only valid parameters for links and the audit log, because a person may type anything into a URL. */
export function filterQuery(query: URLSearchParams, more: readonly (keyof typeof others)[] = ['sort']) {
  const names = [...filterNames, ...more].filter((name) => isFilter(name, query));
  return new URLSearchParams(names.map((name) => [name, query.get(name)!]));
}
