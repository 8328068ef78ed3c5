/**
 * The golden files of the evidence pack.
 *
 *     node test/records/evidence/golden.ts --check      compares what is rendered now with the files; exits 1 where it differs
 *     node test/records/evidence/golden.ts --write      writes them anew; raise `rendererVersion` when the bytes change on purpose
 *     node test/records/evidence/golden.ts --hashes [--order forwards|backwards|interleaved]   prints the hashes as JSON
 */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { buildDocument } from '../../../src/records/evidence/document.ts';
import { renderPdf, rendererVersion } from '../../../src/records/evidence/pdf/pdf.ts';
import { goldenInputs } from './samples.ts';

const folder = new URL('./golden/', import.meta.url);
/** Samples whose content and file are kept whole, to be read and looked at. */
const kept = ['imported', 'sitting'];

export type Golden = { renderer: string; sha256: Record<string, string> };

function render(name: string): Buffer {
  return renderPdf(buildDocument(goldenInputs.find((golden) => golden.name === name)!.input));
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Hashes of all samples, rendered in the given order of names; the result is in the samples' own order. */
export function hashes(order: readonly string[] = goldenInputs.map(({ name }) => name)): Record<string, string> {
  const made = new Map(order.map((name) => [name, sha256(render(name))]));
  return Object.fromEntries(goldenInputs.map(({ name }) => [name, made.get(name)!]));
}

export function golden(): Golden {
  return JSON.parse(readFileSync(new URL('hashes.json', folder), 'utf8')) as Golden;
}

/** Everything that the golden folder should hold now: file name → bytes. */
function files(): Map<string, Buffer> {
  const out = new Map<string, Buffer>();
  const summary: Golden = { renderer: rendererVersion, sha256: hashes() };
  out.set('hashes.json', Buffer.from(`${JSON.stringify(summary, null, 2)}\n`));
  for (const name of kept) {
    const { input } = goldenInputs.find((candidate) => candidate.name === name)!;
    out.set(`${name}.json`, Buffer.from(`${JSON.stringify(buildDocument(input), null, 2)}\n`));
    out.set(`${name}.pdf`, render(name));
  }
  return out;
}

/** The golden files as `npm run check` knows generated files. */
export const goldenFiles = ['hashes.json', ...kept.flatMap((name) => [`${name}.json`, `${name}.pdf`])].map((name) => ({
  path: `test/records/evidence/golden/${name}`,
  make: async () => files().get(name)!,
}));

/** Names of golden files that differ from what is made now. */
export function differing(): string[] {
  return [...files()]
    .filter(([name, bytes]) => {
      try {
        return !readFileSync(new URL(name, folder)).equals(bytes);
      } catch {
        return true;
      }
    })
    .map(([name]) => name);
}

function order(kind: string): string[] {
  const names = goldenInputs.map(({ name }) => name);
  if (kind === 'backwards') return names.reverse();
  if (kind === 'interleaved') return [...names.filter((_, i) => i % 2 === 1), ...names.filter((_, i) => i % 2 === 0)];
  return names;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      check: { type: 'boolean' },
      write: { type: 'boolean' },
      hashes: { type: 'boolean' },
      order: { type: 'string', default: 'forwards' },
    },
  });
  if (values.hashes) console.log(JSON.stringify(hashes(order(values.order))));
  else if (values.write) {
    mkdirSync(folder, { recursive: true });
    for (const [name, bytes] of files()) writeFileSync(new URL(name, folder), bytes);
  } else {
    const wrong = differing();
    if (wrong.length > 0) {
      console.error(
        `Differs from what is rendered now: ${wrong.join(', ')}. If that is meant, raise rendererVersion and run with --write.`,
      );
      process.exitCode = 1;
    }
  }
}
