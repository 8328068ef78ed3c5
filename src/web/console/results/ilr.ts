import { exportedResults } from '../../../records/results/lists/export.ts';
import { ilrColumns } from '../../../records/results/lists/ilr.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { learnerReaders } from '../../../organisations/users/roles.ts';
import { html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { filters } from '../kit/blocks.ts';
import { fieldsOf, filtersOf, hiddenField } from '../kit/form.ts';
import { type Answer, type ConsoleRoute, type Visit, formRoutes } from '../kit/route.ts';
import { downloaded } from './export.ts';
import { dateFields, groupFields, readResultFilter, subjectField } from './filter.ts';
import { filterQuery } from '../../../records/results/lists/filter-query.ts';
import { withQuery } from '../kit/paging.ts';

export const ilrRoutes: ConsoleRoute[] = formRoutes('/results/lists/ilr', learnerReaders, showIlr, sendIlr, {
  proof: true,
});

async function showIlr(visit: Visit): Promise<Answer> {
  const { base, path, query } = visit;
  const q = filtersOf(visit);
  return {
    title: 'Assessed levels for the ILR',
    back: { to: `${base}/results/lists`, label: 'Funding lists' },
    says: 'A CSV file for the people who prepare your ILR return. It contains each learner’s latest result in a subject.',
    main: [
      html`<p class="note"><strong>The code is an assessed level, not prior attainment.</strong> Never copy AssessedLevelCode into PriorLevel. PriorLevel states the qualifications that a learner holds. Ask the learner for certificates.</p>`,
      html`<p><a href="/docs/developers/mapping.html#columns-of-the-ilr-file">Columns of the file</a>. It contains names. Store it securely, and delete it after use.</p>`,
      filters(path, [await groupFields(visit), subjectField(q), dateFields(q)]),
      fieldsOf(visit).form(
        'Download CSV',
        { to: withQuery(path, filterQuery(query, []), {}) },
        hiddenField('format', 'csv'),
      ),
    ],
  };
}

async function sendIlr(visit: Visit): Promise<Answer> {
  const { app, organisationId, zone, query } = visit;
  const filter = { ...(await readResultFilter(visit)), latest: true };
  const look = {
    organisationId,
    filter,
    sort: 'assessed',
    descending: true,
    after: null,
    limit: limits.exportPage,
  } as const;
  const columns = ilrColumns((await readOrganisation(app.db, organisationId)).ukprn, zone);
  return downloaded(visit, {
    name: 'assessed-levels-for-ilr',
    resource: 'assessed levels for the ILR',
    kept: filterQuery(query, []),
    sheetOf: (tx) => ({ name: 'Assessed levels', columns, rows: exportedResults(tx, look) }),
  });
}
