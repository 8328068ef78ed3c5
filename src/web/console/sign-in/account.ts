import { withUnitOfWork } from '../../../platform/db/unit-of-work.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { changePassword, findAccounts, saltOf } from '../../../organisations/users/accounts.ts';
import { hashPassword, passwordFault } from '../../../organisations/users/password.ts';
import { needsSecondFactor } from '../../../organisations/users/roles.ts';
import { pendingSecret, proposeSecondFactor, setSecondFactor } from '../../../organisations/users/second-factor.ts';
import { findProvider } from '../../../organisations/users/single-sign-on.ts';
import type { ListedSession, Membership } from '../../../organisations/users/sessions.ts';
import {
  endSession,
  endSessions,
  keepPendingSecret,
  listSessions,
  renewSession,
} from '../../../organisations/users/sessions.ts';
import { knownDevice } from '../../../organisations/users/sign-in.ts';
import { totpAddress } from '../../../organisations/users/totp.ts';
import { facts, moment, notice, code } from '../kit/blocks.ts';
import { safeAddress, wantedPage } from '../kit/browser.ts';
import { type Faults, buttonForm, hiddenField, newPasswordField } from '../kit/form.ts';
import { consoleName, name } from '../kit/frame.ts';
import { qrCode } from '../../../platform/html/qr.ts';
import type { Answer, ConsoleRoute, PersonVisit } from '../kit/route.ts';
import { again, actAlone, NoSuchPage, get, formRoutes, post } from '../kit/route.ts';
import { auditOwn, passwordFaultOf } from './sign-in.ts';
import { formPage } from '../kit/page.ts';
import { table } from '../kit/table.ts';

export const accountRoutes: ConsoleRoute[] = [
  get('/console/account', 'person', account),
  ...formRoutes('/console/account/password', 'person', passwordPage, setPassword, {
    own: true,
    proof: true,
  }),
  ...formRoutes('/console/account/second-factor', 'person', showSecondFactor, turnOn, { own: true, proof: true }),
  post('/console/account/sessions/end-others', 'person', endOthers, { own: true }),
  post('/console/account/sessions/{session_id}/end', 'person', endOne, { own: true }),
];

const zoneOf = ({ session }: PersonVisit) => session.memberships[0]?.time_zone ?? 'Europe/London';

async function account(visit: PersonVisit): Promise<Answer> {
  const { app, session, query } = visit;
  const title = 'Your account';
  const person = { Name: name(session.full_name), 'Email address': session.email };
  if (session.sso_organisation_id !== null)
    return {
      title,
      main: [
        facts(person),
        html`<p>You signed in through your organisation’s identity provider, which manages your password. This session opens only this organisation.</p>`,
      ],
    };
  const providers = await withProviders(visit);
  const sessions = await listSessions(app.db, session.user_id, app.clock.nowMs());
  const zone = zoneOf(visit);
  const isThis = (one: ListedSession) => one.session_id === session.session_id;
  const hasFactor = session.has_second_factor;
  return {
    title,
    main: [
      notice(query, {
        password: 'The password is changed. Your other sessions have ended.',
        'second-factor': 'The second factor is on.',
        connected: 'You can now also sign in through your organisation’s identity provider.',
        ended: 'The session has ended.',
      }),
      facts([
        ...Object.entries(person),
        ['Password', html`<a href="/console/account/password">Change password</a>`],
        [
          'Second factor',
          html`${hasFactor ? 'On. ' : 'Off. '}<a href="/console/account/second-factor">${hasFactor ? 'Replace second factor' : 'Set up second factor'}</a>`,
        ],
        ...providers.map((one): [string, Content] => [
          'Single sign-on',
          html`<a href="/console/sso/connect/${one.public_id}">Connect to ${name(one.name)}</a>`,
        ]),
      ]),
      html`<h2>Sessions</h2>`,
      table<ListedSession>('Your sessions', sessions, {
        Browser: (one) => (isThis(one) ? html`${one.client} <strong>(this one)</strong>` : one.client),
        'Signed in': (one) => moment(one.created_at, zone),
        'Last used': (one) => moment(one.last_seen_at, zone),
        End: (one) =>
          buttonForm(`/console/account/sessions/${one.session_id}/end`, isThis(one) ? 'Sign out' : 'End session'),
      }),
      sessions.length > 1 && buttonForm('/console/account/sessions/end-others', 'End other sessions'),
    ],
  };
}

async function withProviders({ app, session: { memberships } }: PersonVisit): Promise<Membership[]> {
  const found = await Promise.all(memberships.map((one) => findProvider(app.db, app.keyring, one.organisation_id)));
  return memberships.filter((_, i) => found[i] !== undefined);
}

async function endOne(visit: PersonVisit): Promise<Answer> {
  const { app, session, params } = visit;
  const id = params.session_id!.toLowerCase();
  const listed = await listSessions(app.db, session.user_id, app.clock.nowMs());
  if (!listed.some((one) => one.session_id === id)) throw new NoSuchPage();
  await actAlone(visit, async (work) => {
    await endSession(work, session.user_id, id);
    await auditOwn(work, visit, session.user_id, 'POST /console/account/sessions/{session_id}/end');
  });
  return id === session.session_id
    ? { to: '/console/sign-in?did=signed-out', token: null }
    : { to: '/console/account?did=ended' };
}

