import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TextLine } from '../../../src/platform/formats/csv.ts';
import { csvRecords } from '../../../src/platform/formats/csv.ts';
import { byteLines, UnreadableFile } from '../../../src/platform/formats/lines.ts';
import { readInviteTable } from '../../../src/sittings/invitations/runs/table.ts';
import { limits } from '../../../src/platform/config/limits.ts';

async function* given<T>(all: Iterable<T>): AsyncGenerator<T> {
  yield* all;
}

/** How often others had their turn while something went on. */
async function turnsDuring(inside: () => Promise<void>): Promise<number> {
  let turns = 0;
  let over = false;
  const count = () => {
    turns++;
    if (!over) setImmediate(count);
  };
  setImmediate(count);
  await inside();
  over = true;
  return turns;
}

suite('lines of a file', () => {
  test('come a thousand together at most, and others have their turn', async () => {
    let lines = 0;
    let max = 0;
    const turns = await turnsDuring(async () => {
      for await (const together of byteLines(given([Buffer.alloc(100_000, 10)]), 100)) {
        lines += together.length;
        max = Math.max(max, together.length);
      }
    });
    assert.deepEqual([lines, max], [100_001, 1000]);
    assert.ok(turns >= 99, `${turns}`);
  });
});

suite('records of a CSV file', () => {
  const read = async (text: string, maxChars = 1000) => {
    const lines = text.split('\n').map((line, i): TextLine => ({ line: i + 1, text: line }));
    const all: string[] = [];
    for await (const one of csvRecords(given(lines), ',', maxChars))
      all.push(`${one.line} ${one.cells?.join('|') ?? `(${'why' in one ? one.why : ''}) ${one.text}`}`);
    return all;
  };

  test('a quote out of place costs its own line, wherever in what was read ahead it stands', async () => {
    assert.deepEqual(await read('"\n""x\n"a\n"b"\n"c\nd",e\n\n"f\ng'), [
      '1 (quotes) "',
      '2 (quotes) ""x',
      '3 (quotes) "a',
      '4 b',
      '5 c\nd|e',
      '8 (quotes) "f',
      '9 g',
    ]);
    // The first quote would hold these together, were they not too many.
    assert.deepEqual(await read('"\n\n\n\n"', 3), ['1 (quotes) "', '5 (quotes) "']);
    assert.deepEqual(await read('"\n\n\n\n"', 6), ['1 \n\n\n\n']);
  });

  test('one that opens a cell for good is read once more at most, with turns for others', async () => {
    const turns = await turnsDuring(async () => {
      assert.equal((await read(`"\n${'""x\n'.repeat(20_000)}`, 1_000_000)).length, 20_001);
    });
    assert.ok(turns >= 39, `${turns}`);
  });
});

suite('a table of invitations', () => {
  const refused = (file: Buffer, says: RegExp) =>
    assert.rejects(readInviteTable(file), (error) => error instanceof UnreadableFile && says.test(error.message));

  test('of nothing but line ends, of too long a line, or of too many is refused before it costs much', async () => {
    await refused(Buffer.alloc(limits.inviteTableBytes, 10), /more than 200,000 lines/);
    await refused(Buffer.alloc(limits.inviteTableBytes, 13), /more than 200,000 lines/);
    await refused(Buffer.from(`full_name\n${','.repeat(limits.inviteLineBytes + 1)}`), /line 2 is too long/);
    await refused(Buffer.from('\n \n\n'), /no row/);
  });

  test('is read by the marks of its first line that says something', async () => {
    const table = '\n \r\nsep=;\r\nfull_name;ref\r\n"Ana; Silva";A-1\r\n';
    assert.deepEqual(await readInviteTable(Buffer.from(table)), [
      { row_no: 1, cells: { full_name: 'Ana; Silva', ref: 'A-1' } },
    ]);
    assert.deepEqual(await readInviteTable(Buffer.from(table.replaceAll('\r\n', '\r').replaceAll('\n', '\r'))), [
      { row_no: 1, cells: { full_name: 'Ana; Silva', ref: 'A-1' } },
    ]);
  });
});
