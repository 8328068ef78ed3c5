import type { BrowsedGroup, GroupMember, Impact } from '../../../organisations/groups/browse.ts';
import {
  browseGroup,
  browseGroups,
  membersCountedFor,
  browseMembers,
  isSorted,
  memberIds,
  impactOfLearners,
} from '../../../organisations/groups/browse.ts';
import type { GroupRow } from '../../../organisations/groups/store.ts';
import { ApiError } from '../../../platform/errors/errors.ts';
import { groupNameFault, groupRefFault } from '../../../organisations/groups/description.ts';
import { teamType } from '../../../organisations/groups/types.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { name } from '../kit/frame.ts';
import type { Visit, Answer, ConsoleRoute } from '../kit/route.ts';
import { again, routesOf, findOr404, NoSuchPage, get, onceOf, inBackground } from '../kit/route.ts';
import { visibilityOf } from '../kit/reader.ts';
import { countWords, code, day, facts, moment, progress, number, label } from '../kit/blocks.ts';
import { type Faults, any, faultsIn, Fields, hiddenField, tickBox, chosenIds } from '../kit/form.ts';
import { recogniseEncoding, UnreadableFile } from '../../../platform/formats/lines.ts';
import { workbookAsCsv } from '../../../platform/formats/workbook/read.ts';
import { findGroups } from '../../../organisations/groups/groups.ts';
import { previewPasted, readPastedRefs } from '../../../organisations/groups/pasted-refs.ts';
import { type MembershipRun, membershipRuns, orderMoves } from '../../../organisations/groups/runs.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { formPage, messagePage, refusal } from '../kit/page.ts';
import { yesOrNo } from '../../../platform/validation/fields.ts';
import { readPage, uuidIn, pager } from '../kit/paging.ts';
import { wideOnly, numeric, table, plain } from '../kit/table.ts';

/** Returns a 404, as for an unknown group, if the person may see none of the group's members. */
export const groupOf = (visit: Visit, parameter = 'group_id'): Promise<BrowsedGroup> =>
  findOr404(visit, parameter, async (tx, organisationId, id) =>
    browseGroup(tx, organisationId, id, await visibilityOf(visit)),
  );
const ofGroup = routesOf(groupOf);
/** Staff add members by pasting references, and tick members to remove or move them. */
export const memberRoutes: ConsoleRoute[] = [
  ...pasteRoutes('/groups/{group_id}/add', 'join'),
  ...pasteRoutes('/groups/{group_id}/take-out', 'leave'),
  ofGroup.post('/groups/{group_id}/chosen', managers, previewChosen),
  ofGroup.get('/groups/{group_id}/move-all', managers, previewAll),
  ofGroup.post('/groups/{group_id}/members', managers, change),
  get('/membership-runs/{membership_run_id}', managers, showRun),
];

export async function membersPart(visit: Visit, group: BrowsedGroup): Promise<Content> {
  const { app, base, organisationId, zone, role, query } = visit;
  const visibility = await visibilityOf(visit);
  const { rows, last } = await readPage((limit) =>
    browseMembers(app.db, organisationId, group, visibility, { after: uuidIn(query), limit }),
  );
  const isManager = managers.includes(role);
  const here = `${base}/groups/${group.group_id}`;
  const caption = isSorted(group) ? 'Learners by name' : 'Learners by ID';
  const shown = table<GroupMember>({ caption, none: 'The group has no learners. Add learners.' }, rows, {
    Name: (row) => html`<a href="${base}/learners/${row.learner_id}">${learnerName(row)}</a>`,
    Reference: plain((row) => code(row.ref)),
    Since: wideOnly((row) => day(row.joined_position, zone)),
    ...(isManager && { Choose: (row: GroupMember) => tickBox('learner', row.learner_id, row.ref ?? row.full_name) }),
  });
  return [
    html`<h2>Learners</h2>`,
    isManager && rows.length > 0
      ? html`<form method="post" action="${here}/chosen">${shown}<div class="actions"><button class="second" name="press" value="leave">Remove selected learners</button><button class="second" name="press" value="move">Move selected learners</button><button class="second" formaction="${base}/learners/chosen" name="press" value="add">Add selected learners to a group</button><button class="second" formaction="${base}/learners/chosen" name="press" value="invite">Invite selected learners</button><a href="${here}/move-all">Move all learners</a></div></form>`
      : shown,
    pager(visit, last?.learner_id),
    html`<p>${isManager && html`<a href="${here}/take-out">Remove learners by reference</a> · `}<a href="${here}/history">Membership history</a> · <a href="${base}/results?group=${group.group_id}">Results</a> · <a href="${base}/results/spread?group=${group.group_id}">Distribution</a> · <a href="${base}/results/progress?group=${group.group_id}">Distance travelled</a></p>`,
  ];
}

