import { recogniseEncoding, UnreadableFile } from '../../../platform/formats/lines.ts';
import type { BrowsedGroup, GroupMember } from '../../../organisations/groups/browse.ts';
import {
  browseGroups,
  browseMembers,
  impactOfLearners,
  isSorted,
  memberIds,
} from '../../../organisations/groups/browse.ts';
import { findGroups } from '../../../organisations/groups/groups.ts';
import type { Moving } from '../../../organisations/groups/members.ts';
import { previewPasted, readPastedRefs } from '../../../organisations/groups/pasted-refs.ts';
import type { MembershipRun } from '../../../organisations/groups/runs.ts';
import { membershipRuns, orderMoves } from '../../../organisations/groups/runs.ts';
import type { Content, Markup } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { managers } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { day, facts, moment, pager, progress, table, number, pageOf, messagePage } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { hiddenField, any, fieldsOf, tickBox } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { groupOf, groupPath, isTeam, learnerName, learnersInWords, reachInWords } from './group.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get, post, formRoutes, onceOf, inBackground, named } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';

/** Members are added by pasting references, and removed or moved by ticking them. Long lists are a background job. */
export const memberRoutes: ConsoleRoute[] = [
  ...pasteRoutes('/groups/{group_id}/add', 'join'),
  ...pasteRoutes('/groups/{group_id}/take-out', 'leave'),
  post('/groups/{group_id}/chosen', managers, previewChosen),
  get('/groups/{group_id}/move-all', managers, previewAll),
  post('/groups/{group_id}/members', managers, change),
  get('/membership-runs/{membership_run_id}', managers, showRun),
];

export async function membersPart(visit: Visit, group: BrowsedGroup): Promise<Content> {
  const { app, base, organisationId, zone, role, query } = visit;
  const given = query.get('after') ?? '';
  const at = { after: isUuid(given) ? given : null, limit: limits.consoleRows + 1 };
  const { rows, last } = pageOf(await browseMembers(app.db, organisationId, group, await visibilityOf(visit), at));
  const may = managers.includes(role);
  const here = `${base}/groups/${group.group_id}`;
  const caption = isSorted(group) ? 'By name' : 'In the order of their ids';
  const shown = table<GroupMember>({ caption, none: 'Nobody is in it.' }, rows, {
    Name: (row) => html`<a href="${base}/learners/${row.learner_id}">${learnerName(row)}</a>`,
    Reference: (row) => row.ref && html`<code>${row.ref}</code>`,
    Since: (row) => day(row.joined_position, zone),
    ...(may && { Choose: (row: GroupMember) => tickBox('learner', row.learner_id, row.ref ?? row.full_name) }),
  });
  return html`<h2>Learners</h2>${
    may && rows.length > 0
      ? html`<form method="post" action="${here}/chosen">${shown}<div class="actions"><button class="second" name="press" value="leave">Take out the chosen</button><button class="second" name="press" value="move">Move the chosen</button><a href="${here}/move-all">Move everybody</a></div></form>`
      : shown
  }${pager(visit, last?.learner_id)}<p>${may && html`<a href="${here}/take-out">Take out by reference</a> · `}<a href="${here}/history">Who joined and who left</a> · <a href="${base}/results?group=${group.group_id}">Results</a> · <a href="${base}/results/spread?group=${group.group_id}">How the results spread</a></p>`;
}

function pasteRoutes(path: string, how: 'join' | 'leave'): ConsoleRoute[] {
  const show = async (visit: Visit) => pastePage(visit, await groupOf(visit), how);
  return formRoutes(path, managers, show, (visit) => preview(visit, how), { upload: limits.formBytes });
}

type How = 'join' | 'leave' | 'move';

function pastePage(visit: Visit, group: BrowsedGroup, how: 'join' | 'leave', faults: Faults = {}): Answer {
  const f = fieldsOf(visit, faults);
  const path = groupPath(visit, group);
  return {
    title: how === 'join' ? 'Add learners' : 'Take learners out',
    heading:
      how === 'join' ? html`Add learners to ${name(group.name)}` : html`Take learners out of ${name(group.name)}`,
    back: { to: path, label: group.name },
    faults,
    main: html`<p>Nothing is changed before you have seen what would be.</p>${f.form(
      'Look them up',
      { cancel: path, upload: true },
      [
        f.lines('references', 'References of the learners', {
          hint: `One a line, or rows of a spreadsheet as you copy them: the column whose heading is “Reference” counts, or else the first. At most ${number(limits.pastedRefs)} at once.`,
          rows: 12,
        }),
        f.file('file', 'Or a text or CSV file', '.csv,.tsv,.txt,text/csv,text/plain'),
      ],
    )}`,
  };
}

