import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';
import { csvLine, unguard } from '../../../src/platform/formats/csv.ts';
import type { SheetValue } from '../../../src/platform/formats/xlsx.ts';
import { sheetText, workbook } from '../../../src/platform/formats/xlsx.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { bytesOf, columns, hostile } from './sheets.ts';

/** Workbooks as spreadsheets read them, and nothing in them that one would run. */

const sheetOf = (bytes: Buffer) => strFromU8(unzipSync(bytes)['xl/worksheets/sheet1.xml']!);

suite('a workbook', () => {
  test('text that looks like a formula is text, whole; dates, shares and numbers are numbers', async () => {
    const noon = Date.UTC(2026, 10, 22, 12);
    const xml = sheetOf(await bytesOf([...hostile.map((text) => [text, noon, 0.25, 7]), [null, null, null, null]]));
    assert.doesNotMatch(xml, /<f[ >]|t="str"|t="s"/);
    assert.match(
      xml,
      /<c r="B2" s="4"><v>46348\.5<\/v><\/c><c r="C2" s="3"><v>0\.25<\/v><\/c><c r="D2" s="0"><v>7<\/v>/,
    );
    assert.match(xml, /<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"\/>/);
    assert.match(xml, new RegExp(`<row r="${hostile.length + 2}"></row>`));
    for (const [i, text] of hostile.entries()) {
      const [, found] = new RegExp(`<c r="A${i + 2}" s="2" t="inlineStr"><is><t xml:space="preserve">([^<]*)</t>`).exec(
        xml,
      )!;
      const read = found!
        .replace(/&lt;/g, '<')
        .replace(/&gt;/g, '>')
        .replace(/&quot;/g, '"')
        .replace(/&#13;/g, '\r')
        .replace(/&amp;/g, '&')
        .replace(/_x005F_/g, '_');
      assert.equal(read, text);
    }
  });

  test('what no XML may hold, half characters included, is shown as lost; a cell keeps to its length', () => {
    assert.equal(sheetText('a\0b\x1bc\ud800d\ufffee'), 'a\ufffdb\ufffdc\ufffdd\ufffde');
    const long = sheetText('🙂'.repeat(limits.sheetCellChars));
    assert.ok(long.length <= limits.sheetCellChars);
    assert.match(long, /^(🙂)+�?…$/u);
  });

  test('the same rows give the same bytes', async () => {
    const rows = [['Ana', 1, 0.5, 2]];
    assert.deepEqual(await bytesOf(rows), await bytesOf(rows));
  });

  test('more rows than a sheet holds are refused before they are written', async () => {
    async function* rows() {
      for (let i = 0; i < 1100; i++) yield Array.from({ length: 1000 }, () => [] as SheetValue[]);
    }
    await assert.rejects(async () => {
      for await (const _ of workbook('Results', [], rows()));
    }, RangeError);
  });

  test('a source that fails fails the file, and a reader that leaves ends the source', async () => {
    async function* failing(): AsyncGenerator<SheetValue[][]> {
      yield [['Ana', 1, 1, 1]];
      throw new Error('the database is gone');
    }
    await assert.rejects(async () => {
      for await (const _ of workbook('Results', columns, failing()));
    }, /the database is gone/);
    let ended = false;
    async function* endless(): AsyncGenerator<SheetValue[][]> {
      try {
        for (let i = 0; ; i++) yield Array.from({ length: 500 }, (_, n) => [`Ana ${i * n}`, 1, 1, Math.sin(i + n)]);
      } finally {
        ended = true;
      }
    }
    let parts = 0;
    for await (const _ of workbook('Results', columns, endless())) if (++parts > 20) break;
    while (!ended) await new Promise(setImmediate);
  });
});

suite('CSV for spreadsheets', () => {
  test('what one would run gets an apostrophe, which comes off again', () => {
    for (const text of [
      ...hostile,
      '＝1+1',
      '＋1',
      '－1',
      '＠x',
      '﹦1',
      '﹢1',
      '\u22121+1',
      ' =1',
      '\u200b\u00a0=1',
      '\n=1',
      "'=1",
      '-',
      '-12.5',
      'plain',
    ]) {
      const line = csvLine([text, 'x'], ',');
      const cell = /^"((?:[^"]|"")*)"|^[^,]*/.exec(line)!;
      const read = cell[1] === undefined ? cell[0] : cell[1].replaceAll('""', '"');
      const harmless = /^-?[\d.]*$/.test(read) || !/^[\s\p{Cf}]*[=+@＝＋－＠﹦﹢﹣﹫\u2212-]/u.test(read);
      assert.ok(harmless, JSON.stringify(read));
      assert.equal(unguard(read), text);
    }
  });
});
