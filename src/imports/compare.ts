import type { findStored } from '../assessments/assessments.ts';
import { bodyOver } from '../assessments/body.ts';
import { lastImported } from '../assessments/history.ts';
import type { Fault } from '../assessments/result-fields.ts';
import type { Work } from '../db/work.ts';
import type { ReadyRecord } from './record.ts';

/** What became of a record. */
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
    'as the result is: it was amended here, and what was imported before is no longer kept to compare with; amend or withdraw it',
  example: anotherId,
};

/**
 * Compares records that aren't refused with what is stored, and where that differs with what was imported last: what was amended
 * since stays.
 * @returns the bodies that take the place of those stored, by assessment ids
 */
export async function compare(
  work: Work,
  organisationId: number,
  records: ReadyRecord[],
  storedById: StoredById,
  outcomes: (ImportOutcome | null)[],
): Promise<Map<string, string>> {
  const differing: { i: number; record: ReadyRecord; stored: Stored & { body: string }; body: string }[] = [];
  for (const [i, record] of records.entries()) {
    const stored = storedById.get(record.assessmentId);
    if (outcomes[i] !== null || stored === undefined || stored.body === null) continue;
    const body = bodyOver(stored.body, record.body, record.absent);
    if (body !== stored.body) differing.push({ i, record, stored: { ...stored, body: stored.body }, body });
  }
  const last = await lastImported(
    work.tx,
    organisationId,
    differing.flatMap(({ stored }) => (stored.source === 'imported' ? [stored] : [])),
  );
  const amended = new Map<string, string>();
  for (const { i, record, stored, body } of differing) {
    const before = last.get(record.assessmentId) ?? null;
    if (before === null)
      outcomes[i] = { outcome: 'rejected', faults: [stored.source === 'sitting' ? satHere : forgotten] };
    else if (bodyOver(before, record.body, record.absent) !== before) amended.set(record.assessmentId, body);
  }
  return amended;
}
