import type {
  SubjectRequest,
  RequestEntry,
  RequestStep,
} from '../../../governance/subject-requests/subject-requests.ts';
import {
  AboutErased,
  requestKinds,
  findRequest,
  isRequestKind,
  isOfErased,
  isRequestOutcome,
  listRequests,
  listEntries,
  openRequest,
  outcomes,
  addEntry,
} from '../../../governance/subject-requests/subject-requests.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { findLearnersByIds } from '../../../records/learners/learners.ts';
import { limits } from '../../../platform/config/limits.ts';
import { holdsNationalInsuranceNumber, isTooLong } from '../../../platform/validation/personal-data.ts';
import { managers, auditReaders } from '../../../organisations/users/roles.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { actorNames } from '../kit/actors.ts';
import { day, facts, instant, notice, table, number, readCount, pageOf, pager } from '../kit/blocks.ts';
import type { Faults } from '../kit/form.ts';
import { fieldsOf, isFaulty, faultsIn } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get, formRoutes, post, onceOf, named, ifDone } from '../kit/route.ts';
import { dayOf, lastInstantOf } from '../../../organisations/zone.ts';

/** Data subject requests and complaints, each with its deadline. */

const path = '/data-protection';

export const dataProtectionRoutes: ConsoleRoute[] = [
  get(path, auditReaders, cases, { menu: 'Data protection', section: 'organisation' }),
  ...formRoutes(`${path}/open`, managers, openPage, open),
  get(`${path}/cases/{case_id}`, auditReaders, casePage),
  post(`${path}/cases/{case_id}/step`, managers, step),
];

const dayMs = 86_400_000;
/** Cases due within this time are marked. */
export const soonMs = 7 * dayMs;

function clockOf(one: SubjectRequest, nowMs: number, zone: string): Content {
  if (one.closed_at !== null) return html`Closed ${day(one.closed_at, zone)}: ${outcomes[one.outcome!]}`;
  if (one.paused_since !== null) return html`Paused since ${day(one.paused_since, zone)}`;
  const days = Math.ceil((one.due_at.getTime() - nowMs) / dayMs);
  const by = html`by ${day(one.due_at, zone)}`;
  if (days <= 0) return html`<strong>Overdue</strong>: ${by}`;
  return html`${one.due_at.getTime() - nowMs <= soonMs ? html`<strong>Soon</strong>: ` : null}${by}, in ${days} ${days === 1 ? 'day' : 'days'}`;
}

const aboutWhom = (base: string, one: SubjectRequest): Content =>
  one.learner_id === null
    ? one.about === null
      ? 'Somebody whose texts are gone'
      : 'Somebody who is no learner here'
    : html`<a href="${base}/learners/${one.learner_id}"><code>${one.learner_id}</code></a>`;

async function cases(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const isClosed = query.get('state') === 'closed';
  const from = readCount(query, 'from');
  const at = { state: isClosed ? 'closed' : 'open', from, limit: limits.consoleRows + 1 } as const;
  const { rows, last } = pageOf(await listRequests(app.db, id, at));
  const nowMs = app.clock.nowMs();
  const here = base + path;
  return {
    title: 'Data protection',
    main: html`<p>What people ask about their data, and what they complain of. Each case has one month from the day it came, and two more if you write why. The clock stands still while you find out who asks.</p><div class="actions">${managers.includes(role) && html`<a class="button" href="${here}/open">Open a case</a>`}<a href="${isClosed ? here : `${here}?state=closed`}">${isClosed ? 'Open cases' : 'Closed cases'}</a><a href="${here}/retention">Retention</a><a href="${here}/holds">Legal holds</a></div>${table<SubjectRequest>(
      {
        caption: isClosed ? 'Closed, the latest first' : 'Open, the first that is due first',
        none: isClosed ? 'No case has been closed yet.' : 'There is no open case.',
      },
      rows,
      {
        Case: (one) => html`<a href="${here}/cases/${one.case_id}">${requestKinds[one.kind]}</a>`,
        About: (one) => aboutWhom(base, one),
        Came: (one) => day(one.received_at, zone),
        Clock: (one) => clockOf(one, nowMs, zone),
      },
    )}${pager(visit, last && String(from + rows.length), 'from')}`,
  };
}