async function endOthers(visit: PersonVisit): Promise<Answer> {
  const { session } = visit;
  await actAlone(visit, async (work) => {
    await endSessions(work, session.user_id, session.session_id);
    await auditOwn(work, visit, session.user_id, 'POST /console/account/sessions/end-others');
  });
  return { to: '/console/account?did=ended' };
}

function passwordPage(visit: PersonVisit): Answer {
  return formPage(visit, {
    title: 'Change password',
    back: { to: '/console/account', label: 'Your account' },
    button: 'Change password',
    fields: (f) => [
      f.text('present', 'Current password', { type: 'password', autocomplete: 'current-password' }),
      newPasswordField(f, 'New password'),
    ],
  });
}

async function setPassword(visit: PersonVisit) {
  const { app, session, form: sent } = visit;
  const password = sent.raw('password');
  const names = session.memberships.map((one) => one.name);
  const wrong = passwordFault(password, [session.email, session.full_name, ...names]);
  if (wrong !== null) return again({ password: `The password ${wrong}.` });
  const refused = await passwordFaultOf(visit, 'present');
  if (refused !== null) return again({ present: refused.fault });
  const others = (await findAccounts(app.db, session.email)).filter((one) => one.user_id !== session.user_id);
  const hashed = await hashPassword(password, app.random, saltOf(others));
  const token = await actAlone(visit, async (work) => {
    await changePassword(work, session.user_id, hashed);
    await endSessions(work, session.user_id, session.session_id);
    await auditOwn(work, visit, session.user_id, 'POST /console/account/password');
    return renewSession(work, session.session_id, { proved: false });
  });
  return { to: '/console/account?did=password', token, device: knownDevice(visit, { ...session, password: hashed }) };
}

function secondFactorPage(visit: PersonVisit, secret: string, faults: Faults = {}): Answer {
  const { session } = visit;
  const isNeeded = session.memberships.some(needsSecondFactor);
  const picture = qrCode(totpAddress(secret, session.email, consoleName), 'QR code of the key');
  return formPage(visit, {
    title: session.has_second_factor ? 'Replace second factor' : 'Set up second factor',
    faults,
    intro: [
      isNeeded && !session.has_second_factor && html`<p>Your role or your organisation requires a second factor.</p>`,
      html`<ol class="steps"><li>Open an authenticator app on your phone.</li><li>Scan this code, or type the key.<div class="totp">${picture}<p>${code(secret.replace(/.{4}(?=.)/g, '$& '))}</p></div></li><li>Enter the 6 digits that the app shows.</li></ol>`,
    ],
    button: session.has_second_factor ? 'Replace second factor' : 'Set up second factor',
    fields: (f) => [
      hiddenField('to', wantedPage(visit)),
      f.text('code', 'Code', { inputmode: 'numeric', autocomplete: 'one-time-code', width: 20, value: '' }),
    ],
  });
}

/** The session stores the new secret, so that a reload shows the same QR code. */
async function showSecondFactor(visit: PersonVisit): Promise<Answer> {
  const { app, session } = visit;
  if (session.pending_totp !== null)
    return secondFactorPage(visit, pendingSecret(app.keyring, session.user_id, session.pending_totp));
  const secret = await withUnitOfWork(app, null, async (work) => {
    const proposed = proposeSecondFactor(work, session.user_id);
    await keepPendingSecret(work, session.session_id, proposed.encrypted);
    return proposed.secret;
  });
  return secondFactorPage(visit, secret);
}

async function turnOn(visit: PersonVisit): Promise<Answer> {
  const { app, session, form: sent } = visit;
  const pending = session.pending_totp;
  if (pending === null) return { to: '/console/account/second-factor' };
  const done = await actAlone(visit, async (work) => {
    const codes = await setSecondFactor(work, session.user_id, pending, sent.text('code').replace(/\s/g, ''));
    if (codes === null) return null;
    await endSessions(work, session.user_id, session.session_id);
    await auditOwn(work, visit, session.user_id, 'POST /console/account/second-factor');
    return { codes, token: await renewSession(work, session.session_id, { proved: true }) };
  });
  if (done === null) {
    const secret = pendingSecret(app.keyring, session.user_id, pending);
    return secondFactorPage(visit, secret, { code: 'The code is wrong. Enter the code that the app shows now.' });
  }
  return {
    title: 'Save your recovery codes',
    main: html`<p>The second factor is on. If you lose your phone, sign in with one of these codes. Each code works once. The codes are shown only here: print them, or store them in a password manager.</p><ul class="codes">${done.codes.map((one) => html`<li>${code(one)}</li>`)}</ul><div class="actions"><a class="button" href="${safeAddress(sent.raw('to'), app.settings.baseUrl)}">I have saved the codes</a></div>`,
    token: done.token,
  };
}
