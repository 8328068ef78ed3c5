// Tier: full. Compiles and runs the kit in other languages.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { vectorsFile, type Vectors } from './vectors.ts';

const { vectors }: Vectors = JSON.parse(readFileSync(vectorsFile, 'utf8'));
const expected = vectors.map(({ name, verdict }) => `${name}: ${verdict}`);
const judged = (verdicts: string[]): string[] => vectors.map(({ name }, index) => `${name}: ${verdicts[index]}`);

suite("the consumer's kit judges the shared vectors in", () => {
  const root = fileURLToPath(new URL('../../../..', import.meta.url));
  const built = mkdtempSync(join(tmpdir(), 'kit-'));
  after(() => rmSync(built, { recursive: true }));

  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const lines = vectors
    .map(({ secret, header, body, now }) => `${base64(secret)}\t${base64(header)}\t${base64(body)}\t${now}\n`)
    .join('');
  const run = (command: string, ...parameters: string[]): string => {
    const { status, stdout, stderr, error } = spawnSync(command, parameters, {
      cwd: root,
      input: lines,
      encoding: 'utf8',
    });
    if (error !== undefined) throw error;
    assert.equal(status, 0, stderr);
    return stdout;
  };
  const missing = (...commands: string[]): string | false => {
    const absent = commands.filter(
      (command) => (spawnSync(command, ['--version']).error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT',
    );
    return absent.length > 0 && `not on this machine: ${absent.join(', ')}`;
  };
  const verdicts = (output: string): string[] => judged(output.trim().split(/\r?\n/));

  test('Python', { skip: missing('python3') }, () =>
    assert.deepEqual(verdicts(run('python3', 'test/integrations/webhooks/kit/run.py')), expected),
  );

  test('PHP', { skip: missing('php') }, () =>
    assert.deepEqual(verdicts(run('php', 'test/integrations/webhooks/kit/run.php')), expected),
  );

  test('Java', { skip: missing('javac', 'java') }, () => {
    run(
      'javac',
      '-encoding',
      'UTF-8',
      '-Xlint:all',
      '-Werror',
      '-d',
      built,
      'examples/webhooks/java/WebhookVerifier.java',
      'test/integrations/webhooks/kit/Run.java',
    );
    assert.deepEqual(verdicts(run('java', '-cp', built, 'Run')), expected);
  });

  // .NET is not in Debian; Mono is (mono-mcs, mono-runtime), and compiles the same source.
  test('C#', { skip: missing('mcs', 'mono') }, () => {
    run(
      'mcs',
      `-out:${join(built, 'run.exe')}`,
      'examples/webhooks/csharp/WebhookVerifier.cs',
      'test/integrations/webhooks/kit/Run.cs',
    );
    assert.deepEqual(verdicts(run('mono', join(built, 'run.exe'))), expected);
  });
});
