import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import type { Line } from '../../src/assessments/import-lines.ts';
import { readLines, UnreadableFile } from '../../src/assessments/import-lines.ts';

/** What a file holds, read in chunks of this many bytes. */
async function read(format: 'ndjson' | 'csv', file: string | Buffer, chunk = 7): Promise<Line[]> {
  const bytes = Buffer.from(file);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) =>
    bytes.subarray(i * chunk, (i + 1) * chunk),
  );
  return Array.fromAsync(readLines(Readable.from(chunks), format));
}

const faults = (lines: Line[]) =>
  lines.filter((line) => line.fault !== undefined).map(({ line, fault }) => `${line} ${fault}`);

suite('lines of an NDJSON file', () => {
  test('a mark at the start, both ends of line, blank lines, and a last line without an end', async () => {
    assert.deepEqual(
      (await read('ndjson', '\uFEFF{"a":"é"}\r\n\r\n  \n{"a":2}')).map(({ line, value }) => [line, value]),
      [
        [1, { a: 'é' }],
        [4, { a: 2 }],
      ],
    );
    assert.deepEqual(await read('ndjson', ''), []);
  });

  test('a separator of lines inside JSON is a character like any other, and what follows keeps its number', async () => {
    assert.deepEqual(await read('ndjson', '{"a":"b\u2028c"}\nx'), [
      { line: 1, value: { a: 'b\u2028c' } },
      { line: 2, value: null, fault: 'is not one JSON object' },
    ]);
  });

  test('bytes that are not UTF-8 are refused, not stored damaged', async () => {
    assert.deepEqual(faults(await read('ndjson', Buffer.from('{"a":"Jos\xe9"}\n{"a":1}\n', 'latin1'))), [
      '1 is not UTF-8',
    ]);
  });
});

suite('lines of a CSV file', () => {
  const head = 'learner_ref,learner_full_name,subject';
  const names = (lines: Line[]) =>
    lines
      .filter((line) => line.fault === undefined)
      .map(({ value }) => (value as { learner: { full_name: string } }).learner.full_name);

  test('a line that cannot be read is told with its number alone, and the others are read', async () => {
    const lines = await read(
      'csv',
      `${head}\na,Ann,maths\nb,Cy "Secret" Oak,maths\nc,Oak, Cy,maths\nd,"Dee, ""D""",maths\ne,Jos\xe9,maths\n`.replace(
        '\xe9',
        '\uFFFD',
      ),
    );
    assert.deepEqual(names(lines), ['Ann', 'Dee, "D"']);
    assert.deepEqual(faults(lines), [
      '3 has a quote that is out of place',
      '4 has more cells than the first line',
      '6 is not UTF-8',
    ]);
    assert.deepEqual(faults(await read('csv', `${head}\na,Ann,maths\nb,"Ben,maths\n`)), [
      '3 has a quote that is out of place',
    ]);
  });

  test('a column that is not known or stands twice is refused before anything is read', async () => {
    for (const first of [`${head},colour`, `${head},subject`])
      await assert.rejects(read('csv', `${first}\na,Ann,maths,english\n`, 1000), UnreadableFile);
  });
});
