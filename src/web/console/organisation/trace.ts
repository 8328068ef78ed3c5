import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import type { Trace } from '../../../api/tracer/trace.ts';
import { traceResult } from '../../../api/tracer/trace.ts';
import { facts, filters, instant, table, told } from '../kit/blocks.ts';
import { filtersOf } from '../kit/form.ts';
import type { Answer, ConsoleRoute, Visit } from '../kit/route.ts';
import { get } from '../kit/route.ts';
import { logReaders, integrators } from '../../../organisations/users/roles.ts';

/** One sentence says how far a result has come, with the proof below it. */

export const traceRoutes: ConsoleRoute[] = [
  get('/trace', logReaders, trace, { menu: 'Where is a result?', section: 'integration' }),
];

/** Null for roles that cannot open the page. */
export function traceLink({ base, organisation }: Pick<Visit, 'base' | 'organisation'>, assessmentId: string): Content {
  return logReaders.includes(organisation.role)
    ? html`<a href="${base}/trace?assessment_id=${assessmentId}">Where is it?<span class="unseen"> ${assessmentId}</span></a>`
    : null;
}

async function trace(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, zone, query } = visit;
  const q = filtersOf(visit);
  const given = (query.get('assessment_id') ?? '').trim();
  const found = given === '' ? null : await traceResult(app, organisationId, given);
  return {
    title: 'Where is this result?',
    says: 'How far a result has come, to which platform, and why not further.',
    main: html`${filters(
      `${base}/trace`,
      q.text('assessment_id', 'Id of the result', {
        value: given,
        hint: 'assessment_id, as platforms show it and exports have it.',
      }),
      'Find it',
    )}${found === null ? null : html`<h2>${told(found.sentence, zone)}</h2>${proof(visit, given.toLowerCase(), found)}`}`,
  };
}

function proof({ base, zone, role }: Visit, id: string, { result, keys, endpoints }: Trace) {
  if (result === null) return null;
  return html`${facts([
    ...(role !== 'developer'
      ? [['Result', html`<a href="${base}/results/${id}"><code>${id}</code></a>`] as const]
      : []),
    [result.source === 'imported' ? 'Imported' : 'Completed', instant(result.recorded_at, zone)],
    [result.deleted ? 'Withdrawn at' : 'Position (updated_at)', instant(result.position, zone)],
    ['Learner', html`<a href="${base}/learners/${result.learner_id}"><code>${result.learner_id}</code></a>`],
    ['Learner’s reference', result.learner_ref === null ? 'None' : html`<code>${result.learner_ref}</code>`],
    ...result.changes.map(
      ({ at, kind }) => [kind === 'withdrawn' ? 'Withdrawn' : 'Amended', instant(at, zone)] as const,
    ),
  ])}${table({ caption: 'Keys', none: 'There is no key that could have fetched it.' }, keys, {
    Key: ({ key }) =>
      integrators.includes(role)
        ? html`<a href="${base}/keys/${key.key_id}">${key.label ?? key.key_id}</a>`
        : (key.label ?? key.key_id),
    'What became of it': (one) => told(one.sentence, zone),
    Proof: ({ proof: row }) => (row === null ? 'None' : html`<a href="${base}/log/${row}">Call ${row}</a>`),
  })}${table(
    {
      caption: 'Webhook endpoints; removed ones are not shown',
      none: 'There is no webhook endpoint now. Endpoints that were removed are not shown.',
    },
    endpoints,
    {
      Endpoint: ({ endpoint }) => endpoint.host,
      'What became of it': (one) => told(one.sentence, zone),
      Delivery: ({ endpoint }) =>
        endpoint.delivery === null ? 'None' : html`<code>${endpoint.delivery.delivery_id}</code>`,
    },
  )}`;
}
