import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inWork } from '../src/db/work.ts';
import { readReport } from '../src/evidence/store.ts';
import { openApp } from '../src/open-app.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import { readSettings } from '../src/settings.ts';
import { fillNumbered } from './data.ts';
import { figure } from './figures.ts';
import { cpuUs, firstJson, load, median, scratchFolder, startNode, stop } from './process.ts';

/**
 * Stored reports beside plain files of the same bytes that bare node:http reads for each request: one report again and
 * again, and many in turn. Then what first reads in a burst do to other requests.
 * Needs DATABASE_URL (a database of its own) and ARS_SECRET. Usage: node bench/report.ts [rounds] [seconds] [reports]
 */
const rounds = Number(process.argv[2] ?? 3);
const seconds = Number(process.argv[3] ?? 4);
const reports = Number(process.argv[4] ?? 4000);
const burst = 50;
const settings = { ...readSettings(process.env), log: 'none' as const };
settings.baseUrl = 'https://results.example.org';
const here = (name: string) => new URL(name, import.meta.url).pathname;
const idOf = (n: number | string) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const folder = scratchFolder();
const opened = await openApp(settings);
const organisation = await inWork(opened.app, null, (work) =>
  createOrganisation(work, { name: 'Benchmark', plan: 'unlimited', credits: 0, groupAutocreate: true }),
);
const total = reports + burst * (rounds + 1);
await fillNumbered(opened.app, organisation, total, idOf);
let bytes = 0;
for (let n = 0; n < reports; n++) {
  const { pdf } = (await readReport(opened.app, organisation.organisation_id, idOf(n)))!;
  bytes += pdf.length;
  await writeFile(join(folder, idOf(n)), pdf);
}
await opened.app.db.query('vacuum analyze');
await opened.close();
console.log(`${reports} reports of ${Math.round(bytes / reports / 100) / 10} kB`);

const plain = startNode(0, [here('plain-file.ts'), folder]);
const { port: plainPort } = await firstJson<{ port: number }>(plain);
const service = startNode(0, [here('service.ts')], { ARS_LOG: 'errors', BENCH_ORGANISATION: organisation.public_id });
const { port, access_key_id, secret_access_key } = await firstJson<{
  port: number;
  access_key_id: string;
  secret_access_key: string;
}>(service);
const credentials = `X-Access-Key-Id: ${access_key_id}\r\nX-Secret-Access-Key: ${secret_access_key}\r\n`;
const fileRequest = `GET /${idOf('############')} HTTP/1.1\r\nHost: 127.0.0.1\r\n${credentials}\r\n`;
const reportRequest = `GET /api/v1/assessments/${idOf('############')}/report.pdf HTTP/1.1\r\nHost: 127.0.0.1\r\n${credentials}\r\n`;

/** The load, and the processor time of one request; the second of warming up counts as one more of the others. */
async function measured(child: ChildProcess, ...given: Parameters<typeof load>) {
  const before = cpuUs(child);
  const result = await load(...given);
  return { ...result, cpu_us: (cpuUs(child) - before) / (result.per_second * (seconds + 1)) };
}

function expectOnly(statuses: Record<string, number>, status: string): void {
  if (Object.keys(statuses).join() !== status)
    throw new Error(`expected only ${status}, saw ${JSON.stringify(statuses)}`);
}

try {
  for (const [name, count] of [
    ['one report', 1],
    [`${reports} reports in turn`, reports],
  ] as const) {
    for (const connections of [64, 1]) {
      const ratios: number[] = [];
      const ofCpu: number[] = [];
      for (let round = 0; round < rounds; round++) {
        const ceiling = await measured(plain, plainPort, connections, seconds, fileRequest, count);
        expectOnly(ceiling.statuses, '200');
        const ours = await measured(service, port, connections, seconds, reportRequest, count);
        expectOnly(ours.statuses, '200');
        ratios.push(ours.per_second / ceiling.per_second);
        ofCpu.push(ceiling.cpu_us / ours.cpu_us);
        console.log(
          `${name}, ${connections} connections  file ${ceiling.per_second}/s (p99 ${ceiling.p99_ms} ms)  service ${ours.per_second}/s (p50 ${ours.p50_ms} ms, p99 ${ours.p99_ms} ms)  ratio ${(100 * ratios.at(-1)!).toFixed(0)} %  CPU of Node ${ceiling.cpu_us.toFixed(0)} and ${ours.cpu_us.toFixed(0)} µs a request`,
        );
      }
      console.log(
        `${name}, ${connections} connections  median ratio ${(100 * median(ratios)).toFixed(0)} %, by CPU of Node ${(100 * median(ofCpu)).toFixed(0)} %`,
      );
      figure(
        `${name}, ${connections} connection${connections === 1 ? '' : 's'}, of a plain file`,
        100 * median(ratios),
        '%',
        { atLeast: connections === 1 ? 35 : 80 },
      );
    }
  }

  const headers = { 'x-access-key-id': access_key_id, 'x-secret-access-key': secret_access_key };
  const ask = async (path: string) => {
    const startMs = performance.now();
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, { headers });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`expected 200, saw ${answer.status}`);
    return performance.now() - startMs;
  };
  /** Latencies of small reads, one after the other, until the work is done. */
  const meanwhile = async (work: Promise<unknown>): Promise<number[]> => {
    const latencies: number[] = [];
    let busy = true;
    void work.finally(() => {
      busy = false;
    });
    while (busy) latencies.push(await ask(`/assessments/${idOf(0)}`));
    await work;
    return latencies.sort((a, b) => a - b);
  };
  let next = reports;
  for (let round = 0; round <= rounds; round++) {
    const quiet = await meanwhile(
      (async () => {
        for (let i = 0; i < 100; i++) await ask('/health');
      })(),
    );
    const startMs = performance.now();
    const during = await meanwhile(
      Promise.all(Array.from({ length: burst }, () => ask(`/assessments/${idOf(next++)}/report.pdf`))),
    );
    const tookMs = performance.now() - startMs;
    if (round === 0) continue;
    const at = (all: number[], share: number) =>
      all[Math.min(all.length - 1, Math.floor(all.length * share))]!.toFixed(1);
    console.log(
      `${burst} first reads at once in ${tookMs.toFixed(0)} ms  a small read meanwhile: p50 ${at(during, 0.5)} ms, worst ${at(during, 1)} ms of ${during.length} (quiet: p50 ${at(quiet, 0.5)} ms, worst ${at(quiet, 1)} ms)`,
    );
  }
} finally {
  await Promise.all([stop(plain), stop(service)]);
}
