import { teamType } from '../../../src/organisations/groups/types.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { addTeamStaff, createTeam, listTeamStaff, removeTeamStaff } from '../../../src/organisations/teams.ts';
import { plainEmail } from '../../../src/organisations/users/accounts.ts';
import { type Member, listMembers } from '../../../src/organisations/users/members.ts';
import { type Command, Failure } from '../../kit/command.ts';
import { active, groupOf, listed, listGroups, memberCommands } from './group.ts';
import { act, missing, organisationCommand } from '../../kit/open.ts';
import { line, required, text } from '../../kit/options.ts';
import { pick, tableOf } from '../../kit/table.ts';

/** Finds a member by ID or email address. @throws Failure */
function personOf(people: Member[], name: string): Member {
  const found = people.filter((one) => one.user_id === name.toLowerCase() || one.email === plainEmail(name));
  if (found.length > 1) throw new Failure('Several people have this address: give the ID; ars user list shows it.');
  if (found[0] === undefined) throw missing('person', name, { hint: '; ars user list shows them' });
  return found[0];
}

export const commands: Command[] = [
  organisationCommand({
    name: 'team list',
    summary: 'List the teams',
    examples: ['--organisation $ORG', '--organisation $ORG --active yes'],
    about: { active: 'Only active teams, or only archived teams' },
    options: { active },
    run: async ({ app, organisationId, options }) =>
      listed(await listGroups(app, organisationId, teamType, options.active)),
  }),
  organisationCommand({
    name: 'team create',
    summary: 'Create a team',
    notes: 'Platforms see the team as a group.',
    examples: [
      '--organisation $ORG --ref T-1 --name "Maths evening"',
      '--organisation $ORG --ref T-2 --name "English day" --json',
    ],
    about: { ref: "The team's reference", name: "The team's name" },
    options: { ref: required(line('R', limits.groupRefChars)), name: required(line('N', limits.groupNameChars)) },
    run: async ({ organisationId, act: acts, options }) => {
      const made = await acts({ of: 'group_id' }, async (work) => {
        const id = await createTeam(work, organisationId, options);
        if (id === null) throw new Failure('There is a team with this reference already; ars team list shows it.');
        return { group_id: id };
      });
      return { json: made, text: `${made.group_id} is made.` };
    },
  }),
  organisationCommand({
    name: 'team staff',
    summary: 'Show or change the staff of a team',
    notes: 'Tutors in the staff see the learners of the team.',
    examples: ['--organisation $ORG TEAM_ID', '--organisation $ORG TEAM_ID --add sam@example.org'],
    about: { add: 'The person to add', remove: 'The person to remove' },
    takes: 'TEAM_ID',
    options: { add: text('USER_ID|EMAIL'), remove: text('USER_ID|EMAIL') },
    run: async ({ app, organisationId, positionals, options }) => {
      const { group_id } = await groupOf(app, organisationId, positionals[0]!, 'team');
      const people = await listMembers(app.db, organisationId);
      const verbs = { add: addTeamStaff, remove: removeTeamStaff };
      for (const how of ['add', 'remove'] as const) {
        const name = options[how];
        if (name === undefined) continue;
        const { user_id: userId } = personOf(people, name);
        await act(app, organisationId, `team staff ${how}`, group_id, (work) =>
          verbs[how](work, organisationId, group_id, [userId]),
        );
      }
      const staff = new Set(await listTeamStaff(app.db, organisationId, group_id));
      const data = people
        .filter((one) => staff.has(one.user_id))
        .map((one) => pick(one, 'user_id', 'role', 'email', 'full_name'));
      return {
        json: { group_id, data },
        text: tableOf(data, ['user_id', 'role', 'email', ['name', 'full_name']]),
      };
    },
  }),
  ...memberCommands('team', 'TEAM'),
];
