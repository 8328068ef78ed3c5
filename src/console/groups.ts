import { ApiError } from '../errors.ts';
import type { BrowsedGroup, Passage } from '../groups/browse.ts';
import { browseGroups, browseHistory, membersCountedFor } from '../groups/browse.ts';
import { changeGroup } from '../groups/change.ts';
import { createGroup } from '../groups/create.ts';
import { groupNameFault, groupRefFault } from '../groups/description.ts';
import { reachOfGroup } from '../groups/reach.ts';
import { clientGroupTypes, groupTypes } from '../groups/types.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { managers, learnerReaders } from '../users/roles.ts';
import { isUuid } from '../uuid.ts';
import { actorNames } from './actors.ts';
import {
  confirmPage,
  day,
  empty,
  facts,
  filters,
  instant,
  notice,
  pager,
  table,
  withQuery,
  yesOrNo,
} from './blocks.ts';
import type { Faults } from './form.ts';
import { form, selectField, textField } from './form.ts';
import { name } from './frame.ts';
import { countWords, groupOf, groupPath, isTeam, learnerName, reachInWords, typeWords } from './group.ts';
import { membersPart } from './members.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { sightOf } from './sight.ts';
import { get, formRoutes } from './route.ts';

/** Groups of every type: cohorts, courses, campuses and the like. What a team is beside its group stands in teams.ts. */
export const groupRoutes: ConsoleRoute[] = [
  get('/groups', [...learnerReaders, 'developer'], groups, { menu: 'Groups' }),
  ...formRoutes('/groups/create', managers, createPage, create),
  get('/groups/{group_id}', [...learnerReaders, 'developer'], group),
  get('/groups/{group_id}/history', learnerReaders, history),
  ...formRoutes(
    '/groups/{group_id}/rename',
    managers,
    async (visit) => renamePage(visit, await groupOf(visit), {}),
    rename,
  ),
  ...formRoutes('/groups/{group_id}/archive', managers, showArchive, (visit) => setActive(visit, false)),
  ...formRoutes('/groups/{group_id}/bring-back', managers, showBringBack, (visit) => setActive(visit, true)),
];

async function groups(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, role, query } = visit;
  const type = groupTypes.find((one) => one === query.get('type')) ?? null;
  const active = yesOrNo(query.get('active'));
  const after = query.get('after');
  const sight = await sightOf(visit);
  const found = await browseGroups(app.db, organisationId, { type, active }, sight, {
    after: after !== null && isUuid(after) ? after : null,
    limit: limits.consoleRows + 1,
  });
  const rows = found.slice(0, limits.consoleRows);
  const here = `${base}/groups`;
  const may = managers.includes(role);
  return {
    title: 'Groups',
    main: html`<p>Cohorts, courses, campuses and whatever else your learners are put together by. Results and webhooks can be asked for by group.</p>${
      may ? html`<div class="actions"><a class="button" href="${here}/create">Create a group</a></div>` : null
    }${filters(here, [
      selectField({
        name: 'type',
        label: 'Type',
        choices: [{ value: '', label: 'Any' }, ...groupTypes.map((value) => ({ value, label: typeWords(value) }))],
        chosen: type ?? '',
      }),
      selectField({
        name: 'active',
        label: 'State',
        choices: [
          { value: '', label: 'Any' },
          { value: 'yes', label: 'Active' },
          { value: 'no', label: 'Archived' },
        ],
        chosen: active === null ? '' : active ? 'yes' : 'no',
      }),
    ])}${
      rows.length === 0
        ? empty('There is no group like this.')
        : table<BrowsedGroup>({
            caption: 'By type and name',
            rows,
            columns: [
              { head: 'Name', cell: (row) => html`<a href="${groupPath(visit, row)}">${name(row.name)}</a>` },
              { head: 'Type', cell: (row) => typeWords(row.type) },
              { head: 'Reference', cell: (row) => html`<code>${row.ref}</code>` },
              { head: 'State', cell: (row) => (row.active ? 'Active' : 'Archived') },
              {
                head: 'Learners now',
                number: true,
                cell: (row) => countWords(row.members, membersCountedFor(sight)),
              },
            ],
          })
    }${pager({
      first: after === null ? null : withQuery(here, query, { after: null }),
      next: found.length > rows.length ? withQuery(here, query, { after: rows.at(-1)!.group_id }) : null,
    })}`,
  };
}

