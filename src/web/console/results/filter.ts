import type { ResultFilter } from '../../../records/results/lists/browse-statements.ts';
import { subjectName } from '../../../records/evidence/wording.ts';
import { countGroupTypes, listGroups } from '../../../organisations/groups/list.ts';
import { browseGroup, groupsSeen } from '../../../organisations/groups/browse.ts';
import type { GroupRow } from '../../../organisations/groups/store.ts';
import { teamType } from '../../../organisations/groups/types.ts';
import { listMembers } from '../../../organisations/users/members.ts';
import { peopleReaders } from '../../../organisations/users/roles.ts';
import type { Content } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { uuidIn } from '../kit/paging.ts';
import { type Choice, type Fields, filtersOf, any } from '../kit/form.ts';
import { typeWords } from '../kit/blocks.ts';
import type { Visit } from '../kit/route.ts';
import { visibilityOf } from '../kit/reader.ts';
import { yesOrNo } from '../../../platform/validation/fields.ts';
import {
  flags,
  filterNames,
  levelChoices,
  valueOf,
  levelNames,
  readFilter,
  sources,
} from '../../../records/results/lists/filter-query.ts';

/** The URL's query contains the filter of results: IDs, words and dates, never a name. */

export async function readResultFilter(visit: Visit): Promise<ResultFilter> {
  return readFilter(visit.query, visit.zone, await visibilityOf(visit));
}

const groupLabel = ({ name, active }: GroupRow) => `${name.slice(0, 60)}${active ? '' : ' (archived)'}`;

/** Finds a group; null if the person may see none of its members. */
export async function groupOf(visit: Visit, id: string): Promise<GroupRow | null> {
  const { app, organisationId } = visit;
  if (!isUuid(id)) return null;
  return (await browseGroup(app.db, organisationId, id.toLowerCase(), await visibilityOf(visit))) ?? null;
}

/** The field that chooses a tutor, for roles that read names of colleagues. */
export async function tutorField(visit: Visit): Promise<Content> {
  if (!peopleReaders.includes(visit.role)) return null;
  const members = await listMembers(visit.app.db, visit.organisationId);
  const tutors = members.filter((one) => one.role === 'tutor');
  const choices = tutors.map((one) => ({ value: one.user_id, label: one.full_name }));
  return tutors.length > 0 && filtersOf(visit).select('tutor', 'Tutor', any(choices));
}

/** The team and the group of a list's filter. */
export const chosenGroups = (query: URLSearchParams): string[] => [
  ...new Set(['team', 'group'].flatMap((one) => uuidIn(query, one) ?? [])),
];

/** The fields that choose a team or group. With many groups the person chooses a type first. */
export async function groupFields(visit: Visit): Promise<Content> {
  const { app, organisationId: id, query } = visit;
  const q = filtersOf(visit);
  const visibility = await visibilityOf(visit);
  const groupIds = await groupsSeen(app.db, id, visibility);
  const types = (await countGroupTypes(app.db, id, groupIds)).filter(({ type }) => type !== teamType);
  const chosen = await groupOf(visit, valueOf(query, 'group'));
  const type = types.find((one) => one.type === (valueOf(query, 'type') || chosen?.type))?.type ?? null;
  const total = types.reduce((sum, one) => sum + one.groups, 0);
  const isFew = total <= limits.groupsListed;
  const ofTypes = isFew ? types.map((one) => one.type) : type === null ? [] : [type];
  const max = limits.groupsInChoice;
  const [teams, groups] = await Promise.all([
    listGroups(app.db, id, { types: [teamType], active: true, groupIds: visibility }, 0, max),
    ofTypes.length === 0 ? [] : listGroups(app.db, id, { types: ofTypes, active: null, groupIds }, 0, max),
  ]);
  const choices = (rows: GroupRow[]) => any(rows.map((one) => ({ value: one.group_id, label: groupLabel(one) })));
  const inOrder = [
    ...groups,
    ...(chosen === null || groups.some((one) => one.group_id === chosen.group_id) ? [] : [chosen]),
  ]
    .filter((one) => one.type !== teamType)
    .sort((x, y) => Number(y.active) - Number(x.active) || x.name.localeCompare(y.name, 'en-GB', { numeric: true }));
  return [
    teams.length > 0 && q.select('team', 'Team', choices(teams)),
    !isFew && q.select('type', 'Type of group', any(typeChoices(types)), { value: type ?? '' }),
    groups.length > 0 && q.select('group', 'Group', choices(inOrder), { value: chosen?.group_id }),
  ];
}

export const typeChoices = (types: readonly { type: string; groups: number }[]): Choice[] =>
  types.map((one) => ({ value: one.type, label: `${typeWords(one.type)} (${one.groups})` }));

export const subjectNames = Object.fromEntries(subjects.map((one) => [one, subjectName(one)]));

export const subjectField = (q: Fields): Content => q.select('subject', 'Subject', any(subjectNames));

export const dateFields = (q: Fields): Content => [
  q.text('from', 'Assessed from', { type: 'date' }),
  q.text('to', 'Assessed to', { type: 'date' }),
];

export async function resultFields(visit: Visit): Promise<Content> {
  const q = filtersOf(visit);
  return [
    await groupFields(visit),
    subjectField(q),
    q.select('level', 'Level', any(Object.fromEntries(levelChoices.map((one, i) => [one, levelNames[i]!])))),
    q.select('below', 'Below Level 1', any({ yes: 'Yes', no: 'No' })),
    dateFields(q),
    q.select('flag', 'Flags', any(flags)),
    q.select('source', 'Source', any(sources)),
    q.text('changed', 'Changed since', { type: 'date' }),
    q.select('latest', 'Which results', any({ yes: 'Each learner’s latest' })),
  ];
}

export async function filterInWords(visit: Visit): Promise<Record<string, string | undefined>> {
  const { query } = visit;
  const value = (name: (typeof filterNames)[number]) => valueOf(query, name);
  const [team, group] = await Promise.all([groupOf(visit, value('team')), groupOf(visit, value('group'))]);
  const level = levelChoices.findIndex((one) => one === value('level'));
  const below = yesOrNo(query.get('below'));
  const { flag, source } = readFilter(query, 'UTC', null);
  const day = (name: 'from' | 'to' | 'changed') => (/^\d{4}-\d\d-\d\d$/.test(value(name)) ? value(name) : undefined);
  return {
    Team: team?.name ?? (isUuid(value('team')) ? 'Unknown' : undefined),
    Group: group?.name ?? (isUuid(value('group')) ? 'Unknown' : undefined),
    Subject: subjects.find((one) => one === value('subject')),
    Level: levelNames[level],
    'Below Level 1': below === null ? undefined : below ? 'Yes' : 'No',
    'Assessed from': day('from'),
    'Assessed to': day('to'),
    Flags: flag === null ? undefined : flags[flag],
    Source: source === null ? undefined : sources[source],
    'Changed since': day('changed'),
    'Which results': value('latest') === 'yes' ? 'Each learner’s latest' : undefined,
  };
}
