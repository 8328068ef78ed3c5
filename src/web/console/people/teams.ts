import type { BrowsedGroup } from '../../../organisations/groups/browse.ts';
import { teamType } from '../../../organisations/groups/types.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import {
  addTeamStaff,
  countTeamStaff,
  createTeam,
  listTeamStaff,
  removeTeamStaff,
} from '../../../organisations/teams.ts';
import { type Member, listMembers } from '../../../organisations/users/members.ts';
import { managers, roleNames, learnerReaders } from '../../../organisations/users/roles.ts';
import { notice } from '../kit/blocks.ts';
import { hiddenField, isFaulty, tickBox, chosenIds } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import {
  groupList,
  groupOf,
  isTeam,
  learnersInWords,
  newGroupFaults,
  unlessTooMany,
  membersPart,
} from '../groups/members.ts';
import { groupActions, groupFacts, groupNotices } from '../groups/groups.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { again, NoSuchPage, get, formRoutes, routesOf } from '../kit/route.ts';
import { listPage, formPage, confirmPage, refusal } from '../kit/page.ts';
import { empty, table, numeric } from '../kit/table.ts';

const ofTeam = routesOf(teamOf);
/** Tutors see the learners of the teams whose staff they are. A team's learners are the members of the team's group. */
export const teamRoutes: ConsoleRoute[] = [
  get('/teams', learnerReaders, teams, { menu: 'Teams' }),
  ...formRoutes('/teams/create', managers, createPage, create),
  ofTeam.get('/teams/{team_id}', learnerReaders, team),
  ...ofTeam.form('/teams/{team_id}/staff', managers, staffPage, addStaff),
  ofTeam.post('/teams/{team_id}/staff/chosen', managers, confirmRemoval),
  ofTeam.post('/teams/{team_id}/staff/remove', managers, removeStaff),
];

/** Finds a team by the ID in the URL, which is also the ID of its group. */
async function teamOf(visit: Visit): Promise<BrowsedGroup> {
  const found = await groupOf(visit, 'team_id');
  if (!isTeam(found)) throw new NoSuchPage();
  return found;
}

async function teams(visit: Visit): Promise<Answer> {
  const { app, path, organisationId, role } = visit;
  const list = await groupList(visit, teamType);
  const ids = list.rows.map((row) => row.group_id);
  const staff = await countTeamStaff(app.db, organisationId, ids);
  return listPage(visit, {
    title: 'Teams',
    says: 'Tutors see only the learners of their teams. Connected platforms see each team as a group.',
    actions: managers.includes(role) && html`<a class="button" href="${path}/create">Create team</a>`,
    filters: list.stateField,
    caption: 'Teams by name',
    none: role === 'tutor' ? 'You are in no team yet. Ask an admin.' : 'There is no team yet. Create one.',
    rows: list.rows,
    columns: {
      Name: list.name,
      ...list.columns,
      Staff: numeric((row: BrowsedGroup) => staff.get(row.group_id) ?? 0),
      Learners: list.members,
    },
    next: list.next,
  });
}

function createPage(visit: Visit): Answer {
  return formPage(visit, {
    title: 'Create team',
    says: 'Tutors of the team see its learners.',
    back: { to: `${visit.base}/teams`, label: 'Teams' },
    button: 'Create team',
    fields: (f) => [
      f.text('group_name', 'Name'),
      f.text('ref', 'Reference', {
        hint: 'Unique in your systems, such as T-NORTH. You can’t change it later.',
        width: 20,
      }),
    ],
  });
}

async function create(visit: Visit) {
  const { base, organisationId, form: sent, change } = visit;
  const faults = newGroupFaults(visit);
  if (isFaulty(faults)) return again(faults);
  const team = { ref: sent.text('ref'), name: sent.text('group_name') };
  const made = async () => {
    const id = await change((work) => createTeam(work, organisationId, team));
    if (id !== null) return { to: `${base}/teams/${id}?did=created` };
    return again({ ref: 'A team with this reference exists. Enter another reference.' });
  };
  const tooMany = `Your organisation has ${limits.teamsPerOrganisation} active teams, the maximum. Archive a team first.`;
  return unlessTooMany(made(), () => again({ ref: tooMany }));
}

async function team(visit: Visit, found: BrowsedGroup): Promise<Answer> {
  const { base, query } = visit;
  return {
    title: 'Team',
    heading: name(found.name),
    back: { to: `${base}/teams`, label: 'Teams' },
    main: [
      notice(query, {
        ...groupNotices,
        created: 'The team is created. Add its staff and learners.',
        staff: 'The staff are added to the team.',
        'no-staff': 'The staff are removed from the team. Tutors among them no longer see its learners.',
      }),
      groupFacts(visit, found),
      groupActions(visit, found),
      await staffPart(visit, found),
      await membersPart(visit, found),
    ],
  };
}

