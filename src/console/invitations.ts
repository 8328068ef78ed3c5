import { readResumedAt } from '../feed/position.ts';
import { html } from '../html.ts';
import type { Content } from '../html.ts';
import type { InvitationList, InvitationPlace, InvitationState, SeenInvitation } from '../invitations/browse.ts';
import { browseInvitations, findSeenInvitations, invitationLists } from '../invitations/browse.ts';
import type { Purpose } from '../invitations/invitations.ts';
import { extendInvitation, TooSoon } from '../invitations/extend.ts';
import { assessmentUrl } from '../invitations/invitations.ts';
import { releaseStartCode } from '../invitations/start-code.ts';
import { limits } from '../limits.ts';
import { isStorableText } from '../personal-data.ts';
import { idleEnd } from '../sittings/working-time.ts';
import { isUuid } from '../uuid.ts';
import { cancelInvitation } from '../withdrawals/cancel-invitation.ts';
import { inviters, learnerReaders } from '../users/roles.ts';
import { confirmPage, day, empty, facts, filters, moment, notice, pager, table, withQuery, number } from './blocks.ts';
import type { Faults } from './form.ts';
import { buttonForm, form, hiddenField, selectField, textField } from './form.ts';
import { name } from './frame.ts';
import { placeText, readPlaceText } from './place.ts';
import { qrCode } from './qr.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get, post, formRoutes } from './route.ts';
import { sightOf } from './sight.ts';
import { dayOf, lastInstantOf } from '../organisations/zone.ts';

/** Who was invited, how far they have come, and what can be done about it. */
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

/** What a list of them begins with: a list that an end decides on goes by the end. */
const orders: Record<InvitationList, string> = {
  sent: 'the latest end',
  opened: 'the latest end',
  paused: 'the newest',
  used: 'the newest',
  expired: 'the latest end',
  cancelled: 'the newest',
  unopened: 'the newest',
  ending: 'the latest end',
};

/** `MICROSECONDS.ID`: where a list goes on. */
function readPlace(text: string): InvitationPlace | null {
  const [, us, id] = /^(\d{1,17})\.([0-9a-f-]{36})$/.exec(text) ?? [];
  return id === undefined || !isUuid(id) ? null : { us: us!, invitation_id: id };
}

const isList = (text: string): text is InvitationList => (invitationLists as readonly string[]).includes(text);

function stateOf({ state, paused_at: at }: SeenInvitation, resumedAt: Date | null, zone: string): Content {
  return state === 'paused' ? html`Paused until ${moment(idleEnd(at!, resumedAt), zone)}` : stateNames[state];
}

const mayInvite = ({ role }: Visit): boolean => inviters.includes(role);

async function list(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, path, query } = visit;

  const given = query.get('state') ?? '';
  const state = isList(given) ? given : null;
  const sight = await sightOf(visit);
  const after = readPlace(readPlaceText(visit, sight, query.get('after') ?? ''));
  const { rows, next, passed } = await browseInvitations(app.db, id, {
    state,
    after,
    sight,
    limit: limits.consoleRows,
    now: new Date(app.clock.nowMs()),
  });
  const resumedAt = await readResumedAt(app.db, id);
  const choosing = mayInvite(visit);
  const shown = table<SeenInvitation>({
    caption: state === null ? 'All invitations, the newest first' : `${listNames[state]}, ${orders[state]} first`,
    rows,
    columns: [
      {
        head: 'Learner',
        cell: (one) =>
          html`<a href="${base}/invitations/${one.invitation_id}">${one.full_name === '' ? 'Erased' : name(one.full_name)}</a>`,
      },
      ...(choosing
        ? [
            {
              head: 'Choose',
              cell: (one: SeenInvitation) =>
                one.status === 'open'
                  ? html`<label class="tick"><input type="checkbox" name="invitation" value="${one.invitation_id}"><span class="unseen">Choose ${one.full_name}</span></label>`
                  : null,
            },
          ]
        : []),
      { head: 'Reference', cell: (one) => one.ref },
      { head: 'State', cell: (one) => stateOf(one, resumedAt, zone) },
      { head: 'Subjects', cell: (one) => one.subjects.join(', ') },
      { head: 'Purpose', cell: (one) => one.purpose && purposeNames[one.purpose] },
      { head: 'Invited', cell: (one) => day(one.created_at, zone) },
      { head: 'Until', cell: (one) => day(one.expires_at, zone) },
    ],
  });
  return {
    title: 'Invitations',
    main: html`${notice(query, {
      mailed: 'The mails are on their way.',
      none: 'No mail was sent: none of them has an address, or each was sent one some minutes ago.',
    })}<p>Who was invited, and how far each learner has come.</p>${filters(
      path,
      selectField({
        name: 'state',
        label: 'State',
        choices: [{ value: '', label: 'Any' }, ...invitationLists.map((value) => ({ value, label: listNames[value] }))],
        chosen: state ?? '',
      }),
    )}${passed === null ? null : html`<p role="status">${number(passed)} invitations were looked through for this page${rows.length === 0 ? ', and none of them is like this' : ''}. There are more: the next page looks further.</p>`}${
      rows.length > 0
        ? choosing
          ? html`<form class="alone" method="post" action="${base}/invitations/links">${shown}<button class="second">Links and cards of the chosen ones</button></form>`
          : shown
        : passed === null
          ? empty('No invitation is like this.', choosing && html`<a href="${base}/invite">Invite learners</a>`)
          : null
    }${pager({ first: after === null ? null : withQuery(path, query, { after: null }), next: next === null ? null : withQuery(path, query, { after: placeText(visit, sight, `${next.us}.${next.invitation_id}`) }) })}`,
  };
}

