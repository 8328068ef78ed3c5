import type { Organisation } from '../../organisations/organisations.ts';
import type { Deletion } from '../../organisations/suspension.ts';

/** The certificate that a customer gets after the deletion. The transactions that delete rows also store the counts. */
export type Certificate = {
  format: 'deletion-certificate/1';
  organisation_id: string;
  /** Null in a reprint, because the service does not keep the organisation's name. */
  name: string | null;
  began_at: string;
  deleted_at: string;
  deleted_by: string;
  /** How many rows of each table were deleted. `sandbox TABLE` counts rows of the organisation's sandbox. */
  deleted: Record<string, number>;
  /** The last export before the deletion. `unchanged_since`: no learner, result or group changed after the export. */
  export: { made_at: string; manifest_sha256: string; of_suspended?: boolean; unchanged_since?: boolean } | null;
  /** The last block of the audit log's chain, so that the customer can check an exported log. */
  audit_log_ended: { block: number; hash: string } | null;
  stays: string[];
};

const stays = [
  'This certificate without the name, under the organisation’s ID.',
  'Rows of the operator’s log: the creation, suspension, export and deletion of the organisation, by its ID.',
  'Counts of refused requests by a keyed hash of the client’s IP address, which belong to no organisation.',
  'Accounts of people who also belong to another organisation.',
  'Earlier backups, write-ahead logs and exports, until their owners delete them.',
  'Data that connected platforms have read, and evidence packs that people have downloaded.',
];

export function certificateOf(
  organisation: Pick<Organisation, 'public_id' | 'name' | 'exported_at' | 'export_sha256'>,
  deletion: Deletion,
  { actor, nowMs, isWhole }: { actor: string; nowMs: number; isWhole: boolean },
): Certificate {
  const { exported_at: madeAt, export_sha256: sha256 } = organisation;
  return {
    format: 'deletion-certificate/1',
    organisation_id: organisation.public_id,
    name: organisation.name,
    began_at: deletion.began_at.toISOString(),
    deleted_at: new Date(nowMs).toISOString(),
    deleted_by: actor,
    deleted: Object.fromEntries(Object.entries(deletion.counts).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    export:
      madeAt === null || sha256 === null
        ? null
        : { made_at: madeAt.toISOString(), manifest_sha256: sha256, of_suspended: isWhole, unchanged_since: isWhole },
    audit_log_ended: deletion.audit_end,
    stays,
  };
}

const nouns: Record<string, string> = {
  learner: 'learners',
  assessment: 'results',
  evidence: 'evidence files',
  invitation: 'invitations',
  sitting: 'sittings',
  sitting_item: 'answers',
  learner_group: 'groups',
  access_key: 'access keys',
  webhook_endpoint: 'webhook endpoints',
  event: 'events',
  audit: 'rows of the audit log',
};

export function certificateText(certificate: Certificate): string {
  const { deleted, export: exported, audit_log_ended: end } = certificate;
  const rows = Object.entries(nouns).map(([table, noun]) => `  ${String(deleted[table] ?? 0).padStart(12)}  ${noun}`);
  const others = Object.entries(deleted)
    .filter(([table]) => !Object.hasOwn(nouns, table))
    .reduce((sum, [, count]) => sum + count, 0);
  return [
    'CERTIFICATE OF DELETION',
    '',
    `Organisation:  ${certificate.name ?? '(its name is no longer held)'}`,
    `Id:            ${certificate.organisation_id}`,
    `Begun:         ${certificate.began_at}`,
    `Completed:     ${certificate.deleted_at}`,
    `By:            ${certificate.deleted_by}`,
    '',
    'Everything that the service held of this organisation has been deleted:',
    ...rows,
    `  ${String(others).padStart(12)}  rows of other tables, its sandbox included`,
    '',
    exported === null
      ? 'Nothing was exported before.'
      : exported.of_suspended === false
        ? `What there was on ${exported.made_at} was exported, and nothing that came later; SHA-256 of the manifest: ${exported.manifest_sha256}`
        : `Everything was exported on ${exported.made_at}${exported.unchanged_since === true ? ', and no learner, result or group has changed since' : ''}; SHA-256 of the manifest: ${exported.manifest_sha256}`,
    ...(end === null ? [] : [`Its audit log ended with block ${end.block}, hash ${end.hash}`]),
    '',
    'What stays:',
    ...certificate.stays.map((one) => `  - ${one}`),
    '',
    'Signed: ______________________________    Date: ______________',
    '',
  ].join('\n');
}
