// Brings a file up to date with the service's results. Run it once a minute; without the file it starts from the beginning.
//   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… node sync.ts results.json
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';

const { API: api, ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '' } = process.env;
const keys = { 'X-Access-Key-Id': ACCESS_KEY_ID, 'X-Secret-Access-Key': SECRET_ACCESS_KEY };
const file = process.argv[2] ?? 'results.json';
const state = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { since: null, etag: '""', results: {} };

type Page = { data: { assessment_id: string; status?: string }[]; pagination: { next: string } };

// example begins
let url = `${api}/assessments?limit=500${state.since === null ? '' : `&since=${state.since}`}`;
let walk = null;
let restores = 0;
while (url) {
  // An ETag is valid for the first page only.
  const etag = walk === null ? state.etag : '""';
  const reply = await fetch(url, { redirect: 'error', headers: { ...keys, 'If-None-Match': etag } });
  const from = walk?.since ?? state.since ?? '';
  const restored = from !== '' && (reply.headers.get('X-Sync-Restored') ?? '') > from;
  const wentBack = (reply.headers.get('X-Sync-Through') ?? from) < from;
  const refusal = reply.ok || reply.status === 304 ? '' : await reply.text();
  if (restored || wentBack || refusal.includes('"invalid_cursor"')) {
    // The service was restored from a backup: start again without since. What the new walk does not show is gone.
    if (++restores > 3) throw new Error('The service was restored again and again. Try again later.');
    Object.assign(state, { since: null, etag: '""', results: {} });
    [url, walk] = [`${api}/assessments?limit=500`, null];
    continue;
  }
  if (reply.status === 304) break;
  if (refusal !== '') throw new Error(refusal);
  walk ??= { since: reply.headers.get('X-Sync-Through'), etag: reply.headers.get('ETag') };
  const { data, pagination } = (await reply.json()) as Page;
  for (const record of data) {
    if (record.status === 'completed') state.results[record.assessment_id] = record;
    else delete state.results[record.assessment_id];
  }
  url = pagination.next;
}
Object.assign(state, walk);
// example ends

writeFileSync(`${file}.new`, JSON.stringify(state));
renameSync(`${file}.new`, file);
console.log(
  `${Object.keys(state.results).length} results, ${walk === null ? 'nothing has changed' : `in step through ${state.since}`}`,
);
