import type { ResultContent } from '../assessments/body.ts';
import { browseResults } from '../assessments/browse.ts';
import type { ResultPlace } from '../assessments/browse-sql.ts';
import { unfiltered } from '../assessments/browse-sql.ts';
import type { DomainStrength, GroupSpread } from '../assessments/spread.ts';
import { spreadOf, strengthsOf } from '../assessments/spread.ts';
import type { Database } from '../db/database.ts';
import { subjectName } from '../evidence/wording.ts';
import { groupsSeen } from '../groups/browse.ts';
import { countGroupTypes } from '../groups/list.ts';
import type { Sight } from '../groups/sight.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { subjects } from '../scoring/levels.ts';
import { isUuid } from '../uuid.ts';
import { bar, empty, filters, pager, table, withQuery, number } from './blocks.ts';
import { selectField } from './form.ts';
import { name } from './frame.ts';
import { groupOf, levelNames, typeName } from './results-filter.ts';
import { percent } from './results.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage, get } from './route.ts';
import { sightOf } from './sight.ts';
import { learnerReaders } from '../users/roles.ts';

/** How results spread over levels and domains, group by group. */
export const resultSpreadRoutes: ConsoleRoute[] = [get('/results/spread', learnerReaders, spread)];

/** Results whose domains are added up, of all subjects of a group together. */
const mostForDomains = 300;
/** How often it is looked further for them, where a page has passed over others' results and found too few. */
const mostLooks = 5;

/** Results of a subject at each level, in the order of the levels' names. */
export const countsOf = ({ counts }: GroupSpread, subject: number) =>
  levelNames.map((_, level) => counts.get(subject * 8 + level) ?? 0);
const sum = (values: readonly number[]) => values.reduce((total, one) => total + one, 0);

/** A count with its share of the row, as a bar beside it. */
function share(n: number, of: number): Content {
  return n === 0
    ? '0'
    : html`${number(n)} <span class="hint">${percent(Math.round((1000 * n) / of) / 1000)}</span>${bar(n, of)}`;
}

async function spread(visit: Visit): Promise<Answer> {
  const { query } = visit;
  const id = query.get('group') ?? '';
  return isUuid(id) ? groupPage(visit, id.toLowerCase()) : typePage(visit);
}

const notCounted = empty('Results are being counted after an upgrade. Look again in some minutes.');

async function typePage(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, query } = visit;

  const path = `${base}/results/spread`;
  const sight = await sightOf(visit);
  const types = await countGroupTypes(app.db, id, await groupsSeen(app.db, id, sight));
  const type = types.find((one) => one.type === query.get('type'))?.type ?? types[0]?.type ?? null;
  const after = query.get('after') ?? '';
  const found =
    type === null
      ? []
      : await spreadOf(
          app.db,
          id,
          { type, groupId: null, sight },
          isUuid(after) ? after : null,
          limits.groupsListed + 1,
        );
  const subject = Math.max(
    0,
    subjects.findIndex((one) => one === query.get('subject')),
  );
  const rows = (found ?? []).slice(0, limits.groupsListed);
  const asked = new URLSearchParams({ type: type ?? '', subject: subjects[subject]! });
  return {
    title: 'Spread of placements',
    back: { to: `${base}/results`, label: 'Results' },
    main: html`<p>How the results of each group spread over the levels. Every completed result of those who are members now counts, earlier ones of the same learner, too.</p>${filters(
      path,
      [
        selectField({
          name: 'type',
          label: 'Type of group',
          chosen: type ?? '',
          choices: types.map((one) => ({ value: one.type, label: `${typeName(one.type)} (${one.groups})` })),
        }),
        selectField({
          name: 'subject',
          label: 'Subject',
          chosen: subjects[subject]!,
          choices: subjects.map((value) => ({ value, label: subjectName(value) })),
        }),
      ],
    )}${
      found === null
        ? notCounted
        : rows.length === 0
          ? empty('There are no groups yet.')
          : table<GroupSpread>({
              caption: `${subjectName(subjects[subject]!)}: results at each level`,
              sticky: true,
              rows,
              columns: [
                {
                  head: 'Group',
                  cell: (row) =>
                    html`<a href="${path}?${new URLSearchParams({ group: row.group_id }).toString()}">${name(row.name)}</a>${row.active ? null : ' (archived)'}`,
                },
                { head: 'Results', number: true, cell: (row) => number(sum(countsOf(row, subject))) },
                ...levelNames.map((head, level) => ({
                  head,
                  number: true,
                  cell: (row: GroupSpread) => {
                    const counts = countsOf(row, subject);
                    return share(counts[level]!, sum(counts));
                  },
                })),
              ],
            })
    }${pager({
      first: isUuid(after) ? withQuery(path, asked, {}) : null,
      next:
        (found ?? []).length > limits.groupsListed ? withQuery(path, asked, { after: rows.at(-1)!.group_id }) : null,
    })}`,
  };
}

