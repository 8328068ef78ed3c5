import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate';
import { fromQti, toQti } from '../../../tools/item-bank/exchange/qti-package.ts';
import { itemXml } from '../../../tools/item-bank/exchange/qti-item.ts';
import { writeXml } from '../../../tools/item-bank/exchange/xml.ts';
import { mergeBank } from '../../../tools/item-bank/import.ts';
import { renderItem } from '../../../src/engine/item-bank/load.ts';
import { readBankFiles } from '../../../tools/item-bank/files.ts';
import type { Item } from '../../../src/engine/item-bank/schema.ts';

const { items, passages } = readBankFiles();

const written = (item: Item): string => writeXml(itemXml(item, renderItem(item, 'export'), '1-test'));

/** The file of an item, as another tool leaves it that puts one text for another, and takes `data-ars` as it is. */
function edited(item: Item, from: string, to: string) {
  const xml = written(item).replace(/ data-ars="[^"]*"/u, ' data-ars=""');
  assert.ok(xml.includes(from), `${item.id} has ${from}`);
  const own = / data-ars="[^"]*"/u.exec(written(item))![0];
  const { items: read, rejected } = fromQti(strToU8(xml.replaceAll(from, to).replace(' data-ars=""', () => own)));
  return { read: read[0], reason: rejected?.[0]?.reason };
}

const find = (isIt: (item: Item) => boolean): Item => items.find(isIt)!;

suite('what another tool changed in an exported item', () => {
  test('a number and its tolerance are kept beside the units that only the bank knows', () => {
    const found = find(
      (item) => item.type === 'numeric' && item.key.units !== undefined && /^\d+$/u.test(item.key.value),
    );
    assert.ok(found.type === 'numeric');
    const { value } = found.key;
    const { read } = edited(found, `<qti-value>${value}</qti-value>`, '<qti-value>4321</qti-value>');
    assert.deepEqual(read, { ...found, key: { ...found.key, value: '4321' } });
    const wider = edited(found, 'tolerance="0 0"', 'tolerance="0.5 0.5"');
    assert.deepEqual(wider.read, { ...found, key: { ...found.key, tolerance: '0.5' } });
  });

  test('accepted texts are kept beside their kind', () => {
    const found = find(
      (item) => item.type === 'short_text' && item.key.kind !== undefined && item.key.accept.length > 1,
    );
    assert.ok(found.type === 'short_text');
    const { accept } = found.key;
    const { read } = edited(found, `map-key="${accept[1]}"`, 'map-key="another text"');
    assert.deepEqual(read, { ...found, key: { ...found.key, accept: accept.with(1, 'another text') } });
  });

  test('an item is rejected where its change is in a part that QTI can’t carry whole', () => {
    const withFigure = find((item) => 'figure' in item && item.figure !== undefined);
    const { figure } = withFigure as Extract<Item, { type: 'numeric' }>;
    assert.match(edited(withFigure, figure!.caption, 'Another caption').reason ?? '', /its text was changed/u);
    const screen = find((item) => item.type === 'task' && item.fields.some(({ control }) => control === 'radios'));
    assert.ok(screen.type === 'task');
    assert.match(edited(screen, screen.fields[0]!.label, 'Another label').reason ?? '', /its text was changed/u);
    const [field, key] = Object.entries(screen.key).find(([, right]) => typeof right === 'string')!;
    const options = screen.fields.find(({ id }) => id === field)!;
    assert.ok(options.control !== 'text');
    const wrong = options.options.find(({ id }) => id !== key)!;
    assert.match(
      edited(screen, `<qti-value>c_${key as string}<`, `<qti-value>c_${wrong.id}<`).reason ?? '',
      /its marking was changed/u,
    );
    const made = find((item) => item.type === 'template');
    const shown = renderItem(made, 'export').stem.at(-1)!;
    assert.match(edited(made, shown, 'Another question?').reason ?? '', /its text was changed/u);
  });

  test('whatever it does to white space, and with what only it knows, nothing is rejected', () => {
    for (const item of items) {
      const xml = written(item)
        .replaceAll(/>\n\s*</gu, '><')
        .replaceAll('<p>', '<p class="own">');
      const { items: read, rejected } = fromQti(strToU8(xml));
      assert.deepEqual([read, rejected], [[item], undefined], item.id);
    }
  });

  test('a passage’s text is kept, also of exports that have it in data-ars as well', () => {
    const [passage] = passages as [(typeof passages)[0]];
    const path = `stimuli/${passage.id}.xml`;
    const files = unzipSync(toQti({ items: [], passages: [passage] }, '1-test'));
    const [first] = passage.paragraphs;
    const xml = strFromU8(files[path]!);
    assert.ok(xml.includes(`<p>${first}</p>`));
    const changed = xml.replace(`<p>${first}</p>`, '<p>Another text.</p>');
    const earlier = changed.replace(' data-ars="{', ` data-ars="{&quot;paragraphs&quot;:[&quot;Old.&quot;],`);
    for (const text of [changed, earlier]) {
      const read = fromQti(zipSync({ ...files, [path]: strToU8(text) }));
      assert.deepEqual(read.passages, [{ ...passage, paragraphs: ['Another text.', ...passage.paragraphs.slice(1)] }]);
    }
  });

  test('a picture that another tool puts into an item or a passage is not dropped: both are rejected', () => {
    const plain = find((item) => item.type === 'numeric' && !('figure' in item));
    assert.match(
      edited(plain, '<p>', '<p><img src="a.png" alt="A plan"/>').reason ?? '',
      /its picture or table was changed/u,
    );
    const [passage] = passages as [(typeof passages)[0]];
    const path = `stimuli/${passage.id}.xml`;
    const files = unzipSync(toQti({ items: [], passages: [passage] }, '1-test'));
    const xml = strFromU8(files[path]!).replace('<p>', '<p><img src="a.png" alt="A plan"/>');
    const read = fromQti(zipSync({ ...files, [path]: strToU8(xml) }));
    assert.deepEqual(read.passages, []);
    assert.match(read.rejected![0]!.reason, /has <img>, which a passage of the bank can't have/u);
  });

  test('a template that the bank doesn’t have rejects its item, and not the file', () => {
    const made = find((item) => item.type === 'template');
    assert.ok(made.type === 'template');
    const xml = written(made).replace(`&quot;${made.template}&quot;`, '&quot;none_such&quot;');
    const { outcome } = mergeBank({ number: 1, items: [], passages: [] }, fromQti(strToU8(xml)), false);
    assert.deepEqual(outcome.rejected, [{ id: made.id, reason: 'there is no template none_such' }]);
  });
});
