import { type UnitOfWork, withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { type Markup, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isPlainText } from '../../../platform/validation/personal-data.ts';
import { type Account, lockAccount, plainEmail } from '../../../organisations/users/accounts.ts';
import { type Membership, endSession, openSession, renewSession } from '../../../organisations/users/sessions.ts';
import { listMemberships } from '../../../organisations/users/members.ts';
import { addDevice, isDevice } from '../../../organisations/users/devices.ts';
import type { Refusal } from '../../../organisations/users/sign-in.ts';
import { checkCode, checkPassword, knownDevice, refuseChanged } from '../../../organisations/users/sign-in.ts';
import { uncountAttempt } from '../../../organisations/users/throttle.ts';
import { notice } from '../kit/blocks.ts';
import { wantedPage } from '../kit/browser.ts';
import { type Faults, type Fields, hiddenField, isFaulty, faultsIn } from '../kit/form.ts';
import type { Answer, ConsoleRoute, OpenVisit, PersonVisit } from '../kit/route.ts';
import { formRoutes, get, post } from '../kit/route.ts';
import { formPage } from '../kit/page.ts';
import { leavesByForm, providerForm } from './sso.ts';
import { auditRequest } from '../../../platform/audit/act.ts';

export const signInRoutes: ConsoleRoute[] = [
  ...formRoutes('/console/sign-in', 'anyone', showSignIn, signIn),
  get('/console/sign-in/browser/{device}', 'anyone', knowBrowser),
  ...formRoutes('/console/sign-in/code', 'anyone', showCode, enterCode),
  post('/console/sign-out', 'person', signOut),
  ...formRoutes('/console/confirm', 'person', proofPage, confirm),
];

/** The page that follows, and the sealed form that the person gets again there (kept-form.ts). */
function wantedField(visit: OpenVisit): Markup {
  const kept = visit.form.raw('kept');
  return html`${hiddenField('to', wantedPage(visit))}${kept !== '' && hiddenField('kept', kept)}`;
}

async function signInPage(visit: OpenVisit, faults: Faults = {}, organisations: Membership[] = []): Promise<Answer> {
  const choices = organisations.map((one) => ({ value: one.public_id, label: one.name }));
  const elsewhere = await providerForm(visit, wantedField(visit));
  const page = formPage(visit, {
    title: 'Sign in',
    faults,
    intro: notice(visit.query, {
      'signed-out': 'You are signed out.',
      ended: 'The session has ended. Sign in again.',
      known: 'Sign in now. Attempts of other people have no effect in this browser.',
      'old-link': 'This link no longer works. Wait, and try again.',
    }),
    button: 'Sign in',
    fields: (f) => [
      wantedField(visit),
      f.text('email', 'Email address', { type: 'email', autocomplete: 'username' }),
      choices.length > 0 &&
        f.choose('account', 'Organisation', choices, {
          hint: 'You have several accounts with this email address and password.',
          value: '',
        }),
      passwordField(f),
    ],
    also: [
      elsewhere,
      html`<p class="hint">If you have lost your password, ask an owner or an admin of your organisation for a new link.</p>`,
    ],
  });
  return elsewhere === null ? page : { ...page, headers: leavesByForm };
}

const passwordField = (f: Fields) =>
  f.text('password', 'Password', { type: 'password', autocomplete: 'current-password' });

async function showSignIn(visit: OpenVisit): Promise<Answer> {
  return visit.session?.stage === 'full' ? { to: wantedPage(visit) } : signInPage(visit);
}

async function signIn(visit: OpenVisit): Promise<Answer> {
  const { app, form: sent } = visit;
  const email = plainEmail(sent.text('email'));
  const password = sent.raw('password');
  const faults = faultsIn({
    email: !isPlainText(email, limits.emailChars) && 'Enter your email address.',
    password: password === '' && 'Enter your password.',
  });
  if (isFaulty(faults)) return signInPage(visit, faults);
  const caller = { ...visit, action: 'POST /console/sign-in' };
  const checked = await checkPassword(caller, email, password);
  const refused = async ({ fault, seconds }: Refusal) =>
    refusedFor(await signInPage(visit, { password: fault }), seconds);
  if ('fault' in checked) return refused(checked);
  const { accounts: found, subjects } = checked;
  const account = found.length === 1 ? found[0]! : await chosenOf(visit, found);
  if (account === null) return chooseAccount(visit, found);
  const opened = await withUnitOfWork(app, null, async (work) => {
    // Another request may have changed the password or the second factor since the check.
    const present = await lockAccount(work, account.user_id);
    if (present === undefined || present.password !== account.password) return null;
    const stage = present.totp_secret === null ? 'full' : 'code';
    await uncountAttempt(work, subjects);
    // The browser's old session ends, so that a token which an attacker planted gives no access (session fixation).
    if (visit.session !== null) await endSession(work, visit.session.user_id, visit.session.session_id);
    if (stage === 'full') await auditOwn(work, visit, account.user_id, 'POST /console/sign-in');
    return { stage, token: await openSession(work, { userId: account.user_id, stage, client: visit.client }) };
  });
  if (opened === null) return refused(await refuseChanged(caller, email));
  const { stage, token } = opened;
  const to = wantedPage(visit);
  return stage === 'full'
    ? { to, token, device: knownDevice(visit, account) }
    : { to: `/console/sign-in/code?${new URLSearchParams({ to }).toString()}`, token };
}

/** The link of an email about failed attempts. The browser then has a count of its own, so that its person gets in. */
function knowBrowser({ app, params, device }: OpenVisit): Answer {
  const isKnown = isDevice(app, params.device!, app.clock.nowMs());
  return isKnown
    ? { to: '/console/sign-in?did=known', device: addDevice(app, device, params.device!) }
    : { to: '/console/sign-in?did=old-link' };
}

async function chooseAccount(visit: OpenVisit, found: readonly Account[]): Promise<Answer> {
  const memberships = await Promise.all(found.map((one) => listMemberships(visit.app.db, one.user_id)));
  const organisations = memberships.flat().sort((a, b) => a.name.localeCompare(b.name));
  return signInPage(visit, { account: 'Choose an organisation, and enter your password again.' }, organisations);
}

/** Two accounts may share an email address and a password. The person then chooses the account by its organisation. */
async function chosenOf({ app, form: sent }: OpenVisit, found: readonly Account[]): Promise<Account | null> {
  const chosen = sent.raw('account');
  for (const account of found)
    if ((await listMemberships(app.db, account.user_id)).some((one) => one.public_id === chosen)) return account;
  return null;
}

/** Writes a change of an account to the audit log of each of the person's organisations. */
export async function auditOwn(work: UnitOfWork, { requestId }: OpenVisit, userId: string, action: string) {
  for (const { organisation_id: organisationId } of await listMemberships(work.tx, userId))
    await auditRequest(work, { organisationId, userId, action, requestId, resource: userId });
}

const enterCodeFault = 'Enter a code.';
const codeHint = '6 digits from your authenticator app, or a recovery code.';

const codeField = (f: Fields) =>
  f.text('code', 'Code', { hint: codeHint, autocomplete: 'one-time-code', width: 20, value: '' });

const codePage = (visit: OpenVisit, faults: Faults = {}): Answer =>
  formPage(visit, {
    title: 'Enter your code',
    faults,
    button: 'Continue',
    cancel: '/console/sign-in',
    fields: (f) => [wantedField(visit), codeField(f)],
  });

async function showCode(visit: OpenVisit): Promise<Answer> {
  if (visit.session === null) return { to: '/console/sign-in' };
  return visit.session.stage === 'full' ? { to: wantedPage(visit) } : codePage(visit);
}

const confirmed = (visit: OpenVisit) => ({ ...visit, action: 'POST /console/confirm' });

/** Turns the answer into a 429 if the person must wait for `seconds`. */
export function refusedFor(answer: Answer, seconds: number): Answer {
  if (seconds === 0) return answer;
  const headers = { ...('headers' in answer ? answer.headers : {}), 'retry-after': String(seconds) };
  return { ...answer, status: 429, headers } as Answer;
}

async function enterCode(visit: OpenVisit): Promise<Answer> {
  const { session, app } = visit;
  if (session === null) return { to: '/console/sign-in' };
  if (session.stage === 'full') return { to: wantedPage(visit) };
  const code = visit.form.text('code');
  if (code === '') return codePage(visit, { code: enterCodeFault });
  const checked = await checkCode({ ...visit, action: 'POST /console/sign-in/code' }, session, code);
  if ('fault' in checked) return refusedFor(codePage(visit, { code: checked.fault }), checked.seconds);
  const token = await withUnitOfWork(app, null, async (work) => {
    const renewed = await renewSession(work, session.session_id, { proved: true });
    // The session may have ended since the person sent the code.
    if (renewed !== null) await auditOwn(work, visit, session.user_id, 'POST /console/sign-in');
    return renewed;
  });
  return token === null
    ? { to: '/console/sign-in?did=ended', token }
    : { to: wantedPage(visit), token, device: knownDevice(visit, checked) };
}

async function signOut({ app, session }: PersonVisit): Promise<Answer> {
  await withUnitOfWork(app, null, (work) => endSession(work, session.user_id, session.session_id));
  return { to: '/console/sign-in?did=signed-out', token: null };
}

function proofPage(visit: PersonVisit, faults: Faults = {}): Answer {
  const { session } = visit;
  const title = 'Confirm that it is you';
  if (session.sso_organisation_id !== null) {
    const page = formPage(visit, {
      title,
      faults,
      intro: html`<p>Before the next page opens, confirm that it is you. Sign in again through your organisation’s identity provider. The proof is valid for 10 minutes.</p>`,
      to: '/console/sso/confirm',
      button: 'Sign in again',
      cancel: '/console',
      fields: () => wantedField(visit),
    });
    return { ...page, headers: leavesByForm };
  }
  return formPage(visit, {
    title,
    faults,
    intro: html`<p>Before the next page opens, confirm that it is you. The proof is valid for 10 minutes.</p>`,
    button: 'Confirm',
    cancel: '/console',
    fields: (f) => [wantedField(visit), session.has_second_factor ? codeField(f) : passwordField(f)],
  });
}

/** Proves the person again, by the second factor or else by the password. The session gets a new token. */
async function confirm(visit: PersonVisit): Promise<Answer> {
  const { app, session } = visit;
  if (session.sso_organisation_id !== null)
    return proofPage(visit, { code: 'Sign in again through the identity provider.' });
  const refusal = session.has_second_factor ? await codeFaultOf(visit) : await passwordFaultOf(visit, 'password');
  const field = session.has_second_factor ? 'code' : 'password';
  if (refusal !== null) return refusedFor(proofPage(visit, { [field]: refusal.fault }), refusal.seconds);
  const token = await withUnitOfWork(app, null, (work) => renewSession(work, session.session_id, { proved: true }));
  return { to: wantedPage(visit), token };
}

async function codeFaultOf(visit: PersonVisit): Promise<Refusal | null> {
  const code = visit.form.text('code');
  if (code === '') return { fault: enterCodeFault, seconds: 0 };
  const checked = await checkCode(confirmed(visit), visit.session, code);
  return 'fault' in checked ? checked : null;
}

/** Checks the password. The throttle of sign-in also counts these attempts. @returns null if the password is right */
export async function passwordFaultOf(visit: PersonVisit, field: string): Promise<Refusal | null> {
  const { app, session, form: sent } = visit;
  const password = sent.raw(field);
  if (password === '') return { fault: 'Enter your password.', seconds: 0 };
  const checked = await checkPassword(confirmed(visit), session.email, password, session.user_id);
  if ('fault' in checked)
    return checked.seconds > 0 ? checked : { ...checked, fault: 'The password is wrong. Try again.' };
  await withUnitOfWork(app, null, (work) => uncountAttempt(work, checked.subjects));
  return null;
}