function pasteRoutes(path: string, how: 'join' | 'leave'): ConsoleRoute[] {
  const show = (visit: Visit, group: BrowsedGroup) => pastePage(visit, group, how);
  return ofGroup.form(path, managers, show, (...of) => preview(...of, how), { upload: limits.formBytes });
}

type How = 'join' | 'leave' | 'move';

function pastePage(visit: Visit, group: BrowsedGroup, how: 'join' | 'leave'): Answer {
  const shown = name(group.name);
  return formPage(visit, {
    title: how === 'join' ? 'Add learners' : 'Remove learners',
    heading: how === 'join' ? html`Add learners to ${shown}` : html`Remove learners from ${shown}`,
    back: { to: groupPath(visit, group), label: group.name },
    intro: html`<p>You see the changes before anything is saved.</p>`,
    button: 'Check references',
    upload: true,
    fields: (f) => [
      f.lines('references', 'References of the learners', {
        hint: `One per line, or spreadsheet rows with the column “Reference”. At most ${number(limits.pastedRefs)}.`,
        rows: 12,
      }),
      f.file('file', 'Or a workbook (XLSX or ODS), text or CSV file', '.xlsx,.ods,.csv,.tsv,.txt,text/csv,text/plain'),
    ],
  });
}

async function preview(visit: Visit, group: BrowsedGroup, how: 'join' | 'leave') {
  const { app, organisationId, form: sent } = visit;
  let file = sent.file('file');
  // References are ASCII, so any encoding that keeps ASCII bytes gives the same references.
  let markBytes = 0;
  try {
    if (file !== null) file = await workbookAsCsv(file);
    if (file !== null) ({ markBytes } = recogniseEncoding(file));
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return again({ file: `The file can’t be read: ${error.message}.` });
  }
  const pasted = readPastedRefs(file?.subarray(markBytes).toString('latin1') ?? sent.raw('references'));
  const count = pasted.refs.length + pasted.faults.length;
  if (count === 0) return again({ references: 'Enter at least one reference.' });
  const tooMany = `There are ${number(count)} references. Enter at most ${number(limits.pastedRefs)}.`;
  if (count > limits.pastedRefs) return again({ references: tooMany });
  const { concerned, settled, faults } = await previewPasted(app.db, organisationId, group.group_id, pasted, how);
  return confirmation(visit, group, how, concerned, [
    facts({
      [how === 'join' ? 'To be added' : 'To be removed']: number(concerned.length),
      [how === 'join' ? 'Already in the group' : 'Not in the group']: number(settled),
      Repeated: pasted.repeated > 0 && number(pasted.repeated),
      Skipped: number(faults.length),
    }),
    faults.length > 0 && faultsTable(faults),
  ]);
}

function faultsTable(faults: { row: number; sentence: string }[]): Content {
  const shown = faults.slice(0, limits.pastedFaultsShown);
  const more = faults.length - shown.length;
  const caption = more === 0 ? 'Correct these rows and paste them again' : `${number(more)} more rows have faults`;
  return html`<h2>Skipped rows</h2>${table(caption, shown, {
    Row: (one) => String(one.row),
    Reason: (one) => one.sentence,
  })}`;
}

export const noneSelected = (back: { to: string; label: string }): Answer =>
  refusal('No learner is selected', 'Go back and tick at least one learner.', back);

async function previewChosen(visit: Visit, group: BrowsedGroup): Promise<Answer> {
  const ids = chosenIds(visit, 'learner');
  if (ids.length === 0) return noneSelected({ to: groupPath(visit, group), label: group.name });
  return confirmation(visit, group, visit.form.raw('press') === 'move' ? 'move' : 'leave', ids, null);
}

async function previewAll(visit: Visit, group: BrowsedGroup): Promise<Answer> {
  return confirmation(visit, group, 'move', await everybody(visit, group), null, { all: true });
}

