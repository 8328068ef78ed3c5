import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importFile } from '../src/imports/file.ts';
import { sentenceOf } from '../src/assessments/result-fields.ts';
import { inWork } from '../src/db/work.ts';
import { openApp } from '../src/main.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { benchRecord } from './data.ts';
import { figure } from './figures.ts';
import { backendsCpuUs } from './process.ts';

/**
 * Results imported a second from NDJSON, and the memory that it takes on the way: the file is made first, the clock runs
 * from the first byte read to the last commit. Needs DATABASE_URL (a database of its own) and ARS_SECRET.
 * Usage: node bench/import.ts [results]
 */
const results = Number(process.argv[2] ?? 400_000);
const folder = await mkdtemp(join(tmpdir(), 'ars-bench-'));
const file = join(folder, 'results.ndjson');
const out = createWriteStream(file);
for (let i = 0; i < results; i++)
  if (!out.write(`${JSON.stringify(benchRecord(i, results))}\n`)) await once(out, 'drain');
out.end();
await once(out, 'finish');

const { app, close } = await openApp({ ...readSettings(process.env), log: 'none' });
const organisation = await inWork(app, null, (work) =>
  createOrganisation(work, { name: 'Import', plan: 'unlimited', credits: 0, groupAutocreate: true }),
);
const marks: string[] = [];
const [node, postgres] = [process.cpuUsage(), await backendsCpuUs(app.db)];
const started = performance.now();
const counts = await importFile(app, createReadStream(file), {
  organisationId: organisation.organisation_id,
  organisationPublicId: organisation.public_id,
  events: false,
  actor: 'bench',
  format: 'ndjson',
  onRejected: ({ line, faults }) => {
    throw new Error(`line ${line}: ${faults.map(sentenceOf).join('; ')}`);
  },
  onProgress: ({ imported }) => {
    if (imported < ((marks.length + 1) * results) / 5) return;
    const seconds = (performance.now() - started) / 1000;
    marks.push(
      `${imported.toLocaleString('en-GB').padStart(12)} results  ${Math.round(imported / seconds)
        .toLocaleString('en-GB')
        .padStart(7)} a second  ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MB`,
    );
  },
});
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(node);
const each = (us: number) => `${(us / counts.imported).toFixed(0)} µs`;
console.log(marks.join('\n'));
figure('import from NDJSON', counts.imported / seconds, 'results a second', { atLeast: 30_000 });
console.log(
  `${counts.imported.toLocaleString('en-GB')} results in ${seconds.toFixed(1)} s: ${Math.round(counts.imported / seconds).toLocaleString('en-GB')} a second (goal 30,000); processor time of a result: Node ${each(user + system)}, PostgreSQL ${each((await backendsCpuUs(app.db)) - postgres)}`,
);
await close();
await rm(folder, { recursive: true });
