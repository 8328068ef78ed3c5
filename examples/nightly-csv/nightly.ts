// Every night: brings a mirror in a JSON file up to date, and writes all results as CSV for a spreadsheet or an import.
//   API=… ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… node nightly.ts results.json results.csv
// cron: 15 2 * * *. It ends with 1, and leaves the last CSV as it was, if the service could not be read.
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Assessment } from '@ars/client';
import { Client, openMirror } from '@ars/client';
import { jsonFileStore } from '@ars/client/json-file';

const { API = '', ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '' } = process.env;
const [file = 'results.json', csv = 'results.csv'] = process.argv.slice(2);

const columns: Record<string, (result: Assessment) => unknown> = {
  assessment_id: (result) => result.assessment_id,
  learner_ref: (result) => result.learner.ref,
  full_name: (result) => result.learner.full_name,
  subject: (result) => result.subject,
  assessed_at: (result) => result.assessed_at,
  rqf_level: (result) => result.rqf_level,
  rqf_level_code: (result) => result.rqf_level_code,
  below_level_1: (result) => result.below_level_1,
  groups: (result) => result.groups.map((group) => group.name).join('; '),
};

/** One cell. What a spreadsheet would take for a formula is made text: names come from learners. */
function cell(value: unknown): string {
  const text = String(value ?? '');
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n;]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

const client = new Client({ baseUrl: API, accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY });
const report = await openMirror({ client, store: jsonFileStore(file) }).poll();
const { results } = JSON.parse(await readFile(file, 'utf8')) as { results: Record<string, { record: Assessment }> };
const rows = Object.values(results)
  .map(({ record }) => record)
  .sort((one, other) => (one.assessed_at < other.assessed_at ? -1 : 1))
  .map((record) => Object.values(columns).map((column) => cell(column(record))));
// With a mark by which Excel knows UTF-8, and under its name only once it is whole.
const lines = [Object.keys(columns), ...rows].map((row) => `${row.join(',')}\r\n`);
await writeFile(`${csv}.new`, `\uFEFF${lines.join('')}`, { mode: 0o600 });
await rename(`${csv}.new`, csv);
console.log(`${report.results} results: ${report.added} added, ${report.changed} changed, ${report.removed} removed`);
