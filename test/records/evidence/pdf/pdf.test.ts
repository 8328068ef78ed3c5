import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { buildDocument } from '../../../../src/records/evidence/document.ts';
import type { EvidenceInput } from '../../../../src/records/evidence/document.ts';
import { renderPdf } from '../../../../src/records/evidence/pdf/pdf.ts';
import { goldenInputs, hostileNames, importedResult, names, sitting, sittingResult } from '../samples.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'evidence-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Why the tests of a tool are skipped, or false. */
function missing(tool: string, debianPackage: string): string | false {
  try {
    execFileSync('sh', ['-c', `command -v ${tool}`]);
    return false;
  } catch {
    return `${tool} is not installed (Debian package ${debianPackage})`;
  }
}

let written = 0;
function file(input: EvidenceInput): string {
  const path = join(folder, `${written++}.pdf`);
  writeFileSync(path, renderPdf(buildDocument(input)));
  return path;
}

async function text(path: string): Promise<string> {
  const { stdout } = await run('pdftotext', ['-enc', 'UTF-8', path, '-'], { maxBuffer: 1 << 22 });
  // The tool wraps right-to-left lines in embedding marks of its own.
  return stdout.replace(/[\u202a-\u202e]/g, '');
}

const named = (full_name: string): EvidenceInput => importedResult({ learner: { full_name, ref: null } });

