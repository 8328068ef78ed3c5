import { type ResultFilter, resultSorts } from '../../../records/results/lists/browse-statements.ts';
import { allFacets } from '../../../records/results/facet.ts';
import { subjectName } from '../../../records/evidence/wording.ts';
import { countGroupTypes, listGroups } from '../../../organisations/groups/list.ts';
import { browseGroup, groupsSeen } from '../../../organisations/groups/browse.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import type { GroupRow } from '../../../organisations/groups/store.ts';
import { groupTypes, teamType } from '../../../organisations/groups/types.ts';
import type { Content } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { belowEntry, subjects } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { yesOrNo } from '../kit/blocks.ts';
import { type Choice, type Fields, filtersOf, any } from '../kit/form.ts';
import { typeWords } from '../groups/members.ts';
import type { Visit } from '../kit/route.ts';
import { visibilityOf } from '../kit/reader.ts';
import { startOfDay, endOfDay } from '../../../organisations/zone.ts';

/** The URL's query contains the filter of results: IDs, words and dates, never a name. */

/** The levels by their number in a result's facet (src/records/results/facet.ts). */
export const levelChoices = ['not-placed', 'below-entry', 'entry', 'level-1', 'level-2', 'level-3'] as const;
export const levelNames = ['Not placed', belowEntry, 'Entry Level', 'Level 1', 'Level 2', 'Level 3'];
const flags = { any: 'Any flag', borderline: 'Borderline', review: 'Needs review' } as const;
const sources = { sitting: 'Sitting', imported: 'Imported' } as const;

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

const valueOf = (query: URLSearchParams, name: (typeof filterNames)[number]) => query.get(name) ?? '';

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

/** The fields that choose a team or group. With many groups the person chooses a type first. */
export async function groupFields(visit: Visit, hasTeams = true): Promise<Content> {
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
    hasTeams && teams.length > 0 && q.select('team', 'Team', choices(teams)),
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
