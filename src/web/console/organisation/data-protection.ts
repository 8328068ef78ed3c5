import type { Hold } from '../../../governance/legal-holds/holds.ts';
import { findHold, listHolds, placeHold, releaseHold, isInForce } from '../../../governance/legal-holds/holds.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { holdsNationalInsuranceNumber, isPlainText, isTooLong } from '../../../platform/validation/personal-data.ts';
import { managers, auditReaders } from '../../../organisations/users/roles.ts';
import { actorNames } from '../kit/reader.ts';
import { day, moment, notice, code, facts, instant, number } from '../kit/blocks.ts';
import { ofLearner } from '../learners/erasure.ts';
import { type Faults, buttonForm, hiddenField, isFaulty, faultsIn, fieldsOf } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { createOnce, again, routesOf, unless, NoSuchPage, get, formRoutes, onceOf, findOr404 } from '../kit/route.ts';
import { lastInstantOf, dayOf } from '../../../organisations/zone.ts';
import { listPage, formPage, confirmPage } from '../kit/page.ts';
import type { SubjectRequest, RequestEntry } from '../../../governance/subject-requests/subject-requests.ts';
import {
  AboutErased,
  acknowledgeBy,
  requestKinds,
  findRequest,
  isRequestKind,
  isOfErased,
  listRequests,
  listEntries,
  openRequest,
  outcomes,
  addEntry,
  readStep,
} from '../../../governance/subject-requests/subject-requests.ts';
import { findLearnersByIds } from '../../../records/learners/learners.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { readCount, readPage } from '../kit/paging.ts';
import { table } from '../kit/table.ts';

const path = '/data-protection';
const holdsPath = '/data-protection/holds';

const ofHold = routesOf(holdOf);
const ofRequest = routesOf((visit) => findOr404(visit, 'case_id', findRequest));
export const dataProtectionRoutes: ConsoleRoute[] = [
  get(path, auditReaders, cases, { menu: 'Data subject requests', section: 'organisation' }),
  ...formRoutes(`${path}/open`, managers, openPage, open),
  ofRequest.get(`${path}/cases/{case_id}`, auditReaders, casePage),
  ofRequest.post(`${path}/cases/{case_id}/step`, managers, step),
  get(holdsPath, auditReaders, holds),
  ...formRoutes(
    `${holdsPath}/create`,
    managers,
    (visit) => createPage(visit, null),
    (visit) => create(visit, null),
    { proof: true },
  ),
  ...ofLearner.form(
    '/learners/{learner_id}/hold',
    managers,
    (visit, one) => createPage(visit, one.learner_id),
    (visit, one) => create(visit, one.learner_id),
    { proof: true },
  ),
  ...ofHold.form(`${holdsPath}/{hold_id}/release`, managers, showRelease, release, { proof: true }),
];

const dayMs = 86_400_000;
/** Requests that are due within this time are marked, and the dashboard counts them. */
export const soonMs = 7 * dayMs;

function deadlineOf(one: SubjectRequest, nowMs: number, zone: string): Content {
  if (one.closed_at !== null) return html`Closed ${day(one.closed_at, zone)}: ${outcomes[one.outcome!]}`;
  const days = Math.ceil((one.due_at.getTime() - nowMs) / dayMs);
  const by = html`answer by ${day(one.due_at, zone)}`;
  const receipt = acknowledgeBy(one, zone);
  const acknowledge = receipt && html`Acknowledge by ${day(receipt, zone)}; `;
  if (one.paused_since !== null) return html`${acknowledge}Paused since ${day(one.paused_since, zone)}`;
  if (days <= 0) return html`${acknowledge}<strong>Overdue</strong>: ${by}`;
  return html`${acknowledge}${one.due_at.getTime() - nowMs <= soonMs ? html`<strong>Soon</strong>: ` : null}${by}, in ${days} ${days === 1 ? 'day' : 'days'}`;
}

const aboutWhom = (base: string, one: SubjectRequest): Content =>
  one.learner_id === null
    ? one.about === null
      ? 'Unknown: the texts are deleted'
      : 'Not a learner here'
    : html`<a href="${base}/learners/${one.learner_id}"><code>${one.learner_id}</code></a>`;

