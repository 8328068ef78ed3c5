import { createRequire } from 'node:module';
import type { Parameters } from 'recheck';
import { analyse } from 'scslre';
import type { Found } from './find.ts';

// The build in JavaScript; the main one prefers a native program.
const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js') as typeof import('recheck');

/** Work is limited by steps, never by time, so that a slow machine comes to the same verdict. */
const steps: Parameters = {
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  seedingTimeout: null,
  maxNFASize: 1000,
  maxIteration: 0,
  maxInitialGenerationSize: 30,
  maxGeneStringSize: 400,
  incubationLimit: 3000,
  maxAttackStringSize: 20_000,
  attackLimit: 2_000_000,
};

/**
 * Why a pattern is vulnerable: some text takes it more than linear time. scslre reads the pattern and needs
 * milliseconds, recheck also finds what several characters or overlapping alternatives cause.
 */
function vulnerability(source: string, flags: string): string | undefined {
  // Neither knows the flag v, and d changes only what is reported.
  const known = flags.replace('v', 'u').replace('d', '');
  // Without a repetition, every attempt ends after a constant number of characters.
  if (!/[*+{]/.test(source)) return undefined;
  try {
    const [report] = analyse({ source, flags: known }).reports;
    if (report)
      return `many ${JSON.stringify(report.character.pick)} take it ${report.exponential ? 'exponential' : 'polynomial'} time`;
    const result = checkSync(source, known, steps);
    if (result.status === 'safe') return undefined;
    if (result.status === 'unknown') return `it cannot be judged (${result.error.kind})`;
    return `${result.attack.pattern} takes it ${result.complexity.summary} time`;
  } catch (error) {
    return `it cannot be judged (${(error as Error).message})`;
  }
}

/** A regular expression that may stay though it is vulnerable or dynamic, and why. */
export type Reviewed = { file: string; expression: string; reason: string };

/** What is wrong, a line each; none where every expression is safe or reviewed. */
export function faults(expressions: Found[], reviewed: Reviewed[]): string[] {
  const list = 'test/expressions/reviewed.json';
  const unused = new Set(reviewed);
  const known = new Map<string, string | undefined>();
  const wrong: string[] = [];
  for (const { file, line, name, pattern, flags } of expressions) {
    if (pattern !== undefined && !known.has(name)) known.set(name, vulnerability(pattern, flags));
    const why = pattern === undefined ? 'its pattern is made at run time' : known.get(name);
    if (why === undefined) continue;
    const exception = reviewed.find((one) => one.file === file && one.expression === name);
    if (exception) unused.delete(exception);
    else
      wrong.push(
        `${file}:${line}: ${name} is vulnerable: ${why}. Rewrite it, or limit its input and add it to ${list} with the reason.`,
      );
  }
  for (const { file, expression } of unused)
    wrong.push(`${list}: ${file} has no vulnerable ${expression}. Remove the exception.`);
  return wrong;
}
