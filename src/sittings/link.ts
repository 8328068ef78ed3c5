import type { App } from '../platform/app.ts';
import type { Tx } from '../platform/db/database.ts';
import { findInvitation, type Invitation, readInvitationToken } from './invitations/invitations.ts';
import { type RetakeWait, retakeWaits } from './invitations/retakes.ts';
import type { Subject } from '../engine/scoring/levels.ts';
import { findSittings, type SittingRow } from './store.ts';
import { idleMs } from './working-time.ts';

/** The invitation that a learner's link opens, with its sittings. */
export type Link = {
  invitation: Invitation;
  /** The subjects in the invitation's order, each with its sitting that counts. */
  subjects: { subject: Subject; sitting: SittingRow | null }[];
  open: SittingRow | null;
  /** The newest ended sitting, void ones included. */
  last: SittingRow | null;
  /** The first subject that has no result yet. On the learner's pages, also one that need not wait. */
  next: Subject | null;
  /** Why `next` is null although subjects are left: the gap between two assessments is not over. */
  wait: RetakeWait | null;
  /** Whether it is too late to begin a sitting. An open sitting can still be finished. */
  expired: boolean;
  /** Whether the page shows results: until the link expires, and for 48 hours after a sitting that closed later. */
  readable: boolean;
};

/** @returns null for a link that this service didn't make, and for a cancelled invitation */
export async function openLink(app: App, token: string): Promise<Link | null> {
  const named = readInvitationToken(app.secrets, token);
  if (named === null) return null;
  const [invitation, sittings] = await Promise.all([
    findInvitation(app.db, named.organisationId, named.invitationId),
    findSittings(app.db, named.organisationId, named.invitationId),
  ]);
  const link = linkOf(app, invitation, sittings);
  return link === null ? null : withWait(app, link);
}

/** Moves `next` to a subject that need not wait. */
async function withWait(app: App, link: Link): Promise<Link> {
  if (link.open !== null || link.next === null || link.expired) return link;
  const left = link.subjects.flatMap(({ subject, sitting }) => (sitting?.status === 'completed' ? [] : [subject]));
  const waits = await retakeWaits(app.db, link.invitation, left, app.clock.nowMs());
  const next = left.find((subject) => !waits.some((wait) => wait.subject === subject)) ?? null;
  const wait = next === null ? waits.reduce((first, one) => (one.fromMs < first.fromMs ? one : first)) : null;
  return { ...link, next, wait };
}

/** Reads a link inside a transaction, which has one connection and so one query at a time. */
export async function readLink(app: App, tx: Tx, organisationId: number, invitationId: string): Promise<Link | null> {
  return linkOf(
    app,
    await findInvitation(tx, organisationId, invitationId),
    await findSittings(tx, organisationId, invitationId),
  );
}

/** Whether this service made the link and its invitation is cancelled. Invented links return false. */
export async function isWithdrawn(app: App, token: string): Promise<boolean> {
  const named = readInvitationToken(app.secrets, token);
  if (named === null) return false;
  return (await findInvitation(app.db, named.organisationId, named.invitationId))?.status === 'withdrawn';
}

function linkOf(app: App, invitation: Invitation | undefined, sittings: SittingRow[]): Link | null {
  if (invitation === undefined || invitation.status === 'withdrawn') return null;
  const subjects = (invitation.subjects as Subject[]).map((subject) => {
    const own = sittings.filter((sitting) => sitting.subject === subject && sitting.status !== 'void');
    return { subject, sitting: own.find((sitting) => sitting.status === 'completed') ?? own[0] ?? null };
  });
  const over = sittings.filter((sitting) => sitting.status !== 'open');
  const last = over.sort((a, b) => a.finished_at!.getTime() - b.finished_at!.getTime()).at(-1) ?? null;
  const expiresMs = invitation.expires_at.getTime();
  const expired = expiresMs <= app.clock.nowMs();
  const closedMs = last === null ? 0 : (last.closed_at ?? last.finished_at!).getTime();
  return {
    invitation,
    subjects,
    open: subjects.find(({ sitting }) => sitting?.status === 'open')?.sitting ?? null,
    last,
    next: subjects.find(({ sitting }) => sitting?.status !== 'completed')?.subject ?? null,
    wait: null,
    expired,
    readable: !expired || (closedMs >= expiresMs && app.clock.nowMs() < closedMs + idleMs),
  };
}