function createPage({ base, form: sent }: Visit, faults: Faults = {}): Answer {
  const here = `${base}/groups`;
  return {
    title: 'Create a group',
    says: 'A cohort, course, campus or whatever else your learners are put together by.',
    back: { to: here, label: 'Groups' },
    faults,
    main: form(
      `${here}/create`,
      [
        selectField({
          name: 'type',
          label: 'Type',
          hint: 'It stays. Teams, which say whom a tutor sees, are made on the page Teams.',
          choices: clientGroupTypes.map((value) => ({ value, label: typeWords(value) })),
          chosen: sent.raw('type'),
          fault: faults.type,
        }),
        textField({
          name: 'ref',
          label: 'Reference',
          hint: 'By which your other systems know it, such as C-2026-01. No other group of the type has it, and it stays.',
          value: sent.text('ref'),
          width: 20,
          fault: faults.ref,
        }),
        textField({
          name: 'group_name',
          label: 'Name',
          value: sent.text('group_name'),
          width: 40,
          fault: faults.group_name,
        }),
      ],
      'Create the group',
      { faults, cancel: here },
    ),
  };
}

/** What is wrong with the fields of a new group or team. */
export function newGroupFaults(ref: string, groupName: string): Faults {
  const faults = { ref: groupRefFault(ref), group_name: groupNameFault(groupName) };
  return Object.fromEntries(
    Object.entries(faults).flatMap(([field, fault]) => (fault === null ? [] : [[field, fault]])),
  );
}

async function create(visit: Visit): Promise<Answer> {
  const { base, organisationId, form: sent, change } = visit;
  const type = clientGroupTypes.find((one) => one === sent.raw('type'));
  const [ref, groupName] = [sent.text('ref'), sent.text('group_name')];
  const faults = newGroupFaults(ref, groupName);
  if (type === undefined) faults.type = 'Choose a type.';
  if (Object.keys(faults).length > 0) return createPage(visit, faults);
  try {
    const { row, created } = await change(async (work) => {
      const result = await createGroup(work, organisationId, { type: type!, ref, name: groupName });
      return result.created ? { result, resource: result.row.group_id } : { result };
    });
    if (created) return { to: `${base}/groups/${row.group_id}?did=created` };
    return createPage(visit, { ref: 'There is a group of this type with this reference already.' });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'group_limit_exceeded') throw error;
    return createPage(visit, { ref: tooMany });
  }
}

const tooMany = `There are ${limits.groupsPerOrganisation} active groups already, as many as there may be: archive one that is over.`;

async function group(visit: Visit): Promise<Answer> {
  const { base, role, query } = visit;
  const found = await groupOf(visit);
  const path = groupPath(visit, found);
  if (path !== `${base}/groups/${found.group_id}`) return { to: path };
  const may = managers.includes(role);
  return {
    title: 'Group',
    heading: name(found.name),
    back: { to: `${base}/groups`, label: 'Groups' },
    main: html`${notice(query, groupNotices)}${groupFacts(visit, found)}${may ? groupActions(visit, found) : null}${
      role === 'developer' ? null : await membersPart(visit, found)
    }`,
  };
}

/** What may have been done to a group or team, for `notice`. */
export const groupNotices: Record<string, Content> = {
  created: 'It is made. Add its learners.',
  renamed: 'It is renamed.',
  archived: 'It is archived. Its members and their history stay.',
  'brought-back': 'It is active again.',
};

export function groupFacts({ zone }: Visit, found: BrowsedGroup): Content {
  return facts([
    ['Type', typeWords(found.type)],
    ['Reference', html`<code>${found.ref}</code>`],
    ['State', found.active ? 'Active' : 'Archived: it is shown in no result, and its members stay'],
    ['Learners now', countWords(found.members, limits.membersCountedOfOne)],
    ['Made', day(found.created_at, zone)],
    ['Group id', html`<code>${found.group_id}</code>`],
  ]);
}

export function groupActions({ base }: Visit, found: BrowsedGroup): Content {
  const here = `${base}/groups/${found.group_id}`;
  return html`<div class="actions"><a class="button" href="${here}/add">Add learners</a><a href="${here}/rename">Rename</a>${
    found.active ? html`<a href="${here}/archive">Archive</a>` : html`<a href="${here}/bring-back">Bring back</a>`
  }</div>`;
}

function renamePage(visit: Visit, found: BrowsedGroup, faults: Faults = {}): Answer {
  const path = groupPath(visit, found);
  return {
    title: 'Rename a group',
    heading: html`Rename ${name(found.name)}`,
    back: { to: path, label: found.name },
    faults,
    main: form(
      `${visit.base}/groups/${found.group_id}/rename`,
      textField({
        name: 'group_name',
        label: 'Name',
        hint: 'Everything that shows the group is sent to your platforms again with the new name. The reference stays.',
        value: visit.form.text('group_name') || found.name,
        width: 40,
        fault: faults.group_name,
      }),
      'Rename it',
      { faults, cancel: path },
    ),
  };
}

