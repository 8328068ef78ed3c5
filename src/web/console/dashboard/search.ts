import { findRequest } from '../../../platform/audit/log.ts';
import { holdsNationalInsuranceNumber, isOpaqueRef } from '../../../platform/validation/personal-data.ts';
import { type Match, findByIdentifier } from '../../../api/tracer/identifier-lookup.ts';
import { type Role, logReaders, integrators } from '../../../organisations/users/roles.ts';
import { nilUuid } from '../../../platform/crypto/random.ts';
import type { Faults } from '../kit/form.ts';
import { type Answer, type ConsoleRoute, type Visit, formRoutes } from '../kit/route.ts';
import { formPage } from '../kit/page.ts';

/** The search sends its text in the body of a form, because a reference in a URL may name a person. */

export const searchRoutes: ConsoleRoute[] = formRoutes('/search', logReaders, (visit) => searchPage(visit), search);

/** The page does not repeat the text, so the response is the same for unknown IDs and IDs of other organisations. */
const searchPage = (visit: Visit, faults: Faults = {}): Answer =>
  formPage(visit, {
    title: 'Find by reference or id',
    says: 'One field for learners, results, calls, keys, deliveries, events and endpoints.',
    faults,
    button: 'Find it',
    fields: (f) =>
      f.text('reference', 'Reference or id', {
        hint: 'Of a learner, a result, a request (X-Request-Id), a key, a delivery, an event or an endpoint. Never a name.',
        type: 'search',
        value: '',
      }),
  });

async function search(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, role, form: sent } = visit;
  const again = (reference: string) => searchPage(visit, { reference });
  const text = sent.text('reference');
  if (text === '') return again('Enter a reference or an id.');
  if (text.includes('@') || holdsNationalInsuranceNumber(text))
    return again('Enter a reference or an id: never a name, an e-mail address or a number of a person.');
  // A malformed reference is looked up as the nil UUID, which finds nothing and takes the same time as a valid ID.
  const identifier = isOpaqueRef(text) ? text : nilUuid;
  const [found, call] = await Promise.all([
    findByIdentifier(app.db, id, identifier),
    findRequest(app.db, id, identifier),
  ]);
  const paths = [...found.map((one) => pathOf(one, role)), call === null ? null : `/log/${call}`];
  const path = paths.find((one) => one !== null);
  return path === undefined
    ? again(
        'Nothing here has this reference or id. Capital letters count, and a result that was never recorded has none.',
      )
    : { to: `${base}${path}` };
}

function pathOf({ kind, id }: Match, role: Role): string | null {
  if (kind === 'result') return `/trace?assessment_id=${id}`;
  if (kind === 'learner') return `/learners/${id}`;
  if (kind === 'key') return integrators.includes(role) ? `/keys/${id}` : `/log?key=${id}`;
  if (!integrators.includes(role)) return null;
  return kind === 'delivery' ? `/deliveries/${id}` : `/webhooks/${id}`;
}
