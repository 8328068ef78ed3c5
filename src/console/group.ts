import type { BrowsedGroup } from '../groups/browse.ts';
import { browseGroup } from '../groups/browse.ts';
import type { Reach } from '../groups/reach.ts';
import type { GroupRow } from '../groups/store.ts';
import { teamType } from '../groups/types.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { isUuid } from '../uuid.ts';
import { name } from './frame.ts';
import type { Visit } from './route.ts';
import { NoSuchPage } from './route.ts';
import { sightOf } from './sight.ts';
import { number } from './blocks.ts';

/** What the pages of groups, of their members and of teams share. */

/** The group of the address; one of which the person sees nothing is the same page that isn't there. */
export async function groupOf(visit: Visit, named = visit.params.group_id!): Promise<BrowsedGroup> {
  const { app, organisationId } = visit;
  const id = named.toLowerCase();
  const found = isUuid(id) ? await browseGroup(app.db, organisationId, id, await sightOf(visit)) : undefined;
  if (found === undefined) throw new NoSuchPage();
  return found;
}

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

/** How many, where no more than so many were counted. */
export const countWords = (count: number, most: number): string =>
  count > most ? `more than ${number(most)}` : number(count);

export const learnersInWords = (count: number): string =>
  `${countWords(count, limits.membersCountedOfOne)} ${count === 1 ? 'learner' : 'learners'}`;

/** Whose payloads a change reaches. @param most results, where no more than so many were counted */
export function reachInWords({ learners, results }: Reach, most = Infinity): string {
  return `${learnersInWords(learners)} and ${countWords(results, most)} ${results === 1 ? 'result' : 'results'}`;
}

/** A learner by name; nothing is left of somebody erased. */
export const learnerName = (learner: { full_name: string }): Content =>
  learner.full_name === '' ? html`<span class="hint">Erased</span>` : name(learner.full_name);
