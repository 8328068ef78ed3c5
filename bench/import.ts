import { createReadStream, createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { importFile } from '../src/imports/file.ts';
import { sentenceOf } from '../src/assessments/result-fields.ts';
import { inWork } from '../src/db/work.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { benchRecord } from './data.ts';
import { figure } from './figures.ts';
import type { Spent } from './import-peers.ts';
import { byCopy, byInserts } from './import-peers.ts';
import { backendsCpuUs, scratchFolder } from './process.ts';

/**
 * Results imported a second from NDJSON, and the memory that it takes on the way: the file is made first, the clock runs
 * from the first byte read to the last commit. Beside it, the same file by a straightforward loader, and its rows by COPY, into
 * tables with the same indexes. Needs DATABASE_URL (a database of its own) and ARS_SECRET.
 * Usage: node bench/import.ts [results]
 */
const results = Number(process.argv[2] ?? 400_000);
const folder = scratchFolder();
const file = join(folder, 'results.ndjson');
const out = createWriteStream(file);
for (let i = 0; i < results; i++)
  if (!out.write(`${JSON.stringify(benchRecord(i, results))}\n`)) await once(out, 'drain');
out.end();
await once(out, 'finish');

const settings = { ...readSettings(process.env), log: 'none' as const };
const { app, close } = await openApp(settings);
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
const each = ({ nodeUs, postgresUs }: Pick<Spent, 'nodeUs' | 'postgresUs'>) =>
  `processor time of a result: Node ${(nodeUs / results).toFixed(0)} µs, PostgreSQL ${(postgresUs / results).toFixed(0)} µs`;
const ours = { nodeUs: user + system, postgresUs: (await backendsCpuUs(app.db)) - postgres };
console.log(marks.join('\n'));
figure('import from NDJSON', counts.imported / seconds, 'results a second', { atLeast: 30_000 });
console.log(
  `${counts.imported.toLocaleString('en-GB')} results in ${seconds.toFixed(1)} s: ${Math.round(counts.imported / seconds).toLocaleString('en-GB')} a second (goal 30,000); ${each(ours)}`,
);
await close();
const loader = await byInserts(settings.databaseUrl!, file, organisation.organisation_id);
const copy = await byCopy(settings.databaseUrl!);
figure('import, as fast as a loader that inserts 500 rows at a time', loader.seconds / seconds, 'times', {
  atLeast: 3,
});
figure('import, of COPY into tables with the same indexes', (100 * copy.seconds) / seconds, '%', { atLeast: 40 });
console.log(
  `a straightforward loader ${loader.seconds.toFixed(1)} s: the import is ${(loader.seconds / seconds).toFixed(2)} times as fast (goal 3); ${each(loader)}`,
);
console.log(
  `COPY of its rows ${copy.seconds.toFixed(1)} s: ${((100 * copy.seconds) / seconds).toFixed(0)} % (goal 40); ${each(copy)}`,
);
