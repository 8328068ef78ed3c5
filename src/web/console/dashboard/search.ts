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
    title: 'Search',
    says: 'Find a learner, result, request, key, delivery, event or webhook endpoint.',
    faults,
    button: 'Search',
    fields: (f) =>
      f.text('reference', 'Reference or ID', {
        hint: 'Such as LRN-000017 or an X-Request-Id. Never a name.',
        type: 'search',
        value: '',
      }),
  });

async function search(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, role, form: sent } = visit;
  const again = (reference: string) => searchPage(visit, { reference });
  const text = sent.text('reference');
  if (text === '') return again('The field is empty. Enter a reference or an ID.');
  if (text.includes('@') || holdsNationalInsuranceNumber(text))
    return again('This is personal data. Enter a reference or an ID.');
  // A malformed reference is looked up as the nil UUID, which finds nothing and takes the same time as a valid ID.
  const identifier = isOpaqueRef(text) ? text : nilUuid;
  const [found, call] = await Promise.all([
    findByIdentifier(app.db, id, identifier),
    findRequest(app.db, id, identifier),
  ]);
  const paths = [...found.map((one) => pathOf(one, role)), call === null ? null : `/log/${call}`];
  const path = paths.find((one) => one !== null);
  return path === undefined
    ? again('Nothing has this reference or ID. Check the capital letters. Only recorded results have an ID.')
    : { to: `${base}${path}` };
}

function pathOf({ kind, id }: Match, role: Role): string | null {
  if (kind === 'result') return `/trace?assessment_id=${id}`;
  if (kind === 'learner') return `/learners/${id}`;
  if (kind === 'key') return integrators.includes(role) ? `/keys/${id}` : `/log?key=${id}`;
  if (!integrators.includes(role)) return null;
  return kind === 'delivery' ? `/deliveries/${id}` : `/webhooks/${id}`;
}
