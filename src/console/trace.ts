import { html } from '../html.ts';
import type { Trace } from '../trace/trace.ts';
import { traceResult } from '../trace/trace.ts';
import { empty, facts, filters, instant, table, told } from './blocks.ts';
import { textField } from './form.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';

/** Where is this result? One sentence at the top, the proof below. */

const readers = ['owner', 'admin', 'developer', 'auditor'] as const;

export const traceRoutes: ConsoleRoute[] = [
  { for: readers, method: 'GET', path: '/trace', menu: 'Where is a result?', section: 'integration', handle: trace },
];

async function trace(visit: Visit): Promise<Answer> {
  const { app, base, organisation, query } = visit;
  const given = (query.get('assessment_id') ?? '').trim();
  const found = given === '' ? null : await traceResult(app, organisation.organisation_id, given);
  return {
    page: {
      title: 'Where is this result?',
      says: 'How far a result has come, to which platform, and why not further.',
      main: html`${filters(
        `${base}/trace`,
        textField({
          name: 'assessment_id',
          label: 'Id of the result',
          value: given,
          width: 40,
          hint: 'assessment_id, as platforms show it and exports have it.',
        }),
        'Find it',
      )}${found === null ? null : html`<h2>${told(found.sentence, organisation.time_zone)}</h2>${proof(visit, found)}`}`,
    },
  };
}

function proof({ base, organisation }: Visit, { result, keys, endpoints }: Trace) {
  if (result === null) return null;
  const zone = organisation.time_zone;
  return html`${facts([
    ['Completed', result.completed_at === null ? 'Not known' : instant(result.completed_at, zone)],
    [result.deleted ? 'Withdrawn at' : 'Position (updated_at)', instant(new Date(result.position / 1000), zone)],
    ['Learner', html`<a href="${base}/learners/${result.learner_id}"><code>${result.learner_id}</code></a>`],
    ['Learner’s reference', result.learner_ref === null ? 'None' : html`<code>${result.learner_ref}</code>`],
    ...result.changes.map(
      ({ at, kind }) => [kind === 'withdrawn' ? 'Withdrawn' : 'Amended', instant(at, zone)] as const,
    ),
  ])}${
    keys.length === 0
      ? empty('There is no key that could have fetched it.')
      : table({
          caption: 'Keys',
          rows: keys,
          columns: [
            {
              head: 'Key',
              cell: ({ key }) => html`<a href="${base}/keys/${key.key_id}/view">${key.label ?? key.key_id}</a>`,
            },
            { head: 'What became of it', cell: (one) => told(one.sentence, zone) },
            {
              head: 'Proof',
              cell: ({ proof: row }) => (row === null ? 'None' : html`<a href="${base}/log/${row}">Call ${row}</a>`),
            },
          ],
        })
  }${
    endpoints.length === 0
      ? empty('There is no webhook endpoint.')
      : table({
          caption: 'Webhooks',
          rows: endpoints,
          columns: [
            { head: 'Endpoint', cell: ({ endpoint }) => endpoint.host },
            { head: 'What became of it', cell: (one) => told(one.sentence, zone) },
            {
              head: 'Delivery',
              cell: ({ endpoint }) =>
                endpoint.delivery === null ? 'None' : html`<code>${endpoint.delivery.delivery_id}</code>`,
            },
          ],
        })
  }`;
}
