import { hasCountedCredits } from '../../../organisations/credits.ts';
import { countDueRequests } from '../../../governance/subject-requests/subject-requests.ts';
import { type Content, html } from '../../../platform/html/html.ts';
import { limits } from '../../../platform/config/limits.ts';
import { countWithoutRef } from '../../../governance/deduplication/matching.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { countWaiting } from '../../../governance/result-reviews/queue.ts';
import { integrators, managers, learnerReaders } from '../../../organisations/users/roles.ts';
import { soonMs } from '../organisation/data-protection.ts';
import { upTo } from '../reviews/review.ts';
import type { Visit } from '../kit/route.ts';
import { visibilityOf } from '../kit/reader.ts';
import { countIntegration } from '../../../integrations/attention.ts';
import { countInvitations } from '../../../sittings/invitations/attention.ts';
import { empty } from '../kit/table.ts';

/** The dashboard lists the work that waits today, with links to the pages where the work is done. */

/** `words`: for one, and for many. */
type Line = { count: number; to: string; words: string; isPressing: boolean };

const line = (count: number, to: string, words: string, isPressing = false): Line => ({ count, to, words, isPressing });

async function learnerLines(visit: Visit): Promise<Line[]> {
  const { app, base, organisationId: id, role } = visit;
  if (!learnerReaders.includes(role)) return [];
  const visibility = await visibilityOf(visit);
  const nowMs = app.clock.nowMs();
  const [reviews, invited] = await Promise.all([
    countWaiting(app.db, id, { visibility, max: limits.maxCounted + 1, now: new Date(nowMs) }),
    countInvitations(app.db, id, visibility, nowMs),
  ]);
  const review = `${base}/review`;
  const ending = `within ${limits.expiringDays} days, not started`;
  const unopened = `not started for ${limits.unopenedDays} days`;
  const apart = 'to review: scoring methods a level or more apart';
  const changed = 'to review: answers changed in the middle';
  return [
    line(
      reviews.overdue,
      `${review}?state=asked`,
      'answer to a learner is overdue | answers to learners are overdue',
      true,
    ),
    line(reviews.asked, `${review}?state=asked`, 'learner asks for a human review | learners ask for a human review'),
    line(reviews.needs_review, `${review}?why=needs_review`, `result ${apart} | results ${apart}`),
    line(reviews.person_fit, `${review}?why=person_fit`, `result ${changed} | results ${changed}`),
    line(
      reviews.borderline,
      `${review}?why=borderline`,
      'placement close to a boundary | placements close to a boundary',
    ),
    line(invited.expiring, `${base}/invitations?state=ending`, `invitation ends ${ending} | invitations end ${ending}`),
    line(invited.unopened, `${base}/invitations?state=unopened`, `invitation ${unopened} | invitations ${unopened}`),
  ];
}

async function integrationLines({ app, base, role, organisationId }: Visit): Promise<Line[]> {
  if (!integrators.includes(role)) return [];
  const found = await countIntegration(app.db, organisationId, app.clock.nowMs());
  const unused = `unused for ${limits.keyUnusedDays} days`;
  return [
    line(
      found.disabled,
      `${base}/webhooks`,
      'webhook endpoint is disabled and gets no events | webhook endpoints are disabled and get no events',
      true,
    ),
    line(found.failing, `${base}/webhooks`, 'webhook endpoint is failing | webhook endpoints are failing', true),
    line(found.dead, `${base}/deliveries?status=dead`, 'dead letter | dead letters'),
    line(found.elsewhere, `${base}/keys`, 'key was used from a new network | keys were used from a new network'),
    line(found.unused, `${base}/keys`, `key ${unused} | keys ${unused}`),
  ];
}

/** The line of credits comes last. It is shown even for 0 credits, because an admin must know that none is left. */
async function managerLines({ app, base, role, organisationId: id }: Visit): Promise<[Line[], Line[]]> {
  if (!managers.includes(role)) return [[], []];
  const [{ plan, credits }, cases, unmatched] = await Promise.all([
    readOrganisation(app.db, id),
    countDueRequests(app.db, id, new Date(app.clock.nowMs() + soonMs)),
    countWithoutRef(app.db, id, limits.maxCounted + 1),
  ]);
  const words = 'credit is left for invitations | credits are left for invitations';
  const credit = line(Math.max(credits, 0), `${base}/credits`, words, credits === 0);
  const lines = [
    line(
      unmatched,
      `${base}/matching`,
      'learner has no reference, so platforms can’t match them | learners have no reference, so platforms can’t match them',
    ),
    line(
      cases,
      `${base}/data-protection`,
      'data subject request is due soon or overdue | data subject requests are due soon or overdue',
    ),
  ];
  return [lines, hasCountedCredits(plan) && credits < limits.creditsLow ? [credit] : []];
}

export async function todayPart(visit: Visit): Promise<Content> {
  const [learners, [manager, credits], platforms] = await Promise.all([
    learnerLines(visit),
    managerLines(visit),
    integrationLines(visit),
  ]);
  const lines = [...[...learners, ...manager, ...platforms].filter(({ count }) => count > 0), ...credits];
  const items = lines.map(
    ({ count, to, words, isPressing }) =>
      html`<li><a href="${to}"><strong class="${isPressing ? 'late' : 'count'}">${upTo(count, limits.maxCounted)} </strong>${words.split(' | ')[count === 1 ? 0 : 1]}</a></li>`,
  );
  return [
    html`<h2>Needs attention</h2>`,
    items.length === 0
      ? empty('Nothing needs attention now. Due work appears here.')
      : html`<ul class="choices">${items}</ul>`,
  ];
}
