import { clockOf } from '../../../records/results/lists/export.ts';
import { placementOf } from '../../../records/results/lists/interval.ts';
import type { Progress, ProgressFilter } from '../../../records/results/lists/progress.ts';
import { changeOf, everyProgress, progressOf } from '../../../records/results/lists/progress.ts';
import { subjectName } from '../../../records/evidence/wording.ts';
import type { Column } from '../../../platform/formats/sheet.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type Subject, subjects } from '../../../engine/scoring/levels.ts';
import { type Columns, day, withQuery, numeric, uuidIn, bar, table, number, readPage } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import { downloaded, formatPage } from './export.ts';
import {
  filterQuery,
  groupFields,
  readResultFilter,
  subjectField,
  groupOf,
  levelNames,
  subjectNames,
  typeChoices,
} from './filter.ts';
import { intervalWords, exportLink, percent } from './results.ts';
import { type Answer, type ConsoleRoute, type Visit, get, formRoutes, NoSuchPage } from '../kit/route.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { listPage } from '../kit/page.ts';
import type { ResultContent } from '../../../records/results/body.ts';
import { browseResults } from '../../../records/results/lists/browse.ts';
import { type ResultPageStart, unfiltered } from '../../../records/results/lists/browse-statements.ts';
import type { DomainStrength, GroupDistribution } from '../../../records/results/lists/distribution.ts';
import { distributionOf, strengthsOf } from '../../../records/results/lists/distribution.ts';
import type { Database } from '../../../platform/db/database.ts';
import { groupsSeen } from '../../../organisations/groups/browse.ts';
import { countGroupTypes } from '../../../organisations/groups/list.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { visibilityOf } from '../kit/reader.ts';

export const distributionRoutes: ConsoleRoute[] = [get('/results/spread', learnerReaders, spread)];

/** The page averages the domains of at most this many results of a group, over all subjects. */
const maxForDomains = 300;
/** The most pages of results that are read to find results for the averages. */
const maxLooks = 5;

/** The number of results at each level, in the order of `levelNames`. */
export const countsOf = ({ counts }: GroupDistribution, subject: number) =>
  levelNames.map((_, level) => counts.get(subject * 8 + level) ?? 0);
const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);

function share(n: number, of: number): Content {
  return n === 0
    ? '0'
    : html`${number(n)} <span class="hint">${percent(Math.round((1000 * n) / of) / 1000)}</span>${bar(n, of)}`;
}

const countColumns = <Row>(countsIn: (row: Row) => number[]): Columns<Row> => ({
  Results: numeric((row) => sum(countsIn(row))),
  ...Object.fromEntries(
    levelNames.map((head, level) => [head, numeric((row: Row) => share(countsIn(row)[level]!, sum(countsIn(row))))]),
  ),
});

async function spread(visit: Visit): Promise<Answer> {
  const { query } = visit;
  const id = query.get('group') ?? '';
  return isUuid(id) ? groupPage(visit, id.toLowerCase()) : typePage(visit);
}

async function typePage(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, path, query } = visit;
  const visibility = await visibilityOf(visit);
  const types = await countGroupTypes(app.db, id, await groupsSeen(app.db, id, visibility));
  const type = types.find((one) => one.type === query.get('type'))?.type ?? types[0]?.type ?? null;
  const max = limits.groupsListed;
  const found =
    type === null ? [] : await distributionOf(app.db, id, { type, groupId: null, visibility }, uuidIn(query), max + 1);
  const subject = subjects.find((one) => one === query.get('subject')) ?? subjects[0];
  const { rows, last } = await readPage(async () => found, max);
  return listPage(visit, {
    title: 'Distribution of placements',
    back: { to: `${base}/results`, label: 'Results' },
    intro: html`<p>How many results of each group are at each level. The numbers include all completed results of current members, also earlier results of the same learner.</p>`,
    filters: (q) => [
      q.select('type', 'Type of group', typeChoices(types), { value: type ?? '' }),
      q.select('subject', 'Subject', subjectNames, { value: subject }),
    ],
    caption: `${subjectName(subject)}: results at each level`,
    none: 'There is no group yet. Create a group and add its learners.',
    sticky: true,
    rows,
    columns: {
      Group: (row) =>
        html`<a href="${path}?group=${row.group_id}">${name(row.name)}</a>${row.active ? null : ' (archived)'}`,
      ...countColumns((row: GroupDistribution) => countsOf(row, subjects.indexOf(subject))),
    },
    next: last?.group_id,
    kept: new URLSearchParams({ type: type ?? '', subject }),
  });
}

