import { type Content, html } from '../../../platform/html/html.ts';
import { type Namesake, findNamesakes } from '../../../sittings/invitations/runs/namesakes.ts';
import type { RunRow, Run } from '../../../sittings/invitations/runs/read-runs.ts';
import { type Doubt, doubtWords } from '../../../sittings/invitations/runs/row.ts';
import type { Cells, TableRow } from '../../../sittings/invitations/runs/table.ts';
import { headingOf, inviteColumns, readInviteTable } from '../../../sittings/invitations/runs/table.ts';
import { UnknownColumns } from '../../../records/learners/headings.ts';
import { columnChoices, columnsPage, rememberColumns, tableFields, tableFiles } from './column-map.ts';
import { repaired } from '../../../platform/validation/person-name.ts';
import { sameNameKey } from '../../../records/learners/keys.ts';
import { dayWords, number, code, moment, notice } from '../kit/blocks.ts';
import { type Choice, type Faults, type Fields, hiddenField, fieldsOf, any } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import type { Visit, Answer, ConsoleRoute } from '../kit/route.ts';
import { formRoutes, again, NoSuchPage, onceOf, findOr404 } from '../kit/route.ts';
import { visibilityOf } from '../kit/reader.ts';
import { UnreadableFile } from '../../../platform/formats/lines.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import { contextOf, listTeams } from '../../../sittings/invitations/runs/context.ts';
import type { Within } from '../../../sittings/invitations/invite.ts';
import { type Check, checkRows } from '../../../sittings/invitations/runs/check.ts';
import { draftRun, invitationRuns } from '../../../sittings/invitations/runs/run.ts';
import { limits } from '../../../platform/config/limits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { inviters } from '../../../organisations/users/roles.ts';
import { lastInstantOf } from '../../../organisations/zone.ts';
import { formPage } from '../kit/page.ts';
import { fieldOf } from '../../../sittings/invitations/runs/answers.ts';
import { empty, table, numeric } from '../kit/table.ts';

/** Staff invite many learners with a table. They correct its rows, then a background job creates the invitations. */
export const inviteRoutes: ConsoleRoute[] = [
  ...formRoutes('/invite', inviters, tablePage, readTable, {
    menu: 'Invite learners',
    upload: limits.inviteTableBytes,
  }),
];

const meanings: Record<string, string> = {
  ref: 'Your reference, such as LRN-000017. An existing learner is updated. Groups need a reference.',
  full_name: 'The name, such as Ana Silva. You can use first_name and last_name instead.',
  email: 'The service sends the link to this email address if a mail server is set.',
  groups: '“C-2026” for an existing group, “cohort: C-2026 = January cohort” for a new one. Separate groups with “;”.',
  subjects: `${subjects.join(', ')}, or all. Empty: as in Settings.`,
  extra_time: 'Per cent beyond the usual time, 0 to 100.',
  supervision: 'How the sitting is supervised, such as “in class”. The evidence pack shows it.',
  supervisor: 'The supervisor’s name. The evidence pack shows it.',
  expires: 'The last day, such as 31/01/2027. Empty: in 28 days.',
  purpose: 'initial, progress or end.',
  retake_reason: 'The reason, if the learner was assessed recently.',
  learner_id: 'The ID of an existing learner, instead of a reference. Needs a header row.',
  start_code: 'yes, if the learner needs a start code that you release.',
};

const columnsToChoose = Object.entries({
  ref: 'Reference',
  full_name: 'Full name',
  first_name: 'First name',
  last_name: 'Last name',
  email: 'Email address',
  groups: 'Groups',
  subjects: 'Subjects',
  extra_time: 'Extra time in per cent',
  supervision: 'Supervision',
  supervisor: 'Supervisor’s name',
  expires: 'Last day',
  purpose: 'Purpose',
  retake_reason: 'Reason for an early retake',
  start_code: 'Start code',
  learner_id: 'Learner ID of this service',
}).map(([value, label]) => ({ value, label }));

export async function withinOf(visit: Visit) {
  const visibility = await visibilityOf(visit);
  return { visibility, teams: await listTeams(visit.app.db, visit.organisationId, visibility) };
}

