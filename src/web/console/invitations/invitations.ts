import { readResumedAt } from '../../../feed/position.ts';
import { html } from '../../../platform/html/html.ts';
import type { Content } from '../../../platform/html/html.ts';
import type {
  InvitationList,
  InvitationToken,
  InvitationState,
  ListedInvitation,
} from '../../../sittings/invitations/browse.ts';
import { browseInvitations, findListedInvitations, invitationLists } from '../../../sittings/invitations/browse.ts';
import type { Purpose } from '../../../sittings/invitations/invitations.ts';
import { extendInvitation, TooSoon } from '../../../sittings/invitations/extend.ts';
import { assessmentUrl } from '../../../sittings/invitations/invitations.ts';
import { releaseStartCode } from '../../../sittings/invitations/start-code.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isStorableText } from '../../../platform/validation/personal-data.ts';
import { idleEnd } from '../../../sittings/working-time.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { cancelInvitation } from '../../../governance/erasure/cancel-invitation.ts';
import { inviters, learnerReaders } from '../../../organisations/users/roles.ts';
import { confirmPage, day, empty, facts, filters, moment, notice, pager, table, number } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { buttonForm, hiddenField, any, readonlyField, filtersOf, fieldsOf, tickBox } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { placeText, readPlaceText } from '../kit/page-token.ts';
import { qrCode } from '../kit/qr.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get, post, formRoutes, named, ifDone } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';
import { dayOf, lastInstantOf } from '../../../organisations/zone.ts';

export const learnerInvitationRoutes: ConsoleRoute[] = [
  get('/invitations', learnerReaders, list, { menu: 'Invitations' }),
  get('/invitations/{invitation_id}', learnerReaders, show),
  post('/invitations/{invitation_id}/extend', inviters, extend),
  post('/invitations/{invitation_id}/start-code', inviters, release),
  ...formRoutes('/invitations/{invitation_id}/cancel', inviters, confirmCancel, cancel),
];

export const purposeNames: Record<Purpose, string> = {
  initial: 'Initial assessment',
  progress: 'Progress',
  end: 'End of the course',
};

const stateNames: Record<InvitationState, string> = {
  sent: 'Not begun',
  opened: 'Begun',
  paused: 'Paused',
  used: 'Used',
  expired: 'Expired',
  cancelled: 'Cancelled',
};

const listNames: Record<InvitationList, string> = {
  ...stateNames,
  unopened: `Not begun for ${limits.unopenedDays} days`,
  ending: `Ends within ${limits.expiringDays} days, not begun`,
};

/** These lists are sorted by the end of the invitation, the others by their start. */
const byEnd: readonly InvitationList[] = ['sent', 'opened', 'expired', 'ending'];

/** A page token: `MICROSECONDS.ID`. */
function readPlace(text: string): InvitationToken | null {
  const [, us, id] = /^(\d{1,17})\.([0-9a-f-]{36})$/.exec(text) ?? [];
  return id === undefined || !isUuid(id) ? null : { us: us!, invitation_id: id };
}

function stateOf({ state, paused_at: at }: ListedInvitation, resumedAt: Date | null, zone: string): Content {
  return state === 'paused' ? html`Paused until ${moment(idleEnd(at!, resumedAt), zone)}` : stateNames[state];
}

const mayInvite = ({ role }: Visit): boolean => inviters.includes(role);