/** `isMore`: the group has further results, assessed earlier than these. */
export type LatestOfGroup = { bySubject: ResultContent[][]; isMore: boolean };

/** Each learner's latest result in each subject; in a large group, only the most recently assessed results. */
export async function latestOf(
  db: Database,
  organisationId: number,
  groupId: string,
  visibility: Visibility,
  looks = maxLooks,
): Promise<LatestOfGroup> {
  // One query finds all subjects, because three queries would each read the results of all three subjects.
  const filter = { ...unfiltered, visibility, groupIds: [groupId], latest: true };
  const contents: ResultContent[] = [];
  const next = await db.snapshot(async (tx) => {
    let after: ResultPageStart | null = null;
    for (let n = 0; n < looks; n++) {
      const limit = maxForDomains - contents.length;
      const look = { organisationId, filter, sort: 'assessed', descending: true, after, limit } as const;
      const page = await browseResults(tx, look);
      contents.push(...page.rows.map(({ content }) => content));
      after = page.next;
      if (after === null || !page.isCutShort || contents.length === maxForDomains) break;
    }
    return after;
  });
  const bySubject = subjects.map((subject) => contents.filter((one) => one.subject === subject));
  return { bySubject, isMore: next !== null };
}

async function groupPage(visit: Visit, groupId: string): Promise<Answer> {
  const { app, base, organisationId: id } = visit;
  const group = await groupOf(visit, groupId);
  if (group === null) throw new NoSuchPage();
  const visibility = await visibilityOf(visit);
  const found = await distributionOf(app.db, id, { type: null, groupId, visibility }, null, 1);
  const query = (parameters: Record<string, string>) => new URLSearchParams(parameters).toString();
  const head = {
    title: 'Distribution of a group',
    heading: name(group.name),
    back: { to: `${base}/results/spread?${query({ type: group.type })}`, label: 'Distribution of placements' },
  };
  const one = found[0]!;
  const { bySubject, isMore } = await latestOf(app.db, id, groupId, visibility);
  return {
    ...head,
    main: [
      html`<p>How many results of this group’s members are at each level, with their domains.</p>`,
      table('Results at each level, including earlier results of one learner', [...subjects.entries()], {
        Subject: ([, subject]) =>
          html`<a href="${base}/results?${query({ group: groupId, subject })}">${subjectName(subject)}</a>`,
        ...countColumns(([i]: readonly [number, Subject]) => countsOf(one, i)),
      }),
      bySubject.map((rows, i) =>
        domainPart(subjects[i]!, strengthsOf(rows), rows.length, isMore && sum(countsOf(one, i)) > 0),
      ),
      html`<p><a href="${base}/results/progress?${query({ group: groupId })}">Starting points and progress</a></p>`,
    ],
  };
}

function domainPart(subject: Subject, strengths: readonly DomainStrength[], results: number, isMore: boolean): Content {
  if (results === 0)
    return (
      isMore && html`<p>${subjectName(subject)}: the domains are not shown, because the group has too many results.</p>`
    );
  const of = isMore ? `the ${number(results)} latest assessed` : `${number(results)} of them`;
  const status = (key: string) => numeric((one: DomainStrength) => share(one.statuses.get(key) ?? 0, one.results));
  return table<DomainStrength>(`${subjectName(subject)}: domains in each learner’s latest result (${of})`, strengths, {
    Domain: (one) => one.name,
    'Mean score': numeric((one) => (one.score === null ? 'Not scored' : html`${one.score} %${bar(one.score, 100)}`)),
    Secure: status('secure'),
    Developing: status('developing'),
    'Needs support': status('needs_support'),
  });
}

export const resultProgressRoutes: ConsoleRoute[] = [
  get('/results/progress', learnerReaders, progress),
  ...formRoutes('/results/progress/export', learnerReaders, showExport, exportProgress, { proof: true }),
];

async function filterOf(visit: Visit): Promise<ProgressFilter | null> {
  const { groupIds, visibility } = await readResultFilter(visit);
  const subject = subjects.findIndex((one) => one === visit.query.get('subject'));
  return groupIds.length === 0 ? null : { groupIds, visibility, subject: subject < 0 ? null : subject };
}

/** Says how many levels a learner has gained, and marks a difference that may be measurement error. */
function gainWords(row: Progress): Content {
  if (row.results < 2) return 'One result';
  const { gained, withinError } = changeOf(row);
  if (gained === null) return 'Not placed in both';
  const steps = Math.abs(gained) === 1 ? '1 level' : `${Math.abs(gained)} levels`;
  const words = gained === 0 ? 'The same level' : gained > 0 ? `${steps} gained` : `${steps} lower`;
  if (gained === 0) return words;
  if (withinError === null) return html`${words} <span class="hint">Measurement error not recorded</span>`;
  return withinError ? html`${words} <span class="hint">Within measurement error</span>` : words;
}

