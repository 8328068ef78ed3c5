import { setImmediate } from 'node:timers/promises';
import { type Content, type Markup, html } from '../../../platform/html/html.ts';
import type { ListedInvitation, InvitationList, InvitationState } from '../../../sittings/invitations/browse.ts';
import {
  findInvitationsOfRun,
  findListedInvitations,
  browseInvitations,
  invitationLists,
} from '../../../sittings/invitations/browse.ts';
import { type Purpose, assessmentUrl } from '../../../sittings/invitations/invitations.ts';
import { mailInvitations } from '../../../sittings/invitations/email-templates.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { inviters, learnerReaders } from '../../../organisations/users/roles.ts';
import { type States, day, notice, facts, moment, number, code, label, wordsOf } from '../kit/blocks.ts';
import { type Faults, buttonForm, hiddenField, fieldsOf, chosenIds, any, readonlyField, tickBox } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { runOf } from './invite.ts';
import { chosenGroups, groupFields, tutorField } from '../results/filter.ts';
import { qrCode } from '../../../platform/html/qr.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get, post, findOr404, routesOf, again, unless } from '../kit/route.ts';
import { filteredVisibility, noTeamNote, visibilityOf, openToken, sealToken } from '../kit/reader.ts';
import { dayOf, lastInstantOf } from '../../../organisations/zone.ts';
import { messagePage, listPage, confirmPage } from '../kit/page.ts';
import { readResumedAt } from '../../../feed/position.ts';
import { allowRetake, extendInvitation, TooSoon } from '../../../sittings/invitations/extend.ts';
import { waitsOfInvitation } from '../../../sittings/invitations/retakes.ts';
import { releaseStartCode } from '../../../sittings/invitations/start-code.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isStorableText } from '../../../platform/validation/personal-data.ts';
import { idleEnd } from '../../../sittings/working-time.ts';
import { cancelInvitation } from '../../../governance/erasure/cancel-invitation.ts';
import { headLine, linkLines, linksAtOnce } from '../../../sittings/invitations/links-file.ts';
import type { Run } from '../../../sittings/invitations/runs/read-runs.ts';
import { pager, readCount, readPage, readToken } from '../kit/paging.ts';
import { empty, plain, wideOnly } from '../kit/table.ts';

const ofTable = routesOf(runOf);
const ofInvitation = routesOf((visit) =>
  findOr404(visit, 'invitation_id', async (tx, organisationId, id) => {
    const now = new Date(visit.app.clock.nowMs());
    return (await findListedInvitations(tx, organisationId, [id], await visibilityOf(visit), now))[0];
  }),
);
export const learnerInvitationRoutes: ConsoleRoute[] = [
  get('/invitations', learnerReaders, list, { menu: 'Invitations' }),
  ofInvitation.get('/invitations/{invitation_id}', learnerReaders, show),
  ofInvitation.post('/invitations/{invitation_id}/extend', inviters, extend),
  ofInvitation.post('/invitations/{invitation_id}/retake', inviters, allow),
  ofInvitation.post('/invitations/{invitation_id}/start-code', inviters, release),
  ...ofInvitation.form('/invitations/{invitation_id}/cancel', inviters, confirmCancel, cancel),
  ofTable.get('/invite/{run_id}/links', inviters, ofRun),
  ofTable.get('/invite/{run_id}/links.tsv', inviters, fileOfRun),
  post('/invitations/links', inviters, ofChosen),
  post('/invitations/mail', inviters, mail),
];

export const purposeNames: Record<Purpose, string> = {
  initial: 'Initial assessment',
  progress: 'Progress',
  end: 'End of the course',
};

const states: States<InvitationState> = {
  sent: ['wait', 'Not started'],
  opened: ['info', 'Started'],
  paused: ['info', 'Paused'],
  used: ['good', 'Finished'],
  expired: ['bad', 'Expired'],
  cancelled: ['off', 'Cancelled'],
};

const listNames: Record<InvitationList, string> = {
  ...wordsOf(states),
  unopened: `Not started for ${limits.unopenedDays} days`,
  ending: `Ends within ${limits.expiringDays} days, not started`,
};

/** Lists that are sorted by the end of the invitation. All other lists are sorted by its start. */
const byEnd: readonly InvitationList[] = ['sent', 'opened', 'expired', 'ending'];

