import assert from 'node:assert/strict';
import { auditInside } from '../../../src/platform/audit/audit.ts';
import { sealAudit } from '../../../src/platform/audit/seal.ts';
import type { Verdict } from '../../../src/platform/audit/verify.ts';
import { readBlocks, verifyAudit } from '../../../src/platform/audit/verify.ts';
import type { App } from '../../../src/platform/app.ts';
import type { manualClock } from '../time/manual-clock.ts';
import type { Tx } from '../../../src/platform/db/database.ts';
import type { TestService } from '../../support/service.ts';

/** Seals what is committed, however young. */
export const sealNow = (app: App): Promise<void> => sealAudit(app, undefined, -1);

/** Rows of a service's log, written at once, and what is sealed of them. */
export function sealedLog({ app }: TestService, clock: ReturnType<typeof manualClock>) {
  async function writes(org: { id: number }, count: number, everyMs = 0, tx: Tx = app.db): Promise<void> {
    for (let i = 0; i < count; i++) {
      await auditInside(tx, {
        organisationId: org.id,
        atMs: clock.nowMs(),
        requestId: app.random.uuid(),
        actor: 'ARSKTEST',
        action: 'GET /groups',
        resource: null,
        status: 200,
        detail: '{"limit":100,"rows":0,"ms":1}',
      });
      clock.advance(everyMs);
    }
  }

  const blocksOf = (org: { id: number }) => Array.fromAsync(readBlocks(app, org.id));

  async function intact(org: { id: number }): Promise<Verdict> {
    const verdict = await verifyAudit(app, org.id);
    assert.deepEqual(verdict.faults, []);
    return verdict;
  }

  return { writes, blocksOf, intact };
}

/** The first month that the log has a partition of. */
export async function firstMonth(tx: Tx): Promise<Date> {
  const [row] = await tx.query<{ month: string }>(
    `select min(right(inhrelid::regclass::text, 7)) as month from pg_inherits
      where inhparent = 'audit'::regclass and inhrelid::regclass::text ~ '\\d{4}_\\d\\d$'`,
  );
  return new Date(`${row!.month.replace('_', '-')}-01`);
}
