import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { read } from '../../support/structure/source-tree.ts';

// Databases of version 1.0.0 have this schema. The service applies a migration once, so a change of it would not reach them.
test('the baseline migration is the one of version 1.0.0', () =>
  assert.equal(
    createHash('sha256').update(read('src/platform/db/migrations/0001_baseline.sql')).digest('hex'),
    'f19d3e7deeabc9f467a04348f32204bfd7068c470582204ed81b3e9d0532dde4',
    'Undo the change of 0001_baseline.sql. Add src/platform/db/migrations/NNNN_name.sql instead.',
  ));
