import { setTimeout as wait } from 'node:timers/promises';
import { inWork } from '../src/db/work.ts';
import { importRecords } from '../src/imports/import.ts';
import { readyRecord } from '../src/imports/record.ts';
import { openApp } from '../src/open-app.ts';
import { findOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { benchRecord } from './data.ts';

/**
 * An import a second and some provisionings and polls, while the console's pages are opened: in a process of its own, so that what times
 * them is held up by none of it. Needs DATABASE_URL and ARS_SECRET, and BENCH_CALLS, the headers of its calls as JSON.
 * Usage: node bench/console-writer.ts ORGANISATION PORT RESULTS
 */
const [, , publicId, port, results] = process.argv;
const headers = JSON.parse(process.env.BENCH_CALLS!) as Record<string, string>;
const { app, close } = await openApp({ ...readSettings({ ...process.env, BENCH_CALLS: undefined }), log: 'none' });
const { organisation_id: id } = (await findOrganisation(app.db, publicId!))!;
const address = `http://127.0.0.1:${port}/api/v1`;
let stopped = false;
process.once('SIGTERM', () => {
  stopped = true;
});

for (let n = 0; !stopped; n++) {
  const records = Array.from({ length: 100 }, (_, i) =>
    readyRecord(
      { ...benchRecord((app.clock.nowMs() % 1e9) + i, Number(results)), groups: [] },
      publicId!,
      app.clock.nowMs(),
    ),
  );
  await inWork(app, null, (work) => importRecords(work, id, records, { events: true, actor: 'bench' }));
  for (let i = 0; i < 10; i++) {
    const learner = {
      ref: `NEW-${n % 50}-${i}`,
      full_name: `New ${n} ${i}`,
      groups: [{ type: 'cohort', ref: `cohort-${i}`, name: `cohort ${i}` }],
    };
    await fetch(`${address}/learners`, { method: 'POST', headers, body: JSON.stringify(learner) }).then((r) =>
      r.text(),
    );
    const since = new Date(app.clock.nowMs() - 60_000).toISOString();
    await fetch(`${address}/assessments?since=${since}`, { headers }).then((r) => r.text());
    await wait(50);
  }
}
await close();
