// Tier: full. Starts Java for each file.
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { buildDocument } from '../../../../src/records/evidence/document.ts';
import type { EvidenceInput } from '../../../../src/records/evidence/document.ts';
import { renderPdf } from '../../../../src/records/evidence/pdf/pdf.ts';
import { goldenInputs, importedResult } from '../samples.ts';

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

suite('PDFBox Preflight', () => {
  const jars = [
    'preflight',
    'pdfbox2',
    'fontbox2',
    'xmpbox',
    'commons-logging',
    'commons-io',
    'javax.activation',
    'jaxb-api',
  ].map((jar) => `/usr/share/java/${jar}.jar`);
  const absent = jars.find((jar) => !existsSync(jar));
  const skip =
    missing('java', 'default-jre-headless') ||
    (absent === undefined
      ? false
      : `${absent} is not there (Debian packages libpdfbox2-java, libactivation-java, libjaxb-api-java)`);
  const validate = (path: string): Promise<string> =>
    new Promise((resolve, reject) => {
      execFile(
        'java',
        ['-cp', jars.join(':'), 'org.apache.pdfbox.preflight.Validator_A1b', path],
        (error, stdout, stderr) => {
          // It ends with a code of its own for a file that isn't valid.
          if (error !== null && typeof error.code !== 'number') reject(error);
          else resolve(stdout + stderr);
        },
      );
    });

  for (const sample of [
    'sitting',
    'imported',
    'below-entry',
    'name: Arabic, with vowel marks',
    'name: Bengali',
    'name: Korean',
    'hostile: emoji',
  ]) {
    test(`confirms PDF/A-1b: ${sample}`, { skip }, async () => {
      const { input } = goldenInputs.find(({ name }) => name === sample)!;
      assert.match(await validate(file(input)), /is a valid PDF\/A-1b file/);
    });
  }

  test('would notice a file that is not', { skip }, async () => {
    const path = join(folder, 'broken.pdf');
    // A file whose metadata no longer says what its properties say.
    const raw = renderPdf(buildDocument(importedResult()))
      .toString('latin1')
      .replace('<pdf:Producer>A', '<pdf:Producer>B');
    writeFileSync(path, raw, 'latin1');
    assert.match(await validate(path), /is not a valid PDF\/A-1b file/);
  });
});
