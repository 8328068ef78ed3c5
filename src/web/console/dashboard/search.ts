import { findRequest } from '../../../platform/audit/log.ts';
import {
  holdsNationalInsuranceNumber,
  isOpaqueRef,
  isStorableText,
} from '../../../platform/validation/personal-data.ts';
import { limits } from '../../../platform/config/limits.ts';
import { type Match, findByIdentifier } from '../../../api/tracer/identifier-lookup.ts';
import { inviters, learnerReaders, integrators, logReaders, roles } from '../../../organisations/users/roles.ts';
import { type FoundGroup, searchGroups } from '../../../organisations/groups/browse.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { findVisibleResult } from '../../../governance/result-reviews/queue.ts';
import { findLearnerHead } from '../../../records/directory/learner-page.ts';
import { findLearnersByEmail, searchLearners } from '../../../records/directory/search.ts';
import { type LearnerListed, browseLearners, listLearners } from '../../../records/directory/browse.ts';
import { labelsOfKeys } from '../../../integrations/access-keys/keys.ts';
import { nilUuid } from '../../../platform/crypto/random.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { code, label, typeWords } from '../kit/blocks.ts';
import { type Faults, buttonForm, hiddenField } from '../kit/form.ts';
import { name } from '../kit/frame.ts';
import { visibilityOf } from '../kit/reader.ts';
import { latestResults } from '../learners/learners.ts';
import { type Answer, type ConsoleRoute, type Visit, formRoutes } from '../kit/route.ts';
import { formPage } from '../kit/page.ts';
import { hasWords } from '../../../platform/validation/words.ts';
import { plain, table } from '../kit/table.ts';

/** The search sends its text in the body of a form, because a name or a reference in a URL may name a person. */

export const searchRoutes: ConsoleRoute[] = formRoutes('/search', roles, (visit) => searchPage(visit), search);

/** Each section shows at most this many rows. */
const maxRows = 10;

/** A page with a fault does not repeat the text, so unknown text and text of other organisations look the same. */
const searchPage = (visit: Visit, faults: Faults = {}, text = '', found: Content = null): Answer =>
  formPage(visit, {
    title: 'Search',
    says: 'Find learners, results, groups, keys, pages, requests, deliveries and webhook endpoints.',
    faults,
    button: 'Search',
    fields: (f) =>
      f.text('reference', 'Name, reference or ID', {
        hint: 'Such as “ana sil”, LRN-000017 or an X-Request-Id. Beginnings of words are enough.',
        type: 'search',
        value: text,
      }),
    also: found,
  });

async function search(visit: Visit): Promise<Answer> {
  const { base, form: sent } = visit;
  const again = (reference: string) => searchPage(visit, { reference });
  const text = sent.text('reference');
  if (text === '') return again('The field is empty. Enter a name, a reference or an ID.');
  if (holdsNationalInsuranceNumber(text)) return again('This is personal data. Enter a name, a reference or an ID.');
  const visibility = await visibilityOf(visit);
  const isReadable = isStorableText(text, limits.fullNameChars);
  const [exact, learners, groups, keys] = await Promise.all([
    exactPath(visit, visibility, text),
    isReadable ? learnersLike(visit, visibility, text) : [],
    isReadable ? searchGroups(visit.app.db, visit.organisationId, text, visibility, maxRows) : [],
    keysLike(visit, text),
  ]);
  const [group, other] = groups.filter((one) => one.is_exact);
  if (exact !== null) return { to: base + exact };
  if (group !== undefined && other === undefined) return { to: `${base}/groups/${group.group_id}` };
  const pages = visit.pages.filter((page) => hasWords(page.label, text));
  if ([learners, groups, keys, pages].every((one) => one.length === 0))
    return again('Nothing has this name, reference or ID. Check the spelling. Only recorded results have an ID.');
  const sections = [
    learnersPart(visit, learners, text),
    groupsPart(visit, groups),
    keysPart(visit, keys),
    pages.length > 0 &&
      html`<h2>Pages</h2><ul class="choices">${pages.slice(0, maxRows).map(({ to, label: words }) => html`<li><a href="${to}">${words}</a></li>`)}</ul>`,
  ];
  return searchPage(visit, {}, text, sections);
}

