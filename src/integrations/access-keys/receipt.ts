import { renderPdf } from '../../records/evidence/pdf/pdf.ts';
import { dateTime, plainText } from '../../records/evidence/wording.ts';
import { type AccessKey, statusOf } from './keys.ts';
import type { ScopeInWords } from './scope-words.ts';

type ReceiptInput = { organisationName: string; key: AccessKey; visibility: ScopeInWords; nowMs: number };

/** The receipt of a key as a PDF, without its secret: the same input gives the same bytes. */
export function receiptPdf({ organisationName, key, visibility, nowMs }: ReceiptInput): Buffer {
  const when = (date: Date | null, otherwise: string) => (date === null ? otherwise : dateTime(date.toISOString()));
  const issued = dateTime(new Date(nowMs).toISOString());
  const usedAt = key.last_used_ms === null ? null : new Date(key.last_used_ms);
  return renderPdf({
    version: 1,
    language: 'en-GB',
    title: `Access key ${key.key_id}, receipt`,
    reference: `Access key ${key.key_id}, ${issued}`,
    organisation: plainText(organisationName),
    heading: 'What an access key may see',
    subheading: `As of ${issued}`,
    learner: { label: 'Access key', value: key.key_id },
    verify: null,
    blocks: [
      {
        kind: 'facts',
        facts: [
          { label: 'Label', value: plainText(key.label ?? 'None') },
          { label: 'State', value: { active: 'Active', expired: 'Expired', revoked: 'Revoked' }[statusOf(key, nowMs)] },
          { label: 'Purpose', value: plainText(key.purpose ?? 'Not recorded') },
          { label: 'Contact', value: plainText(key.contact ?? 'Not recorded') },
          { label: 'Made', value: when(key.created_at, '') },
          { label: 'Ends', value: when(key.expires_at, 'No end is set') },
          { label: 'Revoked', value: when(key.revoked_at, 'No') },
          { label: 'Last used', value: when(usedAt, 'Never') },
          ...(key.replaces === null ? [] : [{ label: 'Replaces', value: key.replaces }]),
          ...(key.replaced_by === null ? [] : [{ label: 'Replaced by', value: key.replaced_by }]),
        ],
      },
      { kind: 'heading', text: 'What it may see and do' },
      { kind: 'list', items: visibility.may },
      ...(visibility.groups.length === 0
        ? []
        : [
            {
              kind: 'table' as const,
              caption: 'The groups whose members it may see',
              columns: [
                { label: 'Group', width: 5, align: 'left' as const },
                { label: 'Type', width: 2, align: 'left' as const },
                { label: 'Reference', width: 3, align: 'left' as const },
                { label: 'State', width: 2, align: 'left' as const },
              ],
              rows: visibility.groups.map((group) => [
                plainText(group.name),
                plainText(group.type),
                plainText(group.ref),
                group.active ? 'Active' : 'Archived',
              ]),
            },
          ]),
      { kind: 'heading', text: 'What this paper says' },
      {
        kind: 'paragraph',
        text: 'The limits of a key are fixed when the key is created. The results within these limits change with the members of the groups. The audit log of the organisation contains every request of the key. Data that was read before a key ends stays with its reader.',
      },
    ],
  });
}
