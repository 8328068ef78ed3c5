import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import pg from 'pg';
import { Client, openWebhook, sync } from '../../client/src/index.ts';
import { postgresStore } from '../../client/src/stores/postgres.ts';

/** A consumer with the library, as examples/fastify has it: a mirror of one group in PostgreSQL, polled and woken. */
const { API = '', ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '', WEBHOOK_SECRET = '', GROUP_ID = '' } = process.env;
const { DATABASE_URL, PORT } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2 });
const mirror = sync({
  client: new Client({ baseUrl: API, accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY }),
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
