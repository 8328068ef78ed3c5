import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { type Letter, nameInLetter } from '../../platform/mail/template.ts';
import { postLetter } from '../../platform/mail/outbox.ts';
import { type Role, roleNames } from './roles.ts';

// Each address receives one email, even if it belongs to two accounts, or to an account and the organisation's mailbox.
const addressees = statement('user.addressees')`
  select distinct on (a.email) a.addressee, a.email, o.name as organisation_name, o.public_id, o.time_zone
    from organisation o cross join lateral (
      select m.user_id::text as addressee, u.email from user_membership m join user_account u using (user_id)
       where m.organisation_id = o.organisation_id and m.role = any($2)
      union all
      select 'notices', o.notices_email where o.notices_email is not null and 'admin' = any($2)) a
   where o.organisation_id = $1 order by a.email, a.addressee`;

/** `addressee`: a person's ID, or `notices` for the organisation's mailbox. */
type Addressee = { addressee: string; email: string; organisation_name: string; public_id: string; time_zone: string };

/**
 * Sends an email to the members with these roles, if a mail server is set. If `to` contains admins, the organisation's
 * mailbox for notices also receives the email.
 * @param cause the kind and IDs of the notice, so that the email is sent only once
 * @param letterOf makes the email from the organisation's name, the path of its pages and its time zone
 */
export async function writeToMembers(
  work: UnitOfWork,
  organisationId: number,
  to: readonly Role[],
  cause: string,
  letterOf: (organisation: string, base: `/${string}`, zone: string) => Letter,
): Promise<void> {
  if (work.settings.mailServer === null) return;
  for (const one of await work.tx.query<Addressee>(addressees, [organisationId, to])) {
    const name = nameInLetter(one.organisation_name, 'your organisation');
    const letter = letterOf(name, `/console/${one.public_id}`, one.time_zone);
    await postLetter(work, { organisationId, cause: `${cause} ${one.addressee}`, address: one.email, letter });
  }
}

const changes = {
  password: {
    subject: 'Your password was changed',
    says: 'The password of your account was changed. Your other sessions have ended.',
  },
  second_factor: {
    subject: 'Your second factor was set up',
    says: 'A second factor was set up for your account, with new recovery codes. The old recovery codes no longer work. Your other sessions have ended.',
  },
  recovery_code: {
    subject: 'A recovery code was used',
    says: 'One of your recovery codes was used to sign in or to confirm your identity. It no longer works.',
  },
  single_sign_on: {
    subject: 'Single sign-on was connected',
    says: 'You can now sign in to your account through your organisation’s identity provider.',
  },
  replaced: {
    subject: 'Your account was replaced',
    says: 'An invitation to your email address was used. The new account replaces your old account in the organisation.',
  },
} as const;

/** Notifies a person of a change to the sign-in, because an attacker may have made the change. */
export async function writeOfChange(
  work: UnitOfWork,
  account: { email: string },
  change: keyof typeof changes,
  more: string[] = [],
): Promise<void> {
  const { subject, says } = changes[change];
  await postLetter(work, {
    organisationId: null,
    cause: `${change} ${work.uuid()}`,
    address: account.email,
    letter: {
      subject,
      says: [
        says,
        ...more,
        'If this was you, ignore this email. If not, change your password now, end all other sessions, and tell an owner of your organisation.',
        { to: '/console/account', label: 'Your account' },
      ],
    },
  });
}

/** @param hasPassword the attempts had the right password, and failed at the code */
export function attemptsLetter(hasPassword: boolean, device: string): Letter {
  return {
    subject: 'Failed attempts to sign in to your account',
    says: [
      hasPassword
        ? 'There were many attempts to sign in with your password and wrong codes. If they are not yours, another person knows your password: change it now.'
        : 'There were many attempts to sign in with your email address and wrong passwords.',
      'You can still sign in. Browsers in which you signed in before are not affected. To sign in from another browser, open this link there first.',
      { to: `/console/sign-in/browser/${device}`, label: 'Sign in from another browser' },
      'The link works for 24 hours, and does not replace your password. Do not forward it. If the attempts are not yours, tell an owner of your organisation.',
    ],
  };
}

export function invitationLetter(organisation: string, role: Role, token: string, days: number): Letter {
  const name = nameInLetter(organisation, 'An organisation');
  return {
    subject: `${name} invites you to the Assessment Results Service`,
    says: [
      `${name} invites you to the Assessment Results Service. Your role is ${roleNames[role].toLowerCase()}.`,
      { to: `/console/invitation/${token}`, label: 'Open the invitation' },
      `The link works once, for ${days} days. Do not forward it: the first person who uses the link gets the account.`,
      'If you did not expect this email, ignore it. No account is created.',
    ],
  };
}
