// Tier: full. Starts LibreOffice and xmllint.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { unzipSync } from 'fflate';
import { bytesOf, hostile } from './sheets.ts';

const without = (program: string) =>
  spawnSync('which', [program]).status === 0 ? false : `${program} is not installed`;

suite('a workbook', () => {
  test('programs that check XML and archives find nothing wrong', { skip: without('xmllint') }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ars-xlsx-'));
    try {
      const bytes = await bytesOf(
        hostile.map((text) => [text, 1e12, 0.1, 1]),
        'a/b:[c]*?',
      );
      for (const [name, part] of Object.entries(unzipSync(bytes))) {
        const path = join(folder, name.replaceAll('/', '-'));
        writeFileSync(path, part);
        assert.equal(spawnSync('xmllint', ['--noout', path]).status, 0, name);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('LibreOffice opens it and reads what was written', { skip: without('soffice') }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'ars-xlsx-'));
    try {
      writeFileSync(
        join(folder, 'results.xlsx'),
        await bytesOf(hostile.map((text, i) => [text, Date.UTC(2026, 10, 22, 9, 45), 0.1, i])),
      );
      const home = `-env:UserInstallation=file://${folder}/profile`;
      const filter = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false';
      const run = spawnSync('soffice', [
        home,
        '--headless',
        '--convert-to',
        filter,
        '--outdir',
        folder,
        join(folder, 'results.xlsx'),
      ]);
      assert.equal(run.status, 0, String(run.stderr));
      const text = readFileSync(join(folder, 'results.csv'), 'utf8');
      assert.match(text, /^Name,When,Share,Count\n/);
      assert.match(text, /"?=HYPERLINK\(""http:\/\/evil\.example"",""x""\)"?,[\d/]*2026 09:45:00,10%,0/);
      for (const one of ['+1+1', '-2+3', '@SUM(A1)', '_x0041_ and _x000D_', 'Ångström 🙂 שלום'])
        assert.ok(text.includes(one), one);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
