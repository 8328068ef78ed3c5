import { html } from '../../../platform/html/html.ts';
import { type AccessLogEntry, readAccessLog, recordAccess } from '../../../governance/access-log/access-log.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { actorNames } from '../kit/reader.ts';
import { instant, readToken, readPage, code } from '../kit/blocks.ts';
import { learnerOf } from './erasure.ts';
import { type Answer, type ConsoleRoute, type Visit, get, statusOf } from '../kit/route.ts';
import { auditReaders } from '../../../organisations/users/roles.ts';
import { listPage } from '../kit/page.ts';

/** A page lists the people who opened a learner's pages. This module also records each opened page. */
export const accessLogRoutes: ConsoleRoute[] = [get('/learners/{learner_id}/lookups', auditReaders, lookups)];

/** The kind of record that each URL parameter names. */
const named = [
  ['assessment_id', 'result'],
  ['invitation_id', 'invitation'],
  ['learner_id', 'learner'],
  ['other_id', 'learner'],
] as const;

/**
 * Records in the access log that a page or file about one learner is sent. A form that is shown again with faults
 * counts too.
 */
export async function noteWhatIsShown(route: ConsoleRoute, visit: Visit, answered: Answer): Promise<void> {
  const isShown = 'file' in answered || ('title' in answered && [200, 422].includes(statusOf(answered)));
  if (!isShown) return;
  const { app, params, query, organisationId, userId } = visit;
  const noted: AccessLogEntry[] = [];
  const note = (of: AccessLogEntry['of'], id: string) =>
    noted.push({ organisationId, userId, atMs: app.clock.nowMs(), page: route.path, of, id: id.toLowerCase() });
  if (answered.about !== undefined) note(answered.about.of, answered.about.id);
  for (const [parameter, of] of named) {
    // The page that traces a result has the result's ID in its query. Paths with a parameter never use the query.
    const id = params[parameter] ?? (route.path.includes('{') ? undefined : query.get(parameter));
    if (id !== undefined && id !== null && isUuid(id)) note(of, id);
  }
  await Promise.all(noted.map((lookup) => recordAccess(app.db, lookup)));
}

const words: Record<string, string> = {
  '/learners/{learner_id}': 'The learner',
  '/learners/{learner_id}/export': 'Everything held of the learner',
  '/learners/{learner_id}/lookups': 'This list',
  '/learners/{learner_id}/merge/{other_id}': 'A comparison with another learner',
  '/results/{assessment_id}': 'A result',
  '/review/{assessment_id}': 'A result’s review',
  '/invitations/{invitation_id}': 'An invitation',
  '/invite/one': 'The form to invite the learner',
  '/trace': 'Where a result is',
  '/deliveries/{delivery_id}': 'What was sent to an endpoint',
  '/data-protection/cases/{case_id}': 'A case about the learner',
};

async function lookups(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const { learner_id: learnerId } = await learnerOf(visit);
  const [ms] = readToken(query.get('before'), 'ms') ?? [];
  const before = ms === undefined ? null : new Date(Number(ms));
  const [{ rows, last }, by] = await Promise.all([
    readPage((limit) => readAccessLog(app.db, id, learnerId, { before, limit })),
    actorNames(visit),
  ]);
  return listPage(visit, {
    title: 'Who looked at this learner',
    back: { to: `${base}/learners/${learnerId}`, label: 'The learner' },
    intro: html`<p>Every page of the console about this learner, their results, reviews, evidence and invitations, with who opened it. Lists that show many learners are not in it; what platforms read by the API is in the request log.</p>`,
    caption: 'The newest first; kept for two years, longer under a legal hold',
    none: 'Nobody has opened a page about this learner.',
    rows,
    columns: {
      Time: (one) => instant(one.at, zone),
      Who: (one) => by(one.user_id),
      Page: (one) => words[one.page] ?? code(one.page),
    },
    next: last && String(last.at.getTime()),
    after: 'before',
  });
}
