import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import type { Look } from '../src/assessments/browse-sql.ts';
import { unfiltered } from '../src/assessments/browse-sql.ts';
import { exportedResults, resultColumns, sheetFile } from '../src/assessments/export.ts';
import { sheetFormats } from '../src/files/sheet.ts';
import { openApp } from '../src/open-app.ts';
import { readSettings } from '../src/settings.ts';
import { fillOrganisation } from './data.ts';
import { figure } from './figures.ts';
import { scratchFolder } from './process.ts';

/**
 * How long a file of results takes, and how much memory: each form of file, over all results of an organisation. The peer is
 * the same rows read without being written.
 * Needs DATABASE_URL and ARS_SECRET. Usage: node bench/xlsx.ts [--results N] [--organisation NUMBER]
 */
const { values: given } = parseArgs({
  options: { results: { type: 'string', default: '100000' }, organisation: { type: 'string' } },
});
const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });
const organisationId =
  given.organisation === undefined
    ? (await fillOrganisation(app, Number(given.results))).organisation_id
    : Number(given.organisation);
const look: Look = {
  organisationId,
  filter: unfiltered,
  sort: 'assessed',
  descending: true,
  after: null,
  limit: 1,
};
const most = Number(given.results);
const folder = scratchFolder();
const columns = resultColumns('Europe/London');

async function* firstOf<T>(pages: AsyncIterable<T[]>) {
  let left = most;
  for await (const rows of pages) {
    yield rows.slice(0, left);
    left -= rows.length;
    if (left <= 0) return;
  }
}

async function measured(name: string, run: () => Promise<number>): Promise<void> {
  let peak = 0;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 50);
  const before = process.memoryUsage().rss;
  const startMs = app.clock.monotonicMs();
  const bytes = await run();
  const seconds = (app.clock.monotonicMs() - startMs) / 1000;
  clearInterval(watch);
  const mb = (n: number) => Math.round(n / 1024 / 1024);
  figure(
    `${name}, ${most.toLocaleString('en-GB')} results`,
    seconds,
    's',
    name === 'xlsx' ? { atMost: 10 } : undefined,
  );
  figure(`${name}, memory above what it began with`, mb(peak - before), 'MB', { atMost: 100 });
  console.log(
    JSON.stringify({ name, results: most, seconds, file_mb: mb(bytes), memory_mb: mb(before), peak_mb: mb(peak) }),
  );
}

await measured('read only', async () => {
  await app.db.snapshot(async (tx) => {
    for await (const _ of firstOf(exportedResults(tx, look)));
  });
  return 0;
});
for (const format of sheetFormats)
  await measured(format, async () => {
    const path = join(folder, `results.${format}`);
    const file = sheetFile(app, format, (tx) => ({
      name: 'Results',
      columns,
      rows: firstOf(exportedResults(tx, look)),
    }));
    await pipeline(file, createWriteStream(path));
    return (await stat(path)).size;
  });
await close();
