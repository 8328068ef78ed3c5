import { UnreadableFile } from '../../../platform/formats/lines.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { contextOf, listTeams } from '../../../sittings/invitations/runs/context.ts';
import type { Within } from '../../../sittings/invitations/invite.ts';
import type { Check } from '../../../sittings/invitations/runs/check.ts';
import { checkRows } from '../../../sittings/invitations/runs/check.ts';
import type { Run } from '../../../sittings/invitations/runs/read-runs.ts';
import { draftRun, invitationRuns } from '../../../sittings/invitations/runs/run.ts';
import type { TableRow } from '../../../sittings/invitations/runs/table.ts';
import { inviteColumns, readInviteTable } from '../../../sittings/invitations/runs/table.ts';
import { limits } from '../../../platform/config/limits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { inviters } from '../../../organisations/users/roles.ts';
import { empty, moment, notice, table, numeric } from '../kit/blocks.ts';
import type { Fields, Faults } from '../kit/form.ts';
import { hiddenField, fieldsOf, any } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get, post, onceOf, named } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';
import { lastInstantOf } from '../../../organisations/zone.ts';

/** Many learners are invited by a table: it is read, checked, corrected, and written by a background job. */
export const inviteRoutes: ConsoleRoute[] = [
  get('/invite', inviters, tablePage, { menu: 'Invite' }),
  post('/invite', inviters, readTable, { upload: limits.inviteTableBytes }),
];

const meanings: Record<string, string> = {
  ref: 'Your reference of the learner. Who has it already is updated; groups need one.',
  full_name: 'The learner’s name. Every row has one; first_name and last_name do as well.',
  email: 'Where the link is sent, where a mail server is set.',
  groups: '“C-2026” for one that there is, “cohort: C-2026 = January cohort” for a new one; several with ; between.',
  subjects: `${subjects.join(', ')}, or all. Empty: as in Settings.`,
  extra_time: 'Per cent beyond the usual time, 0 to 100.',
  supervision: 'How the sitting is supervised, for the evidence.',
  supervisor: 'Who supervises it, by name, for the evidence.',
  expires: 'The last day, such as 31/01/2027. Empty: in 28 days.',
  purpose: 'initial, progress or end.',
  retake_reason: 'Why, where the learner was assessed a short time ago.',
  learner_id: 'In place of a reference: the id of a learner whom you have. Only below a header.',
  start_code: 'yes, where the learner begins only with a code that you release at that moment.',
};

export async function withinOf(
  visit: Visit,
): Promise<{ visibility: Visibility; teams: { group_id: string; name: string }[] }> {
  const { app, organisationId } = visit;
  const visibility = await visibilityOf(visit);
  return { visibility, teams: await listTeams(app.db, organisationId, visibility) };
}

/** A tutor must choose one of their teams, because they see only the learners of those. */
export function teamField(
  f: Fields,
  who: 'Everybody in the table' | 'The learner',
  { visibility, teams }: Awaited<ReturnType<typeof withinOf>>,
): Content {
  if (visibility === null && teams.length === 0) return null;
  const choices = teams.map((team) => ({ value: team.group_id, label: team.name.slice(0, 80) }));
  const isAsked = visibility === null || choices.length > 1;
  return f.select('team', 'Team', isAsked ? any(choices, visibility === null ? 'None' : 'Choose one') : choices, {
    hint: visibility === null ? `${who} joins it.` : `${who} joins it, and you see them from then on.`,
  });
}

/** @returns a fault if the person may not add learners to the team */
export async function readTeam(visit: Visit): Promise<Within | { fault: string }> {
  const { visibility, teams } = await withinOf(visit);
  const chosen = visit.form.text('team').toLowerCase();
  if (chosen === '') return visibility === null ? { visibility, teamId: null } : { fault: 'Choose a team of yours.' };
  return teams.some((team) => team.group_id === chosen) ? { visibility, teamId: chosen } : { fault: 'Choose a team.' };
}

