import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { face, faceNames } from '../../../../src/records/evidence/pdf/faces.ts';

const folder = new URL('../../../../src/records/evidence/pdf/fonts/', import.meta.url);
type Listed = { file: string; bytes: number; sha256: string; license: string };
const listed = JSON.parse(readFileSync(new URL('fonts.json', folder), 'utf8')) as Listed[];

test('every vendored font is the one that fonts.json names, and nothing else is there', () => {
  assert.deepEqual(
    readdirSync(folder)
      .filter((file) => file.endsWith('.ttf'))
      .sort(),
    listed.map(({ file }) => file).sort(),
  );
  for (const { file, bytes, sha256, license } of listed) {
    const content = readFileSync(new URL(file, folder));
    assert.equal(content.length, bytes, file);
    assert.equal(createHash('sha256').update(content).digest('hex'), sha256, file);
    assert.equal(license, 'OFL-1.1', file);
  }
  assert.match(readFileSync(new URL('OFL.txt', folder), 'utf8'), /SIL OPEN FONT LICENSE/);
});

test('the fonts stay under 25 MB', () => {
  assert.ok(listed.reduce((sum, { bytes }) => sum + bytes, 0) < 25e6);
});

test('every face has a file, and every file is a face that can be opened', () => {
  assert.deepEqual([...faceNames].sort(), listed.map(({ file }) => file.replace(/\.ttf$/, '')).sort());
  for (const name of faceNames) assert.ok(face(name).unitsPerEm >= 1000, name);
});
