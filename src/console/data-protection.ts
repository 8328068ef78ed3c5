import type { Case, CaseEntry, CaseStep } from '../cases/cases.ts';
import {
  AboutErased,
  caseKinds,
  findCase,
  isCaseKind,
  isOfErased,
  isOutcome,
  listCases,
  listEntries,
  openCase,
  outcomes,
  takeStep,
} from '../cases/cases.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { findLearnersByIds } from '../learners/learners.ts';
import { limits } from '../limits.ts';
import { holdsNationalInsuranceNumber, isTooLong } from '../personal-data.ts';
import { managers, auditReaders } from '../users/roles.ts';
import { isUuid } from '../uuid.ts';
import { actorNames } from './actors.ts';
import { day, empty, facts, instant, notice, readFrom, shortPager, table, number } from './blocks.ts';
import type { Faults } from './form.ts';
import { choiceField, form, hiddenField, longTextField, textField } from './form.ts';
import type { Acted, Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get, formRoutes, post } from './route.ts';
import { dayOf, lastInstantOf } from '../organisations/zone.ts';

/** Requests of people about their data, and complaints, each as a case with its clock. */

const path = '/data-protection';

export const dataProtectionRoutes: ConsoleRoute[] = [
  get(path, auditReaders, cases, { menu: 'Data protection', section: 'organisation' }),
  ...formRoutes(`${path}/open`, managers, openPage, open),
  get(`${path}/cases/{case_id}`, auditReaders, casePage),
  post(`${path}/cases/{case_id}/step`, managers, step),
];

const dayMs = 86_400_000;
/** Cases that are due sooner than this are marked. */
export const soonMs = 7 * dayMs;

function clockOf(one: Case, nowMs: number, zone: string): Content {
  if (one.closed_at !== null) return html`Closed ${day(one.closed_at, zone)}: ${outcomes[one.outcome!]}`;
  if (one.paused_since !== null) return html`Paused since ${day(one.paused_since, zone)}`;
  const days = Math.ceil((one.due_at.getTime() - nowMs) / dayMs);
  const by = html`by ${day(one.due_at, zone)}`;
  if (days <= 0) return html`<strong>Overdue</strong>: ${by}`;
  return html`${one.due_at.getTime() - nowMs <= soonMs ? html`<strong>Soon</strong>: ` : null}${by}, in ${days} ${days === 1 ? 'day' : 'days'}`;
}

const aboutWhom = (base: string, one: Case): Content =>
  one.learner_id === null
    ? one.about === null
      ? 'Somebody whose texts are gone'
      : 'Somebody who is no learner here'
    : html`<a href="${base}/learners/${one.learner_id}"><code>${one.learner_id}</code></a>`;

async function cases(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, query } = visit;

  const isClosed = query.get('state') === 'closed';
  const from = readFrom(query);
  const most = limits.consoleRows;
  const found = await listCases(app.db, id, { state: isClosed ? 'closed' : 'open', from, limit: most + 1 });
  const rows = found.slice(0, most);
  const nowMs = app.clock.nowMs();
  const here = base + path;
  return {
    title: 'Data protection',
    main: html`<p>What people ask about their data, and what they complain of. Each case has one month from the day it came, and two more if you write why. The clock stands still while you find out who asks.</p><div class="actions">${managers.includes(role) ? html`<a class="button" href="${here}/open">Open a case</a>` : null}<a href="${isClosed ? here : `${here}?state=closed`}">${isClosed ? 'Open cases' : 'Closed cases'}</a><a href="${here}/retention">Retention</a><a href="${here}/holds">Legal holds</a></div>${
      rows.length === 0
        ? empty(isClosed ? 'No case has been closed yet.' : 'There is no open case.')
        : table<Case>({
            caption: isClosed ? 'Closed, the latest first' : 'Open, the first that is due first',
            rows,
            columns: [
              {
                head: 'Case',
                cell: (one) => html`<a href="${here}/cases/${one.case_id}">${caseKinds[one.kind]}</a>`,
              },
              { head: 'About', cell: (one) => aboutWhom(base, one) },
              { head: 'Came', cell: (one) => day(one.received_at, zone) },
              { head: 'Clock', cell: (one) => clockOf(one, nowMs, zone) },
            ],
          })
    }${shortPager(here, query, from, found.length > most)}`,
  };
}

