import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { sentenceOf } from '../../src/records/results/result-fields.ts';
import { importFile } from '../../src/records/import/file.ts';
import { benchRecord, makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import { openBench, peakMemoryMb, scratchFolder } from '../support/process.ts';

/**
 * Results imported a second from an NDJSON file, from the first byte that is read to the last commit, and memory.
 * Usage: node bench/scenarios/import.ts [results]
 */
const results = Number(process.argv[2] ?? 400_000);
const file = join(scratchFolder(), 'results.ndjson');
const out = createWriteStream(file);
for (let i = 0; i < results; i++)
  if (!out.write(`${JSON.stringify(benchRecord(i, results))}\n`)) await once(out, 'drain');
out.end();
await once(out, 'finish');

const { app, close } = await openBench();
const organisation = await makeOrganisation(app);
const begunMs = performance.now();
const { imported } = await importFile(app, createReadStream(file), {
  organisationId: organisation.organisation_id,
  organisationPublicId: organisation.public_id,
  events: false,
  actor: 'bench',
  format: 'ndjson',
  onRejected: ({ line, faults }) => {
    throw new Error(`line ${line}: ${faults.map(sentenceOf).join('; ')}`);
  },
  onProgress: () => {},
});
figure('results', imported / ((performance.now() - begunMs) / 1000), 'a second', { atLeast: 30_000 });
figure('memory at its peak', peakMemoryMb(), 'MB');
await close();