async function cases(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const isClosed = query.get('state') === 'closed';
  const from = readCount(query, 'after');
  const state = isClosed ? 'closed' : 'open';
  const { rows, last } = await readPage((limit) => listRequests(app.db, id, { state, from, limit }));
  const nowMs = app.clock.nowMs();
  const here = base + path;
  return listPage(visit, {
    title: 'Data subject requests',
    intro: html`<p>Requests about personal data, and complaints.</p><ul><li>Answer a request within 1 month of receipt. If you must check identity, the month starts when you know who asks.</li><li>Complex or many requests may take 2 more months. Tell the person why within the first month.</li><li>Acknowledge a complaint within 30 days, and answer it without undue delay.</li></ul><div class="actions">${managers.includes(role) && html`<a class="button" href="${here}/open">Record request</a>`}<a href="${isClosed ? here : `${here}?state=closed`}">${isClosed ? 'Open requests' : 'Closed requests'}</a><a href="${here}/retention">Retention</a><a href="${here}/holds">Legal holds</a></div>`,
    caption: isClosed ? 'Closed requests, latest first' : 'Open requests, earliest deadline first',
    none: isClosed ? 'No request has been closed yet.' : 'No request is open. Record each request when it arrives.',
    rows,
    columns: {
      Request: (one) => html`<a href="${here}/cases/${one.case_id}">${requestKinds[one.kind]}</a>`,
      Person: (one) => aboutWhom(base, one),
      Received: (one) => day(one.received_at, zone),
      Deadline: (one) => deadlineOf(one, nowMs, zone),
    },
    next: last && String(from + rows.length),
  });
}

function openPage(visit: Visit): Answer {
  const { app, base, zone, query } = visit;
  return formPage(visit, {
    title: 'Record request',
    says: 'The deadline counts from the day of receipt. Acknowledge a complaint within 30 days.',
    back: { to: base + path, label: 'Data subject requests' },
    button: 'Record request',
    fields: (f) => [
      f.choose('kind', 'Kind of request', requestKinds),
      f.text('learner', 'Learner ID (optional)', {
        hint: 'Shown on the learner’s page. An erasure deletes the request’s texts.',
        initial: query.get('learner') ?? '',
      }),
      f.text('about', 'Who asks, and their contact (if not a learner here)'),
      f.text('received', 'Day of receipt', { type: 'date', initial: dayOf(new Date(app.clock.nowMs()), zone) }),
      f.lines('note', 'Note (optional)', { hint: 'Never a National Insurance number.' }),
      f.once(app),
    ],
  });
}

function faultOf(text: string): string | null {
  if (isTooLong(text, limits.caseTextChars) || !text.isWellFormed() || text.includes('\0'))
    return `Enter at most ${number(limits.caseTextChars)} characters.`;
  return numberFault(text);
}

const numberFault = (text: string): string | null =>
  holdsNationalInsuranceNumber(text)
    ? 'The text contains a National Insurance number, which is never stored here. Remove it.'
    : null;

async function open(visit: Visit) {
  const { app, base, organisationId: id, zone, userId, form: sent } = visit;
  const kind = sent.raw('kind');
  const learner = sent.text('learner').toLowerCase();
  const [found] = isUuid(learner) ? await findLearnersByIds(app.db, id, [learner]) : [];
  const isPresent = found !== undefined && found.full_name !== '';
  const [about, note] = [sent.text('about'), sent.text('note')];
  const receivedAt = lastInstantOf(sent.text('received'), zone);
  const isPast = receivedAt !== null && receivedAt.getTime() - dayMs <= app.clock.nowMs();
  const isNobody = learner === '' && about === '';
  const faults = faultsIn({
    kind: !isRequestKind(kind) && 'Choose the kind of request.',
    learner:
      learner !== '' &&
      !isPresent &&
      'No learner has this ID. Copy the ID from the learner’s page, or leave this empty.',
    about: isNobody ? 'Enter who asks, or a learner ID.' : faultOf(about),
    note: faultOf(note),
    received: !isPast && 'Choose today or an earlier day.',
  });
  if (isFaulty(faults) || !isRequestKind(kind)) return again(faults);
  const caseId = onceOf(visit);
  const texts = { learnerId: learner || null, about: about || null, note: note || null };
  const request = { caseId, kind, ...texts, receivedAt: receivedAt!, actor: userId };
  await createOnce(visit, caseId, findRequest, (work) => openRequest(work, id, request));
  return { to: `${base}${path}/cases/${caseId}?did=opened` };
}

const entryWords: Record<RequestEntry['kind'], string> = {
  opened: 'Recorded',
  note: 'Note',
  paused: 'Deadline paused',
  resumed: 'Deadline resumed',
  extended: 'Deadline extended by 2 months',
  acknowledged: 'Complaint acknowledged',
  closed: 'Closed',
};