async function tablePage(visit: Visit, faults: Faults = {}): Promise<Answer> {
  const { app, base, organisationId: id, zone, role, userId, query, form: sent } = visit;
  const f = fieldsOf(visit, faults);
  const [within, runs] = await Promise.all([
    withinOf(visit),
    invitationRuns.list(app.db, id, 20, role === 'tutor' ? userId : null),
  ]);
  const typed = sent.raw('rows');
  if (within.visibility !== null && within.teams.length === 0)
    return {
      title: 'Invite learners',
      main: empty('You are in no team yet. An admin puts you into one; then you can invite its learners here.'),
    };
  return {
    title: 'Invite learners',
    faults,
    main: html`${notice(query, { discarded: 'The table is discarded. Nobody was invited.' })}<p>Copy the rows from your spreadsheet and paste them here, or choose a CSV file. You see every row before anybody is invited, and nothing is written before all rows are right.</p><p><a href="${base}/invite/one">Invite one learner</a></p>${f.form(
      'Check the rows',
      { upload: true },
      [
        f.lines('rows', 'Rows from a spreadsheet', {
          hint: html`One learner a line. The first line may name the columns; without it they are <code>${inviteColumns.slice(0, 5).join(', ')}</code> and so on, as below.`,
          // A large table would make the page slow. The person corrects it in the spreadsheet.
          value: typed.length > limits.formBytes ? '' : typed,
          rows: 10,
        }),
        f.file('file', 'Or a CSV file', '.csv,.tsv,.txt,text/csv'),
        teamField(f, 'Everybody in the table', within),
        hiddenField('once', app.random.uuid()),
      ],
    )}${table('The columns; only full_name must be there', Object.entries(meanings), {
      Column: ([column]) => html`<code>${column}</code>`,
      'What it holds': ([, meaning]) => meaning,
    })}${table<Run>({ caption: 'Your latest tables', none: null }, runs, {
      Checked: (one) => html`<a href="${base}/invite/${one.run_id}">${moment(one.created_at, zone)}</a>`,
      State: (one) => states[one.status],
      Rows: numeric((one) => one.total),
      Invited: numeric((one) => one.invited),
    })}`,
  };
}

const states: Record<Run['status'], string> = {
  draft: 'Not begun',
  running: 'Under way',
  waiting: 'Waits for credits',
  cancelled: 'Cancelled',
  finished: 'Done',
};

export async function checkGiven(visit: Visit, given: readonly TableRow[], within: Within): Promise<Check> {
  const { app, organisationId: id, zone } = visit;
  const row = await readOrganisation(app.db, id);
  const context = await contextOf(app.db, row, app.clock.nowMs(), (day) => lastInstantOf(day, zone));
  return checkRows(app, id, given, context, within);
}

export async function readGiven(visit: Visit): Promise<TableRow[] | { faults: Faults }> {
  const { form: sent } = visit;
  const file = sent.file('file');
  const bytes = file ?? Buffer.from(sent.raw('rows'));
  if (file === null && sent.text('rows') === '') return { faults: { rows: 'Paste some rows, or choose a file.' } };
  try {
    return await readInviteTable(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error;
    return { faults: { [file === null ? 'rows' : 'file']: `This can’t be read: ${error.message}.` } };
  }
}

async function readTable(visit: Visit): Promise<Answer> {
  const { base, organisationId: id, userId, change } = visit;
  const once = onceOf(visit);
  const within = await readTeam(visit);
  if ('fault' in within) return tablePage(visit, { team: within.fault });
  const given = await readGiven(visit);
  if ('faults' in given || once === null) return tablePage(visit, 'faults' in given ? given.faults : {});
  const check = await checkGiven(visit, given, within);
  // A draft invites nobody, so it writes no audit row.
  await change(async (work) => {
    await draftRun(work, id, { runId: once, by: userId, check, ...within });
    return { result: null };
  });
  return { to: `${base}/invite/${once}` };
}

/** Tutors see only their own tables. */
export async function runOf(visit: Visit): Promise<Run> {
  const found = await named(visit, 'run_id', (...of) => invitationRuns.find(...of));
  if (visit.role === 'tutor' && found.created_by !== visit.userId) throw new NoSuchPage();
  return found;
}
