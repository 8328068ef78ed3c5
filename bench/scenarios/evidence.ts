import { createHash } from 'node:crypto';
import { buildDocument } from '../../src/records/evidence/document.ts';
import type { EvidenceInput } from '../../src/records/evidence/document.ts';
import { renderPdf } from '../../src/records/evidence/pdf/pdf.ts';
import { pick, seededRandom } from '../../src/platform/crypto/random.ts';
import { importedResult, names, sitting, sittingResult } from '../../test/records/evidence/samples.ts';
import { figure } from '../support/figures.ts';
import { peakMemoryMb } from '../support/process.ts';

/**
 * Evidence packs a second and memory, in one process on one core. Every pack differs: name (in all scripts by turns),
 * reference, result, scores. Prints one hash over all packs. Usage: node bench/scenarios/evidence.ts [packs]
 */
const packs = Number(process.argv[2] ?? 10_000);
const random = seededRandom('evidence-bench');
const latin = names.filter(({ script }) => script.startsWith('Latin'));
const first = ['Aisha', 'Callum', 'Dorota', 'Ewan', 'Fatima', 'Grzegorz', 'Hannah', 'Imran', 'Léa', 'Mateusz'];
const family = ['Abernathy', 'Begum', 'Chukwu', 'Doyle', 'Evans', 'Fernández', 'Górska', 'Hughes', 'Iqbal', 'Khan'];

/** A different result each time; nineteen names of twenty are Latin, as in an English college. */
function result(i: number, rich: boolean): EvidenceInput {
  const name = i % 20 === 0 ? names[(i / 20) % names.length]! : i % 20 === 1 ? latin[i % latin.length]! : null;
  const full_name = `${name === null ? `${pick(random, first)} ${pick(random, family)}` : name.name} ${i}`;
  const base = rich ? sittingResult() : importedResult();
  return {
    ...base,
    assessment_id: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
    learner: { full_name, ref: `REF-${i}` },
    domains: base.domains.map((domain) => ({ ...domain, score_pct: Math.floor(random.float() * 101) })),
    ...(rich
      ? { sitting: { ...sitting, items: sitting.items.map(({ id }) => ({ id, right: random.float() < 0.55 })) } }
      : {}),
  };
}

const hash = createHash('sha256');

/** @returns packs in a second of processor time */
function measure(count: number, rich: boolean): number {
  for (let i = 0; i < 50; i++) renderPdf(buildDocument(result(i, rich)));
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) hash.update(renderPdf(buildDocument(result(i, rich))));
  const { user, system } = process.cpuUsage(before);
  return count / ((user + system) / 1e6);
}

figure('packs of three pages', measure(packs, true), 'a core-second', { atLeast: 100 });
figure('packs of imported results', measure(Math.min(packs, 2000), false), 'a core-second');
figure('memory at its peak', peakMemoryMb(), 'MB', { atMost: 400 });
console.log(`sha256 ${hash.digest('hex')}, Node ${process.version}`);
