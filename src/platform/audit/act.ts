import type { UnitOfWork } from '../db/unit-of-work.ts';
import { type AuditEntry, auditInside } from './audit.ts';

export function auditAct(
  work: UnitOfWork,
  organisationId: number,
  act: Pick<AuditEntry, 'actor' | 'action' | 'resource'>,
): Promise<void> {
  return auditInside(work.tx, { organisationId, atMs: work.nowMs, requestId: work.uuid(), ...act, status: null });
}

/** Writes the row of a change that a request of a person made. */
export function auditRequest(
  work: UnitOfWork,
  by: { organisationId: number; userId: string; action: string; requestId: string; resource: string },
): Promise<void> {
  const { organisationId, userId: actor, action, requestId, resource } = by;
  return auditInside(work.tx, { organisationId, atMs: work.nowMs, requestId, actor, action, resource, status: null });
}
