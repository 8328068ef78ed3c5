import {
  type ReportPage,
  type Rhythm,
  type ScheduledReport,
  listScheduledReports,
  mayReadReport,
  reportPages,
  scheduleReport,
  stopReport,
} from '../../../organisations/scheduled-reports/scheduled-reports.ts';
import { findGroups } from '../../../organisations/groups/groups.ts';
import { type Member, listMembers } from '../../../organisations/users/members.ts';
import { type Role, managers, roleNames, roles } from '../../../organisations/users/roles.ts';
import { limits } from '../../../platform/config/limits.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { facts, filters, label, moment, notice } from '../kit/blocks.ts';
import { any, buttonForm, chosenIds, faultsIn, filtersOf, isFaulty } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { formPage, listPage } from '../kit/page.ts';
import { type Answer, type ConsoleRoute, type Visit, NoSuchPage, formRoutes, get, post, again } from '../kit/route.ts';
import { filterInWords, groupFields, groupOf, subjectField } from './filter.ts';
import { uuidIn, withQuery } from '../kit/paging.ts';
import { filterQuery } from '../../../records/results/lists/filter-query.ts';

export const scheduledReportRoutes: ConsoleRoute[] = [
  get('/reports', roles, reports, { live: true }),
  ...formRoutes('/reports/create', managers, createPage, create, { live: true }),
  post('/reports/{report_id}/stop', roles, stop, { live: true }),
];

const weekDays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const dayChoices: Record<string, string> = Object.fromEntries([
  ...weekDays.map((one, i) => [`week-${i + 1}`, `Every ${one}`] as const),
  ...Array.from({ length: 28 }, (_, i) => [`month-${i + 1}`, `Every month, on day ${i + 1}`] as const),
]);
const hourWords = (hour: number) => `${String(hour).padStart(2, '0')}:00`;
const hours = Array.from({ length: 24 }, (_, hour) => ({ value: String(hour), label: hourWords(hour) }));

const noServer = ({ app }: Visit) =>
  app.settings.mailServer === null &&
  html`<p class="note">No mail server is set, so no report is sent. Ask the operator to set one.</p>`;

async function reports(visit: Visit): Promise<Answer> {
  const { app, base, path, organisationId: id, query, role, userId, zone } = visit;
  const isManager = managers.includes(role);
  const rows = await listScheduledReports(app.db, id, isManager ? null : userId);
  const groupIds = rows.flatMap((row) =>
    ['group', 'team'].flatMap((one) => uuidIn(new URLSearchParams(row.query), one) ?? []),
  );
  // A tutor may have lost the group since, and then reads no name.
  const groups =
    role === 'tutor'
      ? await Promise.all(groupIds.map((one) => groupOf(visit, one)))
      : await findGroups(app.db, id, groupIds);
  const names = new Map(groups.flatMap((one) => (one === null ? [] : [[one.group_id, one.name]])));
  const groupCell = (row: ScheduledReport) =>
    ['group', 'team'].flatMap((one) => names.get(new URLSearchParams(row.query).get(one) ?? '') ?? []).join(', ');
  return listPage<ScheduledReport>(visit, {
    title: 'Scheduled reports',
    says: 'Pages that the service emails a link to. The emails contain no personal data.',
    back: { to: base, label: 'Dashboard' },
    actions: isManager && html`<a class="button" href="${path}/create">Schedule report</a>`,
    note: [
      notice(query, {
        scheduled: 'The report is scheduled. Each person gets an email with a link.',
        stopped: 'The report is stopped. No further email is sent.',
      }),
      noServer(visit),
    ],
    caption: 'Scheduled reports by person',
    none: isManager ? 'No report is scheduled. Schedule one.' : 'No report is scheduled for you. Ask an admin.',
    rows,
    columns: {
      Report: (row) =>
        html`<a href="${base}${reportPages[row.page].path}${row.query && `?${row.query}`}">${reportPages[row.page].label}</a>`,
      Group: (row) => name(groupCell(row)),
      Person: (row) => name(row.full_name),
      When: (row) => `${dayChoices[`${row.every}-${row.day}`]} at ${hourWords(row.hour)}`,
      Next: (row) =>
        isReader(row.page, row.role)
          ? moment(row.next_at, zone)
          : label('off', 'Not sent: the role can’t open the page'),
      Action: (row) => buttonForm(`${path}/${row.report_id}/stop`, 'Stop report'),
    },
  });
}

/** Schedules the page with its present filters. Sandboxes send no reports. */
export const scheduleLink = ({ base, query, role, organisation }: Visit, page: ReportPage): Content =>
  managers.includes(role) &&
  !organisation.is_sandbox &&
  html`<a href="${withQuery(`${base}/reports/create`, filterQuery(query), { page })}">Schedule report</a>`;

