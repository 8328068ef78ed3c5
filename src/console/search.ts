import { contentOf } from '../assessments/body.ts';
import { findRequest } from '../audit/log.ts';
import type { Content } from '../html.ts';
import { html } from '../html.ts';
import { limits } from '../limits.ts';
import { holdsNationalInsuranceNumber, isOpaqueRef } from '../personal-data.ts';
import type { Named, ResultSeen } from '../trace/named.ts';
import { findLearnerSeen, findNamed } from '../trace/named.ts';
import type { Role } from '../users/roles.ts';
import { nilUuid } from '../uuid.ts';
import { empty, facts, instant, moment, table } from './blocks.ts';
import type { Faults } from './form.ts';
import { form, textField } from './form.ts';
import { name } from './frame.ts';
import { keyKeepers } from './key-links.ts';
import { seesLearners } from './key-view.ts';
import type { Answer, ConsoleRoute, Visit } from './route.ts';
import { NoSuchPage } from './route.ts';

/**
 * Search by an id or a reference, from every page. What is typed goes in the body of a form, because a reference may name a
 * person to whoever reads an address; where it leads stands under an opaque id.
 */

const readers = ['owner', 'admin', 'developer', 'auditor'] as const;

/** Whom every page shows the field. */
export const searchers: readonly Role[] = readers;

export const searchRoutes: ConsoleRoute[] = [
  { for: readers, method: 'GET', path: '/search', handle: async (visit) => searchPage(visit, {}) },
  { for: readers, method: 'POST', path: '/search', handle: search },
  { for: readers, method: 'GET', path: '/learners/{learner_id}', handle: learner },
];

/** What was typed is not shown again: the same bytes for what is unknown, and for what is another organisation's. */
function searchPage({ base }: Visit, faults: Faults): Answer {
  return {
    status: Object.keys(faults).length === 0 ? 200 : 422,
    page: {
      title: 'Find by reference or id',
      main: form(
        `${base}/search`,
        textField({
          name: 'reference',
          label: 'Reference or id',
          hint: 'Of a learner, a result, a request (X-Request-Id), a key, a delivery, an event or an endpoint. Never a name.',
          type: 'search',
          width: 40,
          fault: faults.reference,
        }),
        'Find it',
        { faults },
      ),
    },
  };
}

async function search(visit: Visit): Promise<Answer> {
  const { app, base, organisation, form: sent } = visit;
  const text = sent.text('reference');
  if (text === '') return searchPage(visit, { reference: 'Enter a reference or an id.' });
  if (text.includes('@') || holdsNationalInsuranceNumber(text))
    return searchPage(visit, {
      reference: 'Enter a reference or an id: never a name, an e-mail address or a number of a person.',
    });
  const { organisation_id: id } = organisation;
  // What is no reference is no id either.
  const given = isOpaqueRef(text) ? text : nilUuid;
  const [named, call] = await Promise.all([findNamed(app.db, id, given), findRequest(app.db, id, given)]);
  const paths = [...named.map((one) => pathOf(one, organisation.role)), call === null ? null : `/log/${call}`];
  const path = paths.find((one) => one !== null);
  if (path === undefined)
    return searchPage(visit, {
      reference:
        'Nothing here has this reference or id. Capital letters count, and a result that was never recorded has none.',
    });
  return { to: `${base}${path}` };
}

/** Where it belongs, for whoever may open that. */
function pathOf({ kind, id }: Named, role: Role): string | null {
  if (kind === 'result') return `/trace?assessment_id=${id}`;
  if (kind === 'learner') return `/learners/${id}`;
  if (kind === 'key') return keyKeepers.includes(role) ? `/keys/${id}` : `/keys/${id}/view`;
  if (!keyKeepers.includes(role)) return null;
  return kind === 'delivery' ? `/deliveries/${id}` : `/webhooks/${id}`;
}

async function learner(visit: Visit): Promise<Answer> {
  const { app, base, organisation, params } = visit;
  const { organisation_id: id, time_zone: zone } = organisation;
  const found = await findLearnerSeen(app.db, id, params.learner_id!.toLowerCase(), limits.consoleRows);
  if (found === undefined) throw new NoSuchPage();
  const named = seesLearners.includes(organisation.role);
  const { learner: one, results } = found;
  const rows: [string, Content][] = [
    ['Reference', one.ref === null ? 'None' : html`<code>${one.ref}</code>`],
    ['Learner id', html`<code>${one.learner_id}</code>`],
    ...(named ? [['Name', name(one.full_name)] as [string, Content]] : []),
    ['Groups', one.groups.length === 0 ? 'None' : one.groups.join('; ')],
  ];
  return {
    page: {
      title: 'A learner’s results',
      main: html`${facts(rows)}${
        results.length === 0
          ? empty('There is no result yet.')
          : table<ResultSeen>({
              caption: `The latest changed first${results.length < limits.consoleRows ? '' : `; the latest ${limits.consoleRows}`}`,
              rows: results,
              columns: [
                {
                  head: 'Result',
                  cell: (row) =>
                    html`<a href="${base}/trace?assessment_id=${row.assessment_id}"><code>${row.assessment_id}</code></a>`,
                },
                { head: 'State', cell: (row) => (row.deleted ? 'Withdrawn' : 'Completed') },
                { head: 'Assessed', cell: (row) => moment(new Date(row.assessed_at / 1000), zone) },
                { head: 'Updated', cell: (row) => instant(new Date(row.position / 1000), zone) },
                ...(named ? [{ head: 'Level', cell: levelOf }] : []),
              ],
            })
      }`,
    },
  };
}

function levelOf({ body, assessed_at }: ResultSeen): Content {
  if (body === null) return '';
  const { subject, working_level, rqf_level } = contentOf(body, assessed_at);
  return `${subject}: ${working_level ?? rqf_level ?? 'not placed'}`;
}
