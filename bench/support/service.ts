import pg from 'pg';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { createKey } from '../../src/integrations/access-keys/keys.ts';
import { startService } from '../../src/main.ts';
import { openApp } from '../../src/server/open-app.ts';
import { findOrganisation } from '../../src/organisations/organisations.ts';
import { readSettings } from '../../src/platform/config/settings.ts';

/** Serves the organisation BENCH_ORGANISATION as shipped, with a high rate limit. Prints its port and an access key. */
const opened = await openApp(
  readSettings({ ...process.env, ARS_PORT: '0', ARS_RATE_LIMIT: process.env.BENCH_RATE_LIMIT ?? '1000000000' }),
  { logTo: process.stderr },
);
const service = await startService(opened, 'web');
const { organisation_id: id } = (await findOrganisation(service.app.db, process.env.BENCH_ORGANISATION!))!;
const key = await withUnitOfWork(service.app, null, (work) => createKey(work, id, { label: null, kind: 'test' }));
process.stdout.write(`${JSON.stringify({ port: Number(new URL(service.url).port), ...key })}\n`);
/** With BENCH_SLOW_MS, every statement that took longer is printed with its time. */
const slowMs = Number(process.env.BENCH_SLOW_MS ?? Infinity);
if (slowMs < Infinity) {
  const { query } = pg.Client.prototype as { query(...values: unknown[]): Promise<unknown> };
  pg.Client.prototype.query = function (
    this: pg.Client,
    config: string | { name?: string; statement?: string; text: string },
    ...more: unknown[]
  ) {
    const begunMs = performance.now();
    const answer = query.call(this, config, ...more);
    void answer?.then(
      () => {
        const ms = performance.now() - begunMs;
        const statement = typeof config === 'string' ? config : (config.name ?? config.statement ?? config.text);
        if (ms > slowMs) process.stdout.write(`${JSON.stringify({ statement, ms })}\n`);
      },
      () => {},
    );
    return answer;
  } as typeof pg.Client.prototype.query;
}

process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)));