function stateOf({ state, paused_at: at }: ListedInvitation, resumedAt: Date | null, zone: string): Content {
  const shown = label(...states[state]);
  return state === 'paused' ? html`${shown} until ${moment(idleEnd(at!, resumedAt), zone)}` : shown;
}

async function list(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const state = invitationLists.find((one) => one === query.get('state')) ?? null;
  const visibility = await filteredVisibility(visit);
  const [us, invitationId] = readToken(openToken(visit, visibility, query.get('after') ?? ''), 'int8', 'uuid') ?? [];
  const after = invitationId === undefined ? null : { us: us!, invitation_id: invitationId };
  const groupIds = chosenGroups(query);
  const at = { state, after, visibility, groupIds, limit: limits.consoleRows, now: new Date(app.clock.nowMs()) };
  const fields = [await tutorField(visit), await groupFields(visit)];
  const { rows, next, scanned } = await browseInvitations(app.db, id, at);
  const resumedAt = await readResumedAt(app.db, id);
  const isInviter = inviters.includes(visit.role);
  const order = state !== null && byEnd.includes(state) ? 'latest end' : 'newest';
  const invite = isInviter && html`<a href="${base}/invite">Invite learners</a>`;
  return listPage<ListedInvitation>(visit, {
    title: 'Invitations',
    says: 'All invitations of learners, with the state of each.',
    actions: isInviter && html`<a class="button" href="${base}/invite">Invite learners</a>`,
    intro: [
      visit.role === 'tutor' && noTeamNote(visibility),
      notice(query, {
        mailed: 'The emails are being sent.',
        none: 'No email was sent. The learners have no email address, or got an email a few minutes ago.',
      }),
    ],
    filters: (q) => [q.select('state', 'State', any(listNames)), fields],
    note:
      scanned !== null &&
      html`<p role="status">${number(scanned)} invitations were checked for this page${rows.length === 0 ? ', and none matches' : ''}. Open the next page for more.</p>`,
    caption: `${state === null ? 'All invitations' : listNames[state]}, ${order} first`,
    rows,
    columns: {
      Learner: (one) =>
        html`<a href="${base}/invitations/${one.invitation_id}">${one.full_name === '' ? 'Erased' : name(one.full_name)}</a>`,
      ...(isInviter && {
        Choose: (one: ListedInvitation) =>
          one.status === 'open' && tickBox('invitation', one.invitation_id, one.full_name),
      }),
      State: (one) => stateOf(one, resumedAt, zone),
      Reference: wideOnly((one) => code(one.ref)),
      Subjects: plain((one) => one.subjects.join(', ')),
      Purpose: wideOnly((one) => one.purpose && purposeNames[one.purpose]),
      Invited: wideOnly((one) => day(one.created_at, zone)),
      Reminded: wideOnly((one) => one.reminded_at && day(one.reminded_at, zone)),
      Until: (one) => day(one.expires_at, zone),
    },
    around(shown) {
      if (rows.length === 0) return scanned === null && empty('No invitation matches.', invite);
      return isInviter
        ? html`<form class="alone" method="post" action="${base}/invitations/links">${shown}<div class="actions"><button class="second">Links and cards of selected learners</button>${app.settings.mailServer !== null && html`<button class="second" formaction="${base}/invitations/mail">Send email to selected learners</button>`}</div></form>`
        : shown;
    },
    next: next && sealToken(visit, visibility, `${next.us}.${next.invitation_id}`),
  });
}

