import { revokeLinksOf } from '../../../src/integrations/access-keys/link.ts';
import { dropInvitationsOf, inviteUser } from '../../../src/organisations/users/invitations.ts';
import { changeMember, listMembers } from '../../../src/organisations/users/members.ts';
import { type Role, roles } from '../../../src/organisations/users/roles.ts';
import { type Call, type Command, Failure } from '../../kit/command.ts';
import { type Inside, missing, needsMailServer, operator, organisationCommand } from '../../kit/open.ts';
import { email, flag, required, word } from '../../kit/options.ts';
import { pick, tableOf } from '../../kit/table.ts';

const emergencyOwner =
  'This person is the emergency owner of single sign-on: ars organisation sso ID --required off first.';

async function change(call: Call<unknown> & Inside, to: Role | null): Promise<string> {
  const { app, organisationId } = call;
  const [id] = call.positionals as [string];
  const member = (await listMembers(app.db, organisationId)).find((one) => one.user_id === id);
  if (member === undefined) throw missing('person', id, { hint: '; ars user list shows them' });
  await call.act(id, async (work) => {
    const changed = await changeMember(work, organisationId, id, { to, by: 'owner' });
    if (changed === 'last_owner')
      throw new Failure('An organisation keeps at least one owner: invite another one first.');
    if (changed === 'emergency_owner') throw new Failure(emergencyOwner);
    await dropInvitationsOf(work, organisationId, member, to);
    await revokeLinksOf(work, organisationId, id, to);
  });
  return id;
}

const role = required(word(roles, 'R'));

export const commands: Command[] = [
  organisationCommand({
    name: 'user invite',
    summary: 'Invite a person to the console',
    notes: `The command prints a link. Roles: ${roles.join(', ')}.`,
    examples: [
      '--organisation $ORG --email sam@example.org --role tutor',
      '--organisation $ORG --email kim@example.org --role admin --mail',
    ],
    about: {
      email: "The person's email address",
      role: 'The role in the console',
      mail: 'Also sends the link by email',
    },
    options: { email: required(email('E')), role, mail: flag },
    run: async ({ app, organisation, organisationId, act, options: { mail, ...options } }) => {
      if (mail) needsMailServer(app);
      const invitation = { ...options, invitedBy: operator, again: true } as const;
      const mailFrom = mail ? { mailFrom: organisation.name } : {};
      const { token, mailed } = await act({ of: 'invitationId' }, async (work) => {
        const made = await inviteUser(work, organisationId, { ...invitation, ...mailFrom });
        if (made === 'member')
          throw new Failure(
            'A person with this email address has another role in the organisation: give that role, or remove the person first.',
          );
        if (made === 'emergency_owner') throw new Failure(emergencyOwner);
        // The operator may give every role, so the refusal `outranked` can't occur here.
        if (typeof made === 'string') throw new Failure('The organisation has too many people and open invitations.');
        return made;
      });
      const url = `${app.settings.baseUrl}/console/invitation/${token}`;
      const how = mailed ? ' We also sent it by email.' : '';
      return {
        json: { url, mailed },
        text: `${url}\n\nThe link works once, for seven days, and is not shown again.${how}`,
      };
    },
  }),
  organisationCommand({
    name: 'user list',
    summary: 'List the people of the console',
    examples: ['--organisation $ORG', '--organisation $ORG --json'],
    run: async ({ app, organisationId }) => {
      const members = await listMembers(app.db, organisationId);
      return {
        json: {
          data: members.map((one) => ({
            ...pick(one, 'user_id', 'email', 'full_name', 'role', 'created_at', 'last_used_at'),
            second_factor: one.has_second_factor,
          })),
        },
        text: tableOf(members, [
          'user_id',
          'role',
          ['second_factor', (one) => (one.has_second_factor ? 'on' : 'off')],
          'email',
          ['name', 'full_name'],
        ]),
      };
    },
  }),
  organisationCommand({
    name: 'user role',
    summary: 'Change the role of a person',
    notes: `The sessions of the person end. Roles: ${roles.join(', ')}.`,
    examples: ['--organisation $ORG USER_ID --role tutor', '--organisation $ORG USER_ID --role admin --json'],
    about: { role: 'The new role' },
    takes: 'USER_ID',
    options: { role },
    run: async (call) => {
      const { role: to } = call.options;
      const id = await change(call, to);
      return { json: { user_id: id, role: to }, text: `${id} has the role ${to} now.` };
    },
  }),
  organisationCommand({
    name: 'user remove',
    summary: 'Remove a person from the console',
    notes: 'The sessions of the person end.',
    examples: ['--organisation $ORG USER_ID', '--organisation $ORG USER_ID --json'],
    takes: 'USER_ID',
    run: async (call) => {
      const id = await change(call, null);
      return { json: { user_id: id, status: 'removed' }, text: `${id} is removed.` };
    },
  }),
];
