import { ApiError } from '../errors.ts';
import type { BrowsedGroup } from '../groups/browse.ts';
import { browseGroups, membersCountedFor } from '../groups/browse.ts';
import { teamType } from '../groups/types.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { addTeamStaff, countTeamStaff, createTeam, listTeamStaff, removeTeamStaff } from '../organisations/teams.ts';
import type { Member } from '../users/members.ts';
import { listMembers } from '../users/members.ts';
import { managers, roleNames, learnerReaders } from '../users/roles.ts';
import { isUuid } from '../uuid.ts';
import { confirmPage, empty, filters, messagePage, notice, pager, table, withQuery, yesOrNo } from './blocks.ts';
import type { Faults } from './form.ts';
import { choiceField, form, hiddenField, selectField, textField } from './form.ts';
import { name } from './frame.ts';
import { countWords, groupOf, isTeam, learnersInWords } from './group.ts';
import { groupActions, groupFacts, groupNotices, newGroupFaults } from './groups.ts';
import { membersPart } from './members.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get, formRoutes, post } from './route.ts';
import { sightOf } from './sight.ts';

/** Teams: who works with them, and so whose learners a tutor sees. Their learners are the members of their groups. */
export const teamRoutes: ConsoleRoute[] = [
  get('/teams', learnerReaders, teams, { menu: 'Teams' }),
  ...formRoutes('/teams/create', managers, createPage, create),
  get('/teams/{team_id}', learnerReaders, team),
  ...formRoutes(
    '/teams/{team_id}/staff',
    managers,
    async (visit) => staffPage(visit, await teamOf(visit), {}),
    addStaff,
  ),
  post('/teams/{team_id}/staff/chosen', managers, confirmRemoval),
  post('/teams/{team_id}/staff/remove', managers, removeStaff),
];

/** The team of the address, whose id is its group's. */
async function teamOf(visit: Visit): Promise<BrowsedGroup> {
  const found = await groupOf(visit, visit.params.team_id!);
  if (!isTeam(found)) throw new NoSuchPage();
  return found;
}

