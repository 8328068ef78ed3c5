import { formatMs } from '../../platform/time/clock.ts';
import { statement } from '../../platform/db/database.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { limits } from '../../platform/config/limits.ts';
import { type Letter, nameInLetter } from '../../platform/mail/template.ts';
import { writeToMembers } from '../../organisations/users/email-templates.ts';
import { managers } from '../../organisations/users/roles.ts';

type Named = { key_id: string; label: string | null };

const nameOf = ({ key_id: keyId, label }: Named) => {
  const name = nameInLetter(label, '');
  return name === '' ? keyId : `${name} (${keyId})`;
};

/** Notifies the managers of every new key, because a key that they do not expect may be an attack. */
export function writeOfNewKey(work: UnitOfWork, organisationId: number, key: Named & { replaces: string | null }) {
  const [subject, cause] =
    key.replaces === null ? ['A key was created', 'key_made'] : ['A key was rotated', 'key_rolled'];
  return writeToMembers(work, organisationId, managers, `${cause} ${key.key_id}`, (organisation, base) => ({
    subject: `${subject} for ${organisation}`,
    says: [
      key.replaces === null
        ? `The access key ${nameOf(key)} was created.`
        : `The access key ${nameOf(key)} was created. It replaces ${key.replaces}, which ends on the chosen day.`,
      'If your organisation did not expect this key, revoke it now.',
      { to: `${base}/keys/${key.key_id}`, label: 'Open the key' },
    ],
  }));
}

export function linkLetter(organisation: string, path: `/${string}`, endsMs: number): Letter {
  const name = nameInLetter(organisation, 'An organisation');
  const end = `${formatMs(endsMs).slice(0, 16).replace('T', ' ')} UTC`;
  return {
    subject: `${name} offers you an access key to assessment results`,
    says: [
      `${name} offers you an access key to the Assessment Results Service. The page shows the access of the key, and creates the key.`,
      { to: path, label: 'Open the set-up link' },
      `The link works once, until ${end}. Do not forward it: the page shows the secret once.`,
    ],
  };
}

// Rotated keys are left out: a replacement exists, so no notice is needed.
const ending = statement('key.ending')`
  with ending as (
    select key_id from access_key where ending_told_at is null and revoked_at is null and expires_at <= $2
     order by expires_at, key_id limit 100 for update skip locked),
  taken as (
    update access_key k set ending_told_at = $1 from ending where k.key_id = ending.key_id
    returning k.organisation_id, k.key_id, k.label, k.expires_at)
  select organisation_id, key_id, label, expires_at from taken t
   where expires_at > $1 and not exists (
     select from access_key r where r.organisation_id = t.organisation_id and r.replaces = t.key_id and r.revoked_at is null)
   order by organisation_id, key_id`;

type Ending = Named & { organisation_id: number; expires_at: Date };

/** Sends one notice for each key that ends soon, early enough to rotate the key. */
export async function writeOfEndingKeys(work: UnitOfWork): Promise<void> {
  const soon = new Date(work.nowMs + limits.keyEndingMs);
  for (const key of await work.tx.query<Ending>(ending, [new Date(work.nowMs), soon])) {
    const day = key.expires_at.toISOString().slice(0, 10);
    const to = [...managers, 'developer'] as const;
    await writeToMembers(work, key.organisation_id, to, `key_ending ${key.key_id}`, (organisation, base) => ({
      subject: `A key of ${organisation} ends on ${day}`,
      says: [
        `The access key ${nameOf(key)} ends on ${day}. After that, requests with it are refused.`,
        'Rotate the key before that day. Both keys work until a day that you choose.',
        { to: `${base}/keys/${key.key_id}`, label: 'Open the key' },
      ],
    }));
  }
}
