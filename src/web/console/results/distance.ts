import type { DistanceTotal } from '../../../records/results/lists/distance.ts';
import { all, meanLevels, minForMean, refreshTotals, totalsOf } from '../../../records/results/lists/distance.ts';
import { placementWords } from '../../../records/results/lists/interval.ts';
import type { Change, Outcome, Progress, ProgressFilter } from '../../../records/results/lists/progress.ts';
import { changeOf, everyProgress, outcomeNames, progressOf } from '../../../records/results/lists/progress.ts';
import { decimal, subjectName } from '../../../records/evidence/wording.ts';
import { type BrowsedGroup, browseGroups } from '../../../organisations/groups/browse.ts';
import { countGroupTypes } from '../../../organisations/groups/list.ts';
import { groupTypes } from '../../../organisations/groups/types.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type Subject, subjects } from '../../../engine/scoring/levels.ts';
import { type LabelKind, day, facts, label, moment } from '../kit/blocks.ts';
import { barChart, columnChart } from '../kit/chart.ts';
import { name } from '../kit/frame.ts';
import { listPage } from '../kit/page.ts';
import { visibilityOf } from '../kit/reader.ts';
import { type Answer, type ConsoleRoute, type Visit, formRoutes, get } from '../kit/route.ts';
import { share } from './distribution.ts';
import { downloaded, formatPage } from './export.ts';
import { groupFields, groupOf, readResultFilter, subjectField, subjectNames, typeChoices } from './filter.ts';
import { exportLink, learnerCell } from './results.ts';
import { filterQuery } from '../../../records/results/lists/filter-query.ts';
import { distanceColumns } from '../../../records/results/lists/progress-columns.ts';
import { readPage, uuidIn, withQuery } from '../kit/paging.ts';
import { type Columns, numeric, plain } from '../kit/table.ts';
import { scheduleLink } from './scheduled-reports.ts';

export const distanceRoutes: ConsoleRoute[] = [
  get('/results/progress', learnerReaders, distance, { menu: 'Distance travelled' }),
  ...formRoutes('/results/progress/export', learnerReaders, showExport, exportDistance, { proof: true }),
];

const title = 'Distance travelled';
const outcomeKinds: Record<Outcome, LabelKind> = { gain: 'good', unclear: 'info', loss: 'bad', unmeasured: 'off' };

async function filterOf(visit: Visit): Promise<ProgressFilter | null> {
  const { groupIds, visibility } = await readResultFilter(visit);
  const subject = subjects.findIndex((one) => one === visit.query.get('subject'));
  return groupIds.length === 0 ? null : { groupIds, visibility, subject: subject < 0 ? null : subject };
}

async function distance(visit: Visit): Promise<Answer> {
  const filter = await filterOf(visit);
  return filter === null ? groupsPage(visit) : groupPage(visit, filter);
}

const method = html`<p class="hint">A change is clear if the 95 % interval of the difference excludes 0. The interval contains the standard errors of both results. A change is not measured if one of them has no standard error. <a href="/docs/providers/results.html#how-the-change-is-measured">How the change is measured</a></p>`;

const countedAt = (at: Date | null, zone: string): Content =>
  at === null
    ? html`<p class="note">The totals are being counted. Reload the page in a minute.</p>`
    : html`<p class="hint">Counted on ${moment(at, zone)}. Totals of large organisations are counted again after 10 minutes.</p>`;

function levelsWords(total: DistanceTotal): Content {
  const found = meanLevels(total);
  if (found === null) return html`<span class="hint">Fewer than ${minForMean} learners</span>`;
  const signed = (value: number) => `${value > 0 ? '+' : ''}${decimal(value, 1)}`;
  return html`${signed(found.mean)} <span class="hint">(${signed(found.low)} to ${signed(found.high)})</span>`;
}

const totalColumns = <Row>(totalIn: (row: Row) => DistanceTotal): Columns<Row> => {
  const of = (words: string, n: (total: DistanceTotal) => number) => ({
    [words]: numeric((row: Row) => share(n(totalIn(row)), totalIn(row).learners)),
  });
  return {
    Learners: numeric((row) => totalIn(row).learners),
    ...of('Clear gain', (total) => total.gain),
    ...of('No clear change', (total) => total.unclear),
    ...of('Clear loss', (total) => total.loss),
    ...of('Not measured', unmeasured),
    'Mean levels gained': numeric((row) => levelsWords(totalIn(row))),
  };
};

