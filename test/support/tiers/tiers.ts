import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join, posix } from 'node:path';
import type { Import } from '../structure/source-tree.ts';
import { importsOf, read, root } from '../structure/source-tree.ts';

/**
 * The tiers of tests. `fast` needs no database, service or other process. `gate` adds the tests that do. `full` adds
 * the files that say so in their first line: `// Tier: full. REASON`.
 */
export const tiers = ['fast', 'gate', 'full'] as const;
export type Tier = (typeof tiers)[number];

const fullTier = /^\/\/ Tier: full\. (\S.*\.)\n/;

/** The first line of a file, or its second, that needs a process of its own. */
const ownProcess = /^(?:\/\/ Tier: .*\n)?\/\/ Process: own\. (\S.*\.)\n/;

/** What a test imports when it needs a database, a service, a browser or another process. */
const isService = (to: string): boolean =>
  ['test/support/postgres.ts', 'test/support/service.ts', 'test/support/ars.ts', 'test/browser/chromium.ts'].includes(
    to,
  ) || /^node:(child_process|cluster|net|http|https|worker_threads)$/.test(to);

const imports = new Map<string, Import[]>();

/** The first import of a kind that a file reaches through its own imports and those of the tests' modules. */
function reached(file: string, isWanted: (to: string) => boolean, seen = new Set<string>()): string | null {
  if (seen.has(file)) return null;
  seen.add(file);
  // Tests of the sources contain imports of files that do not exist.
  const own = imports.get(file) ?? (existsSync(join(root, file)) ? importsOf(file) : []);
  imports.set(file, own);
  for (const { to, typeOnly } of own) {
    if (typeOnly) continue;
    if (isWanted(to)) return to;
    const further = to.startsWith('test/') && to.endsWith('.ts') ? reached(to, isWanted, seen) : null;
    if (further !== null) return further;
  }
  return null;
}

/** Whether a test opens pages in Chromium. */
export const needsBrowser = (file: string): boolean => reached(file, (to) => to === 'test/browser/browser.ts') !== null;

/** Modules of tests with hooks for a whole process. */
const ofProcess = [
  'test/support/service.ts',
  'test/browser/browser.ts',
  'test/deploy/proxies.ts',
  'test/laws/world/processes.ts',
];

/** What a worker loads before its files, so that these hooks do not run after the first file. */
export const loadedFirst = (files: string[]): string[] =>
  ofProcess.filter((module) => files.some((file) => reached(file, (to) => to === module) !== null));

const workerCount = 16;

/** By name, so that a new file does not move others. Only a few workers load Playwright. */
function workerOf(file: string): number {
  const number = createHash('sha256').update(file).digest()[0]!;
  return number % (needsBrowser(file) ? 4 : workerCount);
}

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

/** How the files of a run are spread over processes. */
export type Processes = {
  /** The fast tier: all in one process. */
  together: string[];
  /** The lists of the workers: the files of one worker run one after another in its process. */
  workers: string[][];
  /** Files that each get a process of their own. */
  apart: string[];
};

/** Files of a tier and of the tiers below it. */
export async function filesOf(tier: Tier): Promise<Processes> {
  const run = (await testFiles()).map((file) => ({ file, of: tierOf(file) }));
  const upTo = tiers.slice(0, tiers.indexOf(tier) + 1);
  const service = run.filter(({ of }) => of !== 'fast' && upTo.includes(of)).map(({ file }) => file);
  const sharing = service.filter((file) => !ownProcess.test(read(file)));
  return {
    together: run.filter(({ of }) => of === 'fast').map(({ file }) => file),
    workers: Array.from({ length: workerCount }, (_, i) => sharing.filter((file) => workerOf(file) === i)),
    apart: service.filter((file) => ownProcess.test(read(file))),
  };
}

export const reporter = join(dirname(import.meta.filename), 'tier-reporter.ts');
