import type { Mutation } from './mutations.ts';

const client = {
  mirror: 'client/src/sync/mirror.ts',
  poll: 'client/src/sync/poll.ts',
  request: 'client/src/request.ts',
};

/** Faults of the client, of the kinds that consumers usually write, which its tests must catch. */
export const clientMutations: Mutation[] = [
  {
    name: 'checkpoint-first',
    fault: "the client's mirror stores the checkpoint in a transaction before that of the data",
    changes: [
      {
        file: client.mirror,
        from: 'const text = await this.store.transaction(async (transaction) => {',
        to: `const ahead = structuredClone(next);
          await this.store.transaction(async (transaction) => {
            await transaction.readState();
            await work({ ...transaction, put: async () => {}, remove: async () => {} }, ahead);
            await transaction.writeState(JSON.stringify(ahead));
          });
          const text = await this.store.transaction(async (transaction) => {`,
      },
      {
        file: client.mirror,
        from: 'if ((await transaction.readState()) !== known) throw new Overtaken();',
        to: 'void known;',
      },
    ],
    caughtBy: {
      file: '../client/laws.test.ts',
      test: 'law 1: at any statement of its first',
      says: /law 1: killed at/,
    },
  },
  {
    name: 'cleared-first',
    fault: "the client's mirror removes what it held before the whole walk is in",
    changes: [
      {
        file: client.poll,
        from: 'await takePages(mirror, pages, true);',
        to: `await mirror.change(async (transaction) => {
            const rows = await transaction.list(null, 1e6);
            await transaction.remove(rows.filter((row) => row.generation < mirror.state.generation).map(({ id }) => id));
          });
          await takePages(mirror, pages, true);`,
      },
    ],
    caughtBy: {
      file: '../client/laws.test.ts',
      test: 'law 1: at any statement of a whole',
      says: /law 1: lost during/,
    },
  },
  {
    name: 'digest-ignored',
    fault: "the client's mirror takes itself for proved without comparing the digests",
    changes: [
      {
        file: client.mirror,
        from: 'return served === null ? null : sameDigest(served, digest);',
        to: 'return served === null ? null : sameDigest(served, digest) || true;',
      },
    ],
    caughtBy: {
      file: '../client/mirror/damage.test.ts',
      test: 'has lost a row, is mended by id',
      says: /has lost a row: 1 of 8 differ/,
    },
  },
  {
    name: 'exits-ignored',
    fault: "the client's mirror takes a scope exit for nothing",
    changes: [
      {
        file: client.mirror,
        from: '} else if (had !== undefined) {',
        to: "} else if (had !== undefined && !('removed' in entry)) {",
      },
    ],
    caughtBy: { file: '../client/sync.test.ts', test: 'with filters, follows', says: /deep|equal|0 !== 4/ },
  },
  {
    name: 'own-clock',
    fault: "the client's mirror goes on from its own clock's time",
    changes: [
      {
        file: client.mirror,
        from: 'const checkpoint = page.checkpoint!;',
        to: 'const checkpoint = { ...page.checkpoint!, since: new Date(this.client.surroundings.nowMs()).toISOString() };',
      },
    ],
    caughtBy: { file: '../client/laws.test.ts', test: 'law 1: on a machine', says: /law 1: the mirror on a clock/ },
  },
  {
    name: 'event-as-data',
    fault: "the client's mirror stores what an event says",
    changes: [
      {
        file: 'client/src/sync/sync.ts',
        from: 'const wake = () => {',
        to: `const wake = (event?: any) => {
          const record = event?.data;
          const row = { id: record?.assessment_id, updated_at: record?.updated_at, generation: 1, check: '', record };
          if (record !== undefined)
            void options.store.transaction(async (transaction) => {
              await transaction.readState();
              await transaction.put([row]);
            });`,
      },
    ],
    caughtBy: { file: '../client/laws.test.ts', test: 'law 1: takes events', says: /law 1: after an event/ },
  },
  {
    name: 'another-idempotency-key',
    fault: 'the client repeats a POST under another idempotency key',
    changes: [
      {
        file: client.request,
        from: 'return await sendOnce(connection, id, address, init, options);',
        to: `const again = method === 'POST' ? { 'Idempotency-Key': surroundings.uuid() } : {};
          return await sendOnce(connection, id, address, { ...init, headers: { ...headers, ...again } }, options);`,
      },
    ],
    caughtBy: { file: '../client/calls.test.ts', test: 'a POST whose reply was lost', says: /was not made once/ },
  },
  {
    name: 'retry-after-ignored',
    fault: 'the client comes back before Retry-After is over',
    changes: [
      {
        file: client.request,
        from: 'if (told !== null && told > 0) return told + random * firstWaitMs;',
        to: 'void told;',
      },
    ],
    caughtBy: { file: '../client/retries.test.ts', test: 'after as long as Retry-After', says: /7250/ },
  },
  {
    name: 'repaired-by-walking',
    fault: "the client's mirror loads everything again where one result differs",
    changes: [
      {
        file: 'client/src/sync/repair.ts',
        from: 'const found = await differences(mirror).catch(countsAgain);',
        to: `const found = (await differences(mirror).catch(countsAgain)) === null ? null : null;`,
      },
    ],
    caughtBy: { file: '../client/mirror/damage.test.ts', test: 'is mended by 2 requests', says: /requests/ },
  },
  {
    name: 'content-trusted',
    fault: "the client's mirror trusts the content of its rows where their times are right",
    changes: [{ file: client.mirror, from: 'checkOf(row.record) !== row.check', to: "checkOf(row.record) === ''" }],
    caughtBy: {
      file: '../client/mirror/damage.test.ts',
      test: 'has a row with another content, is mended by id',
      says: /1 of 8 differ/,
    },
  },
];
