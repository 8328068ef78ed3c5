import { type Content, html } from '../../../platform/html/html.ts';
import { type Trace, traceResult } from '../../../api/tracer/trace.ts';
import { facts, filters, instant, withLocalTimes, code } from '../kit/blocks.ts';
import { filtersOf } from '../kit/form.ts';
import { type Answer, type ConsoleRoute, type Visit, get } from '../kit/route.ts';
import { logReaders, integrators } from '../../../organisations/users/roles.ts';
import { table } from '../kit/table.ts';

export const traceRoutes: ConsoleRoute[] = [
  get('/trace', logReaders, trace, { menu: 'Trace result', section: 'integration' }),
];

/** A link to the page that traces the result; null for roles that cannot open that page. */
export function traceLink({ base, organisation }: Pick<Visit, 'base' | 'organisation'>, assessmentId: string): Content {
  return logReaders.includes(organisation.role)
    ? html`<a href="${base}/trace?assessment_id=${assessmentId}">Trace result<span class="unseen"> ${assessmentId}</span></a>`
    : null;
}

async function trace(visit: Visit): Promise<Answer> {
  const { app, base, organisationId, zone, query } = visit;
  const id = (query.get('assessment_id') ?? '').trim();
  const found = id === '' ? null : await traceResult(app, organisationId, id);
  const field = filtersOf(visit).text('assessment_id', 'Result ID', {
    value: id,
    isId: true,
    hint: 'The assessment_id. To find it, search the learner at the top of the page.',
  });
  return {
    title: 'Trace result',
    says: 'Which platforms have received a result, and why others have not.',
    main: [
      filters(`${base}/trace`, field, 'Trace result'),
      found && [html`<h2>${withLocalTimes(found.sentence, zone)}</h2>`, proof(visit, id.toLowerCase(), found)],
    ],
  };
}

function proof({ base, zone, role }: Visit, id: string, { result, keys, endpoints }: Trace): Content {
  if (result === null) return null;
  const keyName = ({ key: { key_id, label } }: Trace['keys'][number]): Content =>
    integrators.includes(role) ? html`<a href="${base}/keys/${key_id}">${label ?? key_id}</a>` : (label ?? key_id);
  return [
    facts([
      ['Result', role !== 'developer' && html`<a href="${base}/results/${id}">${code(id)}</a>`],
      [result.source === 'imported' ? 'Imported' : 'Completed', instant(result.recorded_at, zone)],
      [result.deleted ? 'Withdrawn at' : 'Position (updated_at)', instant(result.position, zone)],
      ['Learner', html`<a href="${base}/learners/${result.learner_id}">${code(result.learner_id)}</a>`],
      ['Learner’s reference', code(result.learner_ref, 'None')],
      ...result.changes.map(
        ({ at, kind }) => [kind === 'withdrawn' ? 'Withdrawn' : 'Amended', instant(at, zone)] as const,
      ),
    ]),
    table({ caption: 'Keys', none: 'No key has access to this result. Create a key for the platform.' }, keys, {
      Key: keyName,
      State: (one) => withLocalTimes(one.sentence, zone),
      Request: ({ proof: row }) => (row === null ? 'None' : html`<a href="${base}/log/${row}">Request ${row}</a>`),
    }),
    table(
      {
        caption: 'Webhook endpoints, without removed ones',
        none: 'There is no webhook endpoint. Removed endpoints are not shown.',
      },
      endpoints,
      {
        Endpoint: ({ endpoint }) => endpoint.host,
        State: (one) => withLocalTimes(one.sentence, zone),
        Delivery: ({ endpoint }) => code(endpoint.delivery?.delivery_id, 'None'),
      },
    ),
  ];
}