async function openPage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, zone, query } = visit;
  const f = fieldsOf(visit, faults);
  return {
    title: 'Open a case',
    says: 'A request about data, or a complaint: from now on it has a clock.',
    back: { to: base + path, label: 'Data protection' },
    faults,
    main: f.form('Open the case', { cancel: base + path }, [
      f.choose('kind', 'What is asked for', requestKinds),
      f.text('learner', 'Learner’s id (optional)', {
        hint: 'It stands on the learner’s page. What is written here goes with the learner if they are erased.',
        initial: query.get('learner') ?? '',
      }),
      f.text('about', 'Who asks, and how to answer them (where they are no learner here)'),
      f.text('received', 'Day on which it came', { type: 'date', initial: dayOf(new Date(app.clock.nowMs()), zone) }),
      f.lines('note', 'Note (optional)', { hint: 'Never a National Insurance number.' }),
      f.once(app),
    ]),
  };
}

function faultOf(text: string): string | null {
  if (isTooLong(text, limits.caseTextChars) || !text.isWellFormed() || text.includes('\0'))
    return `Enter at most ${number(limits.caseTextChars)} characters.`;
  return holdsNationalInsuranceNumber(text)
    ? 'Leave out the National Insurance number: it is never stored here.'
    : null;
}

async function open(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, userId, form: sent, change } = visit;
  const kind = sent.raw('kind');
  const learner = sent.text('learner').toLowerCase();
  const [found] = isUuid(learner) ? await findLearnersByIds(app.db, id, [learner]) : [];
  const isKnown = found !== undefined && found.full_name !== '';
  const [about, note] = [sent.text('about'), sent.text('note')];
  const receivedAt = lastInstantOf(sent.text('received'), zone);
  const isPast = receivedAt !== null && receivedAt.getTime() - dayMs <= app.clock.nowMs();
  const isNobody = learner === '' && about === '';
  const faults = faultsIn({
    kind: !isRequestKind(kind) && 'Choose what is asked for.',
    learner:
      learner !== '' &&
      !isKnown &&
      'There is no learner with this id: copy it from the learner’s page, or leave this empty.',
    about: isNobody ? 'Say who asks, or name a learner above.' : faultOf(about),
    note: faultOf(note),
    received: !isPast && 'Choose today, or a day before it.',
  });
  const once = onceOf(visit);
  if (isFaulty(faults) || once === null || !isRequestKind(kind)) return openPage(visit, faults);
  await change(async (work) => {
    if ((await findRequest(work.tx, id, once)) !== undefined) return { result: null };
    const given = { kind, learnerId: learner || null, about: about || null, note: note || null };
    await openRequest(work, id, { caseId: once, ...given, receivedAt: receivedAt!, actor: userId });
    return { result: null, resource: once };
  });
  return { to: `${base}${path}/cases/${once}?did=opened` };
}

const caseOf = (visit: Visit): Promise<SubjectRequest> => named(visit, 'case_id', findRequest);

const entryWords: Record<RequestEntry['kind'], string> = {
  opened: 'Opened',
  note: 'Note',
  paused: 'Clock stopped',
  resumed: 'Clock goes on',
  extended: 'Two more months',
  closed: 'Closed',
};