async function casePage(visit: Visit, one: SubjectRequest, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const [rows, by, isGone] = await Promise.all([
    listEntries(app.db, id, one.case_id),
    actorNames(visit),
    isOfErased(app.db, id, one),
  ]);
  const isManaged = one.closed_at === null && managers.includes(role);
  return {
    title: requestKinds[one.kind],
    back: { to: base + path, label: 'Data subject requests' },
    faults,
    main: [
      notice(query, { opened: 'The request is recorded.', kept: 'The entry is saved.' }),
      facts({
        Person: aboutWhom(base, one),
        'Who asks': one.about,
        Received: day(one.received_at, zone),
        Deadline: deadlineOf(one, app.clock.nowMs(), zone),
        Acknowledged: one.acknowledged_at && day(one.acknowledged_at, zone),
        Extended: one.extended ? 'Yes, by 2 months' : 'No',
      }),
      isManaged &&
        acknowledgeBy(one, zone) !== null &&
        buttonForm(`${base}${path}/cases/${one.case_id}/step`, 'Record acknowledgement', [
          hiddenField('step', 'acknowledged'),
        ]),
      isManaged && one.learner_id !== null && doing(base, one),
      table<RequestEntry>('Entries', rows, {
        Time: (row) => instant(row.at, zone),
        What: (row) => entryWords[row.kind],
        By: (row) => by(row.actor),
        Text: (row) => row.text,
      }),
      isManaged && stepForm(visit, one, isGone, faults),
    ],
    ...(one.learner_id === null ? {} : { about: { of: 'learner', id: one.learner_id } as const }),
  };
}

function doing(base: string, one: SubjectRequest): Content {
  const here = `${base}/learners/${one.learner_id}`;
  if (one.kind === 'access') return html`<p><a href="${here}/export">Export learner data</a></p>`;
  if (one.kind === 'erasure') return html`<p><a href="${here}/erase">Erase learner</a></p>`;
  return html`<p><a href="${here}">Open learner</a></p>`;
}

const pauseHint = 'While you check identity, or while the person clarifies an access request.';
const extendHint = 'Only for complex or many requests. Tell the person why within the first month.';

/** @param isGone true if the learner is erased, so that no text about them may be stored */
function stepForm(visit: Visit, one: SubjectRequest, isGone: boolean, faults: Faults): Content {
  const f = fieldsOf(visit, faults);
  const withText = [
    { value: 'note', label: 'Note' },
    ...(one.paused_since === null ? [{ value: 'paused', label: 'Pause deadline', hint: pauseHint }] : []),
    ...(one.extended ? [] : [{ value: 'extended', label: 'Extend deadline by 2 months', hint: extendHint }]),
  ];
  const choices = [
    ...(isGone ? [] : withText),
    ...(one.paused_since === null ? [] : [{ value: 'resumed', label: 'Resume deadline' }]),
    ...Object.entries(outcomes).map(([value, label]) => ({ value: `closed-${value}`, label: `Close: ${label}` })),
  ];
  return html`<h2>Add entry</h2>${f.form('Add entry', { to: `${visit.base}${path}/cases/${one.case_id}/step` }, [
    f.choose('step', 'Entry', choices, { initial: isGone ? '' : 'note' }),
    isGone
      ? html`<p>The learner is erased, so no text about them is kept.</p>`
      : f.lines('text', 'Text', { hint: 'The reason, or your answer. Never a National Insurance number.' }),
  ])}`;
}

async function step(visit: Visit, one: SubjectRequest): Promise<Answer> {
  const { base, organisationId, userId: actor, form: sent, change } = visit;
  const text = sent.text('text');
  const read = readStep(sent.raw('step'), text);
  const isMissing = text === '' && read !== null && ['note', 'paused', 'extended'].includes(read.kind);
  const faults = faultsIn({
    text: isMissing ? (read.kind === 'note' ? 'Enter the note.' : 'Enter the reason.') : faultOf(text),
    step: read === null && 'Choose an entry.',
  });
  if (isFaulty(faults) || read === null) return casePage(visit, one, faults);
  const { case_id: id } = one;
  const shown = (fault: string) => casePage(visit, one, { step: fault });
  const done = change((work) => addEntry(work, organisationId, id, { ...read, actor }), id).then((isDone) =>
    isDone
      ? { to: `${base}${path}/cases/${id}?did=kept` }
      : shown('This entry exists already, or the request is closed. Check the entries.'),
  );
  return unless(done, AboutErased, ({ message }) => shown(message));
}

/** A legal hold prevents the deletion of one learner's data, or of all data. */

function stateOf({ released_at, ends_at }: Hold, nowMs: number, zone: string): Content {
  if (released_at !== null) return html`Released ${day(released_at, zone)}`;
  if (ends_at === null) return 'In force';
  return ends_at.getTime() <= nowMs ? html`Ended ${day(ends_at, zone)}` : html`Until ${moment(ends_at, zone)}`;
}

const onWhom = (base: string, { learner_id: id }: Hold): Content =>
  id === null ? 'The organisation' : html`<a href="${base}/learners/${id}">${code(id)}</a>`;

