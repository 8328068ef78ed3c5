import { hash } from 'node:crypto';
import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App } from '../app.ts';
import { statement } from '../db/database.ts';
import { readReport } from './store.ts';

const page = statement('evidence.export_page', `
  select a.assessment_id, a.assessed_at, f.position from assessment_feed f
    join assessment a on a.organisation_id = f.organisation_id and a.assessment_id = f.assessment_id
   where f.organisation_id = $1 and not f.deleted and a.assessed_at >= $2 and (a.assessed_at, a.assessment_id) > ($3::int8, $4::uuid)
   order by a.assessed_at, a.assessment_id limit 200`);
const countSince = statement('evidence.export_count', `
  select count(*) as count from assessment_feed f where f.organisation_id = $1 and not f.deleted and f.assessed_at >= $2`);

/** One line of the manifest. No name: the file says whose it is. */
type ManifestEntry = { assessment_id: string; assessed_at: string; file: string; sha256: string; bytes: number };

const csvHead = 'assessment_id,assessed_at,file,sha256,bytes\n';

/**
 * Writes the evidence of every live result assessed at or after `since`, one file each, and a manifest as CSV and JSON.
 * Run again it continues: a file that is there with the right bytes is not written again. Holds one PDF at a time.
 */
export async function exportEvidence(app: App, organisationId: number, sinceUs: number, folder: string,
  onProgress: (done: number, total: number) => void, signal: AbortSignal): Promise<{ exported: number; unchanged: number }> {
  await mkdir(folder, { recursive: true });
  const total = (await app.db.query<{ count: number }>(countSince, [organisationId, sinceUs]))[0]!.count;
  const lines = join(folder, 'manifest.csv');
  const entries = join(folder, 'manifest.json');
  await writeFile(`${lines}.part`, csvHead);
  await writeFile(`${entries}.part`, '[');
  let [lastAt, lastId] = [0, '00000000-0000-0000-0000-000000000000'];
  let [exported, unchanged] = [0, 0];
  for (;;) {
    const rows = await app.db.query<{ assessment_id: string; assessed_at: number }>(page, [organisationId, sinceUs, lastAt, lastId]);
    for (const row of rows) {
      if (signal.aborted) return { exported, unchanged };
      const report = await readReport(app, organisationId, row.assessment_id);
      if (report === undefined) continue;
      const file = `${row.assessment_id}.pdf`;
      const there = await readFile(join(folder, file)).catch(() => null);
      if (there !== null && hash('sha256', there, 'hex') === report.sha256) unchanged++;
      else {
        await writeFile(join(folder, `${file}.part`), report.pdf);
        await rename(join(folder, `${file}.part`), join(folder, file));
        exported++;
      }
      const entry: ManifestEntry = { assessment_id: row.assessment_id, assessed_at: new Date(row.assessed_at / 1000).toISOString(), file, sha256: report.sha256, bytes: report.pdf.length };
      await appendFile(`${lines}.part`, `${Object.values(entry).join(',')}\n`);
      await appendFile(`${entries}.part`, `${exported + unchanged === 1 ? '' : ','}\n${JSON.stringify(entry)}`);
      onProgress(exported + unchanged, total);
    }
    if (rows.length < 200) break;
    ({ assessed_at: lastAt, assessment_id: lastId } = rows.at(-1)!);
  }
  await rename(`${lines}.part`, lines);
  await appendFile(`${entries}.part`, '\n]\n');
  await rename(`${entries}.part`, entries);
  return { exported, unchanged };
}
