import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { read, sources } from '../structure/source-tree.ts';
import type { Processes } from './tiers.ts';
import { filesOf, loadedFirst, needsBrowser, placeOf, testFiles, tierOf, tiers } from './tiers.ts';

const servicesOf = ({ workers, apart }: Processes): string[] => [...workers.flat(), ...apart];

suite('the tiers of tests', async () => {
  const files = await testFiles();

  test('the full tier runs every test file once', async () => {
    const { together, workers, apart } = await filesOf('full');
    assert.deepEqual([...together, ...workers.flat(), ...apart].sort(), files);
  });

  test('every file is in one tier, with a reason', async () => {
    for (const file of files) assert.match(placeOf(file).reason, /^\S.*\.$/, file);
    const [fast, gate, full] = await Promise.all(tiers.map(filesOf));
    assert.deepEqual(servicesOf(fast!), []);
    for (const [lower, upper] of [
      [fast!, gate!],
      [gate!, full!],
    ]) {
      assert.deepEqual(upper!.together, fast!.together);
      assert.deepEqual(
        servicesOf(lower!).filter((file) => !servicesOf(upper!).includes(file)),
        [],
      );
    }
  });

  test('modules of tests with hooks for a whole process are loaded before the files', async () => {
    const modules = (await sources('test')).filter(
      (file) => !file.endsWith('.test.ts') && /^after\(/m.test(read(file)),
    );
    assert.deepEqual(loadedFirst(files).toSorted(), modules);
  });

  test('only the files that open pages need a browser', () => {
    for (const file of files.filter(needsBrowser)) assert.match(file, /^test\/browser\//);
    assert.ok(needsBrowser('test/browser/player/player.test.ts'));
  });

  test('a file that is not in the gate gives its reason', () => {
    for (const file of files)
      if (read(file).startsWith('// Tier')) assert.equal(tierOf(file), 'full', `${file} needs // Tier: full. REASON.`);
  });

  test('a file with its own process gives its reason', async () => {
    const { apart } = await filesOf('full');
    for (const file of files)
      if (/^\/\/ Process/m.test(read(file))) assert.ok(apart.includes(file), `${file} needs // Process: own. REASON.`);
  });

  for (const law of [1, 2, 3, 4, 5, 6, 7, 8])
    test(`law ${law} has a test in the gate that names it`, () => {
      const named = new RegExp(`\\b(test|suite)\\(\\s*['"\`]law ${law}\\b`);
      const inGate = files.filter((file) => tierOf(file) !== 'full' && named.test(read(file)));
      assert.ok(inGate.some((file) => file.startsWith('test/laws/')));
    });
});
