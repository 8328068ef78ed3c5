import { inWork } from '../src/db/work.ts';
import { createKey } from '../src/keys/keys.ts';
import { startService } from '../src/main.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation, listOrganisations } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';

/** Serves for a benchmark and prints its address and a key pair. The rate limit is as high as it goes; everything else is as it ships. */
const opened = await openApp(
  readSettings({
    ...process.env,
    ARS_PORT: '0',
    ARS_RATE_LIMIT: process.env.BENCH_RATE_LIMIT ?? '1000000000',
    ARS_LOG: process.env.ARS_LOG ?? 'all',
  }),
  { logTo: process.stderr },
);
const service = await startService(opened, 'web');
const { app } = service;
const organisation =
  (await listOrganisations(app.db)).find((one) => one.public_id === process.env.BENCH_ORGANISATION) ??
  (await inWork(app, null, (work) =>
    createOrganisation(work, { name: 'Benchmark', plan: 'unlimited', credits: 0, groupAutocreate: true }),
  ));
const pair = await inWork(app, null, (work) =>
  createKey(work, organisation.organisation_id, { label: null, kind: 'test' }),
);
process.stdout.write(
  `${JSON.stringify({ port: Number(new URL(service.url).port), organisation_id: organisation.public_id, ...pair })}\n`,
);
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)));
