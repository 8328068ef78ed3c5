import { clockOf } from '../../../records/results/lists/export.ts';
import { placementOf } from '../../../records/results/lists/interval.ts';
import type { Progress, ProgressFilter } from '../../../records/results/lists/progress.ts';
import { changeOf, everyProgress, progressOf } from '../../../records/results/lists/progress.ts';
import { subjectName } from '../../../records/evidence/wording.ts';
import type { Column } from '../../../platform/formats/sheet.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { subjects } from '../../../engine/scoring/levels.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { day, empty, filters, pager, table, withQuery, numeric } from '../kit/blocks.ts';
import { name } from '../kit/frame.ts';
import { downloaded, formatForm, formatOf } from './export.ts';
import { filterQuery, groupFields, readResultFilter, subjectField } from './filter.ts';
import { intervalWords } from './results.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get, formRoutes } from '../kit/route.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { filtersOf } from '../kit/form.ts';

export const resultProgressRoutes: ConsoleRoute[] = [
  get('/results/progress', learnerReaders, progress),
  ...formRoutes('/results/progress/export', learnerReaders, showExport, exportProgress, { proof: true }),
];

async function filterOf(visit: Visit): Promise<ProgressFilter | null> {
  const { groupIds, visibility } = await readResultFilter(visit);
  const subject = subjects.findIndex((one) => one === visit.query.get('subject'));
  return groupIds.length === 0 ? null : { groupIds, visibility, subject: subject < 0 ? null : subject };
}

/** A difference within measurement error is marked as such. */
function gainWords(row: Progress): Content {
  if (row.results < 2) return 'One result so far';
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
  const given = query.get('after') ?? '';
  const after = isUuid(given) ? given.toLowerCase() : null;
  const found = filter && (await app.db.snapshot((tx) => progressOf(tx, id, filter, after, limits.groupsListed)));
  const kept = filterQuery(query, []);
  const result = ({ assessment_id, content }: Progress['first']): Content =>
    html`<a href="${base}/results/${assessment_id}">${placementOf(content)}</a> <span class="hint">${day(content.assessed_at_us, zone)}; likely ${intervalWords(content.level_probabilities)}</span>`;
  return {
    title: 'Starting points and progress',
    back: { to: `${base}/results`, label: 'Results' },
    main: html`<p>The first and the latest result of each learner of a group in each subject. Where the likely levels of both have a level in common, the difference may be no more than error of measurement, and the line says so.</p>${filters(path, [groups, subjectField(filtersOf(visit))])}${
      found === null
        ? empty('Choose a team or a group.')
        : found.rows.length === 0
          ? empty(
              found.next === null
                ? 'Its learners have no results yet.'
                : 'These learners have no results yet: the next page has others.',
            )
          : html`<div class="actions"><a class="button" href="${withQuery(`${path}/export`, kept, {})}">Export all of them</a></div>${table<Progress>(
              { caption: 'Learners, with their results in each subject', sticky: true },
              found.rows,
              {
                Learner: (row) =>
                  html`<a href="${base}/learners/${row.learner_id}">${name(row.full_name)}</a>${row.ref === null ? null : html` <span class="hint">${row.ref}</span>`}`,
                Subject: (row) => subjectName(row.first.content.subject),
                Results: numeric((row) => row.results),
                First: (row) => result(row.first),
                Latest: (row) => (row.results < 2 ? '' : result(row.latest)),
                Change: gainWords,
              },
            )}`
    }${pager(visit, found?.next, 'after', kept)}`,
  };
}

async function showExport(visit: Visit): Promise<Answer> {
  const kept = filterQuery(visit.query, []);
  const back = withQuery(`${visit.base}/results/progress`, kept, {});
  return {
    title: 'Export starting points and progress',
    back: { to: back, label: 'Starting points and progress' },
    main: html`<p>The file holds every learner of the group with first and latest result in each subject, at one moment. It holds names: keep it where personal data belongs.</p>${formatForm(visit, kept, back)}`,
  };
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
  const { zone, organisationId, query } = visit;
  const filter = await filterOf(visit);
  if (filter === null) return { to: `${visit.base}/results/progress` };
  const format = formatOf(visit);
  const columns = progressColumns(zone);
  return downloaded(visit, {
    name: 'progress',
    format,
    resource: `progress as ${format}: ${filterQuery(query, []).toString()}`.slice(0, 500),
    sheetOf: (tx) => ({ name: 'Progress', columns, rows: everyProgress(tx, organisationId, filter, 200) }),
  });
}
