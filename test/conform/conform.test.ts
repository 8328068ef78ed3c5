import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { clockBehind, mirrorReader, runnerOf } from '../../cli/conform.ts';
import { systemClock } from '../../src/clock.ts';
import type { Outcome } from '../../src/conform/conform.ts';
import { conform } from '../../src/conform/conform.ts';
import { startService } from '../../src/main.ts';
import { openApp } from '../../src/open-app.ts';
import { readSettings } from '../../src/settings.ts';
import { createForwarder } from '../../src/webhooks/forward.ts';
import { hangUp } from '../contract/client.ts';
import { freshDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';
import type { ConsumerFault } from './consumer.ts';
import { startConsumer } from './consumer.ts';
import { freePort } from '../ports.ts';

/** Consumers that are wrong on purpose: each is told what it does wrong, and nothing else. */

const database = await freshDatabase(await thisServer());
const service = await startService(
  await openApp(
    readSettings({
      ARS_PORT: '0',
      DATABASE_URL: database.url,
      ARS_SECRET: 'a secret of the tests, longer than 32 characters',
      ARS_LOG: 'none',
      ARS_RATE_LIMIT: '1000000',
    }),
    { clock: clockBehind },
  ),
  'web',
);
const folder = await mkdtemp(join(tmpdir(), 'ars-conform-'));
after(async () => {
  await hangUp(service.url);
  await service.stop();
  await database.drop();
  await rm(folder, { recursive: true, force: true });
});

const columns = { id: 'assessment_id', updatedAt: 'updated_at', record: null, willWrite: false };
const program = new URL('./consumer.ts', import.meta.url).pathname;

/** Plays scenarios with a consumer, in this process or in one of its own. */
async function tried(
  fault: ConsumerFault,
  only: string[] | null,
  how: 'here' | 'process' = 'here',
  given: { command?: string; idColumn?: string; patienceMs?: number } = {},
): Promise<Outcome[]> {
  const port = await freePort();
  const file = join(folder, `${fault}-${port}.ndjson`);
  const { signal } = new AbortController();
  const forwarder = createForwarder(new URL(`http://127.0.0.1:${port}/`), systemClock, signal);
  let consumer: Awaited<ReturnType<typeof startConsumer>> | null = null;
  try {
    return await conform({
      app: service.app,
      server: service.http!.fastify.server,
      url: service.url,
      forwarder,
      readHeld: mirrorReader(file, { ...columns, id: given.idColumn ?? columns.id }),
      prepare(setup) {
        const command = `FAULT=${fault} MIRROR=${file} PORT=${port} exec ${process.execPath} ${program}`;
        if (how === 'process') return runnerOf(given.command ?? command, setup);
        return {
          async start() {
            consumer = await startConsumer({ ...setup, file, fault, port });
          },
          async kill() {
            await consumer?.stop();
          },
          hasEnded: () => false,
        };
      },
      only,
      patienceMs: given.patienceMs ?? 30_000,
      signal,
      tell: () => {},
    });
  } finally {
    await forwarder.close();
  }
}

const faultsOf = (outcomes: Outcome[]) => [
  ...new Set(outcomes.flatMap((outcome) => outcome.faults.map(({ fault }) => fault))),
];

suite('ars conform names what a consumer does wrong', { concurrency: 4 }, () => {
  for (const [fault, scenario, ...named] of [
    ['no-next', 'first-walk', 'lost'],
    ['keeps-withdrawn', 'withdrawn', 'kept-withdrawn'],
    ['ignores-exits', 'scope-exit', 'scope-exit'],
    ['own-clock', 'changes', 'own-clock'],
    ['drops-nulls', 'null-values', 'null-values'],
    ['stops-at-empty', 'empty-page', 'empty-page'],
    ['reads-everything', 'quiet-days', 'reads-everything'],
    ['ignores-retry-after', 'retry-after', 'ignored-retry-after'],
    ['takes-cut', 'interrupted', 'interrupted'],
    ['early-checkpoint', 'broken-walk', 'early-checkpoint'],
    ['no-signature', 'signatures', 'accepted-bad-signature', 'accepted-old-signature'],
    ['no-timestamp', 'signatures', 'accepted-old-signature'],
    ['appends-events', 'repeated-event', 'duplicate'],
    ['refuses-repeats', 'repeated-event', 'refused-repeat'],
    ['trusts-events', 'late-event', 'order'],
    ['strict', 'unknown-values', 'unknown-values'],
    ['strict-values', 'unknown-values', 'unknown-values'],
    ['strict-events', 'unknown-values', 'unknown-event'],
    ['no-digest', 'restored-backup', 'restored-backup'],
    // No fault: it compares nothing, and heeds X-Sync-Restored.
    ['by-restored', 'restored-backup'],
    // Nor here: it goes by the Link header, or makes its mirror of a walk for each subject.
    ['by-link', 'empty-page'],
    ['by-subject', 'withdrawn'],
    // Nor here: while it writes there is nothing to read.
    ['remakes', 'changes'],
    // Nor here: what it has written is lost with the backup, and it writes it again.
    ['writes-again', 'own-writes'],
  ] as const) {
    test(`${fault}: ${named.join(', ') || 'right'}`, async () => {
      const outcomes = await tried(fault, [scenario]);
      assert.deepEqual(faultsOf(outcomes), named, JSON.stringify(outcomes));
    });
  }

  test('writes: what it had written is not there again', async () => {
    const outcomes = await tried('writes', ['own-writes'], 'here', { patienceMs: 6000 });
    assert.deepEqual(faultsOf(outcomes), ['own-writes'], JSON.stringify(outcomes));
    const [fault] = outcomes.at(-1)!.faults;
    // Two groups, two learners, three memberships, one that was ended, and an endpoint.
    assert.match(fault!.sentence, /not there again \(9\)/);
    assert.ok(fault!.ids.includes('learner own-1'), fault!.ids.join());
  });

  test('none: a consumer that writes nothing is not tried', async () => {
    const outcome = (await tried('none', ['own-writes'])).at(-1)!;
    assert.deepEqual([outcome.name, outcome.outcome, outcome.faults], ['own-writes', 'not_played', []]);
    assert.match(outcome.because!, /^not tried, because it has written nothing/);
  });

  for (const [scenario, reply] of [
    ['retry-after', '429'],
    ['interrupted', '503'],
  ]) {
    test(`gives-up at ${reply}`, async () => {
      const outcomes = await tried('gives-up', [scenario!], 'here', { patienceMs: 6000 });
      assert.deepEqual(faultsOf(outcomes), ['gave-up'], JSON.stringify(outcomes));
      assert.match(outcomes.at(-1)!.faults[0]!.sentence, new RegExp(`since it got ${reply}:`));
    });
  }

  for (const [fault, scenario, ...named] of [
    ['checkpoint-first', 'killed', 'early-checkpoint'],
    ['crashes', 'unknown-values', 'crash'],
  ] as const) {
    test(`${fault}: ${named.join(', ')}`, async () => {
      const outcomes = await tried(fault, [scenario], 'process');
      assert.ok(faultsOf(outcomes).includes(named[0]), JSON.stringify(outcomes));
    });
  }

  test('a command that ends at once is told so, and a mirror that is none of results is refused', async () => {
    const [outcome] = await tried('none', null, 'process', { command: 'exit 3' });
    assert.match(outcome!.faults[0]!.sentence, /^It ended by itself before it asked/);
    await assert.rejects(tried('none', ['withdrawn'], 'here', { idColumn: 'nothing' }), /has no id of a result/);
  });

  test('nothing wrong with one that is right, whatever happens to it', async () => {
    const outcomes = await tried('none', null, 'process');
    assert.deepEqual(faultsOf(outcomes), [], JSON.stringify(outcomes));
    assert.deepEqual(
      outcomes.filter(({ outcome }) => outcome !== 'passed').map(({ name, outcome }) => [name, outcome]),
      [['own-writes', 'not_played']],
    );
  });
});