const unmeasured = ({ learners, gain, unclear, loss }: DistanceTotal) => learners - gain - unclear - loss;

/** A chart of the outcomes in each subject. Its order of series gives each outcome the colour of its label. */
function totalsPart(
  { path, query }: Visit,
  caption: string,
  shown: readonly Subject[],
  totalIn: (subject: Subject) => DistanceTotal,
): Content {
  const totals = shown.map(totalIn);
  if (totals.every(({ learners }) => learners === 0)) return null;
  const of = (['unclear', 'loss', 'gain', 'unmeasured'] as const).map((outcome) => ({
    name: outcomeNames[outcome],
    values: totals.map((one) => (outcome === 'unmeasured' ? unmeasured(one) : one[outcome])),
  }));
  return [
    shown.length === 1
      ? barChart({
          caption,
          of: 'Change',
          value: 'Learners',
          rows: of.map((one) => ({ label: one.name, value: one.values[0]! })),
        })
      : columnChart({
          ...{ caption, of: 'Subject', labels: shown.map(subjectName), series: of },
          links: shown.map((subject) => withQuery(path, filterQuery(query, []), { subject })),
        }),
    html`<h2>Mean levels gained</h2>`,
    facts(Object.fromEntries(shown.map((one) => [subjectName(one), levelsWords(totalIn(one))]))),
  ];
}

/** Lists groups with their totals. A tutor gets the totals of their own teams, whose learners they all see. */
async function groupsPage(visit: Visit): Promise<Answer> {
  const { app, organisationId: id, path, query, zone } = visit;
  const visibility = await visibilityOf(visit);
  const types = await countGroupTypes(app.db, id, visibility);
  const isOne = (type: string) => types.some((one) => one.type === type);
  // Cohorts come first, and teams last.
  const type = [query.get('type') ?? '', ...groupTypes].find(isOne) ?? '';
  const at = await refreshTotals(app, id);
  const filter = { type, active: null };
  const found = await readPage(
    (limit) => browseGroups(app.db, id, filter, visibility, { after: uuidIn(query), limit }),
    limits.groupsListed,
  );
  const rows = found.rows.filter((one) => visibility?.includes(one.group_id) ?? true);
  const total = await totalsOf(app.db, id, [...rows.map((one) => one.group_id), ...(visibility === null ? [all] : [])]);
  const busiest = subjects.toSorted((x, y) => total(all, y).learners - total(all, x).learners)[0]!;
  const subject = subjects.find((one) => one === query.get('subject')) ?? busiest;
  return listPage<BrowsedGroup>(visit, {
    title,
    intro: html`<p>How far learners have come: each learner’s latest result in a subject against their first. Open a group to see its learners.</p>`,
    actions: scheduleLink(visit, 'distance'),
    filters: (q) => [
      types.length > 0 && q.select('type', 'Type of group', typeChoices(types), { value: type }),
      q.select('subject', 'Subject', subjectNames, { value: subject }),
    ],
    note: [
      visibility === null &&
        at !== null &&
        totalsPart(visit, 'All learners with two or more results', subjects, (one) => total(all, one)),
      method,
      countedAt(at, zone),
    ],
    caption: `${subjectName(subject)}: learners with two or more results, by group`,
    none: at === null ? null : 'There is no group yet. Create a group and add its learners.',
    sticky: true,
    rows: at === null ? [] : rows,
    columns: {
      Group: (row) =>
        html`<a href="${withQuery(path, new URLSearchParams({ group: row.group_id, subject }), {})}">${name(row.name)}</a>${row.active ? null : ' (archived)'}`,
      ...totalColumns((row: BrowsedGroup) => total(row.group_id, subject)),
    },
    next: found.last?.group_id,
    kept: new URLSearchParams({ type, subject }),
  });
}

