import type { BrowsedGroup } from '../../../organisations/groups/browse.ts';
import { browseGroup, browseGroups, membersCountedFor } from '../../../organisations/groups/browse.ts';
import type { Impact } from '../../../organisations/groups/impact.ts';
import type { GroupRow } from '../../../organisations/groups/store.ts';
import { ApiError } from '../../../platform/errors/errors.ts';
import { groupNameFault, groupRefFault } from '../../../organisations/groups/description.ts';
import { teamType } from '../../../organisations/groups/types.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/uuid.ts';
import { name } from '../kit/frame.ts';
import type { Visit, Answer } from '../kit/route.ts';
import { named } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';
import { countWords, yesOrNo, pageOf, pager, numeric } from '../kit/blocks.ts';
import { filtersOf, any, faultsIn } from '../kit/form.ts';
import type { Faults } from '../kit/form.ts';

/** What the pages of groups, of their members and of teams share. */

/** The group of the address; one of which the person sees nothing is the same page that isn't there. */
export const groupOf = (visit: Visit, parameter = 'group_id'): Promise<BrowsedGroup> =>
  named(visit, parameter, async (tx, organisationId, id) =>
    browseGroup(tx, organisationId, id, await visibilityOf(visit)),
  );

export const isTeam = ({ type }: Pick<GroupRow, 'type'>): boolean => type === teamType;

/** Where a group's own page is: a team's is among the teams, for whoever may open that. */
export function groupPath({ base, role }: Visit, group: Pick<GroupRow, 'group_id' | 'type'>): string {
  const among = isTeam(group) && role !== 'developer' ? 'teams' : 'groups';
  return `${base}/${among}/${group.group_id}`;
}

/** A type as people say it: `curriculum_area` is a curriculum area. */
export function typeWords(type: string): string {
  const words = type.replaceAll('_', ' ');
  return words[0]!.toUpperCase() + words.slice(1);
}

export const learnersInWords = (count: number): string =>
  `${countWords(count, limits.membersCountedOfOne)} ${count === 1 ? 'learner' : 'learners'}`;

/** Whose payloads a change reaches. @param most results, where no more than so many were counted */
export function reachInWords({ learners, results }: Impact, max = Infinity): string {
  return `${learnersInWords(learners)} and ${countWords(results, max)} ${results === 1 ? 'result' : 'results'}`;
}

const states = { yes: 'Active', no: 'Archived' };
const stateOf = (row: BrowsedGroup) => (row.active ? states.yes : states.no);

/** A page of the groups that the address filters, and the columns that every list of groups has. */
export async function groupList(visit: Visit, type: string | null) {
  const { app, organisationId, query } = visit;
  const visibility = await visibilityOf(visit);
  const after = query.get('after') ?? '';
  const filter = { type, active: yesOrNo(query.get('active')) };
  const at = { after: isUuid(after) ? after : null, limit: limits.consoleRows + 1 };
  const { rows, last } = pageOf(await browseGroups(app.db, organisationId, filter, visibility, at));
  return {
    rows,
    stateField: filtersOf(visit).select('active', 'State', any(states)),
    pages: pager(visit, last?.group_id),
    name: (row: BrowsedGroup) => html`<a href="${groupPath(visit, row)}">${name(row.name)}</a>`,
    columns: { Reference: (row: BrowsedGroup) => html`<code>${row.ref}</code>`, State: stateOf },
    members: numeric((row: BrowsedGroup) => countWords(row.members, membersCountedFor(visibility))),
  };
}

/** What is wrong with the fields of a new group or team. */
export const newGroupFaults = ({ form: sent }: Visit): Faults =>
  faultsIn({ ref: groupRefFault(sent.text('ref')), group_name: groupNameFault(sent.text('group_name')) });

/** @param tooMany what is done where there are as many groups as there may be */
export async function unlessTooMany(act: Promise<Answer>, tooMany: () => Answer): Promise<Answer> {
  return act.catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'group_limit_exceeded') return tooMany();
    throw error;
  });
}

/** A learner by name; nothing is left of somebody erased. */
export const learnerName = (learner: { full_name: string }): Content =>
  learner.full_name === '' ? html`<span class="hint">Erased</span>` : name(learner.full_name);
