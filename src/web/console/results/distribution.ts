import type { ResultContent } from '../../../records/results/body.ts';
import { browseResults } from '../../../records/results/lists/browse.ts';
import type { ResultPageStart } from '../../../records/results/lists/browse-statements.ts';
import { unfiltered } from '../../../records/results/lists/browse-statements.ts';
import type { DomainStrength, GroupDistribution } from '../../../records/results/lists/distribution.ts';
import { distributionOf, strengthsOf } from '../../../records/results/lists/distribution.ts';
import type { Database } from '../../../platform/db/database.ts';
import { subjectName } from '../../../records/evidence/wording.ts';
import { groupsSeen } from '../../../organisations/groups/browse.ts';
import { countGroupTypes } from '../../../organisations/groups/list.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import type { Columns } from '../kit/blocks.ts';
import { bar, filters, pager, table, number, numeric, pageOf } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import { groupOf, levelNames, subjectNames, typeChoices } from './filter.ts';
import { percent } from './results.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { NoSuchPage, get } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { filtersOf } from '../kit/form.ts';

export const distributionRoutes: ConsoleRoute[] = [get('/results/spread', learnerReaders, spread)];

/** The maximum of results whose domains are averaged, over all subjects of a group. */
const maxForDomains = 300;
/** The maximum of pages that are read to find them. */
const maxLooks = 5;

/** The number of results at each level, in the order of `levelNames`. */
export const countsOf = ({ counts }: GroupDistribution, subject: number) =>
  levelNames.map((_, level) => counts.get(subject * 8 + level) ?? 0);
const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);

/** A count with its share, as text and bar. */
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
  const q = filtersOf(visit);
  const visibility = await visibilityOf(visit);
  const types = await countGroupTypes(app.db, id, await groupsSeen(app.db, id, visibility));
  const type = types.find((one) => one.type === query.get('type'))?.type ?? types[0]?.type ?? null;
  const given = query.get('after') ?? '';
  const after = isUuid(given) ? given : null;
  const max = limits.groupsListed;
  const found =
    type === null ? [] : await distributionOf(app.db, id, { type, groupId: null, visibility }, after, max + 1);
  const subject = subjects.find((one) => one === query.get('subject')) ?? subjects[0];
  const { rows, last } = pageOf(found, max);
  const asked = new URLSearchParams({ type: type ?? '', subject });
  return {
    title: 'Spread of placements',
    back: { to: `${base}/results`, label: 'Results' },
    main: html`<p>How the results of each group spread over the levels. Every completed result of those who are members now counts, earlier ones of the same learner, too.</p>${filters(
      path,
      [
        q.select('type', 'Type of group', typeChoices(types), { value: type ?? '' }),
        q.select('subject', 'Subject', subjectNames, { value: subject }),
      ],
    )}${table<GroupDistribution>(
      { caption: `${subjectName(subject)}: results at each level`, none: 'There are no groups yet.', sticky: true },
      rows,
      {
        Group: (row) =>
          html`<a href="${path}?group=${row.group_id}">${name(row.name)}</a>${row.active ? null : ' (archived)'}`,
        ...countColumns((row: GroupDistribution) => countsOf(row, subjects.indexOf(subject))),
      },
    )}${pager(visit, last?.group_id, 'after', asked)}`,
  };
}

/** `isMore`: there are further results than these, assessed earlier. */
export type LatestOfGroup = { bySubject: ResultContent[][]; isMore: boolean };

/** Each learner's latest result in each subject. In a large group, the most recently assessed ones. */
export async function latestOf(
  db: Database,
  organisationId: number,
  groupId: string,
  visibility: Visibility,
  looks = maxLooks,
): Promise<LatestOfGroup> {
  // One query for all subjects: three queries would each pass over the results of the other two.
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
  return {
    bySubject: subjects.map((subject) => contents.filter((one) => one.subject === subject)),
    isMore: next !== null,
  };
}

async function groupPage(visit: Visit, groupId: string): Promise<Answer> {
  const { app, base, organisationId: id } = visit;
  const group = await groupOf(visit, groupId);
  if (group === null) throw new NoSuchPage();
  const visibility = await visibilityOf(visit);
  const found = await distributionOf(app.db, id, { type: null, groupId, visibility }, null, 1);
  const path = `${base}/results/spread`;
  const back = { to: `${path}?${new URLSearchParams({ type: group.type }).toString()}`, label: 'Spread of placements' };
  const one = found[0]!;
  const { bySubject, isMore } = await latestOf(app.db, id, groupId, visibility);
  return {
    title: 'Spread of a group',
    heading: name(group.name),
    back,
    main: html`<p>How the results of this group’s members spread over levels and domains.</p>${table(
      'Results at each level, earlier ones of the same learner included',
      [...subjects.keys()],
      {
        Subject: (subject) =>
          html`<a href="${base}/results?${new URLSearchParams({ group: groupId, subject: subjects[subject]! }).toString()}">${subjectName(subjects[subject]!)}</a>`,
        ...countColumns((subject: number) => countsOf(one, subject)),
      },
    )}${bySubject.map((rows, subject) => domainPart(subject, strengthsOf(rows), rows.length, isMore && sum(countsOf(one, subject)) > 0))}<p><a href="${base}/results/progress?${new URLSearchParams({ group: groupId }).toString()}">Starting points against latest results</a></p>`,
  };
}

function domainPart(subject: number, strengths: readonly DomainStrength[], results: number, more: boolean): Content {
  if (results === 0)
    return more
      ? html`<p>${subjectName(subjects[subject]!)}: its domains are not added up. The group has many results, and those in this subject lie behind what was looked through.</p>`
      : null;
  const of = more ? `the ${number(results)} latest assessed` : `${number(results)} of them`;
  return table<DomainStrength>(
    `${subjectName(subjects[subject]!)}: domains in each learner’s latest result (${of})`,
    strengths,
    {
      Domain: (one) => one.name,
      'Mean score': numeric((one) => (one.score === null ? 'Not scored' : html`${one.score} %${bar(one.score, 100)}`)),
      Secure: numeric((one) => share(one.statuses.get('secure') ?? 0, one.results)),
      Developing: numeric((one) => share(one.statuses.get('developing') ?? 0, one.results)),
      'Needs support': numeric((one) => share(one.statuses.get('needs_support') ?? 0, one.results)),
    },
  );
}