suite('the file', () => {
  test('holds no name, reference or address of the machine outside its page streams', () => {
    for (const input of [sittingResult(), importedResult()]) {
      const raw = renderPdf(buildDocument(input)).toString('latin1');
      const outside = raw.replace(/stream\n[^]*?endstream/g, '');
      const utf16 = [...input.learner.full_name]
        .map((c) => c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0'))
        .join('');
      for (const part of [input.learner.full_name, input.learner.ref!, utf16, input.organisation_name, process.cwd()])
        assert.ok(!outside.includes(part), part);
    }
  });

  test('has one to three pages for a usual result', async () => {
    const pages = (input: EvidenceInput): number =>
      renderPdf(buildDocument(input))
        .toString('latin1')
        .match(/\/Type\/Page\//g)!.length;
    assert.equal(pages(importedResult()), 1);
    assert.equal(pages(sittingResult()), 3);
  });

  test('the last section never stands alone on its page', async () => {
    const flagged = importedResult({ is_borderline: true, needs_review: true });
    const text = renderPdf(buildDocument(flagged)).toString('latin1');
    assert.equal(text.match(/\/Type\/Page\//g)!.length, 2);
    const path = join(folder, 'flagged.pdf');
    writeFileSync(path, text, 'latin1');
    const second = execFileSync('pdftotext', ['-f', '2', path, '-'], { encoding: 'utf8' });
    assert.match(second, /Countersignature[\s\S]*How to verify this document/);
  });

  test('every link says where it leads', () => {
    const text = renderPdf(buildDocument(importedResult())).toString('latin1');
    const links = text.match(/\/Subtype\/Link/g)!.length;
    assert.equal(text.match(/\/Subtype\/Link[^>]*\/Contents/g)!.length, links);
  });

  test('marks everything as content or decoration, in balance', () => {
    for (const { name, input } of goldenInputs) assert.doesNotThrow(() => renderPdf(buildDocument(input)), name);
  });
});

suite('qpdf', { skip: missing('qpdf', 'qpdf') }, () => {
  test('finds no fault in any sample', async () => {
    for (const { name, input } of goldenInputs) {
      const { stdout } = await run('qpdf', ['--check', file(input)]);
      assert.match(stdout, /No syntax or stream encoding errors found/, name);
    }
  });
});

suite('poppler', { skip: missing('pdftotext', 'poppler-utils') }, () => {
  test('finds every font embedded, subset and mapped to Unicode', async () => {
    for (const { name } of names) {
      const { stdout } = await run('pdffonts', [file(named(name))]);
      const rows = stdout.trim().split('\n').slice(2);
      assert.ok(rows.length >= 2);
      for (const row of rows) assert.match(row, /^[A-Z]{6}\+Noto\S+ +CID TrueType +Identity-H +yes yes yes /, name);
    }
  });

  const pointed = new Set(['Arabic, with vowel marks', 'Hebrew, pointed']);
  for (const { script, name } of names) {
    test(`finds the name again: ${script}`, async () => {
      const found = await text(file(named(name)));
      if (pointed.has(script)) {
        // Readers place vowel points by where they stand, so only their letters are sure to be found, in any order of runs.
        const letters = (value: string): string[] =>
          [...value].filter((c) => /[\u05d0-\u05ea\u0621-\u064a]/.test(c)).sort();
        assert.deepEqual(letters(found), letters(name));
      } else {
        for (const word of name.split(/[ -]/))
          assert.ok(found.includes(word), `${word} in ${JSON.stringify(found.slice(0, 300))}`);
      }
    });
  }

  for (const { what, shown } of hostileNames) {
    test(`finds the text of a name with ${what}`, async () => {
      const found = (await text(file(named(shown)))).replace(/\s/g, '');
      assert.ok(found.includes(shown.replace(/\s/g, '')), JSON.stringify(found.slice(0, 300)));
    });
  }

  test('finds no word outside the margins or over the foot of the page, however much there is to say', async () => {
    const long = (length: number): string => 'Überlänge '.repeat(length).slice(0, length);
    const crowded: EvidenceInput = sittingResult({
      organisation_name: long(200),
      framework: long(200),
      working_level: long(100),
      rqf_level: long(100),
      recommended_next_level: long(100),
      learner: { full_name: 'W'.repeat(200), ref: 'x'.repeat(100) },
      verify_url: `https://${'sub.'.repeat(20)}example.org/verify/${'a'.repeat(60)}`,
      domains: Array.from({ length: 50 }, (_, i) => ({
        name: i % 2 === 0 ? long(100) : 'W'.repeat(100),
        score_pct: 2 * i,
        status: 'W'.repeat(40),
        answered: 1000,
      })),
      sitting: {
        ...sitting,
        supervision: long(300),
        adjustments: [long(300), long(300)],
        not_assessed: Array.from({ length: 30 }, () => long(300)),
        items: Array.from({ length: 400 }, (_, i) => ({ id: `${'ITEM-'.repeat(6)}${i}`, right: i % 2 === 0 })),
        declaration: { text: long(4000), at: '2026-10-05T08:58:05.000Z' },
      },
    });
    for (const input of [...goldenInputs.map((golden) => golden.input), crowded]) {
      const path = file(input);
      const { stdout } = await run('pdftotext', ['-bbox', path, '-'], { maxBuffer: 1 << 24 });
      for (const [, xMin, yMin, xMax, yMax, word] of stdout.matchAll(
        /<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</g,
      )) {
        assert.ok(
          Number(xMin) >= 46 && Number(xMax) <= 549.5 && Number(yMin) >= 34 && Number(yMax) <= 826,
          `${word} at ${xMin},${yMin}`,
        );
      }
      const found = await text(path);
      for (const { id } of input.sitting?.items ?? []) assert.ok(found.includes(id), id);
    }
  });

  test("reads title, language and tags, and no more, from the file's properties", async () => {
    const { stdout } = await run('pdfinfo', [file(sittingResult())]);
    assert.match(stdout, /Title: +Evidence pack 5f2a9e0c-77d1-4c39-b6c8-1b0e4fd2a963, edition 2\n/);
    assert.match(stdout, /Tagged: +yes/);
    assert.match(stdout, /Page size: +595\.28 x 841\.89 pts \(A4\)/);
    assert.match(stdout, /Encrypted: +no/);
    assert.match(stdout, /JavaScript: +no/);
    assert.ok(!/Author|Subject|Keywords|CreationDate|ModDate/.test(stdout));
  });

  test('reads the page in order, with headings, tables, header cells, lists and described figures', async () => {
    const { stdout } = await run('pdfinfo', ['-struct-text', file(sittingResult())], { maxBuffer: 1 << 22 });
    const order = [
      'Evidence of assessed level',
      'Zoë Nguyễn-Ångström',
      'NG-2026-00981',
      'Placement',
      'Where the result stands',
      'Domains',
      'Reading',
      'The rule that decided',
      'Two engines, side by side',
      'IRT engine',
      'What was not assessed',
      'Questions and answers',
      'Versions',
      'Countersignature',
      'How to verify this document',
    ];
    let at = -1;
    for (const part of order) {
      const next = stdout.indexOf(`"${part}"`, at + 1);
      assert.ok(next > at, part);
      at = next;
    }
    const { stdout: tree } = await run('pdfinfo', ['-struct', file(sittingResult())], { maxBuffer: 1 << 22 });
    const count = (type: string): number =>
      tree.split('\n').filter((line) => new RegExp(`^ *${type}\\b`).test(line)).length;
    assert.equal(count('Document'), 1);
    assert.equal(count('H1'), 1);
    assert.equal(count('Table'), 3);
    assert.equal(count('TH'), 4 + 5 + 3 + 3 + 5 + 6);
    assert.equal(count('Figure'), 2);
    assert.equal(count('Link'), 1);
    assert.equal(count('LI'), 2 + 34);
  });
});
