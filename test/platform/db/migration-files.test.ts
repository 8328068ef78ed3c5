import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import { placements } from '../../../src/platform/db/citus/distribution.ts';
import { partsOf } from '../../../src/platform/db/migrate.ts';
import { read, root } from '../../support/structure/source-tree.ts';

// Databases of version 1.0.0 have this schema. The service applies a migration once, so a change of it would not reach them.
test('the baseline migration is the one of version 1.0.0', () =>
  assert.equal(
    createHash('sha256').update(read('src/platform/db/migrations/0001_baseline.sql')).digest('hex'),
    'f19d3e7deeabc9f467a04348f32204bfd7068c470582204ed81b3e9d0532dde4',
    'Undo the change of 0001_baseline.sql. Add a migration with the next number to its folder instead.',
  ));

// A distributed database places a table after its statement, and refuses the foreign key before.
test('a later migration adds foreign keys to distributed tables in statements of their own', () => {
  const files = globSync('src/platform/db/migrations/*.sql', { cwd: root }).filter((file) => !file.includes('0001_'));
  const found = files.flatMap((file) =>
    partsOf(read(file))
      .filter((part) => /^create (?:unlogged )?table/m.test(part))
      .flatMap((part) => [...part.matchAll(/\breferences (\w+)/g)].map(([, table]) => table!))
      .filter((table) => placements[table] === 'organisation')
      .map((table) => `${file}: references ${table}`),
  );
  assert.deepEqual(found, [], 'Use "alter table … add constraint … foreign key".');
});
