import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { clockBehind, mirrorReader, runnerOf } from '../../../cli/commands/integrations/conform.ts';
import { systemClock } from '../../../src/platform/time/clock.ts';
import type { ScenarioOutcome } from '../../../src/sandbox/conformance/conform.ts';
import { conform } from '../../../src/sandbox/conformance/conform.ts';
import { startService } from '../../../src/main.ts';
import { openApp } from '../../../src/server/open-app.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { createForwarder } from '../../../src/sandbox/conformance/forward.ts';
import { hangUp } from '../../contract/support/client.ts';
import { freshDatabase } from '../../support/postgres.ts';
import { thisServer } from '../../support/service.ts';
import type { ConsumerFault } from './consumer.ts';
import { startConsumer } from './consumer.ts';
import { freePort } from '../../support/ports.ts';

/** A service that tries consumers, for the tests of one file. */

const columns = { id: 'assessment_id', updatedAt: 'updated_at', record: null, willWrite: false };
const program = new URL('./consumer.ts', import.meta.url).pathname;

/** Starts a service, which ends with the file that asks, and tells how to try consumers of it. */
export async function trials() {
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

  /** Plays scenarios with a consumer, in this process or in one of its own. */
  async function tried(
    fault: ConsumerFault,
    only: string[] | null,
    how: 'here' | 'process' = 'here',
    given: { command?: string; idColumn?: string; patienceMs?: number } = {},
  ): Promise<ScenarioOutcome[]> {
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
        onOutcome: () => {},
      });
    } finally {
      await forwarder.close();
    }
  }

  return tried;
}

export const faultsOf = (outcomes: ScenarioOutcome[]) => [
  ...new Set(outcomes.flatMap((outcome) => outcome.faults.map(({ fault }) => fault))),
];
