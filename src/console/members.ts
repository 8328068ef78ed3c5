import { recogniseEncoding, UnreadableFile } from '../files/encoding.ts';
import type { BrowsedGroup, GroupMember } from '../groups/browse.ts';
import { browseGroups, browseMembers, isSorted, memberIds } from '../groups/browse.ts';
import { findGroups } from '../groups/groups.ts';
import type { Moving } from '../groups/members.ts';
import { lookUpPasted } from '../groups/pasted.ts';
import { readPastedRefs } from '../groups/pasted-refs.ts';
import { reachOfLearners } from '../groups/reach.ts';
import type { MembershipRun } from '../groups/runs.ts';
import { membershipRuns, orderMoves } from '../groups/runs.ts';
import type { Content, Markup } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { errorFields } from '../log.ts';
import { managers } from '../users/roles.ts';
import { isUuid } from '../uuid.ts';
import { day, empty, facts, moment, pager, progress, table, withQuery, number } from './blocks.ts';
import type { Faults } from './form.ts';
import { fileField, form, hiddenField, longTextField, selectField } from './form.ts';
import { name } from './frame.ts';
import { groupOf, groupPath, isTeam, learnerName, learnersInWords, reachInWords } from './group.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get, post } from './route.ts';
import { sightOf } from './sight.ts';

/** Members of a group or team: added by pasting references, taken out or moved by choosing them; thousands in the background. */
export const memberRoutes: ConsoleRoute[] = [
  get('/groups/{group_id}/add', managers, (visit) => showPaste(visit, 'join')),
  post('/groups/{group_id}/add', managers, (visit) => preview(visit, 'join'), { upload: limits.formBytes }),
  get('/groups/{group_id}/take-out', managers, (visit) => showPaste(visit, 'leave')),
  post('/groups/{group_id}/take-out', managers, (visit) => preview(visit, 'leave'), { upload: limits.formBytes }),
  post('/groups/{group_id}/chosen', managers, previewChosen),
  get('/groups/{group_id}/move-all', managers, previewAll),
  post('/groups/{group_id}/members', managers, change),
  get('/membership-runs/{membership_run_id}', managers, showRun),
];

/** Who is in it now, with what can be done to those who are chosen. */
export async function membersPart(visit: Visit, group: BrowsedGroup): Promise<Content> {
  const { app, base, organisationId, role, query } = visit;
  const given = query.get('after');
  const after = given !== null && isUuid(given) ? given : null;
  const found = await browseMembers(app.db, organisationId, group, await sightOf(visit), {
    after,
    limit: limits.consoleRows + 1,
  });
  const rows = found.slice(0, limits.consoleRows);
  const may = managers.includes(role);
  const here = `${base}/groups/${group.group_id}`;
  const path = groupPath(visit, group);
  const shown = membersTable(visit, rows, may, isSorted(group) ? 'By name' : 'In the order of their ids');
  const pages = pager({
    first: after === null ? null : path,
    next: found.length > rows.length ? withQuery(path, query, { after: rows.at(-1)!.learner_id, did: null }) : null,
  });
  return html`<h2>Learners</h2>${
    rows.length === 0
      ? empty('Nobody is in it.')
      : may
        ? html`<form method="post" action="${here}/chosen">${shown}<div class="actions"><button class="second" name="press" value="leave">Take out the chosen</button><button class="second" name="press" value="move">Move the chosen</button><a href="${here}/move-all">Move everybody</a></div></form>`
        : shown
  }${pages}<p>${may ? html`<a href="${here}/take-out">Take out by reference</a> · ` : null}<a href="${here}/history">Who joined and who left</a> · <a href="${visit.base}/results?group=${group.group_id}">Results</a> · <a href="${visit.base}/results/spread?group=${group.group_id}">How the results spread</a></p>`;
}

function membersTable({ base, zone }: Visit, rows: GroupMember[], may: boolean, order: string): Content {
  const tick = (row: GroupMember) =>
    html`<label class="tick"><input type="checkbox" name="learner" value="${row.learner_id}"><span class="unseen">Choose ${row.ref ?? row.full_name}</span></label>`;
  return table<GroupMember>({
    caption: order,
    rows,
    columns: [
      { head: 'Name', cell: (row) => html`<a href="${base}/learners/${row.learner_id}">${learnerName(row)}</a>` },
      { head: 'Reference', cell: (row) => row.ref && html`<code>${row.ref}</code>` },
      { head: 'Since', cell: (row) => day(new Date(row.joined_position / 1000), zone) },
      ...(may ? [{ head: 'Choose', cell: tick }] : []),
    ],
  });
}

/** What is done: learners come into the group, go out of it, or go out of it into another of its type. */
type How = 'join' | 'leave' | 'move';

async function showPaste(visit: Visit, how: 'join' | 'leave'): Promise<Answer> {
  return pastePage(visit, await groupOf(visit), how, {});
}