async function progress(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, path, query } = visit;
  const [filter, groups] = await Promise.all([filterOf(visit), groupFields(visit)]);
  const found =
    filter && (await app.db.snapshot((tx) => progressOf(tx, id, filter, uuidIn(query), limits.groupsListed)));
  const kept = filterQuery(query, []);
  const result = ({ assessment_id, content }: Progress['first']): Content =>
    html`<a href="${base}/results/${assessment_id}">${placementOf(content)}</a> <span class="hint">${day(content.assessed_at_us, zone)}; likely ${intervalWords(content.level_probabilities)}</span>`;
  const noResults =
    found?.next === null
      ? 'Learners of this group have no results yet.'
      : 'These learners have no results yet. Open the next page for more.';
  return listPage<Progress>(visit, {
    title: 'Starting points and progress',
    back: { to: `${base}/results`, label: 'Results' },
    intro: html`<p>The first and the latest result of each learner in each subject. If the likely levels of both overlap, the row says that the difference is within measurement error.</p>`,
    filters: (q) => [groups, subjectField(q)],
    actions: found && found.rows.length > 0 && exportLink(path, kept, 'Export progress'),
    caption: 'Learners with their results in each subject',
    none: found === null ? 'Choose a team or a group.' : noResults,
    sticky: true,
    rows: found?.rows ?? [],
    columns: {
      Learner: (row) =>
        html`<a href="${base}/learners/${row.learner_id}">${name(row.full_name)}</a>${row.ref === null ? null : html` <span class="hint">${row.ref}</span>`}`,
      Subject: (row) => subjectName(row.first.content.subject),
      Results: numeric((row) => row.results),
      First: (row) => result(row.first),
      Latest: (row) => (row.results < 2 ? '' : result(row.latest)),
      Change: gainWords,
    },
    next: found?.next,
    kept,
  });
}

async function showExport(visit: Visit): Promise<Answer> {
  const kept = filterQuery(visit.query, []);
  const page = {
    title: 'Export progress',
    back: { to: withQuery(`${visit.base}/results/progress`, kept, {}), label: 'Starting points and progress' },
    intro: html`<p>The file contains each learner of the group, with the first and latest result in each subject. It contains names. Store it securely, and delete it after use.</p>`,
  };
  return formatPage(visit, page, kept);
}

export function progressColumns(zone: string): Column<Progress>[] {
  const clock = clockOf(zone);
  type Text = (row: Progress) => string | null;
  const text = (key: string, head: string, width: number, value: Text): Column<Progress> => ({
    ...{ key, head, width, value },
    kind: 'text',
  });
  const of = (key: 'first' | 'latest', head: string): Column<Progress>[] => [
    text(`${key}_placement`, `${head} placement`, 24, (row) => placementOf(row[key].content)),
    text(`${key}_likely`, `${head}, likely level`, 24, (row) => intervalWords(row[key].content.level_probabilities)),
    {
      key: `${key}_assessed`,
      head: `${head} assessed (${zone})`,
      width: 18,
      kind: 'moment',
      clock,
      value: (row) => row[key].content.assessed_at_us / 1000,
    },
  ];
  const error = (row: Progress) => {
    const { gained, withinError } = changeOf(row);
    return gained === null ? null : withinError === null ? 'Not recorded' : withinError ? 'Yes' : 'No';
  };
  return [
    text('learner', 'Learner', 28, (row) => row.full_name),
    text('reference', 'Reference', 16, (row) => row.ref),
    text('subject', 'Subject', 10, (row) => row.first.content.subject),
    { key: 'results', head: 'Results', width: 8, kind: 'number', value: (row) => row.results },
    ...of('first', 'First'),
    ...of('latest', 'Latest'),
    { key: 'levels_gained', head: 'Levels gained', width: 8, kind: 'number', value: (row) => changeOf(row).gained },
    text('within_error', 'Within measurement error', 14, error),
  ];
}

async function exportProgress(visit: Visit): Promise<Answer> {
  const { base, zone, organisationId, query } = visit;
  const filter = await filterOf(visit);
  if (filter === null) return { to: `${base}/results/progress` };
  const columns = progressColumns(zone);
  return downloaded(visit, {
    name: 'progress',
    resource: 'progress',
    kept: filterQuery(query, []),
    sheetOf: (tx) => ({ name: 'Progress', columns, rows: everyProgress(tx, organisationId, filter, 200) }),
  });
}
