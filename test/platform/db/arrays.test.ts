import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { arrayLiteral, uuidArray } from '../../../src/platform/db/arrays.ts';
import { withService } from '../../support/service.ts';

const { app } = await withService();

suite('arrays as PostgreSQL reads them', () => {
  test('uuids in binary are the same uuids, in the same order, however many', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uuid(), { maxLength: 40 }), async (ids) => {
        const rows = await app.db.query<{ id: string }>(
          'select id from unnest($1::uuid[]) with ordinality as u(id, n) order by n',
          [uuidArray(ids)],
        );
        assert.deepEqual(
          rows.map((row) => row.id),
          ids,
        );
      }),
      { numRuns: 50 },
    );
    assert.equal(
      (
        await app.db.query<{ n: number }>('select count(*) as n from unnest($1::uuid[])', [
          uuidArray(Array.from({ length: 5000 }, () => app.random.uuid())),
        ])
      )[0]!.n,
      5000,
    );
  });

  test("what isn't a uuid is refused before it is sent", () => {
    for (const id of [
      '',
      'x',
      '00000000-0000-4000-8000-00000000000',
      '00000000-0000-4000-8000-00000000000000',
      'zzzzzzzz-0000-4000-8000-000000000000',
    ])
      assert.throws(() => uuidArray([id]), /not a UUID/);
  });

  test('numbers, words and nulls as a literal', async () => {
    const [row] = await app.db.query<{ a: number[]; b: (string | null)[] }>('select $1::int8[] as a, $2::text[] as b', [
      arrayLiteral([1, -2, 2 ** 52]),
      arrayLiteral(['x', null]),
    ]);
    assert.deepEqual(row, { a: [1, -2, 2 ** 52], b: ['x', null] });
  });
});