async function list(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, path, query } = visit;
  const state = invitationLists.find((one) => one === query.get('state')) ?? null;
  const visibility = await visibilityOf(visit);
  const after = readPlace(readPlaceText(visit, visibility, query.get('after') ?? ''));
  const at = { state, after, visibility, limit: limits.consoleRows, now: new Date(app.clock.nowMs()) };
  const { rows, next, scanned } = await browseInvitations(app.db, id, at);
  const resumedAt = await readResumedAt(app.db, id);
  const choosing = mayInvite(visit);
  const order = state !== null && byEnd.includes(state) ? 'the latest end' : 'the newest';
  const shown = table<ListedInvitation>(
    `${state === null ? 'All invitations' : listNames[state]}, ${order} first`,
    rows,
    {
      Learner: (one) =>
        html`<a href="${base}/invitations/${one.invitation_id}">${one.full_name === '' ? 'Erased' : name(one.full_name)}</a>`,
      ...(choosing && {
        Choose: (one: ListedInvitation) =>
          one.status === 'open' && tickBox('invitation', one.invitation_id, one.full_name),
      }),
      Reference: (one) => one.ref,
      State: (one) => stateOf(one, resumedAt, zone),
      Subjects: (one) => one.subjects.join(', '),
      Purpose: (one) => one.purpose && purposeNames[one.purpose],
      Invited: (one) => day(one.created_at, zone),
      Until: (one) => day(one.expires_at, zone),
    },
  );
  return {
    title: 'Invitations',
    main: html`${notice(query, {
      mailed: 'The mails are on their way.',
      none: 'No mail was sent: none of them has an address, or each was sent one some minutes ago.',
    })}<p>Who was invited, and how far each learner has come.</p>${filters(path, filtersOf(visit).select('state', 'State', any(listNames)))}${
      scanned !== null &&
      html`<p role="status">${number(scanned)} invitations were looked through for this page${rows.length === 0 ? ', and none of them is like this' : ''}. There are more: the next page looks further.</p>`
    }${
      rows.length > 0
        ? choosing
          ? html`<form class="alone" method="post" action="${base}/invitations/links">${shown}<button class="second">Links and cards of the chosen ones</button></form>`
          : shown
        : scanned === null
          ? empty('No invitation is like this.', choosing && html`<a href="${base}/invite">Invite learners</a>`)
          : null
    }${pager(visit, next && placeText(visit, visibility, `${next.us}.${next.invitation_id}`))}`,
  };
}

const invitationOf = (visit: Visit): Promise<ListedInvitation> =>
  named(visit, 'invitation_id', async (tx, organisationId, id) => {
    const now = new Date(visit.app.clock.nowMs());
    return (await findListedInvitations(tx, organisationId, [id], await visibilityOf(visit), now))[0];
  });

async function show(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const one = await invitationOf(visit);
  const resumedAt = await readResumedAt(app.db, id);
  const here = `${base}/invitations/${one.invitation_id}`;
  return {
    title: 'An invitation',
    heading: one.full_name === '' ? 'An invitation' : html`Invitation of ${name(one.full_name)}`,
    back: { to: `${base}/invitations`, label: 'Invitations' },
    faults,
    main: html`${notice(query, {
      invited: 'The learner is invited.',
      again: 'The learner had this open invitation already: it is given again, without a credit.',
      extended: 'The invitation has a new end.',
      cancelled: 'The invitation is cancelled. Its link does not work any more.',
      returned: 'The invitation is cancelled, and its credit is returned. Its link does not work any more.',
    })}${facts({
      State: stateOf(one, resumedAt, zone),
      Learner: html`<a href="${base}/learners/${one.learner_id}">${one.ref ?? 'Without a reference'}</a>`,
      Subjects: one.subjects.join(', '),
      Purpose: one.purpose === null ? 'Not said' : purposeNames[one.purpose],
      'Why so soon': one.retake_reason,
      'Extra time': `${one.extra_time_pct}%`,
      Supervision: one.supervision || 'Not said',
      Supervisor: one.supervisor,
      'Start code': one.start_code ? 'Needed' : 'Not needed',
      Invited: moment(one.created_at, zone),
      'Works until': moment(one.expires_at, zone),
      'Last mail written': one.mailed_at === null ? null : moment(one.mailed_at, zone),
    })}${one.status === 'open' && mayInvite(visit) && acts(visit, one, here, faults)}`,
  };
}

function acts(visit: Visit, one: ListedInvitation, here: string, faults: Faults): Content {
  const { app, base, zone } = visit;
  const f = fieldsOf(visit, faults);
  const chosen = hiddenField('invitation', one.invitation_id);
  const url = assessmentUrl(app.settings.baseUrl, app.secrets, one);
  const works = one.state !== 'expired';
  return html`${
    works &&
    one.start_code &&
    html`<h2>Start code</h2><p>When the learner sits before you, release a code: it works once, for ten minutes. The evidence names you.</p>${buttonForm(`${here}/start-code`, 'Release a code')}`
  }${
    works &&
    html`<h2>The link</h2><p>It is this learner’s alone: whoever has it can sit in the learner’s name. Where it was lost, hand it out again: it stays the same.</p>${readonlyField('link', 'Link', url)}${qrCode(url, 'QR code of the link')}<div class="actions">${buttonForm(`${base}/invitations/links`, 'Print a card', chosen)}${
      app.settings.mailServer !== null &&
      one.has_email &&
      buttonForm(`${base}/invitations/mail`, 'Send it by e-mail', chosen)
    }</div>`
  }<h2>${works ? 'Another end' : 'Let it work again'}</h2>${f.form('Set the last day', { to: `${here}/extend` }, [
    f.text('until', 'Last day', {
      type: 'date',
      initial: dayOf(new Date(Math.max(app.clock.nowMs(), one.expires_at.getTime())), zone),
    }),
    faults.retake_reason !== undefined &&
      f.text('retake_reason', 'Why so soon', { hint: 'It stands in the evidence.' }),
  ])}<p><a href="${here}/cancel">Cancel this invitation</a></p>`;
}