async function casePage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;
  const one = await caseOf(visit);
  const [rows, by, isGone] = await Promise.all([
    listEntries(app.db, id, one.case_id),
    actorNames(visit),
    isOfErased(app.db, id, one),
  ]);
  const acts = one.closed_at === null && managers.includes(role);
  return {
    title: requestKinds[one.kind],
    back: { to: base + path, label: 'Data protection' },
    faults,
    main: html`${notice(query, { opened: 'The case is open, and its clock runs.', kept: 'It is kept.' })}${facts({
      About: aboutWhom(base, one),
      'Who asks': one.about,
      Came: day(one.received_at, zone),
      Clock: clockOf(one, app.clock.nowMs(), zone),
      Extended: one.extended ? 'Yes, by two months' : 'No',
    })}${acts && one.learner_id !== null && doing(base, one)}${table<RequestEntry>('What was done', rows, {
      Time: (row) => instant(row.at, zone),
      What: (row) => entryWords[row.kind],
      By: (row) => by(row.actor),
      Text: (row) => row.text,
    })}${acts && stepForm(visit, one, isGone, faults)}`,
    ...(one.learner_id === null ? {} : { about: { of: 'learner', id: one.learner_id } as const }),
  };
}

function doing(base: string, one: SubjectRequest): Content {
  const here = `${base}/learners/${one.learner_id}`;
  if (one.kind === 'access')
    return html`<p><a href="${here}/export">Make the file with everything held of them</a></p>`;
  if (one.kind === 'erasure') return html`<p><a href="${here}/erase">See what an erasure takes</a></p>`;
  return html`<p><a href="${here}">Open the learner</a></p>`;
}

const extension = {
  value: 'extended',
  label: 'Take two more months',
  hint: 'For many or difficult requests; tell the person why.',
};

/** @param isGone the learner is erased, so no text about them may be stored */
function stepForm(visit: Visit, one: SubjectRequest, isGone: boolean, faults: Faults): Content {
  const f = fieldsOf(visit, faults);
  const withText = [
    { value: 'note', label: 'Add a note' },
    ...(one.paused_since === null
      ? [{ value: 'paused', label: 'Stop the clock', hint: 'While you find out who asks, or what is meant.' }]
      : []),
    ...(one.extended ? [] : [extension]),
  ];
  const choices = [
    ...(isGone ? [] : withText),
    ...(one.paused_since === null ? [] : [{ value: 'resumed', label: 'Let the clock go on' }]),
    ...Object.entries(outcomes).map(([value, label]) => ({ value: `closed-${value}`, label: `Close: ${label}` })),
  ];
  return html`<h2>Go on</h2>${f.form('Keep it', { to: `${visit.base}${path}/cases/${one.case_id}/step` }, [
    f.choose('step', 'What is done', choices, { initial: isGone ? '' : 'note' }),
    isGone
      ? html`<p>The learner is erased: no text is kept about them any more.</p>`
      : f.lines('text', 'Text', { hint: 'Why, or what was answered. Never a National Insurance number.' }),
  ])}`;
}

function readStep(step: string, text: string): RequestStep | null {
  if (step === 'note' || step === 'paused' || step === 'extended') return { kind: step, text };
  if (step === 'resumed') return { kind: step, text: text || null };
  const outcome = step.replace(/^closed-/, '');
  return step.startsWith('closed-') && isRequestOutcome(outcome)
    ? { kind: 'closed', outcome, text: text || null }
    : null;
}

async function step(visit: Visit): Promise<Answer> {
  const { base, organisationId, userId, form: sent, change } = visit;
  const one = await caseOf(visit);
  const text = sent.text('text');
  const read = readStep(sent.raw('step'), text);
  const asksWhy = text === '' && read !== null && ['note', 'paused', 'extended'].includes(read.kind);
  const faults = faultsIn({
    text: asksWhy ? (read.kind === 'note' ? 'Enter the note.' : 'Say why.') : faultOf(text),
    step: read === null && 'Choose what is done.',
  });
  if (isFaulty(faults) || read === null) return casePage(visit, faults);
  try {
    const done = await change(async (work) =>
      ifDone(await addEntry(work, organisationId, one.case_id, { ...read, actor: userId }), one.case_id),
    );
    if (done) return { to: `${base}${path}/cases/${one.case_id}?did=kept` };
    return casePage(visit, { step: 'Somebody has just done this, or closed the case: look at what was done.' });
  } catch (error) {
    if (!(error instanceof AboutErased)) throw error;
    return casePage(visit, { step: error.message });
  }
}
