import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Failure } from '../../cli/kit/command.ts';
import { commands } from '../../tools/item-bank/commands/score.ts';

const folder = mkdtempSync(join(tmpdir(), 'ars-score-'));
after(() => rmSync(folder, { recursive: true }));

const fixture = fileURLToPath(new URL('../fixtures/irt-reference.json', import.meta.url));
const vectors = commands.find((command) => command.name === 'score vectors')!;
const run = (file: string) =>
  vectors.run({
    options: {},
    positionals: [file],
    json: true,
    progress: () => {},
    step: () => {},
    signal: new AbortController().signal,
  });

test('score vectors prints the count and the largest difference of each estimator', async () => {
  const { json, text } = await run(fixture);
  const { count, max_abs } = json as { count: number; max_abs: Record<string, number> };
  assert.deepEqual(Object.keys(json as object), ['count', 'max_abs']);
  assert.equal(count, 200);
  assert.deepEqual(Object.keys(max_abs), ['eap_theta', 'eap_sd', 'map', 'mle', 'wle', 'info', 'loglik']);
  for (const difference of Object.values(max_abs)) assert.ok(difference >= 0 && difference <= 1e-6);
  assert.match(text, /^200 vectors\nEstimator +Compared +Largest difference +In\n/);
});

test('score vectors works on any file of that shape', async () => {
  const data = JSON.parse(readFileSync(fixture, 'utf8'));
  const file = join(folder, 'two.json');
  const [first, second] = data.vectors;
  second.expected = { eap: { theta: second.expected.eap.theta + 0.5, sd: second.expected.eap.sd } };
  writeFileSync(file, JSON.stringify({ vectors: [first, second] }));
  const { json } = await run(file);
  const { count, max_abs } = json as { count: number; max_abs: Record<string, number> };
  assert.equal(count, 2);
  assert.ok(Math.abs(max_abs.eap_theta! - 0.5) < 1e-9 && max_abs.mle! < 1e-6);
});

test('a file that is missing, no JSON, or of another shape gives one sentence', async () => {
  const broken = join(folder, 'broken.json');
  writeFileSync(broken, '{"vectors": [');
  const other = join(folder, 'other.json');
  writeFileSync(
    other,
    '{"vectors": [{"id": "v1", "prior": {"mean": 0, "sd": 1}, "items": [{"a": 1, "b": "x", "c": 0}], "responses": [1], "expected": {}}]}',
  );
  for (const [file, sentence] of [
    [join(folder, 'none.json'), /^There is no file .*none\.json\.$/],
    [folder, /can't be read \(EISDIR\)\.$/],
    [broken, /broken\.json is not valid JSON\.$/],
    [other, /is not a set of vectors: v1: items\[0\]: "b" must be a number\.$/],
  ] as const) {
    await assert.rejects(
      run(file),
      (error) => error instanceof Failure && sentence.test(error.message) && !error.message.includes('\n'),
    );
  }
});