async function release(visit: Visit): Promise<Answer> {
  const { base, organisationId, zone, userId, change } = visit;
  const { invitation_id: id, full_name: whose } = await invitationOf(visit);
  const here = `${base}/invitations/${id}`;
  const made = await change(async (work) => ifDone(await releaseStartCode(work, organisationId, id, userId), id));
  if (made === null) return { to: here };
  return {
    title: 'The code',
    back: { to: here, label: 'The invitation' },
    main: html`<p class="start-code"><code>${made.code.replace(/(?=...$)/, ' ')}</code></p><p>Tell it to ${name(whose)} now. It works once, until ${moment(made.expiresAt, zone)}, and is shown this once; after ${limits.startCodeTries} wrong tries a new one is needed.</p>`,
  };
}

const sayWhy = `Say why, in 1 to ${limits.reasonChars} characters on one line.`;

const latestMs = 366 * 24 * 3600_000;

async function extend(visit: Visit): Promise<Answer> {
  const { app, base, zone, organisationId, form: sent, change } = visit;
  const { invitation_id: id } = await invitationOf(visit);
  const end = lastInstantOf(sent.text('until'), zone);
  const nowMs = app.clock.nowMs();
  if (end === null || end.getTime() <= nowMs || end.getTime() > nowMs + latestMs)
    return show(visit, { until: 'Choose a day after today and within a year.' });
  const retakeReason = sent.text('retake_reason') || null;
  if (retakeReason !== null && !isStorableText(retakeReason, limits.reasonChars))
    return show(visit, { retake_reason: sayWhy });
  try {
    const done = await change(async (work) =>
      ifDone(await extendInvitation(work, organisationId, id, { end, retakeReason }), id),
    );
    return { to: `${base}/invitations/${id}${done === undefined ? '' : '?did=extended'}` };
  } catch (error) {
    if (!(error instanceof TooSoon)) throw error;
    return show(visit, { retake_reason: `Give ${error.expected}.` });
  }
}

/** The ledger entry of a returned credit keeps a reason. */
const givesBack = ({ status, credit_spent, begun }: ListedInvitation) => status === 'open' && credit_spent && !begun;

async function confirmCancel(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const one = await invitationOf(visit);
  const here = `${visit.base}/invitations/${one.invitation_id}`;
  if (one.status !== 'open') return { to: here };
  const credit = !one.credit_spent
    ? 'No credit was spent on it.'
    : one.begun
      ? 'Its credit is not returned, because a sitting has begun.'
      : 'Its credit is returned, because no sitting has begun.';
  return confirmPage(visit, {
    title: 'Cancel an invitation?',
    heading: html`Cancel the invitation of ${name(one.full_name)}?`,
    says: [
      `1 link stops working, in ${one.subjects.length === 1 ? 'one subject' : `${one.subjects.length} subjects`}: ${one.subjects.join(', ')}. Results that there are stay; a sitting that is under way ends without one.`,
      credit,
    ],
    button: 'Cancel the invitation',
    cancel: here,
    faults,
    fields: givesBack(one) && fieldsOf(visit, faults).text('reason', 'Why', { hint: 'It is kept with the credit.' }),
  });
}

async function cancel(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, form: sent, change } = visit;
  const one = await invitationOf(visit);
  const { invitation_id: id } = one;
  const reason = sent.text('reason');
  const isAsked = givesBack(one) || reason !== '';
  if (isAsked && !isStorableText(reason, limits.reasonChars)) return confirmCancel(visit, { reason: sayWhy });
  const by = { actor: userId, ...(reason !== '' && { reason }) };
  const done = await change(async (work) => ifDone(await cancelInvitation(work, organisationId, id, by), id));
  return {
    to: `${base}/invitations/${id}${done === null ? '' : done.creditReturned ? '?did=returned' : '?did=cancelled'}`,
  };
}
