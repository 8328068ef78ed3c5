import type { findStored } from '../results/results.ts';
import { bodyOver } from '../results/body.ts';
import { lastImported } from '../results/lists/history.ts';
import type { Fault } from '../results/result-fields.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { ReadyRecord } from './record.ts';

export type ImportOutcome =
  { outcome: 'imported' | 'updated' | 'unchanged' } | { outcome: 'rejected'; faults: Fault[] };

export type Stored = Awaited<ReturnType<typeof findStored>>[number];

export type StoredById = ReadonlyMap<string, Stored>;

export const anotherId = 'an assessment_id that is not in use';
const satHere: Fault = {
  field: 'the record',
  expected: 'as the result is: it was assessed here, so it is amended or withdrawn, and never changed by an import',
  example: anotherId,
};
const forgotten: Fault = {
  field: 'the record',
  expected:
    'as the result is: it was changed since, and what was imported before is no longer kept to compare with; amend or withdraw it',
  example: anotherId,
};

/**
 * `amended`: new bodies by ID. `confirmed`: results that already equal the record, because an amendment made the same
 * change.
 */
type Compared = { amended: Map<string, string>; confirmed: { assessment_id: string; before: string }[] };

/**
 * Compares accepted records with the stored bodies and with the last imported bodies. If a record equals the last
 * import, later amendments of the result stay.
 */
export async function compare(
  work: UnitOfWork,
  organisationId: number,
  records: ReadyRecord[],
  storedById: StoredById,
  outcomes: (ImportOutcome | null)[],
): Promise<Compared> {
  const found: { i: number; record: ReadyRecord; stored: Stored & { body: string }; body: string }[] = [];
  for (const [i, record] of records.entries()) {
    const stored = storedById.get(record.assessmentId);
    if (outcomes[i] !== null || stored === undefined || stored.body === null) continue;
    const body = bodyOver(stored.body, record.body, record.absent);
    found.push({ i, record, stored: { ...stored, body: stored.body }, body });
  }
  const last = await lastImported(
    work.tx,
    organisationId,
    found.flatMap(({ stored }) => (stored.source === 'imported' ? [stored] : [])),
  );
  const amended = new Map<string, string>();
  const confirmed: Compared['confirmed'] = [];
  for (const { i, record, stored, body } of found) {
    const before = last.get(record.assessmentId) ?? null;
    const isSaidAgain = before !== null && bodyOver(before, record.body, record.absent) === before;
    if (body === stored.body) {
      if (before !== null && !isSaidAgain) confirmed.push({ assessment_id: record.assessmentId, before: body });
    } else if (before === null)
      outcomes[i] = { outcome: 'rejected', faults: [stored.source === 'sitting' ? satHere : forgotten] };
    else if (!isSaidAgain) amended.set(record.assessmentId, body);
  }
  return { amended, confirmed };
}
