import type { Role } from '../../organisations/users/roles.ts';
import type { Tx } from '../../platform/db/database.ts';
import { findLearnersByRefs } from '../../records/learners/learners.ts';

/** The fields that developers see: references, IDs, types and times, but no names, scores or levels. */
const open = new Set(
  'event occurred_at data assessment_id status updated_at learner learner_id learner_ref ref assessed_at subject evidence_pack_url report_sha256 groups group_ids added removed id type'.split(
    ' ',
  ),
);

function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, open.has(name) ? masked(inner) : '(not shown)']);
  return Object.fromEntries(entries);
}

export function payloadFor(role: Role, payload: string): string {
  if (role === 'owner' || role === 'admin') return payload;
  try {
    return JSON.stringify(masked(JSON.parse(payload)), null, 2);
  } catch {
    return '(not shown)';
  }
}

type AboutWhom = { of: 'learner' | 'result'; id: string } | undefined;

/** Takes the payload's result before its learner_ref, because a merge may give the reference to another learner. */
export async function aboutWhom(tx: Tx, organisationId: number, payload: string): Promise<AboutWhom> {
  const [, assessmentId] = /"assessment_id":"([0-9a-f-]{36})"/.exec(payload) ?? [];
  if (assessmentId !== undefined) return { of: 'result', id: assessmentId };
  const [, ref] = /"learner_ref":"([^"]*)"/.exec(payload) ?? [];
  if (ref === undefined) return undefined;
  const [learner] = await findLearnersByRefs(tx, organisationId, [ref]);
  return learner === undefined ? undefined : { of: 'learner', id: learner.learner_id };
}