async function openPage({ app, base, zone, query, form: sent }: Visit, faults: Faults = {}): Promise<Answer> {
  const learner = sent.text('learner') || (query.get('learner') ?? '');
  return {
    title: 'Open a case',
    says: 'A request about data, or a complaint: from now on it has a clock.',
    back: { to: base + path, label: 'Data protection' },
    faults,
    main: form(
      `${base}${path}/open`,
      [
        choiceField({
          name: 'kind',
          label: 'What is asked for',
          choices: Object.entries(caseKinds).map(([value, label]) => ({ value, label })),
          chosen: [sent.raw('kind')],
          fault: faults.kind,
        }),
        textField({
          name: 'learner',
          label: 'Learner’s id (optional)',
          hint: 'It stands on the learner’s page. What is written here goes with the learner if they are erased.',
          value: learner,
          width: 40,
          fault: faults.learner,
        }),
        textField({
          name: 'about',
          label: 'Who asks, and how to answer them (where they are no learner here)',
          value: sent.text('about'),
          width: 40,
          fault: faults.about,
        }),
        textField({
          name: 'received',
          label: 'Day on which it came',
          type: 'date',
          value: sent.text('received') || dayOf(new Date(app.clock.nowMs()), zone),
          width: 20,
          fault: faults.received,
        }),
        longTextField({
          name: 'note',
          label: 'Note (optional)',
          hint: 'Never a National Insurance number.',
          value: sent.text('note'),
          fault: faults.note,
        }),
        hiddenField('once', sent.text('once') || app.random.uuid()),
      ],
      'Open the case',
      { faults, cancel: base + path },
    ),
  };
}

/** What is wrong with a text of several lines that is kept; empty is none. */
function faultOf(text: string): string | null {
  if (isTooLong(text, limits.caseTextChars) || !text.isWellFormed() || text.includes('\0'))
    return `Enter at most ${number(limits.caseTextChars)} characters.`;
  return holdsNationalInsuranceNumber(text)
    ? 'Leave out the National Insurance number: it is never stored here.'
    : null;
}

async function open(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, session, form: sent, change } = visit;

  const faults: Faults = {};
  const kind = sent.raw('kind');
  if (!isCaseKind(kind)) faults.kind = 'Choose what is asked for.';
  const learner = sent.text('learner').toLowerCase();
  const [found] = isUuid(learner) ? await findLearnersByIds(app.db, id, [learner]) : [];
  if (learner !== '' && (found === undefined || found.full_name === ''))
    faults.learner = 'There is no learner with this id: copy it from the learner’s page, or leave this empty.';
  const texts = { about: sent.text('about'), note: sent.text('note') };
  for (const [name, text] of Object.entries(texts)) {
    const wrong = faultOf(text);
    if (wrong !== null) faults[name] = wrong;
  }
  if (learner === '' && texts.about === '') faults.about = 'Say who asks, or name a learner above.';
  const receivedAt = lastInstantOf(sent.text('received'), zone);
  if (receivedAt === null || receivedAt.getTime() - dayMs > app.clock.nowMs())
    faults.received = 'Choose today, or a day before it.';
  const once = sent.text('once').toLowerCase();
  if (Object.keys(faults).length > 0 || !isUuid(once) || !isCaseKind(kind)) return openPage(visit, faults);
  await change(async (work): Promise<Acted<null>> => {
    if ((await findCase(work.tx, id, once)) !== undefined) return { result: null };
    await openCase(work, id, {
      caseId: once,
      kind,
      learnerId: learner === '' ? null : learner,
      about: texts.about || null,
      receivedAt: receivedAt!,
      note: texts.note || null,
      actor: session.user_id,
    });
    return { result: null, resource: once };
  });
  return { to: `${base}${path}/cases/${once}?did=opened` };
}

/** The case of the address; another organisation's, or nobody's, is the same page that isn't there. */
async function caseOf({ app, organisationId, params }: Visit): Promise<Case> {
  const id = params.case_id!.toLowerCase();
  const found = isUuid(id) ? await findCase(app.db, organisationId, id) : undefined;
  if (found === undefined) throw new NoSuchPage();
  return found;
}

