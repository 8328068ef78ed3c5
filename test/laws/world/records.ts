import { levels } from '../../../src/records/results/facet.ts';
import { clientGroupTypes } from '../../../src/organisations/groups/types.ts';
import type { Random } from '../../../src/platform/crypto/random.ts';
import { pick } from '../../../src/platform/crypto/random.ts';
import { subjects } from '../../../src/engine/scoring/levels.ts';

/** What the writers of a history import: names, groups and records by chance. */

export type KnownRecord = {
  assessment_id: string;
  ref: string | null;
  name: string;
  subject: string;
  assessed_at: string;
  level: number;
};

export type RecordLine = { known: KnownRecord; line: object };

const surnames = ['Silva', 'Okafor', 'Nguyễn', 'O’Brien', 'Иванова', 'العلي', '王', 'Åkesson'];

export function some<T>(random: Random, list: readonly T[], max: number): T[] {
  return [...new Set(Array.from({ length: 1 + Math.floor(random.float() * max) }, () => pick(random, list)))];
}

export function someName(random: Random): string {
  return `Learner ${Math.floor(random.float() * 50)} ${pick(random, surnames)}`;
}

export function someGroup(random: Random) {
  const number = Math.floor(random.float() * 16);
  return { type: clientGroupTypes[number % 5]!, ref: `G-${number}`, name: `Group ${number}` };
}

/** A result of somebody: mostly known already, now and then new, or without a reference. */
export function newRecord(random: Random, refs: readonly string[], number: () => number): KnownRecord {
  return {
    assessment_id: random.uuid(),
    ref: random.float() < 0.1 ? null : random.float() < 0.2 ? `new-${number()}` : pick(random, refs),
    name: someName(random),
    subject: pick(random, subjects),
    assessed_at: new Date(Date.UTC(2025, 0, 1) + Math.floor(random.float() * 400) * 86_400_000).toISOString(),
    level: Math.floor(random.float() * levels.length),
  };
}

/** The record as a line of a file. @param again now and then with another name, where it was imported before */
export function recordLine(random: Random, known: KnownRecord, again: boolean): RecordLine {
  const rename = again && random.float() < 0.2;
  const withGroups = known.ref !== null && random.float() < 0.2;
  return {
    known,
    line: {
      assessment_id: known.assessment_id,
      learner: { ref: known.ref, full_name: rename ? someName(random) : known.name },
      assessed_at: known.assessed_at,
      subject: known.subject,
      framework: `Framework ${Math.floor(random.float() * 3)}`,
      ...levels[known.level]!,
      ...(withGroups ? { groups: some(random, [someGroup(random), someGroup(random)], 2) } : {}),
    },
  };
}
