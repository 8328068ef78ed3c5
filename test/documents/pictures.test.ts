import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { pictures } from '../pictures/list.ts';
import { userPages } from '../support/documents/documents.ts';
import { read } from '../support/structure/source-tree.ts';

const docs = join(import.meta.dirname, '../../docs');
const folder = join(docs, 'pictures');

/** Pictures on the pages: file, and the words for readers who do not see it. */
const used = userPages.flatMap((page) =>
  [...read(page).matchAll(/!\[([^\]]*)\]\([./]*pictures\/([\w-]+)\.webp\)/g)].map(([, alt, name]) => ({
    name: name!,
    alt: alt!,
  })),
);

/** The names of the files: ten pictures also in the dark and at the width of a phone. */
const all = pictures.flatMap(({ name, everywhere }) =>
  (everywhere === true ? ['', '-dark', '-phone', '-phone-dark'] : ['']).map((end) => name + end),
);

suite('pictures of the pages', () => {
  test('each is made by the script, and each that is made is shown', async () => {
    const made = pictures.map(({ name }) => name).sort();
    assert.deepEqual([...new Set(used.map(({ name }) => name))].sort(), made);
    const files = (await readdir(folder)).filter((name) => !name.endsWith('.svg')).sort();
    assert.deepEqual(files, all.map((name) => `${name}.webp`).sort());
  });

  test('each says in words what it shows', () => {
    for (const { name, alt } of used) assert.match(alt, /^[A-Z].{39,}/, `${name}: "${alt}"`);
  });

  test('they are small', async () => {
    const sizes = await Promise.all(all.map(async (name) => (await stat(join(folder, `${name}.webp`))).size));
    for (const [n, size] of sizes.entries()) assert.ok(size > 1000 && size < 80_000, `${all[n]}: ${size}`);
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) < 2_000_000);
  });
});