/** Returns the IDs of the group's members, at most as many as one job can move. */
const everybody = ({ app, organisationId }: Visit, { group_id: groupId }: BrowsedGroup): Promise<string[]> =>
  memberIds(app.db, organisationId, groupId, limits.pastedRefs);

const words: Record<How, [verb: string, where: string]> = {
  join: ['Add', 'to'],
  leave: ['Remove', 'from'],
  move: ['Move', 'out of'],
};

async function targetsOf({ app, organisationId }: Visit, { type, group_id: id }: BrowsedGroup) {
  const all = { after: null, limit: limits.groupsPerOrganisation };
  const found = await browseGroups(app.db, organisationId, { type, active: true }, null, all);
  return found
    .filter((one) => one.group_id !== id)
    .map((one) => ({ value: one.group_id, label: `${one.name} (${one.ref})` }));
}

async function confirmation(
  visit: Visit,
  group: BrowsedGroup,
  how: How,
  learnerIds: string[],
  counted: Content,
  { all = false, faults = {} }: { all?: boolean; faults?: Faults } = {},
): Promise<Answer> {
  const { app, base, organisationId } = visit;
  const [verb, where] = words[how];
  const button = `${verb} learners`;
  const back = { to: groupPath(visit, group), label: group.name };
  if (learnerIds.length === 0)
    return {
      title: 'Nothing would change',
      back,
      main: [counted, html`<p>There are no learners to ${verb.toLowerCase()}.</p>`],
    };
  const reach = await impactOfLearners(app.db, organisationId, learnerIds);
  const targets = how === 'move' ? await targetsOf(visit, group) : [];
  if (how === 'move' && targets.length === 0)
    return { ...messagePage('No other group', 'There is no other active group of this type. Create one first.'), back };
  const stay = all ? group.members - learnerIds.length : 0;
  return formPage(visit, {
    title: `${button}?`,
    heading: html`${verb} ${learnersInWords(learnerIds.length)} ${where} ${name(group.name)}?`,
    back,
    faults,
    intro: [
      counted,
      stay > 0 &&
        html`<p><strong>This moves only some learners:</strong> ${group.members > limits.membersCountedOfOne ? 'at least ' : null}${learnersInWords(stay)} more ${stay === 1 ? 'stays' : 'stay'} until you move all learners again.</p>`,
      html`<p>Platforms read ${reachInWords(reach, limits.reachCounted)} again at their next sync.${learnerIds.length > limits.membershipsAtOnce ? ' The change runs in the background.' : null} You can reverse the change later.${
        isTeam(group) ? ' After the change, tutors see only the learners of their own teams.' : null
      }</p>`,
    ],
    button,
    to: `${base}/groups/${group.group_id}/members`,
    danger: how === 'leave',
    fields: (f) => [
      how === 'move' && f.select('target', 'New group', any(targets, 'Choose a group')),
      how === 'move' && f.tick('keep', 'Old group', { yes: `Keep the learners in ${group.name}, too` }),
      hiddenField('how', how),
      all ? hiddenField('all', 'yes') : hiddenField('learners', learnerIds.join(' ')),
      hiddenField('once', app.random.uuid()),
    ],
  });
}

async function change(visit: Visit, group: BrowsedGroup): Promise<Answer> {
  const { app, base, organisationId: id, userId: by, form: sent } = visit;
  const { group_id: here } = group;
  const how = (['join', 'leave', 'move'] as const).find((one) => one === sent.raw('how'));
  const all = sent.raw('all') === 'yes';
  const chosen = [...new Set(sent.raw('learners').toLowerCase().split(' '))].filter(isUuid);
  const learnerIds = all ? await everybody(visit, group) : chosen;
  const runId = onceOf(visit);
  if (how === undefined || learnerIds.length === 0 || learnerIds.length > limits.pastedRefs) throw new NoSuchPage();
  const keeps = how === 'move' && sent.raw('keep') === 'yes';
  let joins = how === 'join' ? here : null;
  if (how === 'move') {
    const target = sent.raw('target').toLowerCase();
    const [other] = isUuid(target) ? await findGroups(app.db, id, [target]) : [];
    const faults = { target: 'Choose the new group.' };
    if (other === undefined || other.type !== group.type || other.group_id === here)
      return confirmation(visit, group, how, learnerIds, null, { all, faults });
    joins = other.group_id;
  }
  const order = { runId, learnerIds, by, managingTeams: true, joins, leaves: how === 'join' || keeps ? null : here };
  const ordered = await visit.change((work) => orderMoves(work, id, order), here);
  if (ordered.finished_at === null) inBackground(app, 'membership_run.failed', membershipRuns.run(app));
  return { to: `${base}/membership-runs/${runId}` };
}

