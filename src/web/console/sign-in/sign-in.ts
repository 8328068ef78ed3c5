import type { UnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isPlainText } from '../../../platform/validation/personal-data.ts';
import type { Account } from '../../../organisations/users/accounts.ts';
import { findAccounts, lockAccount, plainEmail } from '../../../organisations/users/accounts.ts';
import { matching } from '../../../organisations/users/password.ts';
import { useSecondFactor } from '../../../organisations/users/second-factor.ts';
import type { Membership } from '../../../organisations/users/sessions.ts';
import { endSession, openSession, renewSession } from '../../../organisations/users/sessions.ts';
import { listMemberships } from '../../../organisations/users/members.ts';
import type { Subject } from '../../../organisations/users/throttle.ts';
import { countAttempt, uncountAttempt } from '../../../organisations/users/throttle.ts';
import { notice } from '../kit/blocks.ts';
import { safeAddress } from '../kit/browser.ts';
import type { Faults, Fields } from '../kit/form.ts';
import { hiddenField, fieldsOf, isFaulty, faultsIn } from '../kit/form.ts';
import type { Answer, ConsoleRoute, OpenVisit, PersonVisit } from '../kit/route.ts';
import { auditAct, formRoutes, post } from '../kit/route.ts';

export const signInRoutes: ConsoleRoute[] = [
  ...formRoutes('/console/sign-in', 'anyone', showSignIn, signIn),
  ...formRoutes('/console/sign-in/code', 'anyone', showCode, enterCode),
  post('/console/sign-out', 'person', signOut),
  ...formRoutes('/console/confirm', 'person', confirmPage, confirm),
];

/** The page to go to after sign-in, from the query or the form. */
function wanted({ query, form: sent, app }: OpenVisit): string {
  return safeAddress(sent.raw('to') || (query.get('to') ?? ''), app.settings.baseUrl);
}

const onTo = (to: string) => hiddenField('to', to);

export function waitFault(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return `There were too many attempts. Wait for ${minutes === 1 ? 'a minute' : `${minutes} minutes`}, and try again.`;
}

function signInPage(visit: OpenVisit, faults: Faults = {}, organisations: Membership[] = []): Answer {
  const f = fieldsOf(visit, faults);
  return {
    title: 'Sign in',
    faults,
    main: html`${notice(visit.query, { 'signed-out': 'You are signed out.', ended: 'The session has ended: sign in again.' })}${f.form(
      'Sign in',
      {},
      [
        onTo(wanted(visit)),
        f.text('email', 'E-mail address', { type: 'email', autocomplete: 'username' }),
        organisations.length > 0 &&
          f.choose(
            'account',
            'Organisation',
            organisations.map((one) => ({ value: one.public_id, label: one.name })),
            { hint: 'You use this address and password in more than one place.', value: '' },
          ),
        f.text('password', 'Password', { type: 'password', autocomplete: 'current-password' }),
      ],
    )}<p class="hint">Nobody can see your password. If it is lost, ask an owner or an admin of your organisation for a new link.</p>`,
  };
}

async function showSignIn(visit: OpenVisit): Promise<Answer> {
  if (visit.session?.stage === 'full') return { to: wanted(visit) };
  return signInPage(visit);
}

const wrong = 'The e-mail address or the password is not right.';

/**
 * An unknown email address takes as long as a wrong password and gets the same answer. Attempts are counted first, so
 * parallel ones do not exceed the limit.
 */
