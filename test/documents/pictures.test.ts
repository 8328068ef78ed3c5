import assert from 'node:assert/strict';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { pictures } from '../pictures/list.ts';

const docs = join(import.meta.dirname, '../../docs');
const folder = join(docs, 'pictures');

/** Pictures of a guide: file and what is said to who can't see it. */
async function usedIn(guide: string): Promise<{ name: string; alt: string }[]> {
  const text = await readFile(join(docs, guide), 'utf8');
  return [...text.matchAll(/!\[([^\]]*)\]\(pictures\/([\w-]+)\.webp\)/g)].map(([, alt, name]) => ({
    name: name!,
    alt: alt!,
  }));
}

suite('pictures of the guides', async () => {
  const used = [...(await usedIn('admin.md')), ...(await usedIn('integrator.md'))];

  test('each is made by the script, and each that is made is shown', async () => {
    const made = pictures.map(({ name }) => name).sort();
    assert.deepEqual([...new Set(used.map(({ name }) => name))].sort(), made);
    const files = (await readdir(folder)).filter((name) => !name.endsWith('.svg')).sort();
    assert.deepEqual(files, made.map((name) => `${name}.webp`).sort());
  });

  test('each says in words what it shows', () => {
    for (const { name, alt } of used) assert.match(alt, /^[A-Z].{39,}/, `${name}: "${alt}"`);
  });

  test('they are small', async () => {
    const sizes = await Promise.all(pictures.map(async ({ name }) => (await stat(join(folder, `${name}.webp`))).size));
    for (const [n, size] of sizes.entries()) assert.ok(size > 1000 && size < 60_000, `${pictures[n]!.name}: ${size}`);
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) < 1_000_000);
  });
});
