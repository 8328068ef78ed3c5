import { subjectName } from '../../../records/evidence/wording.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type Subject, subjects } from '../../../engine/scoring/levels.ts';
import { number } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import { groupOf, subjectNames, typeChoices } from './filter.ts';
import { percent } from './results.ts';
import { type Answer, type ConsoleRoute, type Visit, get, NoSuchPage } from '../kit/route.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { listPage } from '../kit/page.ts';
import type { DomainStrength, GroupDistribution } from '../../../records/results/lists/distribution.ts';
import { countsOf, latestOf, distributionOf, strengthsOf } from '../../../records/results/lists/distribution.ts';
import { groupsSeen } from '../../../organisations/groups/browse.ts';
import { countGroupTypes } from '../../../organisations/groups/list.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { visibilityOf } from '../kit/reader.ts';
import { levelNames } from '../../../records/results/lists/filter-query.ts';
import { uuidIn, readPage } from '../kit/paging.ts';
import { type Columns, numeric, bar, table } from '../kit/table.ts';

export const distributionRoutes: ConsoleRoute[] = [get('/results/spread', learnerReaders, spread)];

const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);

export function share(n: number, of: number): Content {
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
    intro: html`<p>This page shows how many results of each group are at each level. The numbers include all completed results of current members, also earlier results of the same learner.</p>`,
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
      html`<p><a href="${base}/results/progress?${query({ group: groupId })}">Distance travelled</a> · <a href="${base}/results/gaps?${query({ group: groupId })}">Gaps by domain</a></p>`,
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
    'Weaker than others': numeric((one) => share(one.weaker, one.results)),
  });
}
