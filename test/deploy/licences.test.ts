import assert from 'node:assert/strict';
import { test } from 'node:test';
import { read } from '../support/structure/source-tree.ts';

/** Licences under which the service may be handed on with what it contains. */
const taken = [
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

type Lock = { packages: Record<string, { dev?: boolean; link?: boolean; license?: string; version: string }> };

test('everything that is delivered may be handed on', () => {
  const { packages } = JSON.parse(read('package-lock.json')) as Lock;
  const delivered = Object.entries(packages).filter(
    ([path, one]) => path !== '' && one.dev !== true && one.link !== true,
  );
  assert.ok(delivered.length > 50);
  // "(MIT OR CC0-1.0)" leaves the choice; whoever says nothing, or AND, is looked at by a person.
  const allowed = (license = '') =>
    license
      .replaceAll(/[()]/g, '')
      .split(' OR ')
      .some((one) => taken.includes(one));
  assert.deepEqual(
    delivered.filter(([, one]) => !allowed(one.license)).map(([path, one]) => `${path}: ${one.license ?? 'none'}`),
    [],
  );
});
