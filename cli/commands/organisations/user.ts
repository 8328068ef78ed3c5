import type { App } from '../../../src/platform/app.ts';
import { revokeLinksOf } from '../../../src/integrations/access-keys/link.ts';
import type { Invited } from '../../../src/organisations/users/invitations.ts';
import { dropInvitationsOf, inviteUser } from '../../../src/organisations/users/invitations.ts';
import { changeMember, listMembers } from '../../../src/organisations/users/members.ts';
import { roles } from '../../../src/organisations/users/roles.ts';
import type { Command } from '../../kit/command.ts';
import { Failure } from '../../kit/command.ts';
import { missing, needsMailServer, operator, organisationCommand } from '../../kit/open.ts';
import { email, flag, required, word } from '../../kit/options.ts';
import { pick, tableOf } from '../../kit/table.ts';

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

const role = required(word(roles, 'R'));

export const commands: Command[] = [
  organisationCommand({
    name: 'user invite',
    summary: `Print a link to the organisation's console, and mail it with --mail; the role is one of ${roles.join(', ')}`,
    options: { email: required(email('E')), role, mail: flag },
    run: async ({ app, organisation, organisationId, act, options: { mail, ...options } }) => {
      if (mail) needsMailServer(app);
      const { token, mailed } = await act(null, async (work, about) => {
        const mailFrom = mail ? { mailFrom: organisation.name } : {};
        const made = invitedOr(
          await inviteUser(work, organisationId, { ...options, invitedBy: operator, again: true, ...mailFrom }),
        );
        about(made.invitationId);
        return made;
      });
      const url = `${app.settings.baseUrl}/console/invitation/${token}`;
      const how = mailed ? ' It is on its way by e-mail, too.' : '';
      return {
        json: { url, mailed },
        text: `${url}\n\nThe link works once, for seven days, and is not shown again.${how}`,
      };
    },
  }),
  organisationCommand({
    name: 'user list',
    summary: "List the people who use an organisation's console",
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
    summary: `Give a person another role; their sessions end at once; the role is one of ${roles.join(', ')}`,
    takes: 'USER_ID',
    options: { role },
    run: async ({ app, organisationId, act, positionals, options: { role: to } }) => {
      const member = await memberOf(app, organisationId, positionals[0]!);
      await act(member.user_id, async (work) => {
        const changed = await changeMember(work, organisationId, member.user_id, { to, by: 'owner' });
        if (changed === 'last_owner') throw lastOwner;
        await dropInvitationsOf(work, organisationId, member, to);
        await revokeLinksOf(work, organisationId, member.user_id, to);
      });
      return { json: { user_id: member.user_id, role: to }, text: `${member.user_id} has the role ${to} now.` };
    },
  }),
  organisationCommand({
    name: 'user remove',
    summary: 'Remove a person from an organisation; their sessions end at once',
    takes: 'USER_ID',
    run: async ({ app, organisationId, act, positionals }) => {
      const member = await memberOf(app, organisationId, positionals[0]!);
      const { user_id: userId } = member;
      await act(userId, async (work) => {
        const removed = await changeMember(work, organisationId, userId, { to: null, by: 'owner' });
        if (removed === 'last_owner') throw lastOwner;
        await dropInvitationsOf(work, organisationId, member, null);
        await revokeLinksOf(work, organisationId, userId, null);
      });
      return { json: { user_id: userId, status: 'removed' }, text: `${userId} is removed.` };
    },
  }),
];
