import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { suite, test } from 'node:test';
import { faultsOfRecord } from '../../../src/records/results/result-fields.ts';
import { openResults } from '../../../src/records/import/lines.ts';
import { UnreadableFile } from '../../../src/platform/formats/lines.ts';
import { limits } from '../../../src/platform/config/limits.ts';

type Read = { line: number; value: any; why?: string };

/** What a file holds, read in chunks of this many bytes, and the file of what of it was refused. */
async function open(format: 'ndjson' | 'csv', file: string | Buffer, chunk = 7) {
  const bytes = Buffer.from(file);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) =>
    bytes.subarray(i * chunk, (i + 1) * chunk),
  );
  const results = await openResults(Readable.from(chunks), format);
  const lines: Read[] = [];
  const refused: Buffer[] = [];
  for await (const line of results.lines) {
    const { faults } = line;
    lines.push({ line: line.line, value: line.value, ...(faults === undefined ? {} : { why: faults[0]!.expected }) });
    if (faults !== undefined) refused.push(results.refused(line, faults));
  }
  return { lines, refused: Buffer.concat([results.head(), ...refused]) };
}

const read = async (format: 'ndjson' | 'csv', file: string | Buffer, chunk?: number) =>
  (await open(format, file, chunk)).lines;
const faults = (lines: Read[]) => lines.flatMap(({ line, why }) => (why === undefined ? [] : [`${line} ${why}`]));
const starts = (told: string[], expected: string[]) =>
  assert.deepEqual(
    told.map((one, i) => one.slice(0, expected[i]?.length)),
    expected,
  );

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
    const lines = await read('ndjson', '{"a":"b\u2028c"}\nx');
    assert.deepEqual(lines[0], { line: 1, value: { a: 'b\u2028c' } });
    starts(faults(lines), ['2 one JSON object']);
  });

  test('a line that is too long, not UTF-8 or has a name twice costs itself alone', async () => {
    const long = `{"a":"${'x'.repeat(limits.importLineBytes)}"}`;
    const file = Buffer.from(
      `{"a":1}\n${long}\n{"a":"Jos\xe9"}\n{"a":1,"\\u0061":2}\n{"b":{"c":1,"c":1}}\n{"a":2}`,
      'latin1',
    );
    const lines = await read('ndjson', file, 100_000);
    starts(faults(lines), [
      '2 at most 1,048,576',
      '3 in one encoding',
      '4 a JSON object in which',
      '5 a JSON object in',
    ]);
    assert.deepEqual(
      lines.filter(({ why }) => why === undefined).map(({ line }) => line),
      [1, 6],
    );
  });

  test('a file of refused lines is read as what stood there, and mended by mending that', async () => {
    const { refused } = await open('ndjson', '{"a":\n{"a":1}\n{"b":2,"b":3}\n');
    const again = await open('ndjson', refused);
    starts(faults(again.lines), ['1 one JSON', '2 a JSON object in']);
    assert.deepEqual(
      again.refused
        .toString()
        .split('\n')
        .map((line) => (line === '' ? '' : JSON.parse(line).text)),
      ['{"a":', '{"b":2,"b":3}', ''],
    );
    const mended = await read('ndjson', refused.toString().replace('{\\"a\\":', '{\\"a\\":1}'));
    assert.deepEqual(mended[0], { line: 1, value: { a: 1 } });
  });
});

