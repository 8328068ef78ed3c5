import { teamType } from '../src/groups/types.ts';
import { limits } from '../src/limits.ts';
import { addTeamStaff, createTeam, listTeamStaff, removeTeamStaff } from '../src/organisations/teams.ts';
import { plainEmail } from '../src/users/accounts.ts';
import type { Member } from '../src/users/members.ts';
import { listMembers } from '../src/users/members.ts';
import type { Command } from './command.ts';
import { Failure } from './command.ts';
import { groupOf, listed, listGroups, memberCommands, readActive } from './group.ts';
import { act, missing, option, organisationOf, requiredOption, requiredText, table, withApp } from './open.ts';

/** Teams: their staff, and their learners as those of any group. */

const organisation = { organisation: { type: 'string' } } as const;

/** One of the organisation's people, by id or address. @throws Failure */
function personOf(people: Member[], given: string): Member {
  const found = people.filter((one) => one.user_id === given.toLowerCase() || one.email === plainEmail(given));
  if (found.length > 1) throw new Failure('Several people have this address: give the id; ars user list shows them.');
  if (found[0] === undefined) throw missing('person', given, { hint: '; ars user list shows them' });
  return found[0];
}

export const commands: Command[] = [
  {
    name: 'team list',
    usage: '--organisation ID [--active yes|no]',
    summary: 'List the teams',
    options: { ...organisation, active: { type: 'string' } },
    run: async (call) => {
      const active = readActive(call);
      return withApp(async (app) => {
        const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
        return listed(await listGroups(app, id, teamType, active));
      });
    },
  },
  {
    name: 'team create',
    usage: '--organisation ID --ref R --name N',
    summary: 'Make a team, and the group that shows it to platforms',
    options: { ...organisation, ref: { type: 'string' }, name: { type: 'string' } },
    run: async (call) => {
      const ref = requiredText(call, 'ref', limits.groupRefChars);
      const name = requiredText(call, 'name', limits.groupNameChars);
      return withApp(async (app) => {
        const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
        const made = await act(app, id, 'team create', async (work) => {
          const result = await createTeam(work, id, { ref, name });
          if (result === null)
            throw new Failure('There is a team with this reference already; ars team list shows it.');
          return { result, resource: result };
        });
        return { json: { group_id: made }, text: `${made} is made.` };
      });
    },
  },
  {
    name: 'team staff',
    usage: '--organisation ID TEAM_ID [--add USER_ID|EMAIL | --remove USER_ID|EMAIL]',
    summary: 'Show who works with a team; tutors among them see its learners',
    positionals: [1, 1],
    options: { ...organisation, add: { type: 'string' }, remove: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const { organisation_id: id } = await organisationOf(app, requiredOption(call, 'organisation'));
        const team = await groupOf(app, id, call.positionals[0]!, 'team');
        const people = await listMembers(app.db, id);
        for (const [how, verb] of [
          ['add', addTeamStaff],
          ['remove', removeTeamStaff],
        ] as const) {
          const given = option(call, how);
          if (given === undefined) continue;
          const { user_id: userId } = personOf(people, given);
          await act(app, id, `team staff ${how}`, async (work) => ({
            result: await verb(work, id, team.group_id, [userId]),
            resource: team.group_id,
          }));
        }
        const staff = new Set(await listTeamStaff(app.db, id, team.group_id));
        const data = people
          .filter((one) => staff.has(one.user_id))
          .map(({ user_id, role, email, full_name }) => ({ user_id, role, email, full_name }));
        return {
          json: { group_id: team.group_id, data },
          text: table([
            ['user_id', 'role', 'email', 'name'],
            ...data.map((one) => [one.user_id, one.role, one.email, one.full_name]),
          ]),
        };
      }),
  },
  ...memberCommands('team', 'TEAM'),
];
