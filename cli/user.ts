import type { App } from '../src/app.ts';
import { isEmailAddress } from '../src/email.ts';
import { revokeLinksOf } from '../src/keys/link.ts';
import type { Invited } from '../src/users/invitations.ts';
import { dropInvitationsOf, inviteUser } from '../src/users/invitations.ts';
import { changeRole, listMembers, removeMember } from '../src/users/members.ts';
import { isRole, roles } from '../src/users/roles.ts';
import type { Command } from './command.ts';
import { Failure, Misuse } from './command.ts';
import { act, missing, needsMailServer, operator, organisationOf, requiredOption, table, withApp } from './open.ts';

/** Under which an act that changed nothing is given up, its audit row with it. */
function invitedOr(invited: Invited): Exclude<Invited, string> {
  if (invited === 'member')
    throw new Failure(
      'Somebody with this address belongs to the organisation in another role: give that role, or remove them first.',
    );
  // An operator may give every role, so nothing outranks them.
  if (invited === 'full' || invited === 'outranked')
    throw new Failure('The organisation has too many people and open invitations.');
  return invited;
}

const lastOwner = new Failure('An organisation keeps at least one owner: invite another one first.');

async function memberOf(app: App, organisationId: number, userId: string) {
  const member = (await listMembers(app.db, organisationId)).find((one) => one.user_id === userId);
  if (member === undefined) throw missing('person', userId, { hint: '; ars user list shows them' });
  return member;
}

export const commands: Command[] = [
  {
    name: 'user invite',
    usage: '--organisation ID --email E --role R [--mail]',
    summary: `Print a link to the organisation's console, and mail it with --mail; the role is one of ${roles.join(', ')}`,
    options: {
      organisation: { type: 'string' },
      email: { type: 'string' },
      role: { type: 'string' },
      mail: { type: 'boolean' },
    },
    run: async (call) => {
      const id = requiredOption(call, 'organisation');
      const email = requiredOption(call, 'email');
      const role = requiredOption(call, 'role');
      if (!isEmailAddress(email)) throw new Misuse('--email must be an e-mail address, such as name@example.org');
      if (!isRole(role)) throw new Misuse(`--role must be one of ${roles.join(', ')}`);
      return withApp(async (app) => {
        if (call.options.mail === true) needsMailServer(app);
        const found = await organisationOf(app, id);
        const { token, mailed } = await act(app, found.organisation_id, 'user invite', async (work) => {
          const made = invitedOr(
            await inviteUser(work, found.organisation_id, {
              email,
              role,
              invitedBy: operator,
              again: true,
              ...(call.options.mail === true ? { mailFrom: found.name } : {}),
            }),
          );
          return { result: made, resource: made.invitationId };
        });
        const url = `${app.settings.baseUrl}/console/invitation/${token}`;
        const how = mailed ? ' It is on its way by e-mail, too.' : '';
        return {
          json: { url, mailed },
          text: `${url}\n\nThe link works once, for seven days, and is not shown again.${how}`,
        };
      });
    },
  },
  {
    name: 'user list',
    usage: '--organisation ID',
    summary: "List the people who use an organisation's console",
    options: { organisation: { type: 'string' } },
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const rows = (await listMembers(app.db, found.organisation_id)).map((one) => ({
          user_id: one.user_id,
          email: one.email,
          full_name: one.full_name,
          role: one.role,
          second_factor: one.has_second_factor,
          created_at: one.created_at.toISOString(),
          last_used_at: one.last_used_at?.toISOString() ?? null,
        }));
        return {
          json: { data: rows },
          text: table([
            ['user_id', 'role', 'second_factor', 'email', 'name'],
            ...rows.map((one) => [one.user_id, one.role, one.second_factor ? 'on' : 'off', one.email, one.full_name]),
          ]),
        };
      }),
  },
  {
    name: 'user role',
    usage: '--organisation ID USER_ID --role R',
    summary: `Give a person another role; their sessions end at once; the role is one of ${roles.join(', ')}`,
    options: { organisation: { type: 'string' }, role: { type: 'string' } },
    positionals: [1, 1],
    run: (call) => {
      const role = requiredOption(call, 'role');
      if (!isRole(role)) throw new Misuse(`--role must be one of ${roles.join(', ')}`);
      return withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const member = await memberOf(app, found.organisation_id, call.positionals[0]!);
        await act(app, found.organisation_id, 'user role', async (work) => {
          const changed = await changeRole(work, found.organisation_id, member.user_id, { to: role, by: 'owner' });
          if (changed === 'last_owner') throw lastOwner;
          await dropInvitationsOf(work, found.organisation_id, member, role);
          await revokeLinksOf(work, found.organisation_id, member.user_id, role);
          return { result: null, resource: member.user_id };
        });
        return { json: { user_id: member.user_id, role }, text: `${member.user_id} has the role ${role} now.` };
      });
    },
  },
  {
    name: 'user remove',
    usage: '--organisation ID USER_ID',
    summary: 'Remove a person from an organisation; their sessions end at once',
    options: { organisation: { type: 'string' } },
    positionals: [1, 1],
    run: (call) =>
      withApp(async (app) => {
        const found = await organisationOf(app, requiredOption(call, 'organisation'));
        const member = await memberOf(app, found.organisation_id, call.positionals[0]!);
        const { user_id: userId } = member;
        await act(app, found.organisation_id, 'user remove', async (work) => {
          const removed = await removeMember(work, found.organisation_id, userId, { by: 'owner' });
          if (removed === 'last_owner') throw lastOwner;
          await dropInvitationsOf(work, found.organisation_id, member, null);
          await revokeLinksOf(work, found.organisation_id, userId, null);
          return { result: null, resource: userId };
        });
        return { json: { user_id: userId, status: 'removed' }, text: `${userId} is removed.` };
      }),
  },
];