const entryWords: Record<CaseEntry['kind'], string> = {
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
  const [rows, names, isGone] = await Promise.all([
    listEntries(app.db, id, one.case_id),
    actorNames(visit),
    isOfErased(app.db, id, one),
  ]);
  return {
    title: caseKinds[one.kind],
    back: { to: base + path, label: 'Data protection' },
    faults,
    main: html`${notice(query, { opened: 'The case is open, and its clock runs.', kept: 'It is kept.' })}${facts([
      ['About', aboutWhom(base, one)],
      ...(one.about === null ? [] : [['Who asks', one.about] as const]),
      ['Came', day(one.received_at, zone)],
      ['Clock', clockOf(one, app.clock.nowMs(), zone)],
      ['Extended', one.extended ? 'Yes, by two months' : 'No'],
    ])}${one.learner_id === null || one.closed_at !== null || !managers.includes(role) ? null : doing(base, one)}${table<CaseEntry>(
      {
        caption: 'What was done',
        rows,
        columns: [
          { head: 'Time', cell: (row) => instant(row.at, zone) },
          { head: 'What', cell: (row) => entryWords[row.kind] },
          { head: 'By', cell: (row) => names.get(row.actor) ?? row.actor },
          { head: 'Text', cell: (row) => row.text },
        ],
      },
    )}${one.closed_at === null && managers.includes(role) ? stepForm(visit, one, isGone, faults) : null}`,
    ...(one.learner_id === null ? {} : { about: { of: 'learner', id: one.learner_id } as const }),
  };
}

/** Where what is asked for is done. */
function doing(base: string, one: Case): Content {
  const here = `${base}/learners/${one.learner_id}`;
  if (one.kind === 'access')
    return html`<p><a href="${here}/export">Make the file with everything held of them</a></p>`;
  if (one.kind === 'erasure') return html`<p><a href="${here}/erase">See what an erasure takes</a></p>`;
  return html`<p><a href="${here}">Open the learner</a></p>`;
}

/** @param isGone the learner is erased: nothing is written any more */
function stepForm({ base, form: sent }: Visit, one: Case, isGone: boolean, faults: Faults): Content {
  const withText = [
    { value: 'note', label: 'Add a note' },
    ...(one.paused_since === null
      ? [{ value: 'paused', label: 'Stop the clock', hint: 'While you find out who asks, or what is meant.' }]
      : []),
    ...(one.extended
      ? []
      : [
          {
            value: 'extended',
            label: 'Take two more months',
            hint: 'For many or difficult requests; tell the person why.',
          },
        ]),
  ];
  const choices = [
    ...(isGone ? [] : withText),
    ...(one.paused_since === null ? [] : [{ value: 'resumed', label: 'Let the clock go on' }]),
    ...Object.entries(outcomes).map(([value, label]) => ({ value: `closed-${value}`, label: `Close: ${label}` })),
  ];
  return html`<h2>Go on</h2>${form(
    `${base}${path}/cases/${one.case_id}/step`,
    [
      choiceField({
        name: 'step',
        label: 'What is done',
        choices,
        chosen: [sent.raw('step') || (isGone ? '' : 'note')],
        fault: faults.step,
      }),
      isGone
        ? html`<p>The learner is erased: no text is kept about them any more.</p>`
        : longTextField({
            name: 'text',
            label: 'Text',
            hint: 'Why, or what was answered. Never a National Insurance number.',
            value: sent.text('text'),
            fault: faults.text,
          }),
    ],
    'Keep it',
    { faults },
  )}`;
}

function readStep(step: string, text: string): CaseStep | null {
  if (step === 'note' || step === 'paused' || step === 'extended') return { kind: step, text };
  if (step === 'resumed') return { kind: step, text: text || null };
  const outcome = step.replace(/^closed-/, '');
  return step.startsWith('closed-') && isOutcome(outcome) ? { kind: 'closed', outcome, text: text || null } : null;
}

async function step(visit: Visit): Promise<Answer> {
  const { base, organisationId, session, form: sent, change } = visit;
  const one = await caseOf(visit);
  const text = sent.text('text');
  const faults: Faults = {};
  const wrong = faultOf(text);
  if (wrong !== null) faults.text = wrong;
  const read = readStep(sent.raw('step'), text);
  if (read === null) faults.step = 'Choose what is done.';
  else if (text === '' && (read.kind === 'note' || read.kind === 'paused' || read.kind === 'extended'))
    faults.text = read.kind === 'note' ? 'Enter the note.' : 'Say why.';
  if (Object.keys(faults).length > 0 || read === null) return casePage(visit, faults);
  const act = change(async (work): Promise<Acted<boolean>> => {
    const result = await takeStep(work, organisationId, one.case_id, { ...read, actor: session.user_id });
    return result ? { result, resource: one.case_id } : { result };
  });
  const done = await act.catch((error: unknown) => {
    if (error instanceof AboutErased) return error;
    throw error;
  });
  if (done instanceof AboutErased) return casePage(visit, { step: done.message });
  if (!done)
    return casePage(visit, { step: 'Somebody has just done this, or closed the case: look at what was done.' });
  return { to: `${base}${path}/cases/${one.case_id}?did=kept` };
}