function pastePage(visit: Visit, group: BrowsedGroup, how: 'join' | 'leave', faults: Faults = {}): Answer {
  const path = groupPath(visit, group);
  return {
    title: how === 'join' ? 'Add learners' : 'Take learners out',
    heading:
      how === 'join' ? html`Add learners to ${name(group.name)}` : html`Take learners out of ${name(group.name)}`,
    back: { to: path, label: group.name },
    faults,
    main: html`<p>Nothing is changed before you have seen what would be.</p>${form(
      `${visit.base}/groups/${group.group_id}/${how === 'join' ? 'add' : 'take-out'}`,
      [
        longTextField({
          name: 'references',
          label: 'References of the learners',
          hint: `One a line, or rows of a spreadsheet as you copy them: the column whose heading is “Reference” counts, or else the first. At most ${number(limits.pastedRefs)} at once.`,
          value: visit.form.raw('references'),
          rows: 12,
          fault: faults.references,
        }),
        fileField({
          name: 'file',
          label: 'Or a text or CSV file',
          accept: '.csv,.tsv,.txt,text/csv,text/plain',
          fault: faults.file,
        }),
      ],
      'Look them up',
      { faults, cancel: path, upload: true },
    )}`,
  };
}

async function preview(visit: Visit, how: 'join' | 'leave'): Promise<Answer> {
  const { app, organisationId, form: sent } = visit;
  const group = await groupOf(visit);
  const file = sent.file('file');
  // References are ASCII: whatever else the file holds, its encoding changes none of them, if a byte is a letter in it.
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
  const looked = await lookUpPasted(app.db, organisationId, group.group_id, pasted, how);
  const settled = how === 'join' ? 'In it already' : 'Not in it';
  return confirmation(visit, group, how, looked.concerned, [
    facts([
      [how === 'join' ? 'To be added' : 'To be taken out', number(looked.concerned.length)],
      [settled, number(looked.settled)],
      ...(pasted.repeated === 0 ? [] : [['Repeated', number(pasted.repeated)] as const]),
      ['Left out', number(looked.faults.length)],
    ]),
    looked.faults.length === 0 ? null : faultsTable(looked.faults),
  ]);
}

function faultsTable(faults: { row: number; sentence: string }[]): Content {
  const shown = faults.slice(0, limits.pastedFaultsShown);
  const more = faults.length - shown.length;
  return html`<h2>Rows that are left out</h2>${table<{ row: number; sentence: string }>({
    caption: more === 0 ? 'Mend them and paste them again' : `The first; ${number(more)} more are like these`,
    rows: shown,
    columns: [
      { head: 'Row', cell: (one) => String(one.row) },
      { head: 'Why', cell: (one) => one.sentence },
    ],
  })}`;
}

async function previewChosen(visit: Visit): Promise<Answer> {
  const { form: sent } = visit;
  const group = await groupOf(visit);
  const ids = [...new Set(sent.all('learner').map((id) => id.toLowerCase()))].filter(isUuid);
  if (ids.length === 0)
    return {
      title: 'Nobody was chosen',
      back: { to: groupPath(visit, group), label: group.name },
      main: html`<p>Tick the learners whom you mean.</p>`,
      status: 422,
    };
  return confirmation(visit, group, sent.raw('press') === 'move' ? 'move' : 'leave', ids, null);
}

async function previewAll(visit: Visit): Promise<Answer> {
  const group = await groupOf(visit);
  return confirmation(visit, group, 'move', await everybody(visit, group), null, { all: true });
}

/** As many of them as one order holds. */
const everybody = ({ app, organisationId }: Visit, { group_id: groupId }: BrowsedGroup): Promise<string[]> =>
  memberIds(app.db, organisationId, groupId, limits.pastedRefs);

const titles: Record<How, string> = {
  join: 'Add learners?',
  leave: 'Take learners out?',
  move: 'Move learners',
};
const headings: Record<How, (count: string, group: Markup) => Markup> = {
  join: (count, group) => html`Add ${count} to ${group}?`,
  leave: (count, group) => html`Take ${count} out of ${group}?`,
  move: (count, group) => html`Move ${count} out of ${group}`,
};

