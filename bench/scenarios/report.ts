import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readReport } from '../../src/records/evidence/store.ts';
import { fillNumbered, idOf, makeOrganisation } from '../support/data.ts';
import { figure } from '../support/figures.ts';
import {
  getRequest,
  load,
  median,
  openBench,
  scratchFolder,
  startBenchService,
  startServer,
  stop,
} from '../support/process.ts';

/**
 * Stored reports, one again and again and many in turn, beside plain files of the same bytes that bare node:http reads for
 * each request. Usage: node bench/scenarios/report.ts [rounds] [seconds] [reports]
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const reports = Number(process.argv[4] ?? 4000);

const folder = scratchFolder();
const { app, close } = await openBench();
app.settings.baseUrl = 'https://results.example.org';
const organisation = await makeOrganisation(app);
await fillNumbered(app, organisation, reports);
for (let n = 0; n < reports; n++) {
  const { pdf } = (await readReport(app, organisation.organisation_id, idOf(n)))!;
  await writeFile(join(folder, idOf(n)), pdf);
}
await app.db.query('vacuum analyze');
await close();

const plain = await startServer('plain-file.ts', folder);
const service = await startBenchService(organisation.public_id);
const id = idOf('############');
try {
  for (const [name, count] of [
    ['one report', 1],
    [`${reports.toLocaleString('en-GB')} reports in turn`, reports],
  ] as const) {
    const [ratios, rates]: number[][] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const options = { connections: 64, seconds, count };
      const ceiling = await load(plain, { ...options, request: getRequest(`/${id}`) });
      const ours = await load(service, { ...options, request: service.get(`/api/v1/assessments/${id}/report.pdf`) });
      rates!.push(ours.per_second);
      ratios!.push(ours.per_second / ceiling.per_second);
    }
    figure(`${name}, 64 connections`, median(rates!), 'a second');
    figure(`${name}, of a plain file`, 100 * median(ratios!), '%', { atLeast: 80 });
  }
} finally {
  await Promise.all([stop(plain.child), stop(service.child)]);
}
