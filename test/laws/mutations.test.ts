import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import type { Mutation } from './mutations.ts';
import { mutations } from './mutations.ts';

/** Runs a law test of this folder with a fault in the source. @returns its exit code and what it printed */
async function runWith({ name, caughtBy }: Mutation): Promise<{ code: number | null; output: string }> {
  const child = spawn(
    process.execPath,
    [`--test-name-pattern=${caughtBy.test}`, join(import.meta.dirname, caughtBy.file)],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        NODE_TEST_CONTEXT: undefined,
        LAW_MUTATION: name,
        NODE_OPTIONS: `--import=${new URL('./mutate.ts', import.meta.url).href}`,
      },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (part: Buffer) => {
      output += part.toString('utf8');
    });
  const [code] = await once(child, 'close');
  return { code: code as number | null, output };
}

suite('every fault is caught by its law', { concurrency: 2 }, () => {
  for (const mutation of mutations) {
    test(`${mutation.caughtBy.test.slice(0, 5)} catches that ${mutation.fault} (${mutation.name})`, async () => {
      const { code, output } = await runWith(mutation);
      assert.notEqual(code, 0, `the tests passed with the fault:\n${output}`);
      // It must fail for the law's reason, not because the run fell over.
      assert.match(output, mutation.caughtBy.says);
    });
  }
});
