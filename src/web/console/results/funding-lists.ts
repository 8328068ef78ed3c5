import type { BrowsedResult } from '../../../records/results/lists/browse.ts';
import { browseResults } from '../../../records/results/lists/browse.ts';
import type { ResultQuery, ResultFilter } from '../../../records/results/lists/browse-statements.ts';
import { probabilityBelow, placementOf } from '../../../records/results/lists/interval.ts';
import { subjectName } from '../../../records/evidence/wording.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { day, filters, pager, table, withQuery, numeric } from '../kit/blocks.ts';
import { downloadedResults, formatForm, formatOf } from './export.ts';
import { dateFields, filterQuery, groupFields, readResultFilter } from './filter.ts';
import { flagWords, intervalWords, learnerCell, percent, readPlace } from './results.ts';
import { placeText } from '../kit/page-token.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { startOfDay } from '../../../organisations/zone.ts';
import { get, formRoutes } from '../kit/route.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { filtersOf } from '../kit/form.ts';

/** Two lists for funding: each learner's latest result in a subject, if it is below a level. */

type List = {
  name: string;
  title: string;
  below: 'Level 1' | 'Level 2';
  /** Subject and level as in src/records/results/facet.ts. */
  facets: readonly number[];
  says: string;
};

export const fundingLists: readonly List[] = [
  {
    name: 'digital-below-level-1',
    title: 'Digital skills below Level 1',
    below: 'Level 1',
    facets: [1, 2],
    says: 'Learners whose latest digital skills result is below Level 1.',
  },
  {
    name: 'english-maths-below-level-2',
    title: 'English or maths assessed below Level 2',
    below: 'Level 2',
    facets: [9, 10, 11, 17, 18, 19],
    says: 'Learners whose latest result in English, or in maths, is below Level 2: a line for each subject.',
  },
];

const pathOf = ({ name }: List) => `/results/lists/${name}`;

export const resultListRoutes: ConsoleRoute[] = [
  get('/results/lists', learnerReaders, showLists),
  ...fundingLists.flatMap((list): ConsoleRoute[] => [
    get(pathOf(list), learnerReaders, (visit) => showList(visit, list)),
    ...formRoutes(
      `${pathOf(list)}/export`,
      learnerReaders,
      (visit) => showExport(visit, list),
      (visit) => exportList(visit, list),
      { proof: true },
    ),
  ]),
];

/** The service does not say what follows from a list. It links to the funder's rules. */
async function rulesOf({ app, organisationId }: Visit): Promise<Content> {
  const { funding_rules_url: url } = await readOrganisation(app.db, organisationId);
  return html`A result says what was assessed on a day, and how surely. What follows from it for funding is for your own rules and those of your funder: check each learner against ${url === null ? 'them' : html`<a href="${url}" rel="noreferrer">these rules</a>`}.`;
}

async function showLists(visit: Visit): Promise<Answer> {
  const { base } = visit;
  return {
    title: 'Lists for funding',
    back: { to: `${base}/results`, label: 'Results' },
    main: html`<p>Each learner’s latest result in a subject, where it is below a level, with its date, its probability and its evidence.</p><ul class="choices">${fundingLists.map(
      (list) => html`<li><a href="${base}${pathOf(list)}">${list.title}</a><p class="hint">${list.says}</p></li>`,
    )}</ul><p>${await rulesOf(visit)}</p>`,
  };
}

/** The start of the programme in microseconds. */
function startOf({ query, zone }: Visit): number | null {
  const at = startOfDay(query.get('start') ?? '', zone);
  return at === null ? null : at.getTime() * 1000;
}

export const fundingFilter = (given: ResultFilter, { facets }: List): ResultFilter => ({
  ...given,
  facets,
  latest: true,
  flag: null,
  source: null,
  changedSinceUs: null,
});