async function show(visit: Visit, one: ListedInvitation, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const [resumedAt, waits] = await Promise.all([
    readResumedAt(app.db, id),
    one.status === 'open' ? waitsOfInvitation(app.db, one, app.clock.nowMs()) : [],
  ]);
  return {
    title: 'Invitation',
    heading: one.full_name === '' ? 'Invitation' : html`Invitation of ${name(one.full_name)}`,
    back: { to: `${base}/invitations`, label: 'Invitations' },
    faults,
    main: [
      notice(query, {
        invited: `The learner is invited. ${one.mailed_at === null ? 'No email was sent: give the learner the link below.' : 'The email is being sent.'}`,
        again: 'The learner already had this open invitation. No credit was used.',
        extended: 'The last day is changed.',
        allowed: 'The learner can start now.',
        cancelled: 'The invitation is cancelled. Its link no longer works.',
        returned: 'The invitation is cancelled, and its credit is returned. Its link no longer works.',
      }),
      facts({
        State: stateOf(one, resumedAt, zone),
        Learner: html`<a href="${base}/learners/${one.learner_id}">${one.ref ?? 'Without a reference'}</a>`,
        Subjects: one.subjects.join(', '),
        Purpose: one.purpose === null ? 'Not recorded' : purposeNames[one.purpose],
        'Reason for an early retake': one.retake_reason,
        'Too early until':
          waits.length > 0 && waits.map(({ subject, fromMs }) => html`${subject}: ${day(new Date(fromMs), zone)} `),
        'Extra time': `${one.extra_time_pct}%`,
        Supervision: one.supervision || 'Not recorded',
        Supervisor: one.supervisor,
        'Start code': one.start_code ? 'Needed' : 'Not needed',
        Invited: moment(one.created_at, zone),
        'Works until': moment(one.expires_at, zone),
        'Last email written': moment(one.mailed_at, zone),
        'Reminder written': moment(one.reminded_at, zone),
      }),
      one.status === 'open' && inviters.includes(role) && actions(visit, one, waits.length > 0, faults),
    ],
  };
}

function actions(visit: Visit, one: ListedInvitation, waits: boolean, faults: Faults): Content {
  const { app, base, zone } = visit;
  const f = fieldsOf(visit, faults);
  const here = `${base}/invitations/${one.invitation_id}`;
  const isOver = one.state === 'expired';
  const lastDay = dayOf(new Date(Math.max(app.clock.nowMs(), one.expires_at.getTime())), zone);
  return [
    !isOver && [
      one.start_code &&
        html`<h2>Start code</h2><p>Release a start code when the learner is with you. The code works once, for 10 minutes. The evidence pack shows your name.</p>${buttonForm(`${here}/start-code`, 'Release start code')}`,
      linkPart(visit, one),
    ],
    waits && [
      html`<h2>Allow an early retake</h2>`,
      f.form('Allow early retake', { to: `${here}/retake` }, [
        f.text('early_reason', 'Reason', { hint: 'The evidence pack shows it, such as “Ill on the day”.' }),
      ]),
    ],
    html`<h2>Change last day</h2>`,
    f.form('Change last day', { to: `${here}/extend` }, [
      f.text('until', 'Last day', { type: 'date', initial: lastDay }),
      faults.retake_reason !== undefined &&
        f.text('retake_reason', 'Reason for an early retake', { hint: 'The evidence pack shows it.' }),
    ]),
    html`<p><a class="danger" href="${here}/cancel">Cancel invitation</a></p>`,
  ];
}

function linkPart({ app, base }: Visit, one: ListedInvitation): Content {
  const chosen = hiddenField('invitation', one.invitation_id);
  const url = assessmentUrl(app.settings.baseUrl, app.secrets, one);
  const canMail = app.settings.mailServer !== null && one.has_email;
  return html`<h2>Link</h2><p>Give the link only to this learner, because any person with the link can take the assessment. If the learner loses the link, send the same link again.</p>${readonlyField('link', 'Link', url)}${qrCode(url, 'QR code of the link')}<div class="actions">${buttonForm(`${base}/invitations/links`, 'Print card', chosen)}${canMail && buttonForm(`${base}/invitations/mail`, 'Send email', chosen)}</div>`;
}

async function release(visit: Visit, { invitation_id: id, full_name: fullName }: ListedInvitation): Promise<Answer> {
  const { base, organisationId, zone, userId, change } = visit;
  const here = `${base}/invitations/${id}`;
  const made = await change((work) => releaseStartCode(work, organisationId, id, userId), id);
  if (made === null) return { to: here };
  return {
    title: 'The start code is released',
    back: { to: here, label: 'Invitation' },
    main: html`<p class="start-code">${code(made.code.replace(/(?=...$)/, ' '))}</p><p>Give this code to ${name(fullName)} now. The code works once, until ${moment(made.expiresAt, zone)}, and is shown only here. After ${limits.startCodeTries} wrong tries, release a new code.</p>`,
  };
}