/** The page of the record that has this ID or reference. Malformed text takes the time of a valid ID. */
async function exactPath(visit: Visit, visibility: Visibility, text: string): Promise<string | null> {
  const { app, organisationId: id, role } = visit;
  const identifier = isOpaqueRef(text) ? text : nilUuid;
  const [found, call] = await Promise.all([
    findByIdentifier(app.db, id, identifier),
    logReaders.includes(role) ? findRequest(app.db, id, identifier) : null,
  ]);
  for (const one of found) {
    const path = pathOf(visit, one);
    if (path !== null && (visibility === null || (await isVisible(visit, visibility, one)))) return path;
  }
  return call === null ? null : `/log/${call}`;
}

const isVisible = async ({ app, organisationId }: Visit, visibility: Visibility, { kind, id }: Match) =>
  (kind === 'learner'
    ? await findLearnerHead(app.db, organisationId, visibility, id)
    : await findVisibleResult(app.db, organisationId, id, visibility)) !== undefined;

function pathOf({ role }: Visit, { kind, id }: Match): string | null {
  if (kind === 'result') return logReaders.includes(role) ? `/trace?assessment_id=${id}` : `/results/${id}`;
  if (kind === 'learner') return `/learners/${id}`;
  if (kind === 'key' && logReaders.includes(role)) return keyPath(role, id);
  if (!integrators.includes(role)) return null;
  return kind === 'delivery' ? `/deliveries/${id}` : `/webhooks/${id}`;
}

const keyPath = (role: Visit['role'], id: string) => (integrators.includes(role) ? `/keys/${id}` : `/log?key=${id}`);

/** The roles that see email addresses also find learners by them. One row more than a section shows. */
async function learnersLike(visit: Visit, visibility: Visibility, text: string): Promise<readonly LearnerListed[]> {
  const { app, organisationId: id, role } = visit;
  const at = { limit: maxRows + 1, now: new Date(app.clock.nowMs()) };
  const isEmail = text.includes('@');
  if (!learnerReaders.includes(role) || (isEmail && !inviters.includes(role))) return [];
  if (visibility !== null && !isEmail) {
    const filter = { text, groupIds: [], subject: null, placement: null, state: null };
    return (await browseLearners(app.db, id, visibility, filter, { by: 'name', descending: false }, null, at)).learners;
  }
  const found = isEmail
    ? await findLearnersByEmail(app.db, id, text, visibility, at.limit)
    : await searchLearners(app.db, id, text, at.limit);
  return listLearners(
    app.db,
    id,
    found.map((one) => one.learner_id),
    at.now,
  );
}

async function keysLike({ app, organisationId, role }: Visit, text: string) {
  if (!logReaders.includes(role)) return [];
  const keys = await labelsOfKeys(app.db, organisationId);
  return keys.filter((one) => hasWords(`${one.label ?? ''} ${one.key_id}`, text));
}

function learnersPart(visit: Visit, learners: readonly LearnerListed[], text: string): Content {
  if (learners.length === 0) return null;
  const { base } = visit;
  const more = learners.length > maxRows && !text.includes('@');
  return [
    html`<h2>Learners</h2>`,
    table<LearnerListed>('Learners by name', learners.slice(0, maxRows), {
      Name: (row) => html`<a href="${base}/learners/${row.learner_id}">${name(row.full_name)}</a>`,
      'Latest results': plain((row) => latestResults(visit, row)),
      Reference: (row) => code(row.ref, 'None'),
    }),
    more && buttonForm(`${base}/learners`, 'Show all learners found', hiddenField('wanted', text)),
  ];
}

const groupsPart = ({ base }: Visit, groups: readonly FoundGroup[]): Content =>
  groups.length > 0 && [
    html`<h2>Groups</h2>`,
    table<FoundGroup>('Groups by name', groups, {
      Name: (row) => html`<a href="${base}/groups/${row.group_id}">${name(row.name)}</a>`,
      Type: (row) => typeWords(row.type),
      Reference: (row) => code(row.ref),
      State: (row) => (row.active ? label('good', 'Active') : label('off', 'Archived')),
    }),
  ];

type FoundKey = { key_id: string; label: string | null };

const keysPart = ({ base, role }: Visit, keys: readonly FoundKey[]): Content =>
  keys.length > 0 && [
    html`<h2>Keys</h2>`,
    table<FoundKey>('Keys by name', keys.slice(0, maxRows), {
      Name: (row) => html`<a href="${base}${keyPath(role, row.key_id)}">${row.label ?? 'Without a name'}</a>`,
      'Access key ID': (row) => code(row.key_id),
    }),
  ];