suite('lines of a CSV file', () => {
  test('cells that are left out at the end of a line are empty', async () => {
    const header = 'subject,rqf_level,rqf_level_code,below_level_1,working_level,needs_review,domains\n';
    const [short, whole] = await read('csv', `${header}maths\nmaths,,,,,,\n`);
    assert.deepEqual(short!.value, whole!.value);
  });

  test('an empty cell is no level, and a column that is not there says nothing of the level', async () => {
    const [empty] = await read('csv', 'subject,rqf_level,rqf_level_code,below_level_1\nmaths,,,\n');
    const [absent] = await read('csv', 'subject\nmaths\n');
    const names = ['rqf_level', 'rqf_level_code', 'below_level_1'];
    assert.deepEqual(
      names.map((name) => [empty!.value[name], Object.hasOwn(absent!.value, name)]),
      names.map(() => [null, false]),
    );
    const told = (value: unknown) => faultsOfRecord(value).map(({ field }) => field);
    assert.deepEqual(
      names.map((name) => [told(empty!.value).includes(name), told(absent!.value).includes(name)]),
      names.map(() => [false, true]),
    );
  });

  const head = 'learner_ref,learner_full_name,subject';
  const names = (lines: Read[]) =>
    lines.filter(({ why }) => why === undefined).map(({ value }) => value.learner.full_name);

  test('a line that cannot be read is told with its number, and the others are read', async () => {
    const file = `${head}\na,Ann,maths\nb,Cy "Secret" Oak,maths\nc,Oak, Cy,maths\nd,"Dee, ""D""",maths\ne,Jos\uFFFD,maths\n`;
    const { lines, refused } = await open('csv', file);
    assert.deepEqual(names(lines), ['Ann', 'Dee, "D"']);
    starts(faults(lines), ['3 written with quotes', '4 of no more cells', '6 in one encoding']);
    const again = await open('csv', refused);
    assert.deepEqual(faults(again.lines).length, 3, 'refused again until they are mended');
    assert.deepEqual((await open('csv', again.refused)).refused, again.refused, 'and nothing is lost or grows');
  });

  test('a quote that is never closed costs its own line alone', async () => {
    const lines = await read('csv', `${head}\nb,"Ben,maths\nc,"Cy\nOak",maths\nd,Dee,maths\ne,"Eve,maths\n`);
    assert.deepEqual(names(lines), ['Cy\nOak', 'Dee']);
    starts(faults(lines), ['2 written', '6 written']);
  });

  test('commas, semicolons and tabs; UTF-8 with and without its mark, and Windows-1252', async () => {
    for (const delimiter of [',', ';', '\t']) {
      const text = `${head.replaceAll(',', delimiter)}\r\na${delimiter}Zoë Núñez${delimiter}maths\r\n`;
      const files = [Buffer.from(text), Buffer.from(`\uFEFF${text}`), Buffer.from(text, 'latin1')];
      for (const file of files) {
        assert.deepEqual(names(await read('csv', file)), ['Zoë Núñez']);
        const bytes = Buffer.concat([file, Buffer.from(`${'x'.repeat(4)}${delimiter.repeat(3)}`)]);
        const { refused } = await open('csv', Buffer.concat([bytes, Buffer.from('\n')]));
        const mark = file === files[1] ? '\uFEFF' : '';
        assert.ok(
          refused.toString().startsWith(`${mark}${head.replaceAll(',', delimiter)}${delimiter}rejected_because`),
        );
      }
    }
    assert.deepEqual(names(await read('csv', Buffer.from(`${head}\na,\x80\x93\x99,maths`, 'latin1'))), ['€“™']);
  });

  test('encodings are never mixed or guessed wrong: the line that is in another is refused', async () => {
    const both = Buffer.concat([
      Buffer.from(`${head}\na,Jos\xe9,maths\n`, 'latin1'),
      Buffer.from('b,Zoë,maths\n'),
      Buffer.from('c,\x81,maths\n', 'latin1'),
    ]);
    assert.deepEqual(names(await read('csv', both)), ['Zoë']);
    // Nothing shows the encoding within the first bytes: the first line beyond ASCII does.
    const late = Buffer.concat([
      Buffer.from(`${head}\n${'a,Ann,maths\n'.repeat(6000)}`),
      both.subarray(head.length + 1),
    ]);
    const lines = await read('csv', late, 10_000);
    assert.deepEqual([names(lines).at(-1), faults(lines).length], ['José', 2]);
    await assert.rejects(read('csv', Buffer.from(`\uFEFF${head}`, 'utf16le')), UnreadableFile);
  });

  test('a file of refused lines is in one encoding, though the first came before any line showed which', async () => {
    const late = Buffer.concat([
      Buffer.from(`${head}\n${'a,Ann,maths\n'.repeat(6000)}`),
      Buffer.from('b,Jos\xe9,physics\n', 'latin1'),
    ]);
    const results = await openResults(Readable.from([late]), 'csv');
    const refused: Buffer[] = [];
    for await (const line of results.lines)
      if ([2, 6002].includes(line.line)) {
        if (refused.length === 0) refused.push(results.head());
        refused.push(results.refused(line, [{ field: 'domains[0]', expected: 'a “whole”', example: '{"name": …}' }]));
      }
    const again = await open('csv', Buffer.concat(refused));
    assert.deepEqual([names(again.lines), faults(again.lines)], [['Ann', 'José'], []]);
    assert.match(refused[1]!.toString('latin1'), /domains\[0\] must be a ""whole"", such as \{""name"": \.\.\.\}/);
  });

  test('a column that is not known or stands twice is refused before anything is read', async () => {
    for (const first of [`${head},colour`, `${head},subject`, ' ', 'a,Ann,maths'])
      await assert.rejects(read('csv', `${first}\na,Ann,maths,english\n`, 1000), UnreadableFile);
  });
});
