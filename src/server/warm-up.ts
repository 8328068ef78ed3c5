import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import type { App } from '../platform/app.ts';
import { chartsPart } from '../web/console/dashboard/charts.ts';
import { todayPart } from '../web/console/dashboard/dashboard.ts';
import type { Visit } from '../web/console/kit/route.ts';
import type { Tx } from '../platform/db/database.ts';
import { renderEdition } from '../records/evidence/evidence.ts';
import type { EvidenceInput } from '../records/evidence/input.ts';
import { groupNames } from '../organisations/groups/browse.ts';
import { listGroups } from '../organisations/groups/list.ts';
import { teamType } from '../organisations/groups/types.ts';
import { browseInvitations } from '../sittings/invitations/browse.ts';
import { limits } from '../platform/config/limits.ts';
import { errorFields } from '../platform/observability/log.ts';
import { listOrganisations } from '../organisations/organisations.ts';
import { browseLearners } from '../records/directory/browse.ts';
import { findSession } from '../organisations/users/sessions.ts';
import { nilUuid } from '../platform/crypto/random.ts';

/**
 * Makes the first visits fast: plans the statements of the most visited pages on each kept connection, and renders one
 * evidence file to load its fonts. It writes nothing and reads no result.
 */
export async function warmUp(app: App): Promise<void> {
  try {
    const [organisation] = await listOrganisations(app.db);
    // The snapshots run in parallel, so that each takes another connection.
    if (organisation !== undefined)
      await Promise.all(
        Array.from({ length: limits.readConnectionsKept }, () =>
          app.db.snapshot((tx) => readPages(app, tx, organisation.organisation_id)),
        ),
      );
    // Rendering blocks the process for a quarter of a second, so waiting requests run first.
    await turn();
    renderEdition(nobodys);
  } catch (error) {
    // A failure is only logged: the first visitor waits a little longer.
    app.log.info('service.not_warmed_up', errorFields(error));
  }
}

/** Waits before the warm-up, because requests come first after a restart. */
export async function warmUpSoon(app: App, stopping: AbortSignal): Promise<void> {
  await delay(limits.warmUpAfterMs, undefined, { signal: stopping }).then(
    () => warmUp(app),
    () => {},
  );
}

/** Runs the statements of the dashboard and its lists, for an owner and for a tutor without learners. */
async function readPages(app: App, tx: Tx, organisationId: number): Promise<void> {
  const now = new Date(app.clock.nowMs());
  const readOnly = { ...app, db: { ...app.db, query: tx.query } };
  await findSession(tx, '', now.getTime());
  for (const role of ['owner', 'tutor']) {
    const organisation = { organisation_id: organisationId, role };
    const query = new URLSearchParams();
    const of = { app: readOnly, base: '', organisation, organisationId, role, query, zone: 'Europe/London' };
    const visit = { ...of, session: { user_id: nilUuid } } as Visit;
    await todayPart(visit);
    await chartsPart(visit);
  }
  const filter = { text: null, groupIds: [], subject: null, placement: null, state: null };
  const order = { by: 'name', descending: false } as const;
  for (const visibility of [null, []]) {
    await browseLearners(tx, organisationId, visibility, filter, order, null, { limit: limits.consoleRows, now });
    await groupNames(tx, organisationId, [], visibility);
    await listGroups(tx, organisationId, { types: [teamType], active: true, groupIds: visibility }, 0, 1);
    const list = { state: null, after: null, visibility, limit: limits.consoleRows, now };
    await browseInvitations(tx, organisationId, list);
  }
}

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