async function signIn(visit: OpenVisit): Promise<Answer> {
  const { app, form: sent } = visit;
  const email = plainEmail(sent.text('email'));
  const password = sent.raw('password');
  const faults = faultsIn({
    email: !isPlainText(email, limits.emailChars) && 'Enter your e-mail address.',
    password: password === '' && 'Enter your password.',
  });
  if (isFaulty(faults)) return signInPage(visit, faults);
  const subjects: Subject[] = [
    { kind: 'account', value: email },
    { kind: 'address', value: visit.address },
  ];
  const seconds = await withUnitOfWork(app, null, (work) => countAttempt(work, subjects));
  if (seconds > 0) return refusedFor(signInPage(visit, { password: waitFault(seconds) }), seconds);
  const accounts = await findAccounts(app.db, email);
  const right = await matching(
    password.slice(0, 2000),
    accounts.map((account) => account.password),
  );
  const found = accounts.filter((_, i) => right[i]);
  if (found.length === 0) return signInPage(visit, { password: wrong });
  const account = found.length === 1 ? found[0]! : await chosenOf(visit, found);
  if (account === null)
    return signInPage(
      visit,
      { account: 'Choose an organisation, and enter your password again.' },
      (await Promise.all(found.map((one) => listMemberships(app.db, one.user_id))))
        .flat()
        .sort((a, b) => a.name.localeCompare(b.name)),
    );
  const opened = await withUnitOfWork(app, null, async (work) => {
    // The password or the second factor may have changed since the check.
    const present = await lockAccount(work, account.user_id);
    if (present === undefined || present.password !== account.password) return null;
    const stage = present.totp_secret === null ? 'full' : 'code';
    await uncountAttempt(work, subjects);
    // The old token of the browser is never used again (session fixation).
    if (visit.session !== null) await endSession(work, visit.session.user_id, visit.session.session_id);
    if (stage === 'full') await auditOwn(work, visit, account.user_id, 'POST /console/sign-in');
    return { stage, token: await openSession(work, { userId: account.user_id, stage, client: visit.client }) };
  });
  if (opened === null) return signInPage(visit, { password: wrong });
  const to = wanted(visit);
  return opened.stage === 'full'
    ? { to, token: opened.token }
    : { to: `/console/sign-in/code?${new URLSearchParams({ to }).toString()}`, token: opened.token };
}

/** Two accounts share an email address and a password: the person chooses an organisation. */
async function chosenOf({ app, form: sent }: OpenVisit, found: readonly Account[]): Promise<Account | null> {
  const chosen = sent.raw('account');
  for (const account of found)
    if ((await listMemberships(app.db, account.user_id)).some((one) => one.public_id === chosen)) return account;
  return null;
}

/** A change of an account is in the audit log of each of its organisations. */
export async function auditOwn(
  work: UnitOfWork,
  { requestId }: OpenVisit,
  userId: string,
  action: string,
): Promise<void> {
  for (const { organisation_id: organisationId } of await listMemberships(work.tx, userId))
    await auditAct(work, { organisationId, userId, action, requestId, resource: userId });
}

const codeHint = 'Six digits from your authenticator app, or one of your recovery codes. Each works once.';

const codeField = (f: Fields) =>
  f.text('code', 'Code', { hint: codeHint, autocomplete: 'one-time-code', width: 20, value: '' });

function codePage(visit: OpenVisit, faults: Faults = {}): Answer {
  const f = fieldsOf(visit, faults);
  return {
    title: 'Enter your code',
    faults,
    main: f.form('Go on', { cancel: '/console/sign-in' }, [onTo(wanted(visit)), codeField(f)]),
  };
}

async function showCode(visit: OpenVisit): Promise<Answer> {
  if (visit.session === null) return { to: '/console/sign-in' };
  if (visit.session.stage === 'full') return { to: wanted(visit) };
  return codePage(visit);
}

/** Codes have a throttle of their own. @returns null if the code is right */
async function codeFault(
  { app, form: sent, address }: OpenVisit,
  userId: string,
): Promise<{ fault: string; seconds: number } | null> {
  const code = sent.text('code');
  if (code === '') return { fault: 'Enter a code.', seconds: 0 };
  const subjects: Subject[] = [
    { kind: 'code', value: userId },
    { kind: 'address', value: address },
  ];
  const seconds = await withUnitOfWork(app, null, (work) => countAttempt(work, subjects));
  if (seconds > 0) return { fault: waitFault(seconds), seconds };
  return withUnitOfWork(app, null, async (work) => {
    if (!(await useSecondFactor(work, userId, code)))
      return { fault: 'The code is not right, or it was used before: wait for the next one.', seconds: 0 };
    await uncountAttempt(work, subjects);
    return null;
  });
}

