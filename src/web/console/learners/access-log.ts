import { html } from '../../../platform/html/html.ts';
import { type AccessLogEntry, readAccessLog, recordAccess } from '../../../governance/access-log/access-log.ts';
import { isUuid } from '../../../platform/crypto/random.ts';
import { actorNames } from '../kit/reader.ts';
import { instant, typeWords } from '../kit/blocks.ts';
import { learnerOf } from './erasure.ts';
import { type Answer, type ConsoleRoute, type Visit, get, statusOf } from '../kit/route.ts';
import { auditReaders } from '../../../organisations/users/roles.ts';
import { listPage } from '../kit/page.ts';
import { readToken, readPage } from '../kit/paging.ts';

export const accessLogRoutes: ConsoleRoute[] = [get('/learners/{learner_id}/lookups', auditReaders, lookups)];

/** The kind of record that each URL parameter names. */
const named = [
  ['assessment_id', 'result'],
  ['invitation_id', 'invitation'],
  ['learner_id', 'learner'],
  ['other_id', 'learner'],
] as const;

/** Records in the access log that a page or file about one learner is sent, including a form with faults. */
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
  '/learners/{learner_id}': 'Learner',
  '/learners/{learner_id}/lookups': 'Access log',
  '/results/{assessment_id}': 'Result',
  '/invitations/{invitation_id}': 'Invitation',
  '/invite/one': 'Invite one learner',
  '/trace': 'Trace result',
  '/deliveries/{delivery_id}': 'Delivery',
  '/data-protection/cases/{case_id}': 'Data subject request',
};

async function lookups(visit: Visit): Promise<Answer> {
  const { app, base, organisationId: id, zone, query } = visit;
  const { learner_id: learnerId } = await learnerOf(visit);
  const [ms] = readToken(query.get('after'), 'ms') ?? [];
  const before = ms === undefined ? null : new Date(Number(ms));
  const [{ rows, last }, by] = await Promise.all([
    readPage((limit) => readAccessLog(app.db, id, learnerId, { before, limit })),
    actorNames(visit),
  ]);
  return listPage(visit, {
    title: 'Access log',
    back: { to: `${base}/learners/${learnerId}`, label: 'Learner' },
    intro: html`<p>This log shows who opened a page about this learner or their results, evidence packs and invitations. The log leaves out lists of many learners. The page API requests shows what platforms read.</p>`,
    caption: 'Opened pages, newest first. Kept for 2 years, or longer under a legal hold.',
    none: 'No page about this learner has been opened.',
    rows,
    columns: {
      Time: (one) => instant(one.at, zone),
      Person: (one) => by(one.user_id),
      Page: (one) =>
        words[one.page] ??
        typeWords(
          one.page
            .replace(/\/\{\w+\}$/, '')
            .split('/')
            .at(-1)!,
        ),
    },
    next: last && String(last.at.getTime()),
  });
}
