import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Item } from '../../../src/engine/item-bank/schema.ts';
import { readTime } from '../../../src/engine/item-bank/marking/time.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';

const { items } = readBankFiles();

type Typed = Extract<Item, { type: 'numeric' | 'short_text' }>;
const isTyped = (item: Item): item is Typed =>
  item.state !== 'retired' && (item.type === 'numeric' || item.type === 'short_text');

/** The answers that a drawing allows. Null if the question asks for more than its reading. */
function readings({ figure, stem }: Typed): number[] | null {
  switch (figure?.kind) {
    case 'counters':
      return [figure.rows.reduce((sum, count) => sum + count, 0)];
    case 'clocks': {
      const [first, second] = figure.clocks.map(({ hour, minute }) => (hour % 12) * 60 + minute);
      return second === undefined ? [first!, first! / 60] : [second - first!];
    }
    case 'scales': {
      const [{ value, start = 0, label }, second] = figure.scales as [
        (typeof figure.scales)[0],
        ...typeof figure.scales,
      ];
      if (/\bgo\b/u.test(stem.at(-2)!)) return null;
      if (second !== undefined) return [value - second.value];
      return [/nearest/u.test(stem.at(-1)!) ? Math.round((value - start) / label) * label : value - start];
    }
    case 'graphs':
      return figure.graphs[0]!.reads?.flat() ?? null;
    default:
      return null;
  }
}

suite('drawn items', () => {
  test('a typed answer is what the drawing shows', () => {
    let tried = 0;
    for (const item of items.filter(isTyped)) {
      const allowed = readings(item);
      if (allowed === null) continue;
      const key = item.type === 'numeric' ? Number(item.key.value) : readTime(item.key.accept[0]!)!.minutes % 720;
      const isMultiple = item.figure?.kind === 'graphs' && allowed.some((value) => key % value === 0);
      assert.ok(
        isMultiple || allowed.some((value) => Math.abs(value - key) < 1e-9),
        `${item.id}: ${allowed.join(', ')} is not ${key}`,
      );
      tried++;
    }
    assert.ok(tried >= 20, String(tried));
  });
});
