import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { App } from '../platform/app.ts';
import { todayPart } from '../web/console/dashboard/dashboard.ts';
import type { Visit } from '../web/console/kit/route.ts';
import type { Tx } from '../platform/db/database.ts';
import { renderEdition } from '../records/evidence/evidence.ts';
import type { EvidenceInput } from '../records/evidence/input.ts';
import { groupNames } from '../organisations/groups/browse.ts';
import { browseInvitations } from '../sittings/invitations/browse.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { listOrganisations } from '../organisations/organisations.ts';
import { browseLearners } from '../records/directory/browse.ts';
import { findSession } from '../organisations/users/sessions.ts';
import { nilUuid } from '../platform/crypto/uuid.ts';

/**
 * What the first visitors would wait for, done once a process has begun to answer: the pages that most people open first
 * are read on each connection that stays, so their statements are planned there, and an evidence file is made, with its
 * fonts read. Nothing is written, and nobody's results are looked at.
 */
export async function warmUp(app: App): Promise<void> {
  try {
    const [organisation] = await listOrganisations(app.db);
    // All at once: each holds a connection of its own meanwhile.
    if (organisation !== undefined)
      await Promise.all(
        Array.from({ length: limits.readConnectionsKept }, () =>
          app.db.snapshot((tx) => readPages(app, tx, organisation.organisation_id)),
        ),
      );
    // Others have a turn before: the first one holds the process for a quarter of a second, whenever it is made.
    await turn();
    renderEdition(nobodys);
  } catch (error) {
    // Whoever comes first waits a little longer; there is nothing else to it.
    app.log.info('service.not_warmed_up', errorFields(error));
  }
}

/** The same a moment after the start: who restarts a process has others to answer first, or stops it again at once. */
export async function warmUpSoon(app: App, stopping: AbortSignal): Promise<void> {
  await delay(limits.warmUpAfterMs, undefined, { signal: stopping }).then(
    () => warmUp(app),
    () => {},
  );
}

/** Today, and the lists behind it, for somebody who sees everybody and for a tutor who sees nobody. */
async function readPages(app: App, tx: Tx, organisationId: number): Promise<void> {
  const now = new Date(app.clock.nowMs());
  const readOnly = { ...app, db: { ...app.db, query: tx.query } };
  await findSession(tx, '', now.getTime());
  for (const role of ['owner', 'tutor']) {
    const organisation = { organisation_id: organisationId, role };
    const visit = { app: readOnly, base: '', organisation, organisationId, role };
    await todayPart({ ...visit, session: { user_id: nilUuid } } as Visit);
  }
  const filter = { text: null, groupIds: [], subject: null, placement: null, state: null };
  const order = { by: 'name', descending: false } as const;
  for (const visibility of [null, []]) {
    await browseLearners(tx, organisationId, visibility, filter, order, null, { limit: limits.consoleRows, now });
    await groupNames(tx, organisationId, [], visibility);
    const list = { state: null, after: null, visibility, limit: limits.consoleRows, now };
    await browseInvitations(tx, organisationId, list);
  }
}

/** A result of nobody, with all that the evidence of an imported one shows. */
const nobodys: EvidenceInput = {
  version: 1,
  source: 'imported',
  organisation_name: 'Nobody',
  learner: { full_name: 'Nobody', ref: 'nobody' },
  assessment_id: nilUuid,
  edition: 1,
  subject: 'digital',
  framework: 'None',
  assessed_at: '2026-01-01T00:00:00.000Z',
  rqf_level: 'Entry Level',
  rqf_level_code: 1,
  below_level_1: true,
  working_level: 'Entry Level',
  recommended_next_level: 'Level 1',
  is_borderline: true,
  needs_review: true,
  domains: [{ name: 'None', score_pct: 50, status: 'secure' }],
  verify_url: 'https://example.org/verify',
};