/** A tutor must choose one of their teams, because tutors see only learners of their teams. */
export function teamField(
  f: Fields,
  who: 'Each learner in the table' | 'The learner',
  { visibility, teams }: Awaited<ReturnType<typeof withinOf>>,
): Content {
  if (visibility === null && teams.length === 0) return null;
  const choices = teams.map((team) => ({ value: team.group_id, label: team.name.slice(0, 80) }));
  const isAsked = visibility === null || choices.length > 1;
  return f.select('team', 'Team', isAsked ? any(choices, visibility === null ? 'None' : 'Choose one') : choices, {
    hint: visibility === null ? `${who} joins this team.` : `${who} joins this team, so you see them.`,
  });
}

/** @returns a fault if the person may not add learners to the team */
export async function readTeam(visit: Visit): Promise<Within | { fault: string }> {
  const { visibility, teams } = await withinOf(visit);
  const chosen = visit.form.text('team').toLowerCase();
  if (chosen === '') return visibility === null ? { visibility, teamId: null } : { fault: 'Choose one of your teams.' };
  return teams.some((team) => team.group_id === chosen) ? { visibility, teamId: chosen } : { fault: 'Choose a team.' };
}

async function tablePage(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, userId, query, form: sent } = visit;
  const [within, runs] = await Promise.all([
    withinOf(visit),
    invitationRuns.list(app.db, id, 20, role === 'tutor' ? userId : null),
  ]);
  const typed = sent.raw('rows');
  if (within.visibility !== null && within.teams.length === 0)
    return {
      title: 'Invite learners',
      main: empty('You are in no team yet. Ask an admin to add you to a team.'),
    };
  return formPage(visit, {
    title: 'Invite learners',
    intro: [
      notice(query, { discarded: 'The table is discarded. No learner was invited.' }),
      html`<p>Choose a workbook or a CSV file, or copy the rows from your spreadsheet and paste them here. You check every row before learners are invited.</p><p><a href="${base}/invite/one">Invite one learner</a></p>`,
    ],
    button: 'Check rows',
    upload: true,
    fields: (f) => [
      f.file('file', 'Workbook (XLSX or ODS) or CSV file', tableFiles, {
        hint: 'Of a formula, the value that the workbook stores is read.',
      }),
      f.lines('rows', 'Rows from a spreadsheet', {
        hint: html`One learner per line. Default columns: <code>${inviteColumns.slice(0, 5).join(', ')}</code> …`,
        // A large table is not shown again, because it would make the page slow.
        value: typed.length > limits.formBytes ? '' : typed,
        rows: 10,
      }),
      tableFields(f),
      teamField(f, 'Each learner in the table', within),
      hiddenField('once', app.random.uuid()),
    ],
    also: [
      table('Columns; only full_name is required', Object.entries(meanings), {
        Column: ([column]) => code(column),
        Content: ([, meaning]) => meaning,
      }),
      table<Run>({ caption: 'Your latest tables', none: null }, runs, {
        Checked: (one) => html`<a href="${base}/invite/${one.run_id}">${moment(one.created_at, zone)}</a>`,
        State: (one) => states[one.status],
        Rows: numeric((one) => one.total),
        Invited: numeric((one) => one.invited),
      }),
    ],
  });
}

const states: Record<Run['status'], string> = {
  draft: 'Not started',
  running: 'Running',
  waiting: 'Waiting for credits',
  cancelled: 'Cancelled',
  finished: 'Done',
};

export async function checkTable(visit: Visit, rows: readonly TableRow[], within: Within): Promise<Check> {
  return checkRows(visit.app, visit.organisationId, rows, await inviteContext(visit), within);
}

export async function inviteContext({ app, organisationId, zone }: Visit): ReturnType<typeof contextOf> {
  const row = await readOrganisation(app.db, organisationId);
  return contextOf(app.db, row, app.clock.nowMs(), (day) => lastInstantOf(day, zone));
}

export async function readRowsSent(
  visit: Visit,
  choices: Parameters<typeof readInviteTable>[1] = {},
): Promise<TableRow[] | { faults: Faults; unknown?: UnknownColumns }> {
  const { form: sent } = visit;
  const file = sent.file('file');
  if (file === null && sent.text('rows') === '')
    return { faults: { rows: 'There are no rows. Paste rows, or choose a file.' } };
  try {
    return await readInviteTable(file ?? Buffer.from(sent.raw('rows')), choices);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    const faults = { [file === null ? 'rows' : 'file']: `The table can’t be read: ${error.message}.` };
    return error instanceof UnknownColumns ? { faults, unknown: error } : { faults };
  }
}

