import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { BankFileFault, readBankFiles, scanBankFiles } from '../../tools/item-bank/files.ts';
import { guideItems } from '../engine/item-bank/examples.ts';

const folder = mkdtempSync(join(tmpdir(), 'bank-'));
after(() => rmSync(folder, { recursive: true }));

function written(files: Record<string, unknown>): URL {
  const directory = mkdtempSync(join(folder, 'b-'));
  for (const [path, value] of Object.entries({ 'bank.json': { number: 5 }, ...files })) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    writeFileSync(join(directory, path), typeof value === 'string' ? value : JSON.stringify(value));
  }
  return pathToFileURL(`${directory}/`);
}

const choice = guideItems.find((item) => item.type === 'single_choice')!;

suite('reading files', () => {
  test('names the item and the member that are wrong', () => {
    const directory = written({
      'english/level1.json': [
        { ...choice, a: 1.4 },
        { ...choice, extra: 1 },
        { ...choice, id: 'x', type: 'essay' },
        7,
        null,
      ],
    });
    const { files, faults } = scanBankFiles(directory);
    assert.deepEqual(files.items, []);
    const text = faults.map(({ id, fault }) => `${id}: ${fault}`).join('\n');
    for (const pattern of [
      /eng-l1-gram-001: \/a must be <= 1\.3/u,
      /additional properties/u,
      /x: has no known type \("essay"\)/u,
      /level1\.json\[3\]: is not an object/u,
      /level1\.json\[4\]: is not an object/u,
      /id that is already in use/u,
    ])
      assert.match(text, pattern);
    assert.throws(() => readBankFiles(directory), BankFileFault);
  });
  test('finds an item in another level’s file', () => {
    assert.match(
      scanBankFiles(written({ 'english/level2.json': [choice] })).faults[0]!.fault,
      /belongs in english\/level1\.json/u,
    );
  });
  test('says which file is not JSON', () => {
    assert.throws(() => readBankFiles(written({ 'maths/level1.json': '[1,' })), /maths\/level1\.json is not JSON/u);
    assert.throws(() => readBankFiles(written({ 'maths/level1.json': {} })), /maths\/level1\.json is not an array/u);
    for (const value of [5, {}, { number: '1' }, { number: -1 }])
      assert.throws(() => readBankFiles(written({ 'bank.json': value })), /bank\.json must hold a whole number/u);
  });
});