async function peopleOf({ app, organisationId: id }: Visit, found: BrowsedGroup) {
  const [people, ids] = await Promise.all([listMembers(app.db, id), listTeamStaff(app.db, id, found.group_id)]);
  const [staff, others] = [true, false].map((works) => people.filter((one) => ids.includes(one.user_id) === works));
  return { staff: staff!, others: others! };
}

async function staffPart(visit: Visit, found: BrowsedGroup): Promise<Content> {
  const { base, role } = visit;
  const { staff } = await peopleOf(visit, found);
  const here = `${base}/teams/${found.group_id}/staff`;
  const isManager = managers.includes(role);
  const shown = table<Member>({ caption: 'Staff by name', none: 'The team has no staff yet. Add staff.' }, staff, {
    Name: (one) => name(one.full_name),
    Role: (one) => roleNames[one.role],
    ...(isManager && { Choose: (one: Member) => tickBox('staff', one.user_id, one.full_name) }),
  });
  return [
    html`<h2>Staff</h2>`,
    isManager && staff.length > 0
      ? html`<form method="post" action="${here}/chosen">${shown}<div class="actions"><button class="second">Remove selected staff</button></div></form>`
      : shown,
    isManager && html`<p><a href="${here}">Add staff</a></p>`,
  ];
}

async function staffPage(visit: Visit, found: BrowsedGroup): Promise<Answer> {
  const { base } = visit;
  const { others } = await peopleOf(visit, found);
  const head = {
    title: 'Add staff',
    heading: html`Add staff to ${name(found.name)}`,
    back: { to: `${base}/teams/${found.group_id}`, label: found.name },
  };
  const invite = html`<a href="${base}/people/invite">Invite person</a>`;
  if (others.length === 0) return { ...head, main: empty('Everyone in the organisation is in this team.', invite) };
  const choices = others.map((one) => ({ value: one.user_id, label: one.full_name, hint: roleNames[one.role] }));
  return formPage(visit, {
    ...head,
    button: 'Add staff',
    fields: (f) =>
      f.tick('staff', 'Staff', choices, {
        hint: 'Tutors then see the team’s learners. Nothing changes for other roles.',
      }),
  });
}

async function addStaff(visit: Visit, found: BrowsedGroup) {
  const { base, organisationId, change } = visit;
  const { group_id: id } = found;
  const staff = chosenIds(visit, 'staff');
  if (staff.length === 0) return again({ staff: 'Choose at least one person.' });
  await change((work) => addTeamStaff(work, organisationId, id, staff).then((added) => added.length > 0 && id));
  return { to: `${base}/teams/${id}?did=staff` };
}

async function confirmRemoval(visit: Visit, found: BrowsedGroup): Promise<Answer> {
  const path = `${visit.base}/teams/${found.group_id}`;
  const back = { to: path, label: found.name };
  const ids = chosenIds(visit, 'staff');
  const { staff } = await peopleOf(visit, found);
  const chosen = staff.filter((one) => ids.includes(one.user_id));
  if (chosen.length === 0)
    return refusal('No staff are selected', 'Go back and tick the staff to remove from the team.', back);
  const tutors = chosen.filter((one) => one.role === 'tutor').length;
  const whoSees =
    tutors === 1 ? 'One of them is a tutor, who no longer sees' : `${tutors} of them are tutors, who no longer see`;
  const whom = chosen.length === 1 ? chosen[0]!.full_name : `${chosen.length} people`;
  return confirmPage(visit, {
    title: 'Remove staff?',
    heading: html`Remove ${name(whom)} from ${name(found.name)}?`,
    back: { to: path },
    says: [
      ...(tutors === 0
        ? []
        : [`${whoSees} its ${learnersInWords(found.members)}, unless they see them through another team.`]),
      ...(tutors === chosen.length ? [] : ['Other roles still see all learners.']),
      'You can add the staff again.',
    ],
    fields: () => chosen.map((one) => hiddenField('staff', one.user_id)),
    to: `${path}/staff/remove`,
    button: 'Remove staff',
  });
}

async function removeStaff(visit: Visit, { group_id: id }: BrowsedGroup): Promise<Answer> {
  const { base, organisationId, change } = visit;
  const staff = chosenIds(visit, 'staff');
  await change((work) => removeTeamStaff(work, organisationId, id, staff).then((left) => left.length > 0 && id));
  return { to: `${base}/teams/${id}?did=no-staff` };
}
