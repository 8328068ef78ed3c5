import { countDueRequests } from '../../../governance/subject-requests/subject-requests.ts';
import { statement } from '../../../platform/db/database.ts';
import type { Tx } from '../../../platform/db/database.ts';
import type { Visibility } from '../../../organisations/groups/visibility.ts';
import { amongMembers, haveFewMembers } from '../../../organisations/groups/visibility.ts';
import type { Content } from '../../../platform/html/html.ts';
import { html } from '../../../platform/html/html.ts';
import { waiting } from '../../../sittings/invitations/browse.ts';
import { limits } from '../../../platform/config/limits.ts';
import { countWithoutRef } from '../../../governance/deduplication/matching.ts';
import { readOrganisation } from '../../../organisations/organisations.ts';
import { countWaiting } from '../../../governance/result-reviews/queue.ts';
import { integrators, managers, learnerReaders } from '../../../organisations/users/roles.ts';
import { empty } from '../kit/blocks.ts';
import { soonMs } from '../organisation/data-protection.ts';
import { upTo } from '../reviews/review.ts';
import type { Visit } from '../kit/route.ts';
import { visibilityOf } from '../kit/visibility.ts';

/** Work that waits today. Each line leads to the page where it is done, and counts stop at 100. */

const dayMs = 24 * 3600_000;

type Line = { count: number; one: string; many: string; to: string; pressing?: true };

const members = `
  select distinct m.learner_id from membership m
   where m.organisation_id = $1 and m.group_id = any($4::uuid[]) and m.left_position is null`;

const unbegun =
  'not exists (select from sitting s where s.organisation_id = $1 and s.invitation_id = i.invitation_id offset 0)';

/**
 * Counts open invitations whose learner has not begun. With few team members the query starts from them; with many,
 * from all invitations.
 */
const invitations = (from: string) => {
  const counted = (more: string) => `
    (select count(*)::int4 from (
       select from ${from} i.organisation_id = $1 and ${more}
          and ${unbegun} and ($4::uuid[] is null or ${amongMembers('i.learner_id', '$4')}) limit $3) c)`;
  return `
  select ${counted(waiting.unopened)} as unopened, ${counted(waiting.ending)} as expiring`;
};
const everybodysInvitations = statement('today.invitations', invitations('invitation i where'));
const invitationsOfTeams = statement(
  'today.invitations_of_teams',
  invitations(`(${members}) t cross join lateral (
    select * from invitation o where o.organisation_id = $1 and o.learner_id = t.learner_id offset 0) i where`),
);

type Invitations = { unopened: number; expiring: number };

async function countInvitations(
  tx: Tx,
  organisationId: number,
  visibility: Visibility,
  nowMs: number,
): Promise<Invitations> {
  const values = [organisationId, new Date(nowMs), limits.maxCounted + 1];
  const isFew = visibility !== null && (await haveFewMembers(tx, organisationId, visibility));
  const rows = await tx.query<Invitations>(isFew ? invitationsOfTeams : everybodysInvitations, [...values, visibility]);
  return rows[0]!;
}

const integration = statement(
  'today.integration',
  `
  select (select count(*)::int4 from (select from delivery d where d.organisation_id = $1 and d.status = 'dead' limit $2) c) as dead,
         (select count(*)::int4 from webhook_endpoint w where w.organisation_id = $1 and w.status = 'active' and w.failing_since is not null) as failing,
         (select count(*)::int4 from webhook_endpoint w where w.organisation_id = $1 and w.status = 'disabled') as disabled,
         (select count(*)::int4 from access_key k
           where k.organisation_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3) and k.created_at < $4
             and not exists (select from key_use u where u.organisation_id = $1 and u.key_id = k.key_id and u.last_at >= $4)) as unused,
         (select count(*)::int4 from access_key k
           where k.organisation_id = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $3)
             and exists (
               select from key_use u
                where u.organisation_id = $1 and u.key_id = k.key_id and u.first_at >= $5 and u.first_at > k.created_at + interval '1 day'
                  and not exists (
                    select from key_use o
                     where o.organisation_id = $1 and o.key_id = k.key_id and o.network = u.network and o.first_at < u.first_at))) as elsewhere`,
);

type Integration = { dead: number; failing: number; disabled: number; unused: number; elsewhere: number };

