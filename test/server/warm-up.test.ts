// Process: own. Counts what a process reads for the first time.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { mock, suite, test } from 'node:test';
import type { Database } from '../../src/platform/db/database.ts';
import { renderEdition } from '../../src/records/evidence/evidence.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { warmUp } from '../../src/server/warm-up.ts';
import { personOf } from '../web/console/visitor.ts';
import { importedResult } from '../records/evidence/samples.ts';
import { withService } from '../support/service.ts';

const service = await withService();
const { app } = service;

suite('what is done before the first visitors come', async () => {
  const { id, publicId } = await service.organisation();
  const owner = await personOf(service, id, 'owner');
  const tutor = await personOf(service, id, 'tutor');
  const asked = new Set<string>();
  // Snapshots that were begun when each of them got its connection.
  const begun: number[] = [];
  let snapshots = 0;
  const watched = (tx: Pick<Database, 'query'>, names: Set<string>): Database['query'] => {
    return (sql, values) => {
      names.add(typeof sql === 'string' ? sql : sql.name);
      return tx.query(sql, values);
    };
  };
  const db: Database = {
    ...app.db,
    snapshot(inside) {
      snapshots++;
      return app.db.snapshot((tx) => {
        begun.push(snapshots);
        return inside({ ...tx, query: watched(tx, asked) });
      });
    },
  };
  const read = mock.method(fs, 'readFileSync');
  syncBuiltinESMExports();
  await warmUp({ ...app, db });
  const fonts = () => read.mock.calls.filter(({ arguments: [file] }) => String(file).endsWith('.ttf')).length;

  test('the statements of the first pages are planned on each connection that stays', async () => {
    const kept = limits.readConnectionsKept;
    assert.deepEqual(
      begun,
      Array.from({ length: kept }, () => kept),
    );
    const { query } = app.db;
    const visited = new Set<string>();
    app.db.query = watched({ query: query.bind(app.db) }, visited);
    for (const person of [owner, tutor])
      for (const path of ['', '/learners', '/invitations'])
        assert.equal((await person.get(`/console/${publicId}${path}`)).status, 200);
    app.db.query = query;
    // What is asked of the organisation itself by its home page is asked of a few rows.
    const lists = [...visited].filter((name) => /^(session|review|today|records|group|invitation)\./.test(name));
    assert.ok(lists.length > 10, lists.join());
    assert.deepEqual(
      lists.filter((name) => !asked.has(name)),
      [],
    );
  });

  test('the fonts of an evidence file are read', () => {
    const before = fonts();
    assert.ok(before >= 2);
    renderEdition(importedResult());
    assert.equal(fonts(), before);
  });
});
