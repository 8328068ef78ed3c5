import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fontkit from 'fontkit';
import { projectFiles, read, root } from '../support/structure/source-tree.ts';

/** Licences under which the service may be handed on with what it contains. */
const delivered = [
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'MIT-0',
  'BlueOak-1.0.0',
  'PostgreSQL',
];
/** Further ones for what is only used to build and test. */
const used = [...delivered, 'MPL-2.0', 'PSF-2.0'];
/** Packages without the field, whose licence a person has read. */
const readByHand: Record<string, string> = { 'format@0.2.2': 'MIT' };

type Entry = { dev?: boolean; link?: boolean; license?: string; version: string };
const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, Entry> };

/** The builds of one platform have the licence of the package that they belong to, and only that one names it. */
function licenceOf(path: string, { license, version }: Entry): string {
  const name = path.split('node_modules/').at(-1)!;
  const family = /^@([\w-]+)\//.exec(name)?.[1];
  return license ?? readByHand[`${name}@${version}`] ?? packages[`node_modules/${family}`]?.license ?? 'none';
}

/** "(MIT OR CC0-1.0)" leaves the choice. A person looks at a package without a licence, and at AND. */
const isIn = (allowed: string[], licence: string) =>
  licence
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((one) => allowed.includes(one));

test('everything that is delivered may be handed on, and everything that builds it may be used', () => {
  const entries = Object.entries(packages).filter(([path, { link }]) => path !== '' && link !== true);
  assert.ok(entries.filter(([, { dev }]) => dev !== true).length > 50);
  const refused = entries
    .map(([path, entry]) => ({ path, licence: licenceOf(path, entry), allowed: entry.dev === true ? used : delivered }))
    .filter(({ licence, allowed }) => !isIn(allowed, licence));
  assert.deepEqual(
    refused.map(({ path, licence }) => `${path}: ${licence}`),
    [],
  );
  assert.equal(isIn(delivered, 'GPL-3.0'), false);
  assert.equal(isIn(delivered, 'MIT AND GPL-3.0'), false);
});

test('every font says that it has the SIL Open Font License, whose text is in its folder', () => {
  const fonts = projectFiles().filter((file) => /\.(ttf|otf|ttc|woff2?|eot)$/i.test(file));
  assert.ok(fonts.length > 20);
  for (const path of fonts) {
    const { name } = fontkit.create(readFileSync(join(root, path))) as unknown as {
      name: { records: { license?: Record<string, string> } };
    };
    assert.match(Object.values(name.records.license ?? {}).join(), /SIL Open Font License, Version 1\.1/, path);
    assert.ok(existsSync(join(root, path, '../OFL.txt')), path);
  }
});
