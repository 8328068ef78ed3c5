import type { Role } from '../../../organisations/users/roles.ts';

/** The fields that a developer sees: references, IDs, kinds and times, but no names, scores or levels. */
const open = new Set([
  'event',
  'occurred_at',
  'data',
  'assessment_id',
  'status',
  'updated_at',
  'learner',
  'learner_id',
  'learner_ref',
  'ref',
  'assessed_at',
  'subject',
  'evidence_pack_url',
  'report_sha256',
  'groups',
  'group_ids',
  'added',
  'removed',
  'id',
  'type',
]);

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, open.has(name) ? masked(inner) : '(not shown)']),
  );
}

export function payloadFor(role: Role, payload: string): string {
  if (role === 'owner' || role === 'admin') return payload;
  try {
    return JSON.stringify(masked(JSON.parse(payload)), null, 2);
  } catch {
    return '(not shown)';
  }
}
