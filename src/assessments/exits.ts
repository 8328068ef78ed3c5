import { Shape, positionBound, residual } from './page-sql.ts';
import type { Walk } from './walk.ts';

/**
 * Scope exits: results whose learner left one of the requested groups at or after `since` and is in none of them now,
 * and what was withdrawn while the learner was away. They stand in a stream of their own in the order of positions
 * (written by src/feed/scope-exits.ts), one for each group that was left; the newest among the requested groups is
 * told.
 */
export type Scope = { groupIds: readonly string[]; learnerIds: string[] | null };

/** Ordered scans of a page's exits, to be merged with its other rows; `limit` is the bound value of the page's. */
export function exitScans(shape: Shape, walk: Walk, scope: Scope, limit: string): string {
  shape.note(scope.learnerIds === null ? 'exits' : 'exits_of_learner');
  const groups = `${shape.bind(scope.groupIds)}::uuid[]`;
  // One more condition on the set that the row has, whatever the sets of the groups are: theirs can be thousands.
  const outOfScope = ` and not (select s.group_ids && ${groups} from group_set s where s.organisation_id = $1 and s.group_set_id = f.group_set_id)`;
  const rest = outOfScope + residual(shape, walk.filter, { facets: true, groupSets: null, learnerIds: null });
  const parts = { groups, bound: positionBound(shape, walk), rest, limit };
  return storedExits(shape, scope, parts);
}

type Parts = { groups: string; bound: string; rest: string; limit: string };

/** The result as the feed has it now. Its position may be another; what filters look at is the exit's own, too. */
const asOfNow = `lateral (
    select n.deleted, n.group_set_id from assessment_feed n
     where n.organisation_id = $1 and n.learner_id = e.learner_id and n.assessment_id = e.assessment_id offset 0) f`;

/** Ordered scans of the stored exits, one for each group; of one learner, all that the learner has. */
function storedExits(shape: Shape, scope: Scope, { groups, bound, rest, limit }: Parts): string {
  const newest =
    scope.groupIds.length <= 1
      ? ''
      : ` and not exists (select from scope_exit l
           where l.organisation_id = $1 and l.learner_id = e.learner_id and l.assessment_id = e.assessment_id
             and l.group_id = any(${groups}) and (l.position, l.group_id) > (e.position, e.group_id))`;
  if (scope.groupIds.length > 1) shape.note('newest');
  const own = `${bound}${rest}`.replaceAll(/\bf\.(position|facet|assessed_at)\b/g, 'e.$1');
  const scan = (which: string) =>
    `(select e.position, e.assessment_id, e.learner_id, e.assessed_at, f.deleted, f.group_set_id, not f.deleted as exit, null::int8 as first_position
        from scope_exit e, ${asOfNow} where e.organisation_id = $1 and ${which}${own}${newest} order by e.position limit ${limit})`;
  if (scope.learnerIds !== null)
    return scan(`e.learner_id = any(${shape.bind(scope.learnerIds)}::uuid[]) and e.group_id = any(${groups})`);
  let arms = 1;
  while (arms < scope.groupIds.length) arms *= 2;
  shape.note(String(arms));
  return Array.from({ length: arms }, (_, i) => scan(`e.group_id = (${groups})[${i + 1}]`)).join(' union all ');
}
