// Brings a file up to date with the service's results. Run it once a minute; without the file it starts from the beginning.
//   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… node sync.ts results.json
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const { API: api, ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '' } = process.env;
const keys = { 'X-Access-Key-Id': ACCESS_KEY_ID, 'X-Secret-Access-Key': SECRET_ACCESS_KEY };
const file = process.argv[2] ?? 'results.json';
const state = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { since: null, etag: '""', results: {} };

type Page = { data: { assessment_id: string; status?: string }[]; pagination: { next: string } };

// README begins
let url = `${api}/assessments?limit=500${state.since === null ? '' : `&since=${state.since}`}`;
let walk = null;
while (url) {
  const reply = await fetch(url, { redirect: 'error', headers: { ...keys, 'If-None-Match': state.etag } });
  if (reply.status === 304) break;
  if (!reply.ok) throw new Error(await reply.text());
  if (state.since !== null && (reply.headers.get('X-Sync-Restored') ?? '') > state.since) {
    // A backup came back there, without what arose after it: everything is read anew.
    Object.assign(state, { since: null, results: {} });
    url = `${api}/assessments?limit=500`;
    continue;
  }
  walk ??= { since: reply.headers.get('X-Sync-Through'), etag: reply.headers.get('ETag') };
  const { data, pagination } = (await reply.json()) as Page;
  for (const record of data) {
    if (record.status === 'completed') state.results[record.assessment_id] = record;
    else delete state.results[record.assessment_id];
  }
  url = pagination.next;
}
Object.assign(state, walk);
// README ends

writeFileSync(`${file}.new`, JSON.stringify(state));
renameSync(`${file}.new`, file);
console.log(
  `${Object.keys(state.results).length} results, ${walk === null ? 'nothing has changed' : `in step through ${state.since}`}`,
);
