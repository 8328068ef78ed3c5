import type { BrowsedGroup, Impact } from '../../../organisations/groups/browse.ts';
import { browseGroup, browseGroups, membersCountedFor } from '../../../organisations/groups/browse.ts';
import type { GroupRow } from '../../../organisations/groups/store.ts';
import { ApiError } from '../../../platform/errors/errors.ts';
import { groupNameFault, groupRefFault } from '../../../organisations/groups/description.ts';
import { teamType } from '../../../organisations/groups/types.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { name } from '../kit/frame.ts';
import type { Visit, Answer } from '../kit/route.ts';
import { named } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';
import { countWords, yesOrNo, pageOf, pager, numeric } from '../kit/blocks.ts';
import { filtersOf, any, faultsIn } from '../kit/form.ts';
import type { Faults } from '../kit/form.ts';

/** Groups without a visible member are the same 404 as unknown ones. */
export const groupOf = (visit: Visit, parameter = 'group_id'): Promise<BrowsedGroup> =>
  named(visit, parameter, async (tx, organisationId, id) =>
    browseGroup(tx, organisationId, id, await visibilityOf(visit)),
  );

export const isTeam = ({ type }: Pick<GroupRow, 'type'>): boolean => type === teamType;

/** A team has its page under Teams, except for developers, who cannot open that page. */
export function groupPath({ base, role }: Visit, group: Pick<GroupRow, 'group_id' | 'type'>): string {
  const among = isTeam(group) && role !== 'developer' ? 'teams' : 'groups';
  return `${base}/${among}/${group.group_id}`;
}

export function typeWords(type: string): string {
  const words = type.replaceAll('_', ' ');
  return words[0]!.toUpperCase() + words.slice(1);
}

export const learnersInWords = (count: number): string =>
  `${countWords(count, limits.membersCountedOfOne)} ${count === 1 ? 'learner' : 'learners'}`;

/** @param max results were counted up to this number only */
export function reachInWords({ learners, results }: Impact, max = Infinity): string {
  return `${learnersInWords(learners)} and ${countWords(results, max)} ${results === 1 ? 'result' : 'results'}`;
}

const states = { yes: 'Active', no: 'Archived' };
const stateOf = (row: BrowsedGroup) => (row.active ? states.yes : states.no);

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

export const newGroupFaults = ({ form: sent }: Visit): Faults =>
  faultsIn({ ref: groupRefFault(sent.text('ref')), group_name: groupNameFault(sent.text('group_name')) });

/** @param tooMany answers when the organisation has its maximum of groups */
export async function unlessTooMany(act: Promise<Answer>, tooMany: () => Answer): Promise<Answer> {
  return act.catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'group_limit_exceeded') return tooMany();
    throw error;
  });
}

export const learnerName = (learner: { full_name: string }): Content =>
  learner.full_name === '' ? html`<span class="hint">Erased</span>` : name(learner.full_name);
