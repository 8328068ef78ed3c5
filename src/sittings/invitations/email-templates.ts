import { longDay } from '../../platform/time/dates.ts';
import { statement, type Tx } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import { type Letter, nameInLetter } from '../../platform/mail/template.ts';
import { cancelLetter, postLetter } from '../../platform/mail/outbox.ts';
import { type Invitation, invitationToken } from './invitations.ts';

const addresses = statement('invitation.addresses')`
  select learner_id, email from learner where organisation_id = $1 and learner_id = any($2) and email is not null`;
const mailed = statement('invitation.mailed')`
  update invitation set mailed_at = $3
   where organisation_id = $1 and invitation_id = any($2) and status = 'open' and expires_at > $3
     and (mailed_at is null or mailed_at <= $4) returning invitation_id`;

// If a learner's email address changes, an open invitation can be mailed to the new address, so `mailed_at` becomes
// null. A used invitation keeps `mailed_at`.
const unmailed = statement('invitation.unmailed')`
  with was as (
    select i.invitation_id, i.status, i.mailed_at
      from unnest($2::uuid[], $3::text[]) as given(learner_id, email)
      join learner l on l.organisation_id = $1 and l.learner_id = given.learner_id
      join invitation i on i.organisation_id = $1 and i.learner_id = given.learner_id
     where l.email is distinct from given.email
       and (i.status = 'open' or i.status = 'used' and i.mailed_at is not null)
       for update of i)
  update invitation i set mailed_at = case when was.status = 'open' then null else was.mailed_at end from was
   where i.organisation_id = $1 and i.invitation_id = was.invitation_id returning was.invitation_id, was.mailed_at`;

async function findAddresses(tx: Tx, organisationId: number, learnerIds: string[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ learner_id: string; email: string }>(addresses, [organisationId, learnerIds]);
  return new Map(rows.map((row) => [row.learner_id, row.email]));
}

/** The ID of an email. It contains the time, so each mailing of an invitation is a separate email. */
const causeOf = (invitationId: string, mailedAt: Date) => `invitation ${invitationId} ${mailedAt.getTime()}`;

/** Cancels a pending email, because its link no longer works or a newer email replaces it. */
export async function cancelInvitationEmail(
  work: UnitOfWork,
  { invitation_id, mailed_at }: Pick<Invitation, 'invitation_id' | 'mailed_at'>,
): Promise<void> {
  if (mailed_at !== null) await cancelLetter(work, causeOf(invitation_id, mailed_at));
  await cancelReminder(work, invitation_id);
}

/** Each invitation has one reminder. */
export const cancelReminder = (work: UnitOfWork, invitationId: string): Promise<void> =>
  cancelLetter(work, `reminder ${invitationId}`);

/**
 * Cancels pending emails to the old addresses of these learners. The caller must hold the feed's lock, and changes the
 * addresses afterwards.
 */
export async function cancelEmailsTo(
  work: UnitOfWork,
  organisationId: number,
  learners: readonly { learner_id: string; email: string | null }[],
): Promise<void> {
  if (learners.length === 0) return;
  const letters = await work.tx.query<{ invitation_id: string; mailed_at: Date | null }>(unmailed, [
    organisationId,
    learners.map((one) => one.learner_id),
    learners.map((one) => one.email),
  ]);
  for (const letter of letters) await cancelInvitationEmail(work, letter);
}

/** The link and what a learner must know of it. */
function linkWords(token: string, expiresAt: Date, zone: string): Letter['says'] {
  return [
    { to: `/a/${token}`, label: 'Open your assessment' },
    `The link is only for you, so do not forward it. It works until ${longDay(expiresAt, zone)}, on any device. You can pause at any time.`,
    'If you did not expect this email, ask your training provider.',
  ];
}

function letterOf(organisation: string, token: string, expiresAt: Date, zone: string): Letter {
  const name = nameInLetter(organisation, 'Your training provider');
  return {
    subject: `${name} invites you to an assessment`,
    says: [
      `${name} wants to find the right level for you. You cannot pass or fail.`,
      ...linkWords(token, expiresAt, zone),
    ],
  };
}

export type DueReminder = { invitation_id: string; expires_at: Date; email: string };

/** Writes the reminders of learners who have not begun. The caller has marked the invitations as reminded. */
export async function mailReminders(
  work: UnitOfWork,
  {
    organisation_id: id,
    name: organisation,
    time_zone: zone,
  }: { organisation_id: number; name: string; time_zone: string },
  due: readonly DueReminder[],
): Promise<void> {
  const name = nameInLetter(organisation, 'Your training provider');
  for (const { invitation_id: invitationId, expires_at: expiresAt, email } of due)
    await postLetter(work, {
      organisationId: id,
      cause: `reminder ${invitationId}`,
      address: email,
      letter: {
        subject: `Your assessment at ${name} is waiting`,
        says: [
          `${name} invited you to an assessment, and you have not begun. You cannot pass or fail.`,
          ...linkWords(invitationToken(work.secrets, id, invitationId), expiresAt, zone),
        ],
      },
      expiresMs: Math.min(expiresAt.getTime(), work.nowMs + limits.mailMs),
    });
}

/**
 * Sends invitations to learners with an email address, if a mail server is configured. An invitation is not mailed
 * again within some minutes, so that repeated clicks do not fill the mailbox.
 * @returns how many emails were written
 */
export async function mailInvitations(
  work: UnitOfWork,
  organisation: { organisation_id: number; name: string; time_zone: string },
  invitations: readonly Invitation[],
): Promise<number> {
  if (work.settings.mailServer === null || invitations.length === 0) return 0;
  const { organisation_id: id } = organisation;
  const to = await findAddresses(
    work.tx,
    id,
    invitations.map((one) => one.learner_id),
  );
  const now = new Date(work.nowMs);
  const rows = await work.tx.query<{ invitation_id: string }>(mailed, [
    id,
    invitations.filter((one) => to.has(one.learner_id)).map((one) => one.invitation_id),
    now,
    new Date(work.nowMs - limits.inviteMailGapMs),
  ]);
  const due = new Set(rows.map((row) => row.invitation_id));
  let count = 0;
  for (const one of invitations) {
    if (!due.has(one.invitation_id)) continue;
    const token = invitationToken(work.secrets, id, one.invitation_id);
    await cancelInvitationEmail(work, one);
    const posted = await postLetter(work, {
      organisationId: id,
      cause: causeOf(one.invitation_id, now),
      address: to.get(one.learner_id)!,
      letter: letterOf(organisation.name, token, one.expires_at, organisation.time_zone),
      expiresMs: Math.min(one.expires_at.getTime(), work.nowMs + limits.mailMs),
    });
    if (posted) count++;
  }
  return count;
}