async function showRun(visit: Visit): Promise<Answer> {
  const { app, organisationId, zone, path } = visit;
  const run = await findOr404(visit, 'membership_run_id', (...of) => membershipRuns.find(...of));
  const groupIds = [run.leaves, run.joins].filter((one) => one !== null);
  const groups = await findGroups(app.db, organisationId, groupIds);
  const group = groups.find((one) => one.group_id === groupIds[0])!;
  const link = (groupId: string | null): Content =>
    groupId !== null &&
    groups
      .filter((one) => one.group_id === groupId)
      .map((one) => html`<a href="${groupPath(visit, one)}">${name(one.name)}</a>`);
  const isDone = run.finished_at !== null;
  return {
    title: isDone ? 'Memberships are changed' : 'Memberships are being changed',
    back: { to: groupPath(visit, group), label: group.name },
    main: [
      !isDone && progress('Learners', run.reached, run.total, path),
      facts({
        'Removed from': link(run.leaves),
        'Added to': link(run.joins),
        Changed: `${number(run.changed)} of ${learnersInWords(run.total)}`,
        'Not changed': isDone && run.changed < run.total && unchangedWords(run),
        Started: moment(run.created_at, zone),
        Done: moment(run.finished_at, zone),
      }),
    ],
  };
}

function unchangedWords(run: MembershipRun): string {
  const count = number(run.total - run.changed);
  return run.leaves === null ? `${count}: in the group, or erased` : `${count}: not in the group, or erased`;
}

export const isTeam = ({ type }: Pick<GroupRow, 'type'>): boolean => type === teamType;

/** The URL of a group's page. Teams have their page under Teams, except for developers, who cannot open that page. */
export function groupPath({ base, role }: Visit, group: Pick<GroupRow, 'group_id' | 'type'>): string {
  const among = isTeam(group) && role !== 'developer' ? 'teams' : 'groups';
  return `${base}/${among}/${group.group_id}`;
}

export const learnersInWords = (count: number): string =>
  `${countWords(count, limits.membersCountedOfOne)} ${count === 1 ? 'learner' : 'learners'}`;

/** @param max the highest number to which results were counted */
export function reachInWords({ learners, results }: Impact, max = Infinity): string {
  return `${learnersInWords(learners)} and ${countWords(results, max)} ${results === 1 ? 'result' : 'results'}`;
}

const states = { yes: 'Active', no: 'Archived' };
const stateOf = (row: BrowsedGroup) => (row.active ? label('good', states.yes) : label('off', states.no));

export async function groupList(visit: Visit, type: string | null) {
  const { app, organisationId, query } = visit;
  const visibility = await visibilityOf(visit);
  const filter = { type, active: yesOrNo(query.get('active')) };
  const { rows, last } = await readPage((limit) =>
    browseGroups(app.db, organisationId, filter, visibility, { after: uuidIn(query), limit }),
  );
  return {
    rows,
    next: last?.group_id,
    stateField: (q: Fields): Content => q.select('active', 'State', any(states)),
    name: (row: BrowsedGroup) => html`<a href="${groupPath(visit, row)}">${name(row.name)}</a>`,
    columns: { State: stateOf, Reference: plain((row: BrowsedGroup) => code(row.ref)) },
    members: numeric((row: BrowsedGroup) => countWords(row.members, membersCountedFor(visibility))),
  };
}

export const newGroupFaults = ({ form: sent }: Visit): Faults =>
  faultsIn({ ref: groupRefFault(sent.text('ref')), group_name: groupNameFault(sent.text('group_name')) });

/** @param tooMany makes the answer if the organisation has the maximum number of groups */
export async function unlessTooMany<A, B>(act: Promise<A>, tooMany: () => B): Promise<A | B> {
  return act.catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'group_limit_exceeded') return tooMany();
    throw error;
  });
}

export const learnerName = (learner: { full_name: string }): Content =>
  learner.full_name === '' ? html`<span class="hint">Erased</span>` : name(learner.full_name);
