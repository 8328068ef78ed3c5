import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import { importsOf, read, root } from './source-tree.ts';

/**
 * The tiers of tests. `fast` needs no database, service or other process. `gate` adds the tests that do. `full` adds
 * the files that say so in their first line: `// Tier: full. REASON`.
 */
export const tiers = ['fast', 'gate', 'full'] as const;
export type Tier = (typeof tiers)[number];

const fullTier = /^\/\/ Tier: full\. (\S.*\.)\n/;

/** What a test imports when it needs a database, a service, a browser or another process. */
const isService = (to: string): boolean =>
  ['test/postgres.ts', 'test/service.ts', 'test/ars.ts', 'test/browser/chromium.ts'].includes(to) ||
  /^node:(child_process|cluster|net|http|https|worker_threads)$/.test(to);

/** The first import of a kind that a file reaches through its own imports and those of the tests' modules. */
function reached(file: string, isWanted: (to: string) => boolean, seen = new Set<string>()): string | null {
  // Tests of the sources contain imports of files that do not exist.
  if (seen.has(file) || !existsSync(join(root, file))) return null;
  seen.add(file);
  for (const { to, typeOnly } of importsOf(file)) {
    if (typeOnly) continue;
    if (isWanted(to)) return to;
    const further = to.startsWith('test/') && to.endsWith('.ts') ? reached(to, isWanted, seen) : null;
    if (further !== null) return further;
  }
  return null;
}

/** Whether a test opens pages in Chromium. */
export const needsBrowser = (file: string): boolean => reached(file, (to) => to === 'test/browser/browser.ts') !== null;

/** The first tier that runs a test file, and why it is that tier. */
export function placeOf(file: string): { tier: Tier; reason: string } {
  const reason = fullTier.exec(read(file))?.[1];
  if (reason !== undefined) return { tier: 'full', reason };
  const service = reached(file, isService);
  if (service !== null) return { tier: 'gate', reason: `Imports ${service}.` };
  return { tier: 'fast', reason: 'Imports no database, service, browser or process.' };
}

export const tierOf = (file: string): Tier => placeOf(file).tier;

/** All test files, sorted, with forward slashes. */
export async function testFiles(): Promise<string[]> {
  const files: string[] = [];
  for await (const file of glob('test/**/*.test.ts', { cwd: root })) files.push(file.replaceAll('\\', '/'));
  return files.sort();
}

/** Test files under the given files and folders. */
export async function filesUnder(wanted: string[]): Promise<string[]> {
  const paths = wanted.map((path) =>
    posix.normalize(path.replaceAll('\\', '/')).replace(/\/$/, '').replace(`${root}/`, ''),
  );
  return (await testFiles()).filter((file) => paths.some((path) => file === path || file.startsWith(`${path}/`)));
}

/** Files of a tier and of the tiers below it: those that share one process, and those that each get their own. */
export async function filesOf(tier: Tier): Promise<{ together: string[]; apart: string[] }> {
  const run = (await testFiles()).map((file) => ({ file, of: tierOf(file) }));
  const upTo = tiers.slice(0, tiers.indexOf(tier) + 1);
  return {
    together: run.filter(({ of }) => of === 'fast').map(({ file }) => file),
    apart: run.filter(({ of }) => of !== 'fast' && upTo.includes(of)).map(({ file }) => file),
  };
}

export const reporter = join(dirname(import.meta.filename), 'tier-reporter.ts');