/** With `seconds`, the answer is a 429. */
export function refusedFor(answer: Answer, seconds: number): Answer {
  return seconds === 0 ? answer : ({ ...answer, status: 429, headers: { 'retry-after': String(seconds) } } as Answer);
}

async function enterCode(visit: OpenVisit): Promise<Answer> {
  const { session, app } = visit;
  if (session === null) return { to: '/console/sign-in' };
  if (session.stage === 'full') return { to: wanted(visit) };
  const wrongCode = await codeFault(visit, session.user_id);
  if (wrongCode !== null) return refusedFor(codePage(visit, { code: wrongCode.fault }), wrongCode.seconds);
  const token = await withUnitOfWork(app, null, async (work) => {
    const renewed = await renewSession(work, session.session_id, { proved: true });
    // The session may have ended since the code was sent.
    if (renewed !== null) await auditOwn(work, visit, session.user_id, 'POST /console/sign-in');
    return renewed;
  });
  return token === null ? { to: '/console/sign-in?did=ended', token } : { to: wanted(visit), token };
}

async function signOut({ app, session }: PersonVisit): Promise<Answer> {
  await withUnitOfWork(app, null, (work) => endSession(work, session.user_id, session.session_id));
  return { to: '/console/sign-in?did=signed-out', token: null };
}

function confirmPage(visit: PersonVisit, faults: Faults = {}): Answer {
  const { session } = visit;
  const f = fieldsOf(visit, faults);
  if (session.sso_organisation_id !== null) {
    const to = new URLSearchParams({ to: wanted(visit) }).toString();
    return {
      title: 'Confirm that it is you',
      faults,
      main: html`<p>What comes next needs a fresh proof: sign in again at your organisation’s provider. It counts for ten minutes.</p><div class="actions"><a class="button" href="/console/sso/confirm?${to}">Sign in again</a><a href="/console">Cancel</a></div>`,
    };
  }
  return {
    title: 'Confirm that it is you',
    faults,
    main: html`<p>What comes next needs a fresh proof. It counts for ten minutes.</p>${f.form(
      'Confirm',
      { cancel: '/console' },
      [
        onTo(wanted(visit)),
        session.has_second_factor
          ? codeField(f)
          : f.text('password', 'Password', { type: 'password', autocomplete: 'current-password' }),
      ],
    )}`,
  };
}

/** Asks for the second factor if there is one, otherwise for the password. The session gets a new token. */
async function confirm(visit: PersonVisit): Promise<Answer> {
  const { app, session } = visit;
  if (session.sso_organisation_id !== null) return confirmPage(visit, { code: 'Sign in again at the provider.' });
  if (session.has_second_factor) {
    const wrongCode = await codeFault(visit, session.user_id);
    if (wrongCode !== null) return refusedFor(confirmPage(visit, { code: wrongCode.fault }), wrongCode.seconds);
  } else {
    const wrongPassword = await passwordFaultOf(visit, 'password');
    if (wrongPassword !== null)
      return refusedFor(confirmPage(visit, { password: wrongPassword.fault }), wrongPassword.seconds);
  }
  return {
    to: wanted(visit),
    token: await withUnitOfWork(app, null, (work) => renewSession(work, session.session_id, { proved: true })),
  };
}

/** The throttle of sign-in counts these attempts too. @returns null if the password is right */
export async function passwordFaultOf(
  { app, session, form: sent, address }: PersonVisit,
  field: string,
): Promise<{ fault: string; seconds: number } | null> {
  const given = sent.raw(field);
  if (given === '') return { fault: 'Enter your password.', seconds: 0 };
  const subjects: Subject[] = [
    { kind: 'account', value: session.email },
    { kind: 'address', value: address },
  ];
  const seconds = await withUnitOfWork(app, null, (work) => countAttempt(work, subjects));
  if (seconds > 0) return { fault: waitFault(seconds), seconds };
  const account = (await findAccounts(app.db, session.email)).find((one) => one.user_id === session.user_id);
  const [right] = await matching(given.slice(0, 2000), [account?.password ?? null]);
  if (right !== true) return { fault: 'The password is not right.', seconds: 0 };
  await withUnitOfWork(app, null, (work) => uncountAttempt(work, subjects));
  return null;
}