/** An invitation of a learner that the person sees. */
async function invitationOf(visit: Visit): Promise<SeenInvitation> {
  const { app, organisationId, params } = visit;
  const id = params.invitation_id!.toLowerCase();
  const now = new Date(app.clock.nowMs());
  const [found] = isUuid(id) ? await findSeenInvitations(app.db, organisationId, [id], await sightOf(visit), now) : [];
  if (found === undefined) throw new NoSuchPage();
  return found;
}

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
    })}${facts([
      ['State', stateOf(one, resumedAt, zone)],
      ['Learner', html`<a href="${base}/learners/${one.learner_id}">${one.ref ?? 'Without a reference'}</a>`],
      ['Subjects', one.subjects.join(', ')],
      ['Purpose', one.purpose === null ? 'Not said' : purposeNames[one.purpose]],
      ...(one.retake_reason === null ? [] : [['Why so soon', one.retake_reason] as const]),
      ['Extra time', `${one.extra_time_pct}%`],
      ['Supervision', one.supervision || 'Not said'],
      ...(one.supervisor === null ? [] : [['Supervisor', one.supervisor] as const]),
      ['Start code', one.start_code ? 'Needed' : 'Not needed'],
      ['Invited', moment(one.created_at, zone)],
      ['Works until', moment(one.expires_at, zone)],
      ...(one.mailed_at === null ? [] : [['Last mail written', moment(one.mailed_at, zone)] as const]),
    ])}${one.status === 'open' && mayInvite(visit) ? acts(visit, one, here, faults) : null}`,
  };
}

function acts({ app, base, zone, form: sent }: Visit, one: SeenInvitation, here: string, faults: Faults): Content {
  const url = assessmentUrl(app.settings.baseUrl, app.secrets, one);
  const works = one.state !== 'expired';
  return html`${
    works && one.start_code
      ? html`<h2>Start code</h2><p>When the learner sits before you, release a code: it works once, for ten minutes. The evidence names you.</p>${buttonForm(`${here}/start-code`, 'Release a code')}`
      : null
  }${
    works
      ? html`<h2>The link</h2><p>It is this learner’s alone: whoever has it can sit in the learner’s name. Where it was lost, hand it out again: it stays the same.</p>${textField({ name: 'link', label: 'Link', value: url, readonly: true, width: 40 })}${qrCode(url, 'QR code of the link')}<div class="actions">${buttonForm(`${base}/invitations/links`, 'Print a card', hiddenField('invitation', one.invitation_id))}${
          app.settings.mailServer === null || !one.has_email
            ? null
            : buttonForm(`${base}/invitations/mail`, 'Send it by e-mail', hiddenField('invitation', one.invitation_id))
        }</div>`
      : null
  }<h2>${works ? 'Another end' : 'Let it work again'}</h2>${form(
    `${here}/extend`,
    [
      textField({
        name: 'until',
        label: 'Last day',
        type: 'date',
        value: sent.text('until') || dayOf(new Date(Math.max(app.clock.nowMs(), one.expires_at.getTime())), zone),
        width: 20,
        fault: faults.until,
      }),
      faults.retake_reason === undefined
        ? null
        : textField({
            name: 'retake_reason',
            label: 'Why so soon',
            hint: 'It stands in the evidence.',
            value: sent.text('retake_reason'),
            width: 40,
            fault: faults.retake_reason,
          }),
    ],
    'Set the last day',
    { faults },
  )}<p><a href="${here}/cancel">Cancel this invitation</a></p>`;
}

async function release(visit: Visit): Promise<Answer> {
  const { base, organisationId, zone, session, change } = visit;
  const { invitation_id: id, full_name: whose } = await invitationOf(visit);
  const here = `${base}/invitations/${id}`;
  const made = await change(async (work): Promise<Acted<Awaited<ReturnType<typeof releaseStartCode>>>> => {
    const result = await releaseStartCode(work, organisationId, id, session.user_id);
    return result === null ? { result } : { result, resource: id };
  });
  if (made === null) return { to: here };
  return {
    title: 'The code',
    back: { to: here, label: 'The invitation' },
    main: html`<p class="start-code"><code>${made.code.replace(/(?=...$)/, ' ')}</code></p><p>Tell it to ${name(whose)} now. It works once, until ${moment(made.expiresAt, zone)}, and is shown this once; after ${limits.startCodeTries} wrong tries a new one is needed.</p>`,
  };
}

/** How late an invitation may end. */
const latestMs = 366 * 24 * 3600_000;

async function extend(visit: Visit): Promise<Answer> {
  const { app, base, zone, organisationId, form: sent, change } = visit;
  const one = await invitationOf(visit);
  const end = lastInstantOf(sent.text('until'), zone);
  const nowMs = app.clock.nowMs();
  if (end === null || end.getTime() <= nowMs || end.getTime() > nowMs + latestMs)
    return show(visit, { until: 'Choose a day after today and within a year.' });
  const { invitation_id: id } = one;
  const retakeReason = sent.text('retake_reason') || null;
  if (retakeReason !== null && !isStorableText(retakeReason, limits.reasonChars))
    return show(visit, { retake_reason: `Say why, in 1 to ${limits.reasonChars} characters on one line.` });
  const act = change(async (work): Promise<Acted<boolean>> => {
    const set = await extendInvitation(work, organisationId, id, { end, retakeReason });
    return set === undefined ? { result: false } : { result: true, resource: id };
  });
  const done = await act.catch((error: unknown) => {
    if (error instanceof TooSoon) return error;
    throw error;
  });
  if (done instanceof TooSoon) return show(visit, { retake_reason: `Give ${done.expected}.` });
  return { to: `${base}/invitations/${id}${done ? '?did=extended' : ''}` };
}

/** A reason is asked for where there is something that keeps it. */
const givesBack = ({ status, credit_spent, begun }: SeenInvitation) => status === 'open' && credit_spent && !begun;

async function confirmCancel(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { base, form: sent } = visit;
  const one = await invitationOf(visit);
  const here = `${base}/invitations/${one.invitation_id}`;
  if (one.status !== 'open') return { to: here };
  const credit = !one.credit_spent
    ? 'No credit was spent on it.'
    : one.begun
      ? 'Its credit is not returned, because a sitting has begun.'
      : 'Its credit is returned, because no sitting has begun.';
  const page = confirmPage({
    title: 'Cancel an invitation?',
    heading: html`Cancel the invitation of ${name(one.full_name)}?`,
    says: [
      `1 link stops working, in ${one.subjects.length === 1 ? 'one subject' : `${one.subjects.length} subjects`}: ${one.subjects.join(', ')}. Results that there are stay; a sitting that is under way ends without one.`,
      credit,
    ],
    action: `${here}/cancel`,
    button: 'Cancel the invitation',
    cancel: here,
    fields: givesBack(one)
      ? textField({
          name: 'reason',
          label: 'Why',
          hint: 'It is kept with the credit.',
          value: sent.text('reason'),
          width: 40,
          fault: faults.reason,
        })
      : null,
  });
  return { faults, ...page };
}

async function cancel(visit: Visit): Promise<Answer> {
  const { base, organisationId, session, form: sent, change } = visit;
  const one = await invitationOf(visit);
  const { invitation_id: id } = one;
  const reason = sent.text('reason');
  const isAsked = givesBack(one) || reason !== '';
  if (isAsked && !isStorableText(reason, limits.reasonChars))
    return confirmCancel(visit, { reason: `Say why, in 1 to ${limits.reasonChars} characters on one line.` });
  const by = { actor: session.user_id, ...(reason === '' ? {} : { reason }) };
  const done = await change(async (work): Promise<Acted<Awaited<ReturnType<typeof cancelInvitation>>>> => {
    const result = await cancelInvitation(work, organisationId, id, by);
    return result === null ? { result } : { result, resource: id };
  });
  return {
    to: `${base}/invitations/${id}${done === null ? '' : done.creditReturned ? '?did=returned' : '?did=cancelled'}`,
  };
}
