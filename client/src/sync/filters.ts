import type { Operations } from '../openapi.ts';
import { searchOf } from '../request.ts';

const names = [
  'subject',
  'rqf_level_code',
  'below_level_1',
  'group_id',
  'assessed_from',
  'assessed_to',
  'learner_ref',
] as const;

/** Which results a mirror holds. Everything but `group_id` is a fact of a result that never changes. */
export type Filters = Pick<Operations['listAssessments']['query'], (typeof names)[number]>;

/** The filters in one order, so that the same ones are the same text. */
export function orderedFilters(filters: Filters): Filters {
  for (const name of Object.keys(filters))
    if (!(names as readonly string[]).includes(name))
      throw new TypeError(`a mirror can't be filtered by ${name}; it can by ${names.join(', ')}`);
  const ordered: Record<string, unknown> = {};
  for (const name of names) {
    const value = filters[name];
    if (value !== undefined) ordered[name] = Array.isArray(value) ? [...new Set(value)].sort() : value;
  }
  return ordered as Filters;
}

export function filterText(filters: Filters): string {
  return searchOf(filters);
}
