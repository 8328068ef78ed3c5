import type { AssessmentFilter, Walk } from './walk.ts';
import { direction } from './walk.ts';

/** The parts of SQL that the statements for pages are put together from. */

export const fromOrganisation = 'f.organisation_id = $1';

/** Collects bound values and the names of the shapes that they stand in. */
export class Shape {
  values: unknown[];
  #name: string[] = [];
  constructor(organisationId: number) {
    this.values = [organisationId];
  }
  bind(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }
  note(part: string): void {
    this.#name.push(part);
  }
  get name(): string {
    return this.#name.join('.');
  }
}

export const narrow =
  'f.position, f.assessment_id, f.learner_id, f.assessed_at, f.deleted, f.group_set_id, false as exit, f.first_position';

/** The conditions beside the driver's own, on the narrow feed rows. */
export function residual(
  shape: Shape,
  filter: AssessmentFilter,
  options: { facets: boolean; groupSets: string[] | null; learnerIds: string[] | null },
): string {
  let sql = '';
  if (options.facets && filter.facets !== null) {
    shape.note('f');
    sql += ` and f.facet = any(${shape.bind(filter.facets)}::int2[])`;
  }
  if (filter.assessedFromUs !== null) {
    shape.note('af');
    sql += ` and f.assessed_at >= ${shape.bind(filter.assessedFromUs)}`;
  }
  if (filter.assessedToUs !== null) {
    shape.note('at');
    sql += ` and f.assessed_at <= ${shape.bind(filter.assessedToUs)}`;
  }
  if (filter.status !== null) {
    shape.note(filter.status);
    sql += filter.status === 'deleted' ? ' and f.deleted' : ' and not f.deleted';
  }
  if (options.groupSets !== null) {
    shape.note('gs');
    // Behind "is true" it stays a hash table that each row is looked up in: sets can be thousands, and "any" tries one
    // by one.
    sql += ` and (f.group_set_id in (select unnest(${shape.bind(options.groupSets)}::uuid[]))) is true`;
  }
  if (options.learnerIds !== null) {
    shape.note('l');
    sql += ` and f.learner_id = any(${shape.bind(options.learnerIds)}::uuid[])`;
  }
  return sql;
}

/** Where a walk in position order goes on: positions are whole and unique, so "after" is one step further. */
export function beginsAt({ filter, after }: Walk): number {
  if (direction(filter).descending) return after === null ? Number.MAX_SAFE_INTEGER : after.value - 1;
  return after === null ? (filter.sinceUs ?? 0) : after.value + 1;
}

/** The position bounds of a walk in position order. */
export function positionBound(shape: Shape, walk: Walk, begins = shape.bind(beginsAt(walk))): string {
  const { descending } = direction(walk.filter);
  if (descending) shape.note('desc');
  const from = ` and f.position ${descending ? '<=' : '>='} ${begins}`;
  if (walk.to === null) return from;
  shape.note('to');
  return `${from} and f.position ${descending ? '>=' : '<='} ${shape.bind(walk.to)}`;
}

/**
 * Arms of a merge; a longer list of keys is probed by a lateral join instead, which can't stop early but plans at once.
 */
export const mostArms = 32;

/** A merge of ordered scans, one for each key. */
export function merged(
  shape: Shape,
  keyColumn: string,
  type: string,
  keys: (number | string)[],
  bound: string,
  rest: string,
  order: string,
  limit: string,
): string {
  const scan = (key: string) =>
    `select ${narrow} from assessment_feed f where ${fromOrganisation} and f.${keyColumn} = ${key}${bound}${rest} order by ${order} limit ${limit}`;
  if (keys.length > mostArms) {
    shape.note(`${keyColumn}.lateral`);
    return `(select x.* from unnest(${shape.bind(keys)}::${type}[]) as k(key), lateral (${scan('k.key')}) x order by ${order.replaceAll('f.', 'x.')} limit ${limit})`;
  }
  let arms = 1;
  while (arms < keys.length) arms *= 2;
  shape.note(`${keyColumn}.${arms}`);
  const list = shape.bind(Array.from({ length: arms }, (_, i) => keys[i] ?? null));
  // Each arm's key is a scalar of one bound array; arms without a key find nothing.
  return Array.from({ length: arms }, (_, i) => `(${scan(`(${list}::${type}[])[${i + 1}]`)})`).join(' union all ');
}