async function preview(visit: Visit, how: 'join' | 'leave'): Promise<Answer> {
  const { app, organisationId, form: sent } = visit;
  const group = await groupOf(visit);
  const file = sent.file('file');
  // References are ASCII, so any encoding that keeps ASCII bytes gives the same references.
  let markBytes = 0;
  try {
    if (file !== null) ({ markBytes } = recogniseEncoding(file));
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return pastePage(visit, group, how, { file: `This can’t be read: ${error.message}.` });
  }
  const pasted = readPastedRefs(file?.subarray(markBytes).toString('latin1') ?? sent.raw('references'));
  const count = pasted.refs.length + pasted.faults.length;
  if (count === 0) return pastePage(visit, group, how, { references: 'Enter at least one reference.' });
  if (count > limits.pastedRefs)
    return pastePage(visit, group, how, {
      references: `These are ${number(count)}: enter at most ${number(limits.pastedRefs)} at once.`,
    });
  const looked = await previewPasted(app.db, organisationId, group.group_id, pasted, how);
  const settled = how === 'join' ? 'In it already' : 'Not in it';
  return confirmation(visit, group, how, looked.concerned, [
    facts({
      [how === 'join' ? 'To be added' : 'To be taken out']: number(looked.concerned.length),
      [settled]: number(looked.settled),
      Repeated: pasted.repeated > 0 && number(pasted.repeated),
      'Left out': number(looked.faults.length),
    }),
    looked.faults.length === 0 ? null : faultsTable(looked.faults),
  ]);
}

function faultsTable(faults: { row: number; sentence: string }[]): Content {
  const shown = faults.slice(0, limits.pastedFaultsShown);
  const more = faults.length - shown.length;
  const caption = more === 0 ? 'Mend them and paste them again' : `The first; ${number(more)} more are like these`;
  return html`<h2>Rows that are left out</h2>${table(caption, shown, {
    Row: (one) => String(one.row),
    Why: (one) => one.sentence,
  })}`;
}

async function previewChosen(visit: Visit): Promise<Answer> {
  const { form: sent } = visit;
  const group = await groupOf(visit);
  const ids = [...new Set(sent.all('learner').map((id) => id.toLowerCase()))].filter(isUuid);
  if (ids.length === 0)
    return {
      ...messagePage('Nobody was chosen', 'Tick the learners whom you mean.'),
      back: { to: groupPath(visit, group), label: group.name },
      status: 422,
    };
  return confirmation(visit, group, sent.raw('press') === 'move' ? 'move' : 'leave', ids, null);
}

async function previewAll(visit: Visit): Promise<Answer> {
  const group = await groupOf(visit);
  return confirmation(visit, group, 'move', await everybody(visit, group), null, { all: true });
}

/** A job moves this many members at most. */
const everybody = ({ app, organisationId }: Visit, { group_id: groupId }: BrowsedGroup): Promise<string[]> =>
  memberIds(app.db, organisationId, groupId, limits.pastedRefs);