async function lookFor(visit: Visit, list: List): Promise<ResultQuery> {
  const filter = fundingFilter(await readResultFilter(visit), list);
  return {
    organisationId: visit.organisationId,
    filter,
    sort: 'assessed',
    descending: true,
    after: readPlace(visit, filter.visibility, 'assessed'),
    limit: limits.consoleRows,
  };
}

const kept = (query: URLSearchParams) => filterQuery(query, ['start']);

async function showList(visit: Visit, list: List): Promise<Answer> {
  const { app, base, zone, path, query } = visit;
  const q = filtersOf(visit);
  const look = await lookFor(visit, list);
  const startUs = startOf(visit);
  const [page, groups, rules] = await Promise.all([
    app.db.snapshot((tx) => browseResults(tx, look)),
    groupFields(visit),
    rulesOf(visit),
  ]);
  const { rows, next, isCutShort } = page;
  const isLate = ({ content }: BrowsedResult) => startUs !== null && content.assessed_at_us >= startUs;
  const late = rows.filter(isLate).length;
  const probability = ({ content }: BrowsedResult): Content => {
    const found = probabilityBelow(content.level_probabilities, list.below);
    return found === null ? 'Not recorded' : percent(found);
  };
  const address = kept(query);
  return {
    title: list.title,
    back: { to: `${base}/results/lists`, label: 'Lists for funding' },
    main: html`<p>${list.says} ${rules}</p>${filters(path, [
      groups,
      dateFields(q),
      q.text('start', 'Programme starts on', { type: 'date' }),
    ])}${
      late > 0 &&
      html`<p class="note"><strong>${late === 1 ? 'One result on this page was' : `${late} results on this page were`} assessed on the day on which the programme starts, or later.</strong> A starting point has to be assessed before.</p>`
    }${rows.length > 0 && html`<div class="actions"><a class="button" href="${withQuery(`${path}/export`, address, {})}">Export this list</a></div>`}${table<BrowsedResult>(
      {
        caption: 'The latest assessed first',
        none: isCutShort
          ? 'There are none among those looked through so far. The next page looks further.'
          : 'There are no such results.',
        sticky: true,
      },
      rows,
      {
        Learner: (row) => learnerCell(base, row),
        Subject: ({ content }) => subjectName(content.subject),
        Placement: ({ content }) => placementOf(content),
        'Likely level': ({ content }) => intervalWords(content.level_probabilities),
        [`Probability below ${list.below}`]: numeric(probability),
        Assessed: (row) =>
          html`${day(row.content.assessed_at_us, zone)}${isLate(row) ? html`<br><strong>After the programme’s start</strong>` : null}`,
        Flags: ({ content }) => flagWords(content),
        Evidence: (row) =>
          html`<a href="${base}/results/${row.assessment_id}/evidence">PDF<span class="unseen"> of the result of ${row.full_name}</span></a>`,
      },
    )}${isCutShort && rows.length > 0 && html`<p>There may be more: the next page looks further.</p>`}${pager(visit, next && placeText(visit, look.filter.visibility, next.join('.')), 'after', address)}`,
  };
}

async function showExport(visit: Visit, list: List): Promise<Answer> {
  const address = withQuery(visit.base + pathOf(list), kept(visit.query), {});
  return {
    title: `Export: ${list.title}`,
    back: { to: address, label: list.title },
    main: html`<p>The file holds every line of the list as it is filtered, at one moment, with probability, evidence hash and${startOf(visit) === null ? ' the date of each result. Give the day on which the programme starts to have later results marked' : ' a mark where a result is of the day on which the programme starts, or later'}. It holds names: keep it where personal data belongs.</p>${formatForm(visit, kept(visit.query), address)}`,
  };
}

async function exportList(visit: Visit, list: List): Promise<Answer> {
  const look = await lookFor(visit, list);
  const address = kept(visit.query).toString();
  return downloadedResults(visit, look, {
    name: list.name,
    resource: `${list.title} as ${formatOf(visit)}${address === '' ? '' : `: ${address}`}`.slice(0, 500),
    funding: { below: list.below, startUs: startOf(visit) },
  });
}