const sayWhy = `Enter a reason of 1 to ${limits.reasonChars} characters on one line.`;

async function allow(visit: Visit, one: ListedInvitation): Promise<Answer> {
  const { base, organisationId, form: sent, change } = visit;
  const reason = sent.text('early_reason');
  if (!isStorableText(reason, limits.reasonChars)) return show(visit, one, { early_reason: sayWhy });
  const { invitation_id: id } = one;
  const allowed = await change((work) => allowRetake(work, organisationId, id, reason), id);
  return { to: `${base}/invitations/${id}${allowed === undefined ? '' : '?did=allowed'}` };
}

const latestMs = 366 * 24 * 3600_000;

async function extend(visit: Visit, one: ListedInvitation): Promise<Answer> {
  const { app, base, zone, organisationId, form: sent, change } = visit;
  const end = lastInstantOf(sent.text('until'), zone);
  const nowMs = app.clock.nowMs();
  if (end === null || end.getTime() <= nowMs || end.getTime() > nowMs + latestMs)
    return show(visit, one, { until: 'The last day is out of range. Choose a day after today and within 1 year.' });
  const retakeReason = sent.text('retake_reason') || null;
  if (retakeReason !== null && !isStorableText(retakeReason, limits.reasonChars))
    return show(visit, one, { retake_reason: sayWhy });
  const { invitation_id: id } = one;
  const done = change((work) => extendInvitation(work, organisationId, id, { end, retakeReason }), id).then(
    (extended) => ({ to: `${base}/invitations/${id}${extended === undefined ? '' : '?did=extended'}` }),
  );
  return unless(done, TooSoon, ({ expected }) => show(visit, one, { retake_reason: `Enter ${expected}.` }));
}

/** Whether cancelling returns the credit. The form then asks for a reason, which the credit ledger keeps. */
const givesBack = ({ status, credit_spent, begun }: ListedInvitation) => status === 'open' && credit_spent && !begun;

async function confirmCancel(visit: Visit, one: ListedInvitation): Promise<Answer> {
  const here = `${visit.base}/invitations/${one.invitation_id}`;
  if (one.status !== 'open') return { to: here };
  const credit = !one.credit_spent
    ? 'No credit was spent on it.'
    : one.begun
      ? 'Its credit is not returned, because a sitting has begun.'
      : 'Its credit is returned, because no sitting has begun.';
  return confirmPage(visit, {
    title: 'Cancel invitation?',
    heading: html`Cancel the invitation of ${name(one.full_name)}?`,
    back: { to: here },
    says: [
      `1 link stops working, in ${one.subjects.length === 1 ? 'one subject' : `${one.subjects.length} subjects`}: ${one.subjects.join(', ')}. Existing results are kept. A sitting in progress ends without a result. This can’t be undone.`,
      credit,
    ],
    button: 'Cancel invitation',
    fields: (f) =>
      givesBack(one) && f.text('reason', 'Reason', { hint: 'The credit ledger shows it, such as “Left the course”.' }),
  });
}

async function cancel(visit: Visit, one: ListedInvitation) {
  const { base, organisationId, userId, form: sent, change } = visit;
  const { invitation_id: id } = one;
  const reason = sent.text('reason');
  const isNeeded = givesBack(one) || reason !== '';
  if (isNeeded && !isStorableText(reason, limits.reasonChars)) return again({ reason: sayWhy });
  const by = { actor: userId, ...(reason !== '' && { reason }) };
  const done = await change((work) => cancelInvitation(work, organisationId, id, by), id);
  const did = done === null ? '' : done.creditReturned ? '?did=returned' : '?did=cancelled';
  return { to: `${base}/invitations/${id}${did}` };
}

/** The maximum number of cards on a page: two printed sheets. More QR codes would make the page slow. */
const linksOnPage = 16;
async function card({ app, zone }: Visit, one: ListedInvitation): Promise<Markup> {
  const url = assessmentUrl(app.settings.baseUrl, app.secrets, one);
  // Drawing a QR code takes some milliseconds of CPU, so other requests run between two cards.
  await setImmediate();
  return html`<li class="card"><p class="who">${name(one.full_name)}</p>${qrCode(url, `The link of ${one.full_name}`)}<p>Scan the code with a phone’s camera, or type the URL. The link works until ${day(one.expires_at, zone)}.</p><p class="address">${url}</p></li>`;
}