async function readTable(visit: Visit) {
  const { base, organisationId: id, userId, change } = visit;
  const within = await readTeam(visit);
  if ('fault' in within) return again({ team: within.fault });
  const choices = await columnChoices(visit, 'invite');
  const rows = await readRowsSent(visit, choices);
  if ('faults' in rows) {
    if (rows.unknown === undefined) return again(rows.faults);
    const back = { to: `${base}/invite`, label: 'Invite learners' };
    return columnsPage(visit, rows.unknown, { back, choices: columnsToChoose, hidden: ['team'] });
  }
  await rememberColumns(visit, 'invite', choices, headingOf);
  const runId = onceOf(visit);
  const check = await checkTable(visit, rows, within);
  // A draft invites nobody, so it writes no audit row.
  await change((work) => draftRun(work, id, { runId, by: userId, check, ...within }).then(() => null));
  return { to: `${base}/invite/${runId}` };
}

/** Tutors see only their own tables. */
export async function runOf(visit: Visit): Promise<Run> {
  const found = await findOr404(visit, 'run_id', (...of) => invitationRuns.find(...of));
  if (visit.role === 'tutor' && found.created_by !== visit.userId) throw new NoSuchPage();
  return found;
}

const repairedWords = (cells: Cells, doubts: readonly Doubt[]): string =>
  doubts.flatMap(({ about, column }) => (about === 'encoding' ? repaired(cells[column]!) : [])).join(', ');

const isRepairable = (cells: Cells) => Object.values(cells).some((value) => repaired(value) !== value);

const namesakeWords = (one: Namesake, zone: string): string =>
  `${one.full_name}, ${one.ref === null ? 'without a reference' : `reference ${one.ref}`}, stored since ${dayWords(one.created_at, zone)}`;

export const namesakeChoices = (namesakes: readonly Namesake[], zone: string): Choice[] =>
  namesakes.map((one) => ({
    value: one.learner_id,
    label: `Invite the existing learner: ${namesakeWords(one, zone)}`,
  }));

export const namesakeLinks = (base: string, namesakes: readonly Namesake[]): Content =>
  namesakes.length === 0
    ? null
    : html` Open ${namesakes.map((one, i) => html`${i === 0 ? null : ' and '}<a href="${base}/learners/${one.learner_id}">${name(one.full_name)}</a>`)}.`;

const isAbout = (doubts: readonly Doubt[], ...kinds: Doubt['about'][]) =>
  doubts.some(({ about }) => kinds.includes(about));

function choicesOf(cells: Cells, doubts: readonly Doubt[], namesakes: readonly Namesake[], zone: string): Choice[] {
  const isNew = isAbout(doubts, 'known', 'twice');
  return [
    { value: '', label: 'Choose' },
    ...(isAbout(doubts, 'encoding') && isRepairable(cells)
      ? [{ value: 'repair', label: `Correct it: ${repairedWords(cells, doubts)}` }]
      : []),
    ...namesakeChoices(namesakes, zone),
    { value: 'as_is', label: isNew ? 'Invite a new learner with this name' : 'The row is correct' },
    { value: 'out', label: 'Skip this row' },
  ];
}

/** @param more the number of rows with questions that do not fit in this form */
export async function doubtsForm(
  visit: Visit,
  to: string,
  rows: readonly RunRow[],
  more: number,
  faults: Faults,
): Promise<Content> {
  const { app, base, organisationId, zone } = visit;
  const f = fieldsOf(visit, faults);
  const names = rows.filter(({ ready }) => isAbout(ready!.doubts!, 'known')).map(({ ready }) => ready!.full_name);
  const found = await findNamesakes(app.db, organisationId, names, await visibilityOf(visit));
  const fields = rows.map(({ row_no, cells, ready }) => {
    const { full_name } = ready!;
    const doubts = ready!.doubts!;
    const namesakes = isAbout(doubts, 'known') ? (found.get(sameNameKey(full_name)) ?? []) : [];
    const choices = choicesOf(cells!, doubts, namesakes, zone);
    const hint = html`${doubts.map((doubt) => html`${code(doubt.column)} ${doubtWords(doubt)}. `)}${namesakeLinks(base, namesakes)}`;
    return [
      f.select(fieldOf({ row_no }), `Row ${row_no}: ${full_name}`, choices, { hint }),
      hiddenField('asked', String(row_no)),
    ];
  });
  return [
    html`<h2>Confirm rows</h2>`,
    more > 0 && html`<p>${number(more)} more rows follow after these.</p>`,
    f.form('Confirm rows', { to }, fields),
  ];
}