/** Says in numbers what would be done, to be confirmed. */
async function confirmation(
  visit: Visit,
  group: BrowsedGroup,
  how: How,
  learnerIds: string[],
  counted: Content,
  { all = false, faults = {} }: { all?: boolean; faults?: Faults } = {},
): Promise<Answer> {
  const { app, base, organisationId: id, form: sent } = visit;
  const path = groupPath(visit, group);
  const back = { to: path, label: group.name };
  if (learnerIds.length === 0)
    return {
      title: 'Nothing would change',
      back,
      main: html`${counted}<p>There is nobody to ${how === 'join' ? 'add' : how === 'leave' ? 'take out' : 'move'}.</p>`,
    };

  const reach = await reachOfLearners(app.db, id, learnerIds);
  const others =
    how !== 'move'
      ? []
      : (
          await browseGroups(app.db, id, { type: group.type, active: true }, null, {
            after: null,
            limit: limits.groupsPerOrganisation,
          })
        ).filter((one) => one.group_id !== group.group_id);
  if (how === 'move' && others.length === 0)
    return {
      title: 'There is nowhere to move them',
      back,
      main: html`<p>There is no other active group of this type.</p>`,
    };
  const count = learnersInWords(learnerIds.length);
  const stay = all ? group.members - learnerIds.length : 0;
  return {
    title: titles[how],
    heading: headings[how](count, name(group.name)),
    back,
    faults,
    main: html`${counted}${
      stay > 0
        ? html`<p><strong>Not everybody is moved at once:</strong> ${group.members > limits.membersCountedOfOne ? 'at least ' : null}${learnersInWords(stay)} more ${stay === 1 ? 'stays' : 'stay'} until you move everybody again.</p>`
        : null
    }<p>${reachInWords(reach, limits.reachCounted)} get a new position, so that your platforms hear of it.${learnerIds.length > limits.membershipsAtOnce ? ' It goes on in the background.' : null}${
      isTeam(group) ? ' Tutors see the learners of their own teams only, from the moment of the change.' : null
    }</p>${form(
      `${base}/groups/${group.group_id}/members`,
      [
        how !== 'move'
          ? null
          : selectField({
              name: 'target',
              label: 'Move them to',
              choices: [
                { value: '', label: 'Choose one' },
                ...others.map((one) => ({ value: one.group_id, label: `${one.name} (${one.ref})` })),
              ],
              chosen: sent.raw('target'),
              fault: faults.target,
            }),
        hiddenField('how', how),
        all ? hiddenField('all', 'yes') : hiddenField('learners', learnerIds.join(' ')),
        hiddenField('once', app.random.uuid()),
      ],
      how === 'join' ? 'Add them' : how === 'leave' ? 'Take them out' : 'Move them',
      { cancel: path, danger: how === 'leave', faults },
    )}`,
  };
}

async function change(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, session, form: sent } = visit;

  const group = await groupOf(visit);
  const how = (['join', 'leave', 'move'] as const).find((one) => one === sent.raw('how'));
  const all = sent.raw('all') === 'yes';
  const chosen = [...new Set(sent.raw('learners').toLowerCase().split(' '))].filter(isUuid);
  const learnerIds = all ? await everybody(visit, group) : chosen;
  const once = sent.raw('once').toLowerCase();
  if (how === undefined || learnerIds.length === 0 || learnerIds.length > limits.pastedRefs || !isUuid(once))
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
  const ordered = await visit.change(async (work) => ({
    result: await orderMoves(work, id, {
      runId: once,
      learnerIds,
      by: session.user_id,
      managingTeams: true,
      ...moving,
    }),
    resource: group.group_id,
  }));
  // Begun at once; if this process ends before it is done, another goes on within a minute.
  if (ordered.finished_at === null)
    void membershipRuns.run(app).catch((error: unknown) => app.log.error('membership_run.failed', errorFields(error)));
  return { to: `${base}/membership-runs/${once}` };
}

async function showRun(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, params } = visit;

  const runId = params.membership_run_id!.toLowerCase();
  const run = isUuid(runId) ? await membershipRuns.find(app.db, id, runId) : undefined;
  if (run === undefined) throw new NoSuchPage();
  const groupIds = [run.leaves, run.joins].filter((one) => one !== null);
  const groups = await findGroups(app.db, id, groupIds);
  const group = groups.find((one) => one.group_id === groupIds[0])!;
  const link = (groupId: string | null): Content =>
    groups
      .filter((one) => one.group_id === groupId)
      .map((one) => html`<a href="${groupPath(visit, one)}">${name(one.name)}</a>`);
  const done = run.finished_at !== null;
  return {
    title: done ? 'It is done' : 'Being changed',
    back: { to: groupPath(visit, group), label: group.name },
    main: html`${
      done ? null : progress('Learners', run.reached, run.total, `${base}/membership-runs/${run.run_id}`)
    }${facts([
      ...(run.leaves === null ? [] : [['Out of', link(run.leaves)] as const]),
      ...(run.joins === null ? [] : [['Into', link(run.joins)] as const]),
      ['Changed', `${number(run.changed)} of ${learnersInWords(run.total)}`],
      ...(done && run.changed < run.total ? [['Not changed', unchangedWords(run)] as const] : []),
      ['Ordered', moment(run.created_at, zone)],
      ...(done ? [['Done', moment(run.finished_at!, zone)] as const] : []),
    ])}`,
  };
}

function unchangedWords(run: MembershipRun): string {
  const count = number(run.total - run.changed);
  return run.leaves === null ? `${count}: in it already, or erased` : `${count}: not in it any more, or erased`;
}