async function holds(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const from = readCount(query, 'after');
  const nowMs = app.clock.nowMs();
  const isManager = managers.includes(role);
  const [{ rows, last }, by] = await Promise.all([
    readPage((limit) => listHolds(app.db, id, { from, limit, now: new Date(nowMs) })),
    actorNames(visit),
  ]);
  return listPage(visit, {
    title: 'Legal holds',
    back: { to: `${base}/data-protection`, label: 'Data subject requests' },
    intro: [
      notice(query, { placed: 'The legal hold is placed.', released: 'The legal hold is released.' }),
      html`<p>A legal hold keeps data. A hold blocks the erasure of held learners, the withdrawal of their results, and deletion by retention. To hold one learner, open the learner’s page.</p>`,
      isManager &&
        html`<div class="actions"><a class="button" href="${base}${holdsPath}/create">Place legal hold</a></div>`,
    ],
    caption: 'Legal holds, those in force first',
    none: 'There is no legal hold. Place one if data is needed for a claim or an audit.',
    rows,
    columns: {
      On: (one) => onWhom(base, one),
      State: (one) => stateOf(one, nowMs, zone),
      Reason: (one) => one.reason,
      Placed: (one) => html`${day(one.placed_at, zone)} by ${by(one.placed_by)}`,
      Release: (one) =>
        isInForce(one, nowMs) &&
        isManager &&
        html`<a href="${base}${holdsPath}/${one.hold_id}/release">Release<span class="unseen"> the hold of ${day(one.placed_at, zone)}</span></a>`,
    },
    next: last && String(from + rows.length),
  });
}

function createPage(visit: Visit, learnerId: string | null): Answer {
  const { app, base } = visit;
  const isWhole = learnerId === null;
  return formPage(visit, {
    title: isWhole ? 'Place legal hold on the organisation' : 'Place legal hold on the learner',
    back: isWhole
      ? { to: base + holdsPath, label: 'Legal holds' }
      : { to: `${base}/learners/${learnerId}`, label: 'The learner' },
    intro: html`<p>The hold blocks the erasure of ${isWhole ? 'all learners, the withdrawal of all results' : 'this learner, the withdrawal of their results'}, and deletion by retention. You can release the hold at any time. The list of holds shows who placed the hold, when and why.</p>`,
    button: 'Place legal hold',
    fields: (f) => [
      f.text('reason', 'Reason', { hint: 'Such as a claim number or an audit reference. No names.' }),
      f.text('until', 'Last day (optional)', {
        hint: 'Such as 2027-01-31. Empty: until you release the hold.',
        type: 'date',
      }),
      f.once(app),
    ],
  });
}

const faultOfReason = (text: string): string | null =>
  isPlainText(text, limits.reasonChars)
    ? numberFault(text)
    : `Enter a reason of at most ${limits.reasonChars} characters.`;

async function create(visit: Visit, learnerId: string | null) {
  const { app, base, organisationId: id, zone, userId, form: sent } = visit;
  const reason = sent.text('reason');
  const until = sent.text('until');
  const endsAt = until === '' ? null : lastInstantOf(until, zone);
  const isOver = until !== '' && (endsAt === null || endsAt.getTime() <= app.clock.nowMs());
  const faults = faultsIn({
    reason: faultOfReason(reason),
    until:
      isOver && 'The last day is in the past or is not a date. Choose today or a later day, or leave the field empty.',
  });
  if (isFaulty(faults)) return again(faults);
  const holdId = onceOf(visit);
  const hold = { holdId, learnerId, reason, actor: userId, endsAt };
  await createOnce(visit, holdId, findHold, (work) => placeHold(work, id, hold));
  return { to: `${base}${holdsPath}?did=placed` };
}

async function holdOf(visit: Visit): Promise<Hold> {
  const found = await findOr404(visit, 'hold_id', findHold);
  if (!isInForce(found, visit.app.clock.nowMs())) throw new NoSuchPage();
  return found;
}

async function showRelease(visit: Visit, one: Hold): Promise<Answer> {
  const { base } = visit;
  return confirmPage(visit, {
    title: 'Release legal hold?',
    back: { to: base + holdsPath },
    says: [
      html`On: ${onWhom(base, one)}. ${one.reason}`,
      'Held data can be erased and withdrawn again, and the next retention run deletes due data. A release can’t be undone, but you can place a new hold.',
    ],
    button: 'Release legal hold',
  });
}

async function release(visit: Visit, { hold_id: id }: Hold): Promise<Answer> {
  const { base, organisationId, userId, change } = visit;
  await change((work) => releaseHold(work, organisationId, id, { actor: userId }), id);
  return { to: `${base}${holdsPath}?did=released` };
}
