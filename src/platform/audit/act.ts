import type { UnitOfWork } from '../db/unit-of-work.ts';
import { type AuditEntry, auditInside } from './audit.ts';

export function auditAct(
  work: UnitOfWork,
  organisationId: number,
  act: Pick<AuditEntry, 'actor' | 'action' | 'resource'>,
): Promise<void> {
  return auditInside(work.tx, { organisationId, atMs: work.nowMs, requestId: work.uuid(), ...act, status: null });
}