const words: Record<How, { title: string; verb: string; button: string; heading(who: string, group: Markup): Markup }> =
  {
    join: {
      title: 'Add learners?',
      verb: 'add',
      button: 'Add them',
      heading: (who, group) => html`Add ${who} to ${group}?`,
    },
    leave: {
      title: 'Take learners out?',
      verb: 'take out',
      button: 'Take them out',
      heading: (who, group) => html`Take ${who} out of ${group}?`,
    },
    move: {
      title: 'Move learners',
      verb: 'move',
      button: 'Move them',
      heading: (who, group) => html`Move ${who} out of ${group}`,
    },
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
  const f = fieldsOf(visit, faults);
  const { title, verb, button, heading } = words[how];
  const path = groupPath(visit, group);
  const back = { to: path, label: group.name };
  if (learnerIds.length === 0)
    return { title: 'Nothing would change', back, main: html`${counted}<p>There is nobody to ${verb}.</p>` };
  const reach = await impactOfLearners(app.db, organisationId, learnerIds);
  const targets = how === 'move' ? await targetsOf(visit, group) : [];
  if (how === 'move' && targets.length === 0)
    return { ...messagePage('There is nowhere to move them', 'There is no other active group of this type.'), back };
  const stay = all ? group.members - learnerIds.length : 0;
  return {
    title,
    heading: heading(learnersInWords(learnerIds.length), name(group.name)),
    back,
    faults,
    main: html`${counted}${
      stay > 0
        ? html`<p><strong>Not everybody is moved at once:</strong> ${group.members > limits.membersCountedOfOne ? 'at least ' : null}${learnersInWords(stay)} more ${stay === 1 ? 'stays' : 'stay'} until you move everybody again.</p>`
        : null
    }<p>${reachInWords(reach, limits.reachCounted)} get a new position, so that your platforms hear of it.${learnerIds.length > limits.membershipsAtOnce ? ' It goes on in the background.' : null}${
      isTeam(group) ? ' Tutors see the learners of their own teams only, from the moment of the change.' : null
    }</p>${f.form(button, { to: `${base}/groups/${group.group_id}/members`, cancel: path, danger: how === 'leave' }, [
      how === 'move' && f.select('target', 'Move them to', any(targets, 'Choose one')),
      hiddenField('how', how),
      all ? hiddenField('all', 'yes') : hiddenField('learners', learnerIds.join(' ')),
      hiddenField('once', app.random.uuid()),
    ])}`,
  };
}

async function change(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, userId, form: sent } = visit;
  const group = await groupOf(visit);
  const how = (['join', 'leave', 'move'] as const).find((one) => one === sent.raw('how'));
  const all = sent.raw('all') === 'yes';
  const chosen = [...new Set(sent.raw('learners').toLowerCase().split(' '))].filter(isUuid);
  const learnerIds = all ? await everybody(visit, group) : chosen;
  const once = onceOf(visit);
  if (how === undefined || learnerIds.length === 0 || learnerIds.length > limits.pastedRefs || once === null)
    throw new NoSuchPage();
  let moving: Moving = {
    joins: how === 'join' ? group.group_id : null,
    leaves: how === 'leave' ? group.group_id : null,
  };
  if (how === 'move') {
    const target = sent.raw('target').toLowerCase();
    const [other] = isUuid(target) ? await findGroups(app.db, id, [target]) : [];
    if (other === undefined || other.type !== group.type || other.group_id === group.group_id)
      return confirmation(visit, group, how, learnerIds, null, {
        all,
        faults: { target: 'Choose where they are moved to.' },
      });
    moving = { joins: other.group_id, leaves: group.group_id };
  }
  const order = { runId: once, learnerIds, by: userId, managingTeams: true, ...moving };
  const ordered = await visit.change(async (work) => ({
    result: await orderMoves(work, id, order),
    resource: group.group_id,
  }));
  if (ordered.finished_at === null) inBackground(app, 'membership_run.failed', membershipRuns.run(app));
  return { to: `${base}/membership-runs/${once}` };
}

async function showRun(visit: Visit): Promise<Answer> {
  const { app, organisationId, zone, path } = visit;
  const run = await named(visit, 'membership_run_id', (...of) => membershipRuns.find(...of));
  const groupIds = [run.leaves, run.joins].filter((one) => one !== null);
  const groups = await findGroups(app.db, organisationId, groupIds);
  const group = groups.find((one) => one.group_id === groupIds[0])!;
  const link = (groupId: string | null): Content =>
    groups
      .filter((one) => one.group_id === groupId)
      .map((one) => html`<a href="${groupPath(visit, one)}">${name(one.name)}</a>`);
  const done = run.finished_at !== null;
  return {
    title: done ? 'It is done' : 'Being changed',
    back: { to: groupPath(visit, group), label: group.name },
    main: html`${!done && progress('Learners', run.reached, run.total, path)}${facts({
      'Out of': run.leaves === null ? null : link(run.leaves),
      Into: run.joins === null ? null : link(run.joins),
      Changed: `${number(run.changed)} of ${learnersInWords(run.total)}`,
      'Not changed': done && run.changed < run.total && unchangedWords(run),
      Ordered: moment(run.created_at, zone),
      Done: done && moment(run.finished_at!, zone),
    })}`,
  };
}

function unchangedWords(run: MembershipRun): string {
  const count = number(run.total - run.changed);
  return run.leaves === null ? `${count}: in it already, or erased` : `${count}: not in it any more, or erased`;
}
