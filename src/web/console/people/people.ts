import { revokeLinksOf } from '../../../integrations/access-keys/link.ts';
import type { Invited, UserInvitation } from '../../../organisations/users/invitations.ts';
import {
  inviteUser,
  listUserInvitations,
  withdrawUserInvitation,
  dropInvitationsOf,
} from '../../../organisations/users/invitations.ts';
import type { MemberChange, Member } from '../../../organisations/users/members.ts';
import { changeMember, findMember, listMembers } from '../../../organisations/users/members.ts';
import { listActiveTeams } from '../../../organisations/teams.ts';
import type { Role } from '../../../organisations/users/roles.ts';
import {
  isRole,
  managers,
  mayGive,
  needsSecondFactor,
  roleMeanings,
  roleNames,
  roles,
} from '../../../organisations/users/roles.ts';
import { html } from '../../../platform/html/html.ts';
import { isEmailAddress } from '../../../platform/validation/email.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { day, facts, moment, notice, code, label } from '../kit/blocks.ts';
import { type Faults, any, buttonForm, readonlyField, fieldsOf, isFaulty, faultsIn } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { again, routesOf, NoSuchPage, get, formRoutes, post, findOr404 } from '../kit/route.ts';
import { formPage, confirmPage, listPage } from '../kit/page.ts';
import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { table, plain, wideOnly } from '../kit/table.ts';

const ofPerson = routesOf((visit) => findOr404(visit, 'user_id', findMember));
export const peopleRoutes: ConsoleRoute[] = [
  get('/people', managers, people, { live: true, menu: 'People', section: 'organisation' }),
  ...formRoutes('/people/invite', managers, invitePage, invite, { live: true, proof: true }),
  ofPerson.get('/people/{user_id}', managers, personPage, { live: true, proof: true }),
  ofPerson.post('/people/{user_id}/role', managers, setRole, { live: true, proof: true }),
  ofPerson.post('/people/{user_id}/link', managers, inviteAgain, { live: true, proof: true }),
  ...ofPerson.form('/people/{user_id}/remove', managers, showRemove, remove, { live: true, proof: true }),
  post('/invitations/{invitation_id}/withdraw', managers, withdraw, { live: true, proof: true }),
];

const refusedChange = {
  last_owner: 'An organisation needs at least one owner. Make another person an owner first.',
  emergency_owner: 'This person is the emergency owner of single sign-on. Stop requiring single sign-on first.',
};

async function people(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, userId, query } = visit;
  const members = await listMembers(app.db, id);
  const invitations = await listUserInvitations(app.db, id, app.clock.nowMs());
  const teamNames = new Map((await listActiveTeams(app.db, id)).map((one) => [one.group_id, one.name]));
  return listPage<Member>(visit, {
    title: 'People',
    says: 'People who sign in to this organisation, each with a role.',
    actions: html`<a class="button" href="${base}/people/invite">Invite person</a>`,
    intro: notice(query, {
      role: 'The role is changed. The person signs in again to use it.',
      removed: 'The person is removed. Their sessions and their open links have ended.',
      withdrawn: 'The invitation is withdrawn. Its link no longer works.',
    }),
    caption: 'People',
    rows: members,
    columns: {
      Name: (one) =>
        html`<a href="${base}/people/${one.user_id}">${name(one.full_name)}</a>${one.user_id === userId ? ' (you)' : null}`,
      'Email address': plain((one) => one.email),
      Role: plain((one) => roleNames[one.role]),
      'Second factor': (one) =>
        one.has_second_factor
          ? label('good', 'On')
          : needsSecondFactor({ ...visit.organisation, role: one.role })
            ? label('wait', 'Not yet set up')
            : label('off', 'Off'),
      'Last used': wideOnly((one) => moment(one.last_used_at, zone) ?? 'Never'),
    },
    also: [
      invitations.length > 0 && html`<h2>Open invitations</h2>`,
      table<UserInvitation>({ caption: 'Invitations that are not used yet', none: null }, invitations, {
        'Email address': (one) => one.email,
        Role: (one) => roleNames[one.role],
        Team: (one) => one.team_id !== null && name(teamNames.get(one.team_id) ?? 'Archived team'),
        'Works until': (one) => moment(one.expires_at, zone),
        Action: (one) =>
          mayGive(role, one.role)
            ? buttonForm(`${base}/invitations/${one.invitation_id}/withdraw`, 'Withdraw invitation')
            : 'Owners only',
      }),
    ],
  });
}

