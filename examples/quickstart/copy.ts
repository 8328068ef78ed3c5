// Keeps a copy of all results in results.sqlite until it is stopped. In this repository:
//   npm run build -w client
//   API=http://127.0.0.1:8080/api/v1 ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… node examples/quickstart/copy.ts
import { DatabaseSync } from 'node:sqlite';
import { Client, sync } from '@ars/client';
import { sqliteStore } from '@ars/client/sqlite';

const { API = '', ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '' } = process.env;

// example begins
const client = new Client({ baseUrl: API, accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY });
const store = sqliteStore(new DatabaseSync('results.sqlite'));
const mirror = sync({ client, store, everyMs: 60_000 });
console.log(await mirror.verify());
await mirror.done;
// example ends