function changeCell(change: Change | null): Content {
  if (change === null) return label('off', 'One result');
  const { outcome } = change;
  return html`${label(outcomeKinds[outcome], outcomeNames[outcome])} <span class="hint">${levelsGainedWords(change)}</span>`;
}

function levelsGainedWords({ gained }: Change): string {
  if (gained === null) return 'Not placed in both';
  const steps = Math.abs(gained) === 1 ? '1 level' : `${Math.abs(gained)} levels`;
  return gained === 0 ? 'Same level' : gained > 0 ? `${steps} higher` : `${steps} lower`;
}

async function groupPage(visit: Visit, filter: ProgressFilter): Promise<Answer> {
  const { app, base, organisationId: id, zone, path, query } = visit;
  const { groupIds, visibility } = filter;
  const [groups, group, at] = await Promise.all([
    groupFields(visit),
    groupOf(visit, groupIds[0]!),
    refreshTotals(app, id),
  ]);
  const found = await app.db.snapshot((tx) => progressOf(tx, id, filter, uuidIn(query), limits.groupsListed));
  const hasTotal = groupIds.length === 1 && (visibility?.includes(groupIds[0]!) ?? true);
  const total = hasTotal && at !== null ? await totalsOf(app.db, id, groupIds) : null;
  const shown = filter.subject === null ? subjects : [subjects[filter.subject]!];
  const kept = filterQuery(query, []);
  const result = (one: Progress['first']): Content =>
    html`<a href="${base}/results/${one.assessment_id}">${placementWords(one)}</a> <span class="hint">${day(one.content.assessed_at_us, zone)}</span>`;
  return listPage<Progress>(visit, {
    title,
    heading: group === null ? title : html`${title}: ${name(group.name)}`,
    back: { to: withQuery(path, new URLSearchParams(group === null ? {} : { type: group.type }), {}), label: title },
    intro: html`<p>The first and the latest result of each learner in each subject, and whether the change is larger than error of measurement.</p>`,
    filters: (q) => [groups, subjectField(q)],
    note: [
      total !== null &&
        totalsPart(visit, 'Learners with two or more results', shown, (one) => total(groupIds[0]!, one)),
      method,
      hasTotal && countedAt(at, zone),
    ],
    actions: [
      html`<a href="${withQuery(`${base}/results/gaps`, kept, {})}">Gaps by domain</a><a href="${withQuery(`${base}/results/report`, kept, {})}">Class report (PDF)</a>`,
      scheduleLink(visit, 'distance'),
      found.rows.length > 0 && exportLink(path, kept, 'Export distance travelled'),
    ],
    caption: 'Learners with their results in each subject',
    none:
      found.next === null
        ? 'Learners of this group have no results yet.'
        : 'These learners have no results yet. Open the next page for more.',
    sticky: true,
    rows: found.rows,
    columns: {
      Learner: (row) => learnerCell(`${base}/learners/${row.learner_id}`, row),
      Subject: plain((row) => subjectName(row.first.content.subject)),
      Results: { ...numeric((row) => row.results), phone: 'hidden' },
      First: plain((row) => result(row.first)),
      Latest: plain((row) => (row.results < 2 ? '' : result(row.latest))),
      Change: (row) => changeCell(changeOf(row)),
    },
    next: found.next,
    kept,
  });
}

async function showExport(visit: Visit): Promise<Answer> {
  const kept = filterQuery(visit.query, []);
  const page = {
    title: 'Export distance travelled',
    back: { to: withQuery(`${visit.base}/results/progress`, kept, {}), label: title },
    intro: html`<p>The file contains each learner of the group, with the first and latest result in each subject. It contains names. Store it securely, and delete it after use.</p>`,
  };
  return formatPage(visit, page, kept);
}

async function exportDistance(visit: Visit): Promise<Answer> {
  const { base, zone, organisationId, query } = visit;
  const filter = await filterOf(visit);
  if (filter === null) return { to: `${base}/results/progress` };
  const columns = distanceColumns(zone);
  return downloaded(visit, {
    name: 'distance-travelled',
    resource: 'distance travelled',
    kept: filterQuery(query, []),
    sheetOf: (tx) => ({ name: 'Distance travelled', columns, rows: everyProgress(tx, organisationId, filter, 200) }),
  });
}
