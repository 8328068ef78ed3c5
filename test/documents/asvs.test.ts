import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { requirements, states } from '../support/documents/asvs.ts';
import { code, read, root, sources } from '../support/structure/source-tree.ts';

suite('OWASP ASVS', () => {
  test('each requirement of levels 1 and 2 has one line, in the order of the standard', () => {
    const written = [...read('docs/data/asvs.json').matchAll(/"(V\d+\.\d+\.\d+)"/g)].map(([, id]) => id!);
    assert.deepEqual(
      written,
      requirements.map(([id]) => id),
    );
    assert.deepEqual(
      written,
      written.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true })),
    );
    const ofLevel = (level: number) => requirements.filter(([, one]) => one.level === level).length;
    assert.deepEqual([ofLevel(1), ofLevel(2)], [70, 183]);
  });

  for (const [id, { state, evidence, reason, ...rest }] of requirements)
    test(`${id} has a known state and a file that exists, or a short reason`, () => {
      assert.ok(states.includes(state), state);
      assert.deepEqual(Object.keys(rest), ['level']);
      assert.equal(evidence !== undefined, state === 'met');
      assert.equal(reason === undefined, state === 'met');
      if (evidence !== undefined) assert.ok(existsSync(join(root, evidence)), evidence);
      else assert.ok(reason!.split(' ').length <= 12, reason!);
    });

  test('the page says how many are met and open', () => {
    const counts = states.map((state) => requirements.filter(([, one]) => one.state === state).length);
    assert.ok(read('docs/trust/asvs.md').includes(`| All 253 | ${counts.join(' | ')} |`));
  });

  test('no source runs text as code (V1.3.2)', async () => {
    const found = (await sources('src', 'cli')).filter((file) =>
      /\beval\(|\bnew Function\(|'node:vm'/.test(code(file)),
    );
    assert.deepEqual(found, []);
  });
});
