import { type BrowsedGroup, type Passage, browseHistory, impactOfGroup } from '../../../organisations/groups/browse.ts';
import { changeGroup } from '../../../organisations/groups/change.ts';
import { createGroup } from '../../../organisations/groups/create.ts';
import { groupNameFault } from '../../../organisations/groups/description.ts';
import { clientGroupTypes, groupTypes } from '../../../organisations/groups/types.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { managers, learnerReaders } from '../../../organisations/users/roles.ts';
import { actorNames, noTeamNote, visibilityOf } from '../kit/reader.ts';
import { day, facts, instant, notice, countWords, code, label, typeWords } from '../kit/blocks.ts';
import { any, isFaulty } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import {
  groupList,
  groupOf,
  groupPath,
  isTeam,
  learnerName,
  newGroupFaults,
  reachInWords,
  unlessTooMany,
  membersPart,
} from './members.ts';
import { type Answer, type ConsoleRoute, type Visit, get, formRoutes, routesOf, again } from '../kit/route.ts';
import { listPage, formPage, confirmPage, refusal } from '../kit/page.ts';
import { readToken, readPage } from '../kit/paging.ts';
import { plain } from '../kit/table.ts';

type GroupChange = Parameters<typeof changeGroup>[3];

const ofGroup = routesOf(groupOf);
export const groupRoutes: ConsoleRoute[] = [
  get('/groups', [...learnerReaders, 'developer'], groups, { menu: 'Groups' }),
  ...formRoutes('/groups/create', managers, createPage, create),
  ofGroup.get('/groups/{group_id}', [...learnerReaders, 'developer'], group),
  ofGroup.get('/groups/{group_id}/history', learnerReaders, history),
  ...ofGroup.form('/groups/{group_id}/rename', managers, renamePage, rename),
  ...activeRoutes('archive', false),
  ...activeRoutes('bring-back', true),
];

async function groups(visit: Visit): Promise<Answer> {
  const { path, role, query } = visit;
  const list = await groupList(visit, groupTypes.find((one) => one === query.get('type')) ?? null);
  return listPage(visit, {
    title: 'Groups',
    says: 'Cohorts, courses, campuses and other groups of learners. Platforms can read results and receive events by group.',
    actions: managers.includes(role) && html`<a class="button" href="${path}/create">Create group</a>`,
    intro: noTeamNote(await visibilityOf(visit)),
    filters: (q) => [q.select('type', 'Type', any(typeChoices(groupTypes))), list.stateField(q)],
    caption: 'Groups by type and name',
    none: 'No group matches. Create a group, or change the filter.',
    rows: list.rows,
    columns: {
      Name: list.name,
      Type: plain((row: BrowsedGroup) => typeWords(row.type)),
      ...list.columns,
      Learners: list.members,
    },
    next: list.next,
  });
}

const typeChoices = (types: readonly string[]) => Object.fromEntries(types.map((type) => [type, typeWords(type)]));

function createPage(visit: Visit): Answer {
  return formPage(visit, {
    title: 'Create group',
    says: 'A cohort, course, campus or other group of learners.',
    back: { to: `${visit.base}/groups`, label: 'Groups' },
    button: 'Create group',
    fields: (f) => [
      f.select('type', 'Type', typeChoices(clientGroupTypes), {
        hint: 'You can’t change the type later. Create teams on the page Teams.',
      }),
      f.text('ref', 'Reference', {
        hint: 'Unique in its type, such as C-2026-01. You can’t change it later.',
        width: 20,
      }),
      f.text('group_name', 'Name'),
    ],
  });
}

async function create(visit: Visit) {
  const { base, organisationId, form: sent, change } = visit;
  const type = clientGroupTypes.find((one) => one === sent.raw('type'));
  const faults = newGroupFaults(visit);
  if (type === undefined) faults.type = 'Choose a type.';
  if (type === undefined || isFaulty(faults)) return again(faults);
  const described = { type, ref: sent.text('ref'), name: sent.text('group_name') };
  const made = async () => {
    const { row, created } = await change(
      (work) => createGroup(work, organisationId, described),
      (result) => result.created && result.row.group_id,
    );
    if (created) return { to: `${base}/groups/${row.group_id}?did=created` };
    return again({ ref: 'A group of this type with this reference exists. Enter another reference.' });
  };
  return unlessTooMany(made(), () => again({ ref: tooMany }));
}

const tooMany = `Your organisation has ${limits.groupsPerOrganisation} active groups, the maximum. Archive a group first.`;

async function group(visit: Visit, found: BrowsedGroup): Promise<Answer> {
  const { base, role, query } = visit;
  const path = groupPath(visit, found);
  if (path !== `${base}/groups/${found.group_id}`) return { to: path };
  return {
    title: 'Group',
    heading: name(found.name),
    back: { to: `${base}/groups`, label: 'Groups' },
    main: [
      notice(query, groupNotices),
      groupFacts(visit, found),
      groupActions(visit, found),
      role !== 'developer' && (await membersPart(visit, found)),
    ],
  };
}

export const groupNotices: Record<string, Content> = {
  created: 'The group is created. Add its learners.',
  renamed: 'The group is renamed.',
  archived: 'The group is archived. Its members and their history are kept.',
  'brought-back': 'The group is active again.',
};