async function countIntegration(tx: Tx, organisationId: number, nowMs: number): Promise<Integration> {
  const at = (days: number) => new Date(nowMs - days * dayMs);
  const values = [organisationId, limits.maxCounted + 1, at(0), at(limits.keyUnusedDays), at(limits.newNetworkDays)];
  return (await tx.query<Integration>(integration, values))[0]!;
}

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
  return [
    {
      count: reviews.overdue,
      one: 'answer to a learner is overdue',
      many: 'answers to learners are overdue',
      to: `${review}?state=asked`,
      pressing: true,
    },
    {
      count: reviews.asked,
      one: 'learner asks for a person’s review',
      many: 'learners ask for a person’s review',
      to: `${review}?state=asked`,
    },
    {
      count: reviews.needs_review,
      one: 'result to review: the engines are a level or more apart',
      many: 'results to review: the engines are a level or more apart',
      to: `${review}?why=needs_review`,
    },
    {
      count: reviews.person_fit,
      one: 'result to review: the answers changed in the middle',
      many: 'results to review: the answers changed in the middle',
      to: `${review}?why=person_fit`,
    },
    {
      count: reviews.borderline,
      one: 'placement close to a boundary',
      many: 'placements close to a boundary',
      to: `${review}?why=borderline`,
    },
    {
      count: invited.expiring,
      one: `invitation ends within ${limits.expiringDays} days, and nobody has begun`,
      many: `invitations end within ${limits.expiringDays} days, and nobody has begun`,
      to: `${base}/invitations?state=ending`,
    },
    {
      count: invited.unopened,
      one: `invitation that nobody has begun for ${limits.unopenedDays} days`,
      many: `invitations that nobody has begun for ${limits.unopenedDays} days`,
      to: `${base}/invitations?state=unopened`,
    },
  ];
}

async function integrationLines({ app, base, role, organisationId }: Visit): Promise<Line[]> {
  if (!integrators.includes(role)) return [];
  const found = await countIntegration(app.db, organisationId, app.clock.nowMs());
  return [
    {
      count: found.disabled,
      one: 'webhook endpoint is disabled: nothing is sent to it',
      many: 'webhook endpoints are disabled: nothing is sent to them',
      to: `${base}/webhooks`,
      pressing: true,
    },
    {
      count: found.failing,
      one: 'webhook endpoint fails',
      many: 'webhook endpoints fail',
      to: `${base}/webhooks`,
      pressing: true,
    },
    {
      count: found.dead,
      one: 'delivery has finally failed',
      many: 'deliveries have finally failed',
      to: `${base}/deliveries?status=dead`,
    },
    {
      count: found.elsewhere,
      one: 'key was used from a network that is new to it',
      many: 'keys were used from a network that is new to them',
      to: `${base}/keys`,
    },
    {
      count: found.unused,
      one: `key unused for ${limits.keyUnusedDays} days`,
      many: `keys unused for ${limits.keyUnusedDays} days`,
      to: `${base}/keys`,
    },
  ];
}

async function creditLines({ app, base, role, organisationId }: Visit): Promise<Line[]> {
  if (!managers.includes(role)) return [];
  const { plan, credits } = await readOrganisation(app.db, organisationId);
  if (plan !== 'standard' || credits >= limits.creditsLow) return [];
  const text = { one: 'credit is left for invitations', many: 'credits are left for invitations' };
  return [
    {
      count: Math.max(credits, 0),
      ...text,
      to: `${base}/credits`,
      ...(credits === 0 ? { pressing: true as const } : {}),
    },
  ];
}

async function caseLines({ app, base, role, organisationId }: Visit): Promise<Line[]> {
  if (!managers.includes(role)) return [];
  const by = new Date(app.clock.nowMs() + soonMs);
  const count = await countDueRequests(app.db, organisationId, by);
  const to = `${base}/data-protection`;
  return [
    {
      count,
      one: 'request about data is due soon, or overdue',
      many: 'requests about data are due soon, or overdue',
      to,
    },
  ];
}

async function matchingLines({ app, base, role, organisationId }: Visit): Promise<Line[]> {
  if (!managers.includes(role)) return [];
  const count = await countWithoutRef(app.db, organisationId, limits.maxCounted + 1);
  return [
    {
      count,
      one: 'learner has no reference, so platforms can’t tell who it is',
      many: 'learners have no reference, so platforms can’t tell who they are',
      to: `${base}/matching`,
    },
  ];
}

/** Lines with a count of 0 are left out, except the line about credits: 0 credits is what an admin must know. */
export async function todayPart(visit: Visit): Promise<Content> {
  const [learners, unmatched, cases, platforms, credits] = await Promise.all([
    learnerLines(visit),
    matchingLines(visit),
    caseLines(visit),
    integrationLines(visit),
    creditLines(visit),
  ]);
  const lines = [...[...learners, ...unmatched, ...cases, ...platforms].filter(({ count }) => count > 0), ...credits];
  return html`<h2>What needs somebody</h2>${
    lines.length === 0
      ? empty('Nothing needs anybody just now.')
      : html`<ul class="choices">${lines.map(
          ({ count, one, many, to, pressing }) =>
            html`<li><a href="${to}"><strong class="${pressing === true ? 'late' : 'count'}">${upTo(count, limits.maxCounted)} </strong>${count === 1 ? one : many}</a></li>`,
        )}</ul>`
  }`;
}