/** Results of a group, by subject; `isMore`: they are the latest assessed of those there are, or none could be looked for so far. */
export type LatestOfGroup = { bySubject: ResultContent[][]; isMore: boolean };

/** The latest result of each learner of a group in each subject; of a large group the latest assessed of them. */
export async function latestOf(
  db: Database,
  organisationId: number,
  groupId: string,
  sight: Sight,
  looks = mostLooks,
): Promise<LatestOfGroup> {
  // All subjects in one look: each of its own would walk past the others' results.
  const filter = { ...unfiltered, sight, groupIds: [groupId], latest: true };
  const contents: ResultContent[] = [];
  const next = await db.snapshot(async (tx) => {
    let after: ResultPlace | null = null;
    for (let n = 0; n < looks; n++) {
      const limit = mostForDomains - contents.length;
      const look = { organisationId, filter, sort: 'assessed', descending: true, after, limit } as const;
      const page = await browseResults(tx, look);
      contents.push(...page.rows.map(({ content }) => content));
      after = page.next;
      if (after === null || !page.passed || contents.length === mostForDomains) break;
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
  const sight = await sightOf(visit);
  const found = await spreadOf(app.db, id, { type: null, groupId, sight }, null, 1);
  const path = `${base}/results/spread`;
  const back = { to: `${path}?${new URLSearchParams({ type: group.type }).toString()}`, label: 'Spread of placements' };
  if (found === null)
    return {
      title: 'Spread of a group',
      heading: name(group.name),
      back,
      main: notCounted,
    };
  const one = found[0]!;
  const { bySubject, isMore } = await latestOf(app.db, id, groupId, sight);
  return {
    title: 'Spread of a group',
    heading: name(group.name),
    back,
    main: html`<p>How the results of this group’s members spread over levels and domains.</p>${table({
      caption: 'Results at each level, earlier ones of the same learner included',
      rows: [...subjects.keys()],
      columns: [
        {
          head: 'Subject',
          cell: (subject) =>
            html`<a href="${base}/results?${new URLSearchParams({ group: groupId, subject: subjects[subject]! }).toString()}">${subjectName(subjects[subject]!)}</a>`,
        },
        { head: 'Results', number: true, cell: (subject) => number(sum(countsOf(one, subject))) },
        ...levelNames.map((head, level) => ({
          head,
          number: true,
          cell: (subject: number) => {
            const counts = countsOf(one, subject);
            return share(counts[level]!, sum(counts));
          },
        })),
      ],
    })}${bySubject.map((rows, subject) => domainPart(subject, strengthsOf(rows), rows.length, isMore && sum(countsOf(one, subject)) > 0))}<p><a href="${base}/results/progress?${new URLSearchParams({ group: groupId }).toString()}">Starting points against latest results</a></p>`,
  };
}

function domainPart(subject: number, strengths: readonly DomainStrength[], results: number, more: boolean): Content {
  if (results === 0)
    return more
      ? html`<p>${subjectName(subjects[subject]!)}: its domains are not added up. The group has many results, and those in this subject lie behind what was looked through.</p>`
      : null;
  const of = more ? `the ${number(results)} latest assessed` : `${number(results)} of them`;
  return table<DomainStrength>({
    caption: `${subjectName(subjects[subject]!)}: domains in each learner’s latest result (${of})`,
    rows: strengths,
    columns: [
      { head: 'Domain', cell: (one) => one.name },
      {
        head: 'Mean score',
        number: true,
        cell: (one) => (one.score === null ? 'Not scored' : html`${one.score} %${bar(one.score, 100)}`),
      },
      { head: 'Secure', number: true, cell: (one) => share(one.statuses.get('secure') ?? 0, one.results) },
      { head: 'Developing', number: true, cell: (one) => share(one.statuses.get('developing') ?? 0, one.results) },
      {
        head: 'Needs support',
        number: true,
        cell: (one) => share(one.statuses.get('needs_support') ?? 0, one.results),
      },
    ],
  });
}
