import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import type { Write } from '../../../client/src/index.ts';
import { Client, openWebhook, replayWrites, sync } from '../../../client/src/index.ts';
import { postgresStore } from '../../../client/src/stores/postgres.ts';

/** A consumer with the library, as examples/fastify has it: a mirror of one group in PostgreSQL, polled and woken, and writes of its own. */
const { API = '', ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '', WEBHOOK_SECRET = '', GROUP_ID = '' } = process.env;
const { DATABASE_URL, PORT } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2 });
const client = new Client({ baseUrl: API, accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY });
const group = { type: 'course', ref: 'OWN-1', name: 'Own course' } as const;
const writes: Write[] = [
  { operation: 'provisionLearner', learner: { ref: 'own-1', full_name: 'A Learner', groups: [group] } },
  { operation: 'addMembers', group, learnerRefs: ['CONFORM-20-n'] },
  { operation: 'registerWebhook', endpoint: { url: 'https://portfolio.example.org/hooks', groups: [group] } },
];
await replayWrites(client, writes);
const mirror = sync({
  client,
  onRestored: async () => void (await replayWrites(client, writes)),
  store: postgresStore(pool, { table: 'results' }),
  filters: { group_id: [GROUP_ID] },
  everyMs: 200,
});
createServer(async (request, response) => {
  const header = String(request.headers['x-svc-signature-256']);
  try {
    await openWebhook({ secret: WEBHOOK_SECRET, header, body: await buffer(request) });
    mirror.wake();
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(Number(PORT), '127.0.0.1');
await mirror.done;