async function linksPage(
  visit: Visit,
  rows: readonly ListedInvitation[],
  back: { to: string; label: string },
  more: Content,
): Promise<Answer> {
  const { app, base, query } = visit;
  const nothing = 'No selected invitation is open. Go back and tick open invitations.';
  if (rows.length === 0) return { ...messagePage('There are no links', nothing), back };
  const cards: Markup[] = [];
  for (const one of rows) cards.push(await card(visit, one));
  const writable = rows.filter((one) => one.has_email).length;
  return {
    title: 'Links and cards',
    back,
    main: [
      notice(query, { mailed: 'The emails are being sent.' }),
      html`<p>Give each link only to its learner, because any person with the link can take the assessment. Copy the links, or print this page: 8 cards per sheet.</p>`,
      more,
      app.settings.mailServer !== null &&
        writable > 0 &&
        buttonForm(
          `${base}/invitations/mail`,
          writable === 1 ? 'Send 1 email' : `Send ${writable} emails`,
          rows.map((one) => hiddenField('invitation', one.invitation_id)),
        ),
      fieldsOf(visit).lines('links', 'Links to copy into a spreadsheet', {
        value: headLine + linkLines(visit, rows),
        readonly: true,
      }),
      html`<ul class="cards">${cards}</ul>`,
    ],
  };
}

async function ofRun(visit: Visit, { run_id: runId }: Run): Promise<Answer> {
  const { base, path, query } = visit;
  const read = await readerOf(visit, runId);
  const { rows, last } = await readPage((limit) => read(readCount(query, 'after'), limit), linksOnPage);
  const file = html`<p><a href="${path}.tsv">Download all links</a></p>`;
  const more = [file, pager(visit, last && String(last.row_no))];
  return linksPage(visit, rows, { to: `${base}/invite/${runId}`, label: 'Table' }, more);
}

async function readerOf(visit: Visit, runId: string) {
  const { app, organisationId } = visit;
  const of = { runId, visibility: await visibilityOf(visit), now: new Date(app.clock.nowMs()) };
  return (after: number, limit: number) => findInvitationsOfRun(app.db, organisationId, { ...of, after, limit });
}

async function fileOfRun(visit: Visit, { run_id: runId }: Run): Promise<Answer> {
  const read = await readerOf(visit, runId);
  // This empty change writes an audit row, because the file contains all names and links.
  await visit.change(async () => true, runId);
  const parts = [headLine];
  for (let after = 0, rows; rows === undefined || rows.length === linksAtOnce; after = rows.at(-1)?.row_no ?? 0) {
    rows = await read(after, linksAtOnce);
    parts.push(linkLines(visit, rows));
  }
  const body = `\uFEFF${parts.join('')}`;
  return { file: { type: 'text/tab-separated-values; charset=utf-8', name: 'links.tsv', body } };
}

async function chosen(visit: Visit): Promise<ListedInvitation[]> {
  const { app, organisationId } = visit;
  const ids = chosenIds(visit, 'invitation').slice(0, limits.consoleRows);
  const now = new Date(app.clock.nowMs());
  const found = await findListedInvitations(app.db, organisationId, ids, await visibilityOf(visit), now);
  return found.filter((one) => one.status === 'open' && one.state !== 'expired');
}

async function ofChosen(visit: Visit): Promise<Answer> {
  const rows = await chosen(visit);
  const note =
    rows.length > linksOnPage &&
    html`<p class="note">This page shows ${linksOnPage} of ${rows.length} selected learners. Select the others for the next page.</p>`;
  const back = { to: `${visit.base}/invitations`, label: 'Invitations' };
  return linksPage(visit, rows.slice(0, linksOnPage), back, note);
}

async function mail(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, change } = visit;
  const rows = await chosen(visit);
  const organisation = await readOrganisation(app.db, organisationId);
  const isSent = await change((work) => mailInvitations(work, organisation, rows).then((n) => n > 0 && `${n} by mail`));
  return { to: `${base}/invitations?did=${isSent === false ? 'none' : 'mailed'}` };
}