export function groupFacts({ zone }: Visit, found: BrowsedGroup): Content {
  return facts({
    Type: typeWords(found.type),
    Reference: code(found.ref),
    State: found.active ? 'Active' : 'Archived: results no longer show the group, but its members are kept',
    Learners: countWords(found.members, limits.membersCountedOfOne),
    Created: day(found.created_at, zone),
    'Group ID': code(found.group_id),
  });
}

export function groupActions({ base, role }: Visit, found: BrowsedGroup): Content {
  if (!managers.includes(role)) return null;
  const here = `${base}/groups/${found.group_id}`;
  return html`<div class="actions"><a class="button" href="${here}/add">Add learners</a><a href="${here}/rename">Rename group</a>${
    found.active
      ? html`<a href="${here}/archive">Archive group</a>`
      : html`<a href="${here}/bring-back">Reactivate group</a>`
  }</div>`;
}

function renamePage(visit: Visit, found: BrowsedGroup): Answer {
  return formPage(visit, {
    title: 'Rename group',
    heading: html`Rename ${name(found.name)}`,
    back: { to: groupPath(visit, found), label: found.name },
    button: 'Rename group',
    fields: (f) =>
      f.text('group_name', 'Name', {
        hint: 'Such as “January cohort”. Platforms get the group’s results again.',
        initial: found.name,
      }),
  });
}

async function rename(visit: Visit, found: BrowsedGroup) {
  const groupName = visit.form.text('group_name');
  const fault = groupNameFault(groupName);
  if (fault !== null) return again({ group_name: fault });
  await changeOf(visit, found, { name: groupName });
  return { to: `${groupPath(visit, found)}?did=renamed` };
}

const changeOf = ({ organisationId, change }: Visit, { group_id: id }: BrowsedGroup, changes: GroupChange) =>
  change(
    (work) => changeGroup(work, organisationId, id, changes, { managingTeams: true }),
    () => id,
  );

function activeRoutes(act: string, active: boolean): ConsoleRoute[] {
  const show = (visit: Visit, found: BrowsedGroup) => showActive(visit, found, active);
  return ofGroup.form(`/groups/{group_id}/${act}`, managers, show, (...of) => setActive(...of, active));
}

async function showActive(visit: Visit, found: BrowsedGroup, active: boolean): Promise<Answer> {
  const [verb, ...says] = active
    ? ['Reactivate', 'The results of its members show the group again. You can archive it again.']
    : [
        'Archive',
        'Results no longer show the group. Its members and their history are kept. You can reactivate the group.',
      ];
  if (isTeam(found))
    says.push(active ? 'Its staff see its learners again.' : 'Tutors no longer see the learners of an archived team.');
  return confirmPage(visit, {
    title: `${verb} group?`,
    heading: html`${verb} ${name(found.name)}?`,
    back: { to: groupPath(visit, found) },
    says: [...says, await reachOf(visit, found)],
    button: `${verb} group`,
    danger: !active,
  });
}

const reachOf = async ({ app, organisationId }: Visit, { group_id: id }: BrowsedGroup): Promise<string> =>
  `Platforms read ${reachInWords(await impactOfGroup(app.db, organisationId, id))} again at their next sync.`;

async function setActive(visit: Visit, found: BrowsedGroup, active: boolean): Promise<Answer> {
  const path = groupPath(visit, found);
  const done = changeOf(visit, found, { active }).then(() => ({
    to: `${path}?did=${active ? 'brought-back' : 'archived'}`,
  }));
  return unlessTooMany(done, () => refusal('The group can’t be reactivated', tooMany, { to: path, label: found.name }));
}

async function history(visit: Visit, found: BrowsedGroup): Promise<Answer> {
  const { app, base, organisationId, zone, query } = visit;
  // Several changes can have the same time, so the token also says how many of them earlier pages showed.
  const [from = Number.MAX_SAFE_INTEGER, skip = 0] = (readToken(query.get('after'), 'int8', 'int4') ?? []).map(Number);
  const visibility = await visibilityOf(visit);
  const [{ rows, last }, by] = await Promise.all([
    readPage((limit) => browseHistory(app.db, organisationId, found.group_id, visibility, { from, skip, limit })),
    actorNames(visit),
  ]);
  const ofLast = rows.filter((row) => row.at === last?.at).length + (last?.at === from ? skip : 0);
  return listPage<Passage>(visit, {
    title: 'Membership history',
    back: { to: groupPath(visit, found), label: found.name },
    caption: 'Changes, newest first',
    none: 'No learner has joined the group yet. Add learners.',
    rows,
    columns: {
      Learner: (row) => html`<a href="${base}/learners/${row.learner_id}">${learnerName(row)}</a>`,
      Reference: plain((row) => code(row.ref)),
      Change: (row) => (row.kind === 'joined' ? label('good', 'Joined') : label('off', 'Left')),
      Time: plain((row) => instant(row.at, zone)),
      By: plain((row) => row.actor && by(row.actor)),
    },
    next: last && `${last.at}.${ofLast}`,
  });
}
