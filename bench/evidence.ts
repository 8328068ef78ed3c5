/**
 * Evidence packs per second and memory, in one process on one core.
 *
 *     node --expose-gc bench/evidence.ts [--reports 10000]
 *
 * Every report differs: name (in all scripts by turns), reference, result, scores. Prints one JSON value last.
 */
import { createHash } from 'node:crypto';
import { parseArgs } from 'node:util';
import { buildDocument } from '../src/evidence/document.ts';
import type { EvidenceInput } from '../src/evidence/document.ts';
import { renderPdf } from '../src/evidence/pdf/pdf.ts';
import { pick, seededRandom } from '../src/random.ts';
import { importedResult, names, sitting, sittingResult } from '../test/evidence/samples.ts';
import { figure } from './figures.ts';

const { values } = parseArgs({ options: { reports: { type: 'string', default: '10000' } } });
const reports = Math.min(100_000, Math.max(1, Number.parseInt(values.reports, 10)));
const random = seededRandom('evidence-bench');
const latin = names.filter(({ script }) => script.startsWith('Latin'));
const given = [
  'Aisha',
  'Callum',
  'Dorota',
  'Ewan',
  'Fatima',
  'Grzegorz',
  'Hannah',
  'Imran',
  'Jade',
  'Kwame',
  'Léa',
  'Mateusz',
];
const family = [
  'Abernathy',
  'Begum',
  'Chukwu',
  'Doyle',
  'Evans',
  'Fernández',
  'Górska',
  'Hughes',
  'Iqbal',
  'Jankowski',
  'Khan',
];

/** A different result each time; nineteen names of twenty are Latin, as in an English college. */
function result(i: number, rich: boolean): EvidenceInput {
  const name = i % 20 === 0 ? names[(i / 20) % names.length]! : i % 20 === 1 ? latin[i % latin.length]! : null;
  const full_name = `${name === null ? `${pick(random, given)} ${pick(random, family)}` : name.name} ${i}`;
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

const megabytes = (bytes: number): number => Math.round(bytes / 1e5) / 10;
const hash = createHash('sha256');

function measure(
  label: string,
  count: number,
  rich: boolean,
): { label: string; reports: number; per_cpu_second: number; mean_bytes: number } {
  for (let i = 0; i < 50; i++) renderPdf(buildDocument(result(i, rich)));
  const before = process.cpuUsage();
  let bytes = 0;
  for (let i = 0; i < count; i++) {
    const file = renderPdf(buildDocument(result(i, rich)));
    bytes += file.length;
    hash.update(file);
  }
  const used = process.cpuUsage(before);
  const seconds = (used.user + used.system) / 1e6;
  return { label, reports: count, per_cpu_second: Math.round(count / seconds), mean_bytes: Math.round(bytes / count) };
}

const rich = measure('sitting, three pages', reports, true);
const plain = measure('imported result', Math.min(reports, 2000), false);
globalThis.gc?.();
const memory = process.memoryUsage();
figure('evidence packs of three pages', rich.per_cpu_second, 'a core-second', { atLeast: 100 });
figure('memory at its peak', megabytes(process.resourceUsage().maxRSS * 1024), 'MB', { atMost: 400 });
console.log(
  JSON.stringify(
    {
      results: [rich, plain],
      peak_rss_mb: megabytes(process.resourceUsage().maxRSS * 1024),
      rss_mb: megabytes(memory.rss),
      heap_mb: megabytes(memory.heapUsed),
      node: process.version,
      sha256: hash.digest('hex'),
    },
    null,
    2,
  ),
);