const roleChoices = (giver: Role) =>
  roles
    .filter((role) => mayGive(giver, role))
    .map((role) => ({ value: role, label: roleNames[role], hint: roleMeanings[role] }));

async function invitePage(visit: Visit): Promise<Answer> {
  const teams = await listActiveTeams(visit.app.db, visit.organisationId);
  const choices = teams.map((one) => ({ value: one.group_id, label: one.name }));
  return formPage(visit, {
    title: 'Invite person',
    says: 'The person gets a link to create an account. The link works once and ends after 7 days.',
    back: { to: `${visit.base}/people`, label: 'People' },
    button: 'Invite person',
    fields: (f) => [
      f.text('email', 'Email address', { type: 'email' }),
      f.choose('role', 'Role', roleChoices(visit.role)),
      teams.length > 0 &&
        f.select('team', 'Team (optional)', any(choices, 'No team yet'), {
          hint: 'The person joins it as staff. A tutor sees only learners of their teams.',
        }),
    ],
  });
}

function linkPage({ app, base }: Visit, email: string, { token, mailed }: Exclude<Invited, string>): Answer {
  return {
    title: 'The invitation is created',
    back: { to: `${base}/people`, label: 'People' },
    main: html`<p>${mailed ? html`The service is sending the link to ${email}. You can also send it yourself, but only to this person.` : html`Send the link only to ${email}.`} The first person who uses the link gets the account. The link works once, for ${limits.userInvitationMs / 86_400_000} days, and is shown only here.</p>${readonlyField('link', 'Link', `${app.settings.baseUrl}/console/invitation/${token}`)}`,
  };
}

async function invite(visit: Visit) {
  const email = visit.form.text('email');
  const role = visit.form.raw('role');
  const team = visit.form.raw('team');
  const teams = await listActiveTeams(visit.app.db, visit.organisationId);
  const faults = faultsIn({
    email: !isEmailAddress(email) && 'Enter an email address, such as name@example.org.',
    role: (!isRole(role) || !mayGive(visit.role, role)) && 'Choose a role.',
    team: team !== '' && !teams.some((one) => one.group_id === team) && 'Choose an active team, or no team.',
  });
  if (isFaulty(faults)) return again(faults);
  const invited = await inviteTo(visit, { email, role: role as Role, teamId: team || null, again: false });
  if (typeof invited === 'string') return again({ email: refusals[invited] });
  return linkPage(visit, email, invited);
}

const refusals: Record<Extract<Invited, string>, string> = {
  member: 'A person with this email address belongs to the organisation. Open their page to create a new link.',
  outranked: 'An owner has invited this email address as an owner. Only an owner can change this.',
  full: 'There are too many people and open invitations. Remove some first.',
  emergency_owner: refusedChange.emergency_owner,
};

type Inviting = Pick<Parameters<typeof inviteUser>[2], 'email' | 'role' | 'again' | 'teamId'>;

const inviteTo = (visit: Visit, inviting: Inviting): Promise<Invited> => {
  const invitedBy = { userId: visit.userId, role: visit.role };
  const invited = { ...inviting, invitedBy, mailFrom: visit.organisation.name };
  return visit.change(
    (work) => inviteUser(work, visit.organisationId, invited),
    (result) => typeof result !== 'string' && result.invitationId,
  );
};

function personPage(visit: Visit, member: Member, faults: Faults = {}): Answer {
  const { base, role, zone } = visit;
  const f = fieldsOf(visit, faults);
  const here = `${base}/people/${member.user_id}`;
  const roleField = f.choose('role', 'Role', roleChoices(role), {
    hint: 'The person’s sessions end. Their open invitations end if the new role can’t create them.',
    value: member.role,
  });
  return {
    title: 'Person',
    heading: name(member.full_name),
    back: { to: `${base}/people`, label: 'People' },
    faults,
    main: [
      facts({
        'Email address': member.email,
        Role: roleNames[member.role],
        'Second factor': member.has_second_factor ? 'On' : 'Off',
        'Member since': day(member.created_at, zone),
        'ID in the audit log': html`${code(member.user_id)} <a href="${base}/activity?person=${member.user_id}">Activity</a>`,
      }),
      mayGive(role, member.role)
        ? html`<h2>Change role</h2>${f.form('Change role', { to: `${here}/role` }, roleField)}<h2>Lost password or second factor</h2><p>The person uses a new link to create a new account in the same role. The old account then loses access to this organisation.</p>${buttonForm(`${here}/link`, 'Create new link')}<h2>Remove person</h2><p><a href="${here}/remove">Remove person</a></p>`
        : html`<p>Only an owner can change another owner.</p>`,
    ],
  };
}

