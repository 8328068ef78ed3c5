import type { Scope } from './exits.ts';
import { exitScans } from './exits.ts';
import type { Plan } from './page-rows.ts';
import { wrap, wrapEvery } from './page-rows.ts';
import { Shape, beginsAt, fromOrganisation, merged, narrow, positionBound, residual } from './page-sql.ts';
import type { Walk } from './walk.ts';
import { direction } from './walk.ts';

/** The ways of reading a page: one statement for each shape, whatever the values (docs/decisions/0002). */

/** Feed rows after the cursor that are looked through before a selective plan is tried: enough for any dense filter. */
export const window = 4096;

export type Drive =
  | { by: 'position' }
  | { by: 'facet'; keys: number[] }
  | { by: 'group_set_id'; keys: string[] }
  | { by: 'assessed_day'; keys: number[] }
  | { by: 'learner'; learnerIds: string[] };

/** A stream of a page with the scope exits that belong between its rows. */
function withExits(shape: Shape, walk: Walk, stream: string, exits: Scope | null, limit: string): string {
  return exits === null ? stream : `${stream} union all ${exitScans(shape, walk, exits, limit)}`;
}

type Placed = { position: number };
const upwards = (one: Placed, other: Placed) => one.position - other.position;
const downwards = (one: Placed, other: Placed) => other.position - one.position;

/** @param exits whose scope exits stand between the rows; null: none */
export function positionPlan(walk: Walk, drive: Drive, groupSets: string[] | null, exits: Scope | null = null): Plan {
  const { filter } = walk;
  const { descending } = direction(filter);
  const shape = new Shape(walk.organisationId);
  shape.note(drive.by);
  const limit = shape.bind(walk.limit);
  const begins = shape.bind(beginsAt(walk));
  const bound = positionBound(shape, walk, begins);
  const order = `f.position${descending ? ' desc' : ''}`;
  const rest = residual(shape, filter, {
    facets: drive.by !== 'facet',
    groupSets: drive.by === 'group_set_id' ? null : groupSets,
    learnerIds: drive.by === 'learner' ? drive.learnerIds : null,
  });
  let stream: string;
  if (drive.by === 'facet') stream = merged(shape, 'facet', 'int2', drive.keys, bound, rest, order, limit);
  else if (drive.by === 'group_set_id')
    stream = merged(shape, 'group_set_id', 'uuid', drive.keys, bound, rest, order, limit);
  else if (drive.by === 'assessed_day')
    stream = merged(shape, 'assessed_day', 'int4', drive.keys, bound, rest, order, limit);
  else
    stream = `(select ${narrow} from assessment_feed f where ${fromOrganisation}${bound}${rest} order by ${order} limit ${limit})`;
  const isEvery = drive.by === 'position' && rest === '' && exits === null;
  return {
    sql: isEvery
      ? wrapEvery(stream, begins, descending, limit)
      : wrap(withExits(shape, walk, stream, exits, limit), `s.position${descending ? ' desc' : ''}`, limit),
    name: `assessment.page.${shape.name}`,
    values: shape.values,
    ...(isEvery ? { sort: descending ? downwards : upwards } : {}),
  };
}

/** The same page looked for in the next feed rows only: the walk ends there. */
export function windowPlan(walk: Walk, groupSets: string[] | null, exits: Scope | null): Plan {
  const { descending } = direction(walk.filter);
  const shape = new Shape(walk.organisationId);
  shape.note('window');
  const limit = shape.bind(walk.limit);
  const bound = positionBound(shape, walk);
  const rest = residual(shape, walk.filter, { facets: true, groupSets, learnerIds: null });
  const order = `position${descending ? ' desc' : ''}`;
  const stream = `(select ${narrow} from (select * from assessment_feed f where ${fromOrganisation}${bound} order by f.${order} limit ${window}) f where true${rest} order by f.${order} limit ${limit})`;
  const sql = wrap(withExits(shape, walk, stream, exits, limit), `s.${order}`, limit);
  return { sql, name: `assessment.page.${shape.name}`, values: shape.values };
}

/**
 * A page in the order of assessed_at. `near` looks at the next rows in that order only; without it every row that fits
 * the filter is gathered and sorted, which is right for the filters that let few through.
 */
export function assessedPlan(walk: Walk, groupSets: string[] | null, learnerIds: string[] | null, near: boolean): Plan {
  const { descending } = direction(walk.filter);
  const way = descending ? ' desc' : '';
  const shape = new Shape(walk.organisationId);
  shape.note(`${near ? 'near_assessed' : 'assessed'}${way.trim()}`);
  const limit = shape.bind(walk.limit);
  let bound = '';
  if (walk.after !== null) {
    shape.note('after');
    bound = ` and (f.assessed_at, f.assessment_id) ${descending ? '<' : '>'} (${shape.bind(walk.after.value)}::int8, ${shape.bind(walk.after.id)}::uuid)`;
  }
  const order = `f.assessed_at${way}, f.assessment_id${way}`;
  let from = 'assessment_feed f';
  if (near) {
    const { assessedFromUs, assessedToUs } = walk.filter;
    let range = bound;
    if (assessedFromUs !== null) range += ` and f.assessed_at >= ${shape.bind(assessedFromUs)}`;
    if (assessedToUs !== null) range += ` and f.assessed_at <= ${shape.bind(assessedToUs)}`;
    const { facets, status } = walk.filter;
    const every = facets === null && status === null && groupSets === null;
    if (every) shape.note('every');
    from = `(select f.learner_id, f.assessment_id from assessment f where ${fromOrganisation}${range} order by ${order} limit ${every ? limit : window}) d,
      lateral (select * from assessment_feed n where n.organisation_id = $1 and n.learner_id = d.learner_id and n.assessment_id = d.assessment_id offset 0) f`;
  }
  const rest = residual(shape, walk.filter, { facets: true, groupSets, learnerIds });
  const stream = `select ${narrow} from ${from} where ${fromOrganisation}${bound}${rest} order by ${order} limit ${limit}`;
  return {
    sql: wrap(stream, `s.assessed_at${way}, s.assessment_id${way}`, limit),
    name: `assessment.page.${shape.name}`,
    values: shape.values,
  };
}
