import type { Assessment } from '../openapi.ts';
import { checkOf } from '../sync/digest.ts';
import type { Row, Store, StoreTransaction } from '../sync/store.ts';

/** One test of a store: give each to your runner, as in `for (const { name, run } of …) test(name, run)`. */
export type StoreTest = { name: string; run: () => Promise<void> };

export type StoreUnderTest = {
  /** A store on a place where nothing is kept yet. */
  fresh(): Promise<Store>;
  /** Another store on the same place as this one, as a process that is started later has it. */
  again(store: Store): Promise<Store>;
  /** False for a store that supports one process. */
  isShared: boolean;
};

/** The contract of every store. A failing test throws an error with the expected behaviour. */
export function storeConformance(under: StoreUnderTest): StoreTest[] {
  return tests.map(({ name, run }) => ({
    name,
    run: async () => {
      const store = await under.fresh();
      await store.open();
      await store.open();
      await run(store, under);
    },
  }));
}

const test = (name: string, run: (store: Store, under: StoreUnderTest) => Promise<void>) => ({ name, run });

const tests = [
  test('a new store has no state and no rows', async (store) => {
    await within(store, async (transaction, state) => {
      expect(state === null, 'readState gives null');
      same(await transaction.list(null, 10), []);
      same(await transaction.find([idOf(1)]), []);
    });
  }),

  test('the state is kept as it was written, also a long state, and in a store that is opened later', async (store, {
    again,
  }) => {
    const text = JSON.stringify({ long: 'é😀"\\\n'.repeat(2000) });
    await within(store, (transaction) => transaction.writeState(text));
    const later = await again(store);
    await later.open();
    for (const one of [store, later])
      await within(one, async (_transaction, state) => expect(state === text, 'the text that was written'));
  }),

  test('rows return with all their content', async (store, { again }) => {
    const rows = [1, 2, 3].map((n) => rowOf(n, { odd: `é😀\u2028"\\'%_ ${n}`, number: 0.069, nothing: null }));
    await within(store, (transaction) => transaction.put(rows));
    const later = await again(store);
    await later.open();
    for (const one of [store, later])
      await within(one, async (transaction) => {
        same(await transaction.list(null, 10), rows);
        same(sorted(await transaction.find([idOf(3), idOf(1), idOf(9)])), [rows[0], rows[2]]);
        for (const row of await transaction.list(null, 10))
          expect(checkOf(row.record) === row.check, 'a record with the content that was put');
      });
  }),

  test('a row replaces the row with its ID', async (store) => {
    await within(store, (transaction) => transaction.put([rowOf(1), rowOf(2)]));
    const replaced = { ...rowOf(1, { changed: true }), generation: 7, updated_at: '2026-02-01T00:00:00.000Z' };
    await within(store, (transaction) => transaction.put([replaced]));
    await within(store, async (transaction) => same(await transaction.list(null, 10), [replaced, rowOf(2)]));
  }),

  test('a removed row no longer exists, and other rows stay', async (store) => {
    await within(store, (transaction) => transaction.put([1, 2, 3].map((n) => rowOf(n))));
    await within(store, (transaction) => transaction.remove([idOf(2), idOf(9)]));
    await within(store, async (transaction) => same(await transaction.list(null, 10), [rowOf(1), rowOf(3)]));
  }),

  test('empty lists to put, remove or find have no effect', async (store) => {
    await within(store, async (transaction) => {
      await transaction.put([]);
      await transaction.remove([]);
      same(await transaction.find([]), []);
    });
  }),

  test('a transaction sees what it has written itself', async (store) => {
    await within(store, async (transaction) => {
      await transaction.put([rowOf(1), rowOf(2)]);
      await transaction.remove([idOf(1)]);
      await transaction.writeState('mine');
      same(await transaction.find([idOf(1), idOf(2)]), [rowOf(2)]);
      expect((await transaction.readState()) === 'mine', 'the state that it wrote');
    });
  }),

  test('pages of the list hold every row once, in an order that stays', async (store) => {
    const rows = Array.from({ length: 1203 }, (_, n) => rowOf(n));
    await within(store, (transaction) => transaction.put(rows));
    const seen: string[] = [];
    for (let after: string | null = null; ;) {
      const from: string | null = after;
      const page: Row[] = await within(store, (transaction) => transaction.list(from, 100));
      seen.push(...page.map(({ id }) => id));
      if (page.length < 100) break;
      after = page.at(-1)!.id;
    }
    expect(seen.length === rows.length && new Set(seen).size === rows.length, 'each of 1,203 rows once');
  }),

  test('the list begins with the lowest possible ID', async (store) => {
    const lowest = { ...rowOf(0), id: '00000000-0000-0000-0000-000000000000' };
    await within(store, (transaction) => transaction.put([rowOf(1), lowest]));
    await within(store, async (transaction) => {
      same(await transaction.list(null, 1), [lowest]);
      same(await transaction.list(lowest.id, 10), [rowOf(1)]);
    });
  }),

  test('a transaction that fails leaves nothing behind', async (store) => {
    await within(store, async (transaction) => {
      await transaction.put([rowOf(1)]);
      await transaction.writeState('before');
    });
    const fault = new Error('on purpose');
    const failed = await within(store, async (transaction) => {
      await transaction.put([rowOf(1, { changed: true }), rowOf(2)]);
      await transaction.remove([idOf(1)]);
      await transaction.writeState('after');
      throw fault;
    }).catch((error: unknown) => error);
    expect(failed === fault, 'the fault of the work itself');
    await within(store, async (transaction, state) => {
      expect(state === 'before', 'the state from before');
      same(await transaction.list(null, 10), [rowOf(1)]);
    });
  }),

  test('transactions that begin together follow one another', async (store, { again, isShared }) => {
    const other = isShared ? await again(store) : store;
    await other.open();
    await within(store, (transaction) => transaction.writeState('0'));
    const count = (one: Store) =>
      within(one, async (transaction, state) => {
        await transaction.put([rowOf(Number(state))]);
        await transaction.writeState(String(Number(state) + 1));
      });
    for (let round = 0; round < 5; round++) await Promise.all([count(store), count(other), count(store)]);
    await within(store, async (transaction, state) => {
      expect(state === '15', `15 changes counted, not ${state}`);
      expect((await transaction.list(null, 100)).length === 15, '15 rows');
    });
  }),
];

function within<Result>(
  store: Store,
  work: (transaction: StoreTransaction, state: string | null) => Promise<Result>,
): Promise<Result> {
  return store.transaction(async (transaction) => work(transaction, await transaction.readState()));
}

function idOf(n: number): string {
  return `10000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
}

function rowOf(n: number, content: object = {}): Row {
  const updated_at = '2026-01-31T09:41:00.000Z';
  const record = { assessment_id: idOf(n), updated_at, ...content } as unknown as Assessment;
  return { id: idOf(n), updated_at, generation: 1, check: checkOf(record), record };
}

const sorted = (rows: Row[]) => [...rows].sort((one, other) => (one.id < other.id ? -1 : 1));

function expect(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`expected ${what}`);
}

function same(found: (Row | undefined)[], wanted: (Row | undefined)[]): void {
  expect(checkOf(found) === checkOf(wanted), `${JSON.stringify(wanted)}, not ${JSON.stringify(found)}`);
}