async function setRole(visit: Visit, member: Member): Promise<Answer> {
  const { base, organisationId, role: by, form: sent, change } = visit;
  const role = sent.raw('role');
  const refused = () => personPage(visit, member, { role: 'Choose a role that you may give.' });
  if (!isRole(role) || !mayGive(by, role) || !mayGive(by, member.role)) return refused();
  const changed = await change(async (work) => {
    const result = await changeMember(work, organisationId, member.user_id, { to: role, by });
    if (result === 'done') await dropLinksOf(work, organisationId, member, role);
    return result;
  }, idIfDone(member));
  if (changed === 'unknown') throw new NoSuchPage();
  if (changed === 'refused') return refused();
  return changed === 'done'
    ? { to: `${base}/people?did=role` }
    : personPage(visit, member, { role: refusedChange[changed] });
}

const idIfDone =
  ({ user_id: id }: Member) =>
  (result: MemberChange) =>
    result === 'done' && id;

/**
 * Ends the invitations and set-up links that the person created and may no longer create.
 * @param role the new role; null for a removed person
 */
async function dropLinksOf(work: UnitOfWork, organisationId: number, member: Member, role: Role | null): Promise<void> {
  await dropInvitationsOf(work, organisationId, member, role);
  await revokeLinksOf(work, organisationId, member.user_id, role);
}

async function inviteAgain(visit: Visit, member: Member): Promise<Answer> {
  if (!mayGive(visit.role, member.role)) throw new NoSuchPage();
  const invited = await inviteTo(visit, { email: member.email, role: member.role, again: true });
  if (invited === 'emergency_owner') return personPage(visit, member, { role: refusals[invited] });
  if (invited === 'full')
    return personPage(visit, member, {
      role: 'The link could not be created. The person was just removed, and there are too many people to invite another.',
    });
  if (typeof invited === 'string')
    return personPage(visit, member, {
      role: 'The link could not be created, because the person’s role has just changed. Try again.',
    });
  return linkPage(visit, member.email, invited);
}

async function showRemove(visit: Visit, member: Member): Promise<Answer> {
  const isSelf = member.user_id === visit.userId;
  return confirmPage(visit, {
    title: 'Remove person?',
    heading: html`Remove ${name(member.full_name)}?`,
    back: { to: `${visit.base}/people/${member.user_id}` },
    says: [
      isSelf
        ? 'You remove yourself: your session ends now, and you need a new invitation to sign in again.'
        : 'Their sessions end now. The audit log keeps their actions under their ID.',
      'Invitations and set-up links that they created end. Their unfinished tables of invitations stop. Keys that they created still work: revoke each key whose secret only they know. This can’t be undone, but you can invite them again.',
    ],
    button: isSelf ? 'Remove myself' : 'Remove person',
  });
}

async function remove(visit: Visit, member: Member): Promise<Answer> {
  const { base, role, organisationId, userId, change } = visit;
  if (!mayGive(role, member.role)) throw new NoSuchPage();
  const changed = await change(async (work) => {
    const result = await changeMember(work, organisationId, member.user_id, { to: null, by: role });
    if (result === 'done') await dropLinksOf(work, organisationId, member, null);
    return result;
  }, idIfDone(member));
  if (changed === 'unknown' || changed === 'refused') throw new NoSuchPage();
  if (changed !== 'done') return personPage(visit, member, { role: refusedChange[changed] });
  return member.user_id === userId
    ? { to: '/console/sign-in?did=signed-out', token: null }
    : { to: `${base}/people?did=removed` };
}

async function withdraw(visit: Visit): Promise<Answer> {
  const { base, organisationId, role, params, change } = visit;
  const id = params.invitation_id!;
  const isDone = isUuid(id) && (await change((work) => withdrawUserInvitation(work, organisationId, id, role), id));
  if (!isDone) throw new NoSuchPage();
  return { to: `${base}/people?did=withdrawn` };
}
