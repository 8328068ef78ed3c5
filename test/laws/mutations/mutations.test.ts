// Tier: full. Runs the tests of the laws on about 100 mutated services.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Ended } from '../world/failures.ts';
import { mutations } from './mutations.ts';

/** Runs tests of a file of the laws, those whose names have one of the patterns. */
async function run(
  file: string,
  patterns: string[],
  environment: Record<string, string>,
): Promise<{ code: number | null; output: string; ended: Ended[] }> {
  const child = spawn(
    process.execPath,
    [
      ...patterns.map((pattern) => `--test-name-pattern=${pattern}`),
      `--test-reporter=${new URL('../world/failures.ts', import.meta.url).href}`,
      join(import.meta.dirname, '..', file),
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...environment },
      // A fault may also leave something waiting for ever; what was reported until then counts.
      timeout: 120_000,
      killSignal: 'SIGKILL',
    },
  );
  let output = '';
  let reported = '';
  child.stdout.on('data', (part: Buffer) => {
    reported += part.toString('utf8');
  });
  child.stderr.on('data', (part: Buffer) => {
    output += part.toString('utf8');
  });
  const [code] = await once(child, 'close');
  const lines = reported.split('\n').filter((line) => line.startsWith('{"test":'));
  return { code: code as number | null, output: reported + output, ended: lines.map((line) => JSON.parse(line)) };
}

suite('every fault is caught by its law', { concurrency: 2 }, () => {
  // What a fault is caught by has to pass without it, under the same loader: then the fault is what it fails for.
  for (const [file, of] of Map.groupBy(mutations, ({ caughtBy }) => caughtBy.file)) {
    test(`the tests of ${file} that catch faults pass without them`, async () => {
      const patterns = [...new Set(of.map(({ caughtBy }) => caughtBy.test))];
      const { code, output, ended } = await run(file, patterns, {
        LAW_MUTATION: of.map(({ name }) => name).join(),
        LAW_MUTATION_UNCHANGED: 'yes',
        LAW_ROUNDS: '6',
        NODE_OPTIONS: `--import=${new URL('./mutate.ts', import.meta.url).href}`,
      });
      assert.equal(code, 0, `they fail without any fault:\n${output}`);
      for (const pattern of patterns)
        assert.ok(
          ended.some(({ test: name, passed }) => passed && name.includes(pattern)),
          `no test is called "${pattern}"`,
        );
    });
  }

  for (const { name, fault, caughtBy } of mutations) {
    test(`${caughtBy.test.slice(0, 5)} catches that ${fault} (${name})`, async () => {
      const { code, output, ended } = await run(caughtBy.file, [caughtBy.test], {
        LAW_MUTATION: name,
        NODE_OPTIONS: `--import=${new URL('./mutate.ts', import.meta.url).href}`,
      });
      assert.notEqual(code, 0, `the tests passed with the fault:\n${output}`);
      // It must fail for the law's reason: an assertion of the test's own, not the run that fell over.
      assert.ok(
        ended.some(({ assertion }) => assertion !== null && caughtBy.says.test(assertion)),
        `it failed for another reason than ${caughtBy.says}:\n${output}`,
      );
    });
  }
});