const isReader = (page: ReportPage, role: Role) => (reportPages[page].readers as readonly Role[]).includes(role);

/** The page of the query, and its filters. A group that does not exist is a fault of the URL. */
async function wanted(visit: Visit) {
  const page = (Object.keys(reportPages) as ReportPage[]).find((one) => one === visit.query.get('page')) ?? null;
  const kept = page === 'dashboard' ? new URLSearchParams() : filterQuery(visit.query);
  kept.delete('type');
  const groups = await Promise.all([...kept.getAll('team'), ...kept.getAll('group')].map((id) => groupOf(visit, id)));
  if (groups.includes(null)) throw new NoSuchPage();
  return { page, kept, needsGroup: page === 'gaps' && groups.length === 0 };
}

/** The members who may open the page. */
async function readersOf({ app, organisationId: id }: Visit, page: ReportPage, query: string): Promise<Member[]> {
  const members = await listMembers(app.db, id);
  const may = await Promise.all(members.map((one) => mayReadReport(app.db, id, { ...one, page, query })));
  return members.filter((_, i) => may[i]);
}

async function createPage(visit: Visit): Promise<Answer> {
  const { base, path, query, zone } = visit;
  const { page, kept, needsGroup } = await wanted(visit);
  const labels = Object.entries(reportPages).map(([value, one]) => ({ value, label: one.label }));
  const q = filtersOf(visit);
  const head = {
    title: 'Schedule report',
    says: 'People get an email with a link to the report, without personal data.',
    back: { to: `${base}/reports`, label: 'Scheduled reports' },
  };
  const choice = [q.select('page', 'Report', any(labels, 'Choose')), await groupFields(visit), subjectField(q)];
  const intro = [filters(path, choice, 'Choose report'), noServer(visit)];
  if (page === null || needsGroup)
    return { ...head, main: [intro, needsGroup && html`<p class="note">This report needs a team or group.</p>`] };
  const people = (await readersOf(visit, page, kept.toString())).map((one) => ({
    ...{ value: one.user_id, label: one.full_name, hint: roleNames[one.role] },
  }));
  return formPage(visit, {
    ...head,
    intro: [intro, facts({ Report: reportPages[page].label, ...(await filterInWords({ ...visit, query: kept })) })],
    to: withQuery(path, kept, { page }),
    button: 'Schedule report',
    fields: (f) => [
      f.select('day', 'Day', dayChoices, { initial: query.get('day') ?? 'week-1' }),
      f.select('hour', `Time (${zone})`, hours, { initial: '8' }),
      f.tick('people', 'People who may open the report', people),
    ],
  });
}

function readRhythm({ form: sent }: Visit): Rhythm | null {
  const [every, day] = sent.raw('day').split('-');
  const isKnown = Object.hasOwn(dayChoices, sent.raw('day')) && hours.some((one) => one.value === sent.raw('hour'));
  return isKnown ? { every: every as Rhythm['every'], day: Number(day), hour: Number(sent.raw('hour')) } : null;
}

async function create(visit: Visit) {
  const { base, organisationId, zone, change } = visit;
  const { page, kept, needsGroup } = await wanted(visit);
  const query = kept.toString();
  if (page === null || needsGroup) return again();
  const readers = new Map((await readersOf(visit, page, query)).map((one) => [one.user_id, one]));
  const people = chosenIds(visit, 'people');
  const rhythm = readRhythm(visit);
  const faults = faultsIn({
    day: rhythm === null && 'Choose a day and a time from the lists.',
    people:
      (people.length === 0 || people.some((one) => !readers.has(one))) && 'Choose at least one person from the list.',
  });
  if (isFaulty(faults)) return again(faults);
  const full: string[] = [];
  for (const userId of people) {
    const report = { ...rhythm!, userId, page, query, zone };
    if ((await change((work) => scheduleReport(work, organisationId, report))) === null)
      full.push(readers.get(userId)!.full_name);
  }
  if (full.length === 0) return { to: `${base}/reports?did=scheduled` };
  const tooMany = `${full.join(', ')}: a person can have ${limits.scheduledReportsOfPerson} reports. Stop one first.`;
  return again({ people: tooMany });
}

async function stop({ base, organisationId, params, role, userId, change }: Visit): Promise<Answer> {
  const id = params.report_id!.toLowerCase();
  const whose = managers.includes(role) ? null : userId;
  const isStopped = isUuid(id) && (await change((work) => stopReport(work, organisationId, id, whose), id));
  if (!isStopped) throw new NoSuchPage();
  return { to: `${base}/reports?did=stopped` };
}
