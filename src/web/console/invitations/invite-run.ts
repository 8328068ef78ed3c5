import { hasCountedCredits } from '../../../organisations/credits.ts';
import { type Content, type Markup, html } from '../../../platform/html/html.ts';
import { foresee } from '../../../sittings/invitations/invite.ts';
import type { Run, RunGroup, RunRow } from '../../../sittings/invitations/runs/read-runs.ts';
import { countDoubtfulRows, groupsOfRun, pageOfRows } from '../../../sittings/invitations/runs/read-runs.ts';
import { beginRun, correctRun, endsAt, invitationRuns, whyCancelled } from '../../../sittings/invitations/runs/run.ts';
import { type TableRow, inviteColumns } from '../../../sittings/invitations/runs/table.ts';
import { limits } from '../../../platform/config/limits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { inviters } from '../../../organisations/users/roles.ts';
import { facts, moment, progress, number, count, code, day, label, typeWords } from '../kit/blocks.ts';
import { type Faults, hiddenField, fieldsOf, faultsIn } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { listTeams } from '../../../sittings/invitations/runs/context.ts';
import { shortSubjectNames } from '../../../engine/scoring/levels.ts';
import { doubtsForm, runOf, checkTable, readRowsSent } from './invite.ts';
import { type Answer, type ConsoleRoute, type Visit, inBackground, routesOf } from '../kit/route.ts';
import { visibilityOf } from '../kit/reader.ts';
import { confirmPage } from '../kit/page.ts';
import { readAnswers } from '../../../sittings/invitations/runs/answers.ts';
import { pager, readCount, readPage } from '../kit/paging.ts';
import { type Cell, table, numeric } from '../kit/table.ts';

const ofTable = routesOf(runOf);
export const inviteRunRoutes: ConsoleRoute[] = [
  ofTable.get('/invite/{run_id}', inviters, run),
  ofTable.post('/invite/{run_id}/rows', inviters, correct, { upload: limits.inviteTableBytes }),
  ofTable.post('/invite/{run_id}/confirm', inviters, confirm),
  ofTable.post('/invite/{run_id}/start', inviters, start),
  ...ofTable.form('/invite/{run_id}/cancel', inviters, confirmCancel, cancel),
];

const correctedAtOnce = 100;

async function run(visit: Visit, found: Run): Promise<Answer> {
  if (found.status === 'draft') return draftPage(visit, found);
  return found.status === 'running' || found.status === 'waiting'
    ? runningPage(visit, found)
    : reportPage(visit, found);
}

const faultList = ({ faults }: Pick<RunRow, 'faults'>): Markup =>
  html`<ul>${(faults ?? []).map(({ column, expected }) => html`<li><code>${column}</code> must be ${expected}</li>`)}</ul>`;

