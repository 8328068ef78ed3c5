import { withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { findAccounts, saltOf } from '../../../organisations/users/accounts.ts';
import { type UserInvitation, findUserInvitation } from '../../../organisations/users/invitations.ts';
import { hashPassword, passwordFault } from '../../../organisations/users/password.ts';
import { roleMeanings, roleNames } from '../../../organisations/users/roles.ts';
import { findProvider } from '../../../organisations/users/single-sign-on.ts';
import { knownDevice } from '../../../organisations/users/sign-in.ts';
import { openSession } from '../../../organisations/users/sessions.ts';
import { type Faults, buttonForm, isFaulty, faultsIn, newPasswordField } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import type { Answer, ConsoleRoute, OpenVisit, PersonVisit } from '../kit/route.ts';
import { actAlone, formRoutes, post } from '../kit/route.ts';
import { formPage, messagePage } from '../kit/page.ts';
import { acceptInside, nameFault } from '../../../integrations/accept-invitation.ts';
import { auditRequest } from '../../../platform/audit/act.ts';

/** A colleague who opens the invitation's link creates an account, or adds the organisation to an existing account. */
export const invitationRoutes: ConsoleRoute[] = [
  ...formRoutes('/console/invitation/{token}', 'anyone', show, accept),
  post('/console/invitation/{token}/join', 'person', join, { own: true }),
];

const gone: Answer = {
  status: 404,
  ...messagePage(
    'This link no longer works',
    `A link works once, for ${limits.userInvitationMs / 86_400_000} days. Ask the person who sent the link for a new one.`,
  ),
};

/** The inviting admin can open the link too, so the page does not show whether the email address has an account. */
async function invitationPage(visit: OpenVisit, invitation: UserInvitation, faults: Faults = {}): Promise<Answer> {
  const { app, params } = visit;
  const { email, role, organisation_name: organisation } = invitation;
  const provider = await findProvider(app.db, app.keyring, invitation.organisation_id);
  const intro = [
    html`<p>${name(organisation)} invites ${email} as <strong>${roleNames[role]}</strong>: ${roleMeanings[role]}</p>`,
    provider &&
      html`<h2>With your organisation’s sign-in</h2><div class="actions"><a class="button" href="/console/sso/invitation/${params.token!}">Sign in at ${new URL(provider.issuer).host}</a></div>`,
  ];
  const title = 'You are invited';
  // The organisation accepts no passwords, so the page offers none.
  if (provider?.required === true) return { title, main: intro };
  return formPage(visit, {
    title,
    faults,
    intro: [...intro, joinPart(visit, email)],
    button: 'Create account',
    fields: (f) => [
      f.text('email', 'Email address', { type: 'email', autocomplete: 'username', readonly: true, value: email }),
      f.text('full_name', 'Your name', { autocomplete: 'name' }),
      newPasswordField(f, 'Password'),
    ],
  });
}

function joinPart({ path, session }: OpenVisit, email: string): Content {
  const person = session?.stage === 'full' ? session : null;
  // A person who signed in through an identity provider can open only its organisation (docs/decisions/0026).
  if (person !== null && person.sso_organisation_id !== null)
    return html`<h2>If you have an account with a password</h2><p>You are signed in through an identity provider, which opens only its own organisation. Sign out, sign in with your password, and open this link again. The organisation is then added to your account.</p><h2>Or create a separate account</h2>`;
  if (person?.email === email)
    return html`<h2>Join as ${name(person.full_name)}</h2><p>You are signed in with this email address. The organisation is added to your account.</p>${buttonForm(`${path}/join`, 'Join organisation')}<h2>Or create a separate account</h2>`;
  return html`<h2>If you have an account here</h2><p><a href="/console/sign-in?${new URLSearchParams({ to: path }).toString()}">Sign in first</a>. The organisation is then added to your account.</p><h2>If you are new here</h2>`;
}

async function show(visit: OpenVisit): Promise<Answer> {
  const invitation = await findUserInvitation(visit.app.db, visit.params.token!, visit.app.clock.nowMs());
  return invitation === undefined ? gone : invitationPage(visit, invitation);
}

async function accept(visit: OpenVisit): Promise<Answer> {
  const { app, form: sent, params, client, requestId } = visit;
  const invitation = await findUserInvitation(app.db, params.token!, app.clock.nowMs());
  if (invitation === undefined) return gone;
  if ((await findProvider(app.db, app.keyring, invitation.organisation_id))?.required === true)
    return invitationPage(visit, invitation);
  const fullName = sent.text('full_name');
  const password = sent.raw('password');
  const wrong = passwordFault(password, [invitation.email, fullName, invitation.organisation_name]);
  const faults = faultsIn({ full_name: nameFault(fullName), password: wrong && `The password ${wrong}.` });
  if (isFaulty(faults)) return invitationPage(visit, invitation, faults);
  // All accounts of an email address share a salt, so sign-in computes one hash for all of them.
  const others = await findAccounts(app.db, invitation.email);
  const hashed = await hashPassword(password, app.random, saltOf(others));
  const action = 'POST /console/invitation/{token}';
  const opened = await withUnitOfWork(app, null, async (work) => {
    const made = await acceptInside(work, params.token!, { fullName, password: hashed });
    if (made === null) return null;
    const { organisationId, userId } = made;
    await auditRequest(work, { organisationId, userId, action, requestId, resource: userId });
    const device = knownDevice(visit, { user_id: userId, password: hashed });
    return { token: await openSession(work, { userId, stage: 'full', client }), device };
  });
  return opened === null ? gone : { to: '/console', ...opened };
}

async function join(visit: PersonVisit): Promise<Answer> {
  const { params, requestId } = visit;
  const { user_id: userId, email } = visit.session;
  const action = 'POST /console/invitation/{token}/join';
  const joined = await actAlone(visit, async (work) => {
    const made = await acceptInside(work, params.token!, { userId, email });
    if (made !== null)
      await auditRequest(work, { organisationId: made.organisationId, userId, action, requestId, resource: userId });
    return made;
  });
  return joined === null ? gone : { to: '/console/organisations' };
}
