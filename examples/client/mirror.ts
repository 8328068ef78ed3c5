// Keeps the service's results in an SQLite file until it is stopped, whatever happens meanwhile. In this repository:
//   npm run build -w client
//   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… npx node examples/client/mirror.ts results.sqlite
import { DatabaseSync } from 'node:sqlite';
import { Client, sync } from '@ars/client';
import { sqliteStore } from '@ars/client/sqlite';

const { API = '', ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '' } = process.env;
const stopping = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort());

// example begins
const client = new Client({ baseUrl: API, accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY });
const mirror = sync({
  client,
  store: sqliteStore(new DatabaseSync(process.argv[2] ?? 'results.sqlite')),
  everyMs: 10_000,
  onChange: (changes) => console.log(`${changes.length} changes`),
  onReport: (report) =>
    console.log(
      'failed' in report
        ? 'later'
        : `${report.results} results, through ${report.since}${report.isProven ? ', proved' : ''}`,
    ),
  signal: stopping.signal,
});
// Another program may have changed the file, so the mirror counts its rows at every start.
void mirror.verify().catch(() => {});
await mirror.done;
// example ends