/** The row as tab-separated text that can be pasted again. */
function rowText({ row_no, cells }: RunRow, columns: readonly string[]): string {
  const values = columns.map((column) => (cells as Record<string, string>)[column] ?? '');
  return [
    String(row_no),
    ...values.map((value) => (/[\n\t"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)),
  ].join('\t');
}

const faultTable = (rows: readonly RunRow[]): Content =>
  table<RunRow>({ caption: 'Rows to correct', none: null }, rows, {
    Row: (row) => String(row.row_no),
    Reference: (row) => row.cells?.ref,
    Name: (row) => row.cells?.full_name && name(row.cells.full_name),
    Expected: faultList,
  });

function correction(visit: Visit, { run_id }: Run, rows: readonly RunRow[], more: number, faults: Faults): Content {
  const f = fieldsOf(visit, faults);
  const here = `${visit.base}/invite/${run_id}`;
  const used = [...inviteColumns, 'learner_id' as const].filter((column) =>
    rows.some((row) => row.cells?.[column] !== undefined),
  );
  const faulty = rows.filter((row) => row.faults !== null);
  const columns = [
    ...new Set(['ref', 'full_name', ...faulty.flatMap((row) => row.faults!.map(({ column }) => column)), ...used]),
  ].filter((column) => column !== 'row');
  const text = [['row', ...columns].join('\t'), ...rows.map((row) => rowText(row, columns))].join('\n');
  return [
    faultTable(faulty),
    f.form('Check rows again', { to: `${here}/rows`, upload: true, cancel: `${here}/cancel` }, [
      f.lines('rows', faulty.length === 0 ? 'Or correct these rows' : 'Correct these rows', {
        hint: `Correct each fault, or delete a line to skip that learner.${more === 0 ? '' : ` ${count(more, 'more row')} will follow.`}`,
        value: text,
        rows: Math.min(20, rows.length + 3),
      }),
      rows.map((row) => hiddenField('replaced', String(row.row_no))),
    ]),
  ];
}

async function draftPage(visit: Visit, found: Run, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id, query } = visit;
  const after = readCount(query, 'after');
  const [{ plan, credits, group_autocreate: makesGroups }, doubtful, { rows, last }, groups, teams] = await Promise.all(
    [
      readOrganisation(app.db, id),
      countDoubtfulRows(app.db, id, found.run_id),
      readPage((limit) => pageOfRows(app.db, id, found.run_id, { after, limit })),
      groupsOfRun(app.db, id, found.run_id),
      found.team_id === null ? [] : listTeams(app.db, id, [found.team_id]),
    ],
  );
  const preview = await previewOf(visit, rows, found);
  const isRight = found.faulty === 0 && doubtful === 0 && found.total > 0;
  const missing = hasCountedCredits(plan) ? found.credits - credits : 0;
  const title = isRight
    ? `Invite ${count(found.total, 'learner')}?`
    : found.faulty > 0 || doubtful === 0
      ? `${count(found.faulty, 'row needs', 'rows need')} correcting`
      : `${count(doubtful, 'row needs', 'rows need')} confirming`;
  return {
    title,
    back: { to: `${base}/invite`, label: 'Invite learners' },
    faults,
    main: [
      html`<p>No learner is invited yet. This table is kept for 24 hours.</p>`,
      facts({
        Rows: number(found.total),
        'With faults': number(found.faulty),
        'To be confirmed': doubtful === 0 ? null : number(doubtful),
        'Existing learners': number(found.known),
        'Open invitations that are reused': number(found.open_already),
        'New invitations': number(found.total - found.faulty - found.open_already),
        Credits: hasCountedCredits(plan) && `${number(found.credits)} of ${number(credits)}`,
        Team: teams.length > 0 && teams.map((one) => name(one.name)),
      }),
      groupTable(groups, makesGroups),
      await questions(visit, found, doubtful, faults),
      isRight &&
        missing > 0 &&
        html`<div class="note"><p>${number(missing)} credits are missing. Ask the operator for more, or skip rows.</p></div>`,
      isRight && missing <= 0 && beginForm(visit, found),
      table<Preview>('All rows', preview, {
        Row: ({ row }) => String(row.row_no),
        Reference: ({ row }) => row.cells?.ref ?? 'None',
        Name: ({ row }) => row.cells?.full_name && name(row.cells.full_name),
        ...plannedColumns(visit, groups),
        Action: ({ says }) => says,
      }),
      pager(visit, last && String(last.row_no)),
    ],
  };
}

function groupState({ active }: RunGroup, makesGroups: boolean): Content {
  if (active !== null) return active ? label('off', 'Exists') : label('wait', 'Archived');
  return makesGroups ? label('wait', 'New: will be created') : label('bad', 'Does not exist: its rows are refused');
}

const groupTable = (groups: readonly RunGroup[], makesGroups: boolean): Content =>
  table<RunGroup>({ caption: 'Groups that the learners join', none: null }, groups, {
    Group: (one) => name(one.name),
    State: (one) => groupState(one, makesGroups),
    Type: (one) => typeWords(one.type),
    Reference: (one) => code(one.ref),
    Learners: numeric((one) => one.learners),
  });

/** What each row's invitation will contain. */
function plannedColumns({ app, zone }: Visit, groups: readonly RunGroup[]): Record<string, Cell<Preview>> {
  const isNew = new Set(groups.flatMap(({ type, ref, active }) => (active === null ? `${type} ${ref}` : [])));
  const usual = new Date(app.clock.nowMs() + limits.invitationMs);
  return {
    Groups: ({ row: { ready } }) =>
      ready?.groups.map((one, i) => [
        i === 0 ? null : ', ',
        name(one.name),
        isNew.has(`${one.type} ${one.ref}`) && [' ', label('wait', 'New')],
      ]),
    Subjects: ({ row: { ready } }) => ready?.subjects.map((one) => shortSubjectNames[one]).join(', '),
    'Extra time': ({ row: { ready } }) => ready && `${ready.extra_time_pct ?? 0}%`,
    Email: ({ row: { ready } }) => ready && (ready.email ?? 'None'),
    'Last day': ({ row: { ready } }) =>
      ready && day(ready.expires_at === null ? usual : new Date(ready.expires_at), zone),
  };
}

async function questions(visit: Visit, found: Run, doubtful: number, faults: Faults): Promise<Content> {
  const { app, base, organisationId } = visit;
  const which = found.faulty > 0 ? 'faulty' : 'doubtful';
  const all = found.faulty > 0 ? found.faulty : doubtful;
  if (all === 0) return null;
  const at = { after: 0, limit: correctedAtOnce, which } as const;
  const rows = await pageOfRows(app.db, organisationId, found.run_id, at);
  const more = all - rows.length;
  const { rows: wrong, ...unanswered } = faults;
  return [
    which === 'doubtful' && (await doubtsForm(visit, `${base}/invite/${found.run_id}/confirm`, rows, more, unanswered)),
    correction(visit, found, rows, more, faultsIn({ rows: wrong })),
  ];
}

type Preview = { row: RunRow; says: Content };

async function previewOf(visit: Visit, rows: readonly RunRow[], { team_id }: Run): Promise<Preview[]> {
  const { app, organisationId } = visit;
  const right = rows.flatMap((row) => row.ready ?? []);
  const within = { visibility: await visibilityOf(visit), teamId: team_id };
  const { judged } = await foresee(app.db, organisationId, right, within, app.clock.nowMs());
  let at = 0;
  return rows.map((row) => {
    if (row.ready === null) return { row, says: 'Needs correction' };
    const { learner, again, faults } = judged[at++]!;
    if (faults.length > 0) return { row, says: faultList({ faults }) };
    if (row.ready.doubts !== undefined) return { row, says: 'Needs confirmation' };
    if (learner === null) return { row, says: 'New learner' };
    const renamed =
      learner.full_name === row.ready.full_name
        ? null
        : html` The name changes from ${name(learner.full_name)} to the name in this row.`;
    return {
      row,
      says: html`Existing learner.${renamed}${again === null ? null : ' The open invitation is reused. No credit is used.'}`,
    };
  });
}

function beginForm(visit: Visit, { run_id, total }: Run): Markup {
  const { app, base } = visit;
  const f = fieldsOf(visit);
  return f.form(
    `Invite ${count(total, 'learner')}`,
    { to: `${base}/invite/${run_id}/start`, cancel: `${base}/invite/${run_id}/cancel` },
    app.settings.mailServer !== null &&
      f.tick('mail', 'Email', { on: 'Send the link to each learner with an email address' }, { values: [] }),
  );
}

async function checkAgain(visit: Visit, found: Run, rows: readonly TableRow[]) {
  const visibility = await visibilityOf(visit);
  return { visibility, check: await checkTable(visit, rows, { visibility, teamId: found.team_id }) };
}

const givenOf = (rows: readonly RunRow[]): TableRow[] =>
  rows.flatMap(({ row_no, cells }) => (cells === null ? [] : [{ row_no, cells }]));

const isSettled = (row: RunRow) => row.faults === null && row.ready?.doubts === undefined;

async function correct(visit: Visit, found: Run): Promise<Answer> {
  const { app, base, organisationId: id, form: sent } = visit;
  const to = `${base}/invite/${found.run_id}`;
  if (found.status !== 'draft') return { to };
  const replaced = new Set(sent.all('replaced').flatMap((no) => (/^[1-9]\d{0,5}$/.test(no) ? Number(no) : [])));
  const rows = await pageOfRows(app.db, id, found.run_id);
  const stay = rows.filter((row) => isSettled(row) || !replaced.has(row.row_no));
  // If only the header is left, the person removed every row.
  const corrected = sent.text('rows').split('\n').length < 2 ? [] : await readRowsSent(visit);
  if ('faults' in corrected) return draftPage(visit, found, corrected.faults);
  const taken = new Set(stay.map((row) => row.row_no));
  let last = rows.at(-1)?.row_no ?? 0;
  for (const row of corrected) {
    if (taken.has(row.row_no)) row.row_no = ++last;
    taken.add(row.row_no);
  }
  if (stay.length + corrected.length > limits.inviteRows)
    return draftPage(visit, found, { rows: `There are too many rows. Keep at most ${number(limits.inviteRows)}.` });
  await putIn(visit, found, [...replaced], stay, corrected);
  return { to };
}

/** Replaces some rows, and checks the full table again. */
async function putIn(
  visit: Visit,
  found: Run,
  replaced: readonly number[],
  stay: readonly RunRow[],
  rows: readonly TableRow[],
): Promise<void> {
  const all = [...givenOf(stay), ...rows].sort((a, b) => a.row_no - b.row_no);
  const { visibility, check } = await checkAgain(visit, found, all);
  const kept = stay.map((row) => row.row_no);
  const corrected = { runId: found.run_id, replaced, kept, check, visibility };
  await visit.change((work) => correctRun(work, visit.organisationId, corrected).then(() => null));
}

async function confirm(visit: Visit, found: Run): Promise<Answer> {
  const { app, base, organisationId, form: sent } = visit;
  const to = `${base}/invite/${found.run_id}`;
  if (found.status !== 'draft') return { to };
  const asked = new Set(sent.all('asked'));
  const rows = await pageOfRows(app.db, organisationId, found.run_id);
  const isAsked = (row: RunRow) => row.ready?.doubts !== undefined && asked.has(String(row.row_no));
  const doubtful = rows.filter(isAsked);
  const answers = readAnswers(sent, doubtful);
  if ('faults' in answers) return draftPage(visit, found, answers.faults);
  const replaced = doubtful.map((row) => row.row_no);
  const stay = rows.filter((row) => !isAsked(row));
  await putIn(visit, found, replaced, stay, answers.answered);
  return { to };
}

async function start(visit: Visit, found: Run): Promise<Answer> {
  const { app, base, organisationId: id, userId: by, form: sent, change } = visit;
  const { run_id: runId } = found;
  const to = `${base}/invite/${runId}`;
  if (found.status !== 'draft') return { to };
  const checked = await checkAgain(visit, found, givenOf(await pageOfRows(app.db, id, runId)));
  const { plan, credits } = await readOrganisation(app.db, id);
  const options = { runId, by, ...checked, mails: sent.raw('mail') === 'on' };
  const begun = await change(
    (work) => beginRun(work, id, { ...options, credits: hasCountedCredits(plan) ? credits : null }),
    (result) => result === 'begun' && runId,
  );
  if (begun === 'begun') inBackground(app, 'invitation_run.failed', invitationRuns.goOn(app, id, runId));
  return { to };
}

function runningPage(visit: Visit, found: Run): Answer {
  const { base, zone } = visit;
  const here = `${base}/invite/${found.run_id}`;
  const isWaiting = found.status === 'waiting';
  return {
    title: isWaiting ? 'No credit is left' : 'Learners are being invited',
    back: { to: `${base}/invite`, label: 'Invite learners' },
    main: [
      isWaiting &&
        html`<div class="note"><p>The invitations stopped after row ${number(found.reached)} of ${number(found.total)}. Ask the operator for credits. The invitations continue within 1 minute of the grant. The service deletes the waiting rows on ${moment(endsAt(found), zone)}, because they contain names.</p></div>`,
      progress('Rows done', doneOf(found), found.total, here),
      outcomeFacts(visit, found),
      html`<p><a href="${here}/cancel">Stop inviting</a></p>`,
    ],
  };
}

const doneOf = ({ invited, again, refused }: Run): number => invited + again + refused;

const outcomeFacts = ({ zone }: Visit, found: Run): Markup =>
  facts({
    'New invitations': number(found.invited),
    'Open invitations reused': number(found.again),
    Refused: number(found.refused),
    Started: moment(found.started_at, zone),
    Done: moment(found.finished_at, zone),
  });

async function reportPage(visit: Visit, found: Run): Promise<Answer> {
  const { app, base, organisationId } = visit;
  const at = { after: 0, limit: correctedAtOnce, which: 'faulty' } as const;
  const refused = await pageOfRows(app.db, organisationId, found.run_id, at);
  const all = found.invited + found.again;
  const isCancelled = found.status === 'cancelled';
  const caption = 'Refused rows, because data changed after the check';
  return {
    title: isCancelled ? 'The invitations were stopped' : `${count(all, 'learner is', 'learners are')} invited`,
    back: { to: `${base}/invite`, label: 'Invite learners' },
    main: [
      all > 0 &&
        html`<p>${found.mails ? 'The service sends the link to each learner with an email address.' : 'No email was sent. Give each learner the link or card.'}</p><p><a class="button" href="${base}/invite/${found.run_id}/links">Links and cards</a></p>`,
      isCancelled &&
        html`<p>The invitations stopped after ${count(doneOf(found), 'row')} of ${number(found.total)}. The invited learners stay invited. The other rows are deleted. ${whyCancelled(found)}</p>`,
      outcomeFacts(visit, found),
      table<RunRow>({ caption, none: null }, refused, {
        Row: (row) => String(row.row_no),
        Expected: faultList,
      }),
    ],
  };
}

async function confirmCancel(visit: Visit, found: Run): Promise<Answer> {
  const { base } = visit;
  const here = `${base}/invite/${found.run_id}`;
  if (found.status === 'finished' || found.status === 'cancelled') return { to: here };
  const isDraft = found.status === 'draft';
  return confirmPage(visit, {
    title: isDraft ? 'Discard table?' : 'Stop inviting?',
    back: { to: here },
    says: isDraft
      ? [`${count(found.total, 'row')} will be deleted. No learner was invited. This can’t be undone.`]
      : [
          `${count(found.invited + found.again, 'learner has', 'learners have')} been invited. These invitations stay open, and you can cancel each of them.`,
          `${count(found.total - doneOf(found), 'row')} will be deleted without an invitation. This can’t be undone.`,
        ],
    button: isDraft ? 'Discard table' : 'Stop inviting',
  });
}

async function cancel(visit: Visit, { run_id: id, status }: Run): Promise<Answer> {
  const { base, organisationId, change } = visit;
  await change((work) => invitationRuns.cancel(work, organisationId, id), id);
  return { to: status === 'draft' ? `${base}/invite?did=discarded` : `${base}/invite/${id}` };
}