async function rename(visit: Visit): Promise<Answer> {
  const found = await groupOf(visit);
  const groupName = visit.form.text('group_name');
  const fault = groupNameFault(groupName);
  if (fault !== null) return renamePage(visit, found, { group_name: fault });
  await changeOf(visit, found, { name: groupName });
  return { to: `${groupPath(visit, found)}?did=renamed` };
}

function changeOf(
  { organisationId, change }: Visit,
  found: BrowsedGroup,
  changed: { name?: string; active?: boolean },
) {
  return change(async (work) => ({
    result: await changeGroup(work, organisationId, found.group_id, changed, { managingTeams: true }),
    resource: found.group_id,
  }));
}

async function confirmation(visit: Visit, found: BrowsedGroup, says: string[], act: 'archive' | 'bring-back') {
  const { app, organisationId, base } = visit;
  const reach = await reachOfGroup(app.db, organisationId, found.group_id);
  return confirmPage({
    title: act === 'archive' ? 'Archive a group?' : 'Bring a group back?',
    heading: act === 'archive' ? html`Archive ${name(found.name)}?` : html`Bring ${name(found.name)} back?`,
    says: [...says, `${reachInWords(reach)} get a new position, so that your platforms hear of it.`],
    action: `${base}/groups/${found.group_id}/${act}`,
    button: act === 'archive' ? 'Archive it' : 'Bring it back',
    cancel: groupPath(visit, found),
    danger: act === 'archive',
  });
}

async function showArchive(visit: Visit): Promise<Answer> {
  const found = await groupOf(visit);
  const ofTeam = isTeam(found) ? ['Tutors see nobody by an archived team.'] : [];
  return confirmation(
    visit,
    found,
    ['It is no longer shown in results. Members and their history stay, and it can be brought back.', ...ofTeam],
    'archive',
  );
}

async function showBringBack(visit: Visit): Promise<Answer> {
  const found = await groupOf(visit);
  const ofTeam = isTeam(found) ? ['Its staff see its learners again.'] : [];
  return confirmation(visit, found, ['It is shown in the results of its members again.', ...ofTeam], 'bring-back');
}

async function setActive(visit: Visit, active: boolean): Promise<Answer> {
  const found = await groupOf(visit);
  try {
    await changeOf(visit, found, { active });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'group_limit_exceeded') throw error;
    return {
      title: 'It can’t be brought back',
      back: { to: groupPath(visit, found), label: found.name },
      main: html`<p>${tooMany}</p>`,
      status: 422,
    };
  }
  return { to: `${groupPath(visit, found)}?did=${active ? 'brought-back' : 'archived'}` };
}

/** A place in the history: an instant, and how many of that instant were shown before. */
function readPlace(text: string | null): { from: number; skip: number } | null {
  const [, from, skip] = /^(\d{1,16})\.(\d{1,5})$/.exec(text ?? '') ?? [];
  return from === undefined ? null : { from: Number(from), skip: Number(skip) };
}

async function history(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, zone, query } = visit;
  const found = await groupOf(visit);
  const place = readPlace(query.get('before'));
  const from = place?.from ?? Number.MAX_SAFE_INTEGER;
  const skip = place?.skip ?? 0;
  const sight = await sightOf(visit);
  const [passages, names] = await Promise.all([
    browseHistory(app.db, organisationId, found.group_id, sight, {
      from,
      skip,
      limit: limits.consoleRows + 1,
    }),
    actorNames(visit),
  ]);
  const rows = passages.slice(0, limits.consoleRows);
  const here = `${base}/groups/${found.group_id}/history`;
  const last = rows.at(-1);
  const ofLast = rows.filter((row) => row.at === last?.at).length + (last?.at === from ? skip : 0);
  return {
    title: 'Who joined and who left',
    back: { to: groupPath(visit, found), label: found.name },
    main: html`${
      rows.length === 0
        ? empty('Nobody has been a member yet.')
        : table<Passage>({
            caption: 'The latest first',
            rows,
            columns: [
              {
                head: 'Learner',
                cell: (row) => html`<a href="${base}/learners/${row.learner_id}">${learnerName(row)}</a>`,
              },
              { head: 'Reference', cell: (row) => row.ref && html`<code>${row.ref}</code>` },
              { head: 'What', cell: (row) => (row.kind === 'joined' ? 'Joined' : 'Left') },
              { head: 'When', cell: (row) => instant(new Date(row.at / 1000), zone) },
              { head: 'By', cell: (row) => row.actor && (names.get(row.actor) ?? row.actor) },
            ],
          })
    }${pager({
      first: place === null ? null : here,
      next: passages.length > rows.length ? withQuery(here, query, { before: `${last!.at}.${ofLast}` }) : null,
    })}`,
  };
}