async function teams(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, role, query } = visit;

  const active = yesOrNo(query.get('active'));
  const after = query.get('after');
  const filter = { type: teamType, active };
  const sight = await sightOf(visit);
  const found = await browseGroups(app.db, id, filter, sight, {
    after: after !== null && isUuid(after) ? after : null,
    limit: limits.consoleRows + 1,
  });
  const rows = found.slice(0, limits.consoleRows);
  const ids = rows.map((row) => row.group_id);
  const staff = await countTeamStaff(app.db, id, ids);
  const here = `${base}/teams`;
  return {
    title: 'Teams',
    main: html`<p>A tutor sees the learners of the teams that they work with, and nobody else. Connected platforms see each team as a group.</p>${
      managers.includes(role)
        ? html`<div class="actions"><a class="button" href="${here}/create">Make a team</a></div>`
        : null
    }${filters(
      here,
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
    )}${
      rows.length === 0
        ? empty(role === 'tutor' ? 'You work with no team yet: ask an admin.' : 'There is no team yet.')
        : table<BrowsedGroup>({
            caption: 'By name',
            rows,
            columns: [
              { head: 'Name', cell: (row) => html`<a href="${here}/${row.group_id}">${name(row.name)}</a>` },
              { head: 'Reference', cell: (row) => html`<code>${row.ref}</code>` },
              { head: 'State', cell: (row) => (row.active ? 'Active' : 'Archived') },
              { head: 'Staff', number: true, cell: (row) => staff.get(row.group_id) ?? 0 },
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
  const here = `${base}/teams`;
  return {
    title: 'Make a team',
    says: 'Tutors who work with the team see its learners, and nobody else.',
    back: { to: here, label: 'Teams' },
    faults,
    main: form(
      `${here}/create`,
      [
        textField({
          name: 'group_name',
          label: 'Name',
          value: sent.text('group_name'),
          width: 40,
          fault: faults.group_name,
        }),
        textField({
          name: 'ref',
          label: 'Reference',
          hint: 'By which your other systems know it, such as T-NORTH. No other team has it, and it stays.',
          value: sent.text('ref'),
          width: 20,
          fault: faults.ref,
        }),
      ],
      'Make the team',
      { faults, cancel: here },
    ),
  };
}

async function create(visit: Visit): Promise<Answer> {
  const { base, organisationId, form: sent, change } = visit;
  const [ref, groupName] = [sent.text('ref'), sent.text('group_name')];
  const faults = newGroupFaults(ref, groupName);
  if (Object.keys(faults).length > 0) return createPage(visit, faults);
  try {
    const made = await change(async (work) => {
      const result = await createTeam(work, organisationId, { ref, name: groupName });
      return result === null ? { result } : { result, resource: result };
    });
    if (made !== null) return { to: `${base}/teams/${made}?did=created` };
    return createPage(visit, { ref: 'There is a team with this reference already.' });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'group_limit_exceeded') throw error;
    return createPage(visit, {
      ref: `There are ${limits.teamsPerOrganisation} active teams already, as many as there may be: archive one that is over.`,
    });
  }
}

async function team(visit: Visit): Promise<Answer> {
  const { base, role, query } = visit;
  const found = await teamOf(visit);
  return {
    title: 'Team',
    heading: name(found.name),
    back: { to: `${base}/teams`, label: 'Teams' },
    main: html`${notice(query, {
      ...groupNotices,
      created: 'It is made. Say who works with it, and add its learners.',
      staff: 'They work with the team from now on.',
      'no-staff': 'They do not work with the team any more, and see its learners no longer.',
    })}${groupFacts(visit, found)}${managers.includes(role) ? groupActions(visit, found) : null}${await staffPart(visit, found)}${await membersPart(visit, found)}`,
  };
}

/** The organisation's people, and those of them who work with the team. */
async function peopleOf({ app, organisationId: id }: Visit, found: BrowsedGroup) {
  const [people, ids] = await Promise.all([listMembers(app.db, id), listTeamStaff(app.db, id, found.group_id)]);
  const [staff, others] = [true, false].map((works) => people.filter((one) => ids.includes(one.user_id) === works));
  return { staff: staff!, others: others! };
}

async function staffPart(visit: Visit, found: BrowsedGroup): Promise<Content> {
  const { base, role } = visit;
  const { staff } = await peopleOf(visit, found);
  const here = `${base}/teams/${found.group_id}/staff`;
  const may = managers.includes(role);
  const tick = (one: Member) =>
    html`<label class="tick"><input type="checkbox" name="staff" value="${one.user_id}"><span class="unseen">Choose ${one.full_name}</span></label>`;
  const shown = table<Member>({
    caption: 'By name',
    rows: staff,
    columns: [
      { head: 'Name', cell: (one) => name(one.full_name) },
      { head: 'Role', cell: (one) => roleNames[one.role] },
      ...(may ? [{ head: 'Choose', cell: tick }] : []),
    ],
  });
  return html`<h2>Staff</h2>${
    staff.length === 0
      ? empty('Nobody works with it yet.')
      : may
        ? html`<form method="post" action="${here}/chosen">${shown}<div class="actions"><button class="second">Remove the chosen from the team</button></div></form>`
        : shown
  }${may ? html`<p><a href="${here}">Add staff</a></p>` : null}`;
}

async function staffPage(visit: Visit, found: BrowsedGroup, faults: Faults = {}): Promise<Answer> {
  const { base } = visit;
  const path = `${base}/teams/${found.group_id}`;
  const { others } = await peopleOf(visit, found);
  return {
    title: 'Add staff',
    heading: html`Add staff to ${name(found.name)}`,
    back: { to: path, label: found.name },
    faults,
    main:
      others.length === 0
        ? empty('Everybody works with it already.', html`<a href="${base}/people/invite">Invite somebody</a>`)
        : form(
            `${path}/staff`,
            choiceField({
              name: 'staff',
              label: 'Who works with the team',
              hint: 'Tutors see its learners from then on. Other roles see as much as before.',
              choices: others.map((one) => ({ value: one.user_id, label: one.full_name, hint: roleNames[one.role] })),
              chosen: visit.form.all('staff'),
              many: true,
              fault: faults.staff,
            }),
            'Add them',
            { faults, cancel: path },
          ),
  };
}

const chosenStaff = ({ form: sent }: Visit): string[] =>
  sent
    .all('staff')
    .map((id) => id.toLowerCase())
    .filter(isUuid);

async function addStaff(visit: Visit): Promise<Answer> {
  const { base, organisationId, change } = visit;
  const found = await teamOf(visit);
  const ids = chosenStaff(visit);
  if (ids.length === 0) return staffPage(visit, found, { staff: 'Choose somebody.' });
  await change(async (work) => {
    const result = await addTeamStaff(work, organisationId, found.group_id, ids);
    return result.length === 0 ? { result } : { result, resource: found.group_id };
  });
  return { to: `${base}/teams/${found.group_id}?did=staff` };
}

async function confirmRemoval(visit: Visit): Promise<Answer> {
  const { base } = visit;
  const found = await teamOf(visit);
  const path = `${base}/teams/${found.group_id}`;
  const ids = chosenStaff(visit);
  const { staff } = await peopleOf(visit, found);
  const chosen = staff.filter((one) => ids.includes(one.user_id));
  if (chosen.length === 0)
    return {
      ...messagePage('Nobody was chosen', 'Tick those who are to leave the team.'),
      back: { to: path, label: found.name },
      status: 422,
    };
  const tutors = chosen.filter((one) => one.role === 'tutor').length;
  const learners = learnersInWords(found.members);
  const whom = chosen.length === 1 ? chosen[0]!.full_name : `${chosen.length} people`;
  return confirmPage({
    title: 'Remove staff from a team?',
    heading: html`Remove ${name(whom)} from ${name(found.name)}?`,
    says: [
      ...(tutors === 0
        ? []
        : [
            `${tutors === 1 ? 'One of them is a tutor, who no longer sees' : `${tutors} of them are tutors, who no longer see`} its ${learners} from the next page on, unless by another team.`,
          ]),
      ...(tutors === chosen.length ? [] : ['Other roles see as much as before.']),
    ],
    fields: chosen.map((one) => hiddenField('staff', one.user_id)),
    action: `${path}/staff/remove`,
    button: 'Remove from the team',
    cancel: path,
  });
}

async function removeStaff(visit: Visit): Promise<Answer> {
  const { base, organisationId, change } = visit;
  const found = await teamOf(visit);
  await change(async (work) => {
    const result = await removeTeamStaff(work, organisationId, found.group_id, chosenStaff(visit));
    return result.length === 0 ? { result } : { result, resource: found.group_id };
  });
  return { to: `${base}/teams/${found.group_id}?did=no-staff` };
}
