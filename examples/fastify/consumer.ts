// A consumer with Fastify and PostgreSQL: a mirror of the results in its own database, kept by polling and by webhooks,
// and pages that read nothing but that mirror. npm install fastify pg, and the client (examples/README.md).
//   API=… ACCESS_KEY_ID=… SECRET_ACCESS_KEY=… WEBHOOK_SECRET=whsec_… DATABASE_URL=… PORT=3000 node consumer.ts
import { Client, openWebhook, sync, WebhookError } from '@ars/client';
import { postgresStore } from '@ars/client/postgres';
import fastify from 'fastify';
import pg from 'pg';

const { API = '', ACCESS_KEY_ID = '', SECRET_ACCESS_KEY = '', WEBHOOK_SECRET = '', DATABASE_URL, PORT } = process.env;
const stopping = new AbortController();
const pool = new pg.Pool({ connectionString: DATABASE_URL });
await pool.query(
  'create table if not exists news (id bigserial primary key, kind text not null, assessment_id uuid not null)',
);

const client = new Client({ baseUrl: API, accessKeyId: ACCESS_KEY_ID, secretAccessKey: SECRET_ACCESS_KEY });
const mirror = sync({
  client,
  store: postgresStore(pool, { table: 'results' }),
  signal: stopping.signal,
  // The news and the results that they tell of are one transaction.
  async onChange(changes, transaction) {
    const told = JSON.stringify(changes.map(({ kind, id }) => ({ kind, id })));
    await transaction.query(
      'insert into news (kind, assessment_id) select kind, id from jsonb_to_recordset($1::jsonb) as t(kind text, id uuid)',
      [told],
    );
  },
  onReport(report) {
    if ('failed' in report) app.log.warn(report.failed);
  },
});

const app = fastify({ logger: { level: 'warn' } });
// The signature is over the bytes as they arrive.
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post('/webhooks', async (request, reply) => {
  const header = request.headers['x-svc-signature-256'];
  try {
    await openWebhook({ secret: WEBHOOK_SECRET, header: String(header), body: request.body as Buffer });
  } catch (error) {
    if (error instanceof WebhookError || error instanceof SyntaxError) return reply.code(400).send();
    throw error;
  }
  // An event says when to look; the feed says what there is.
  mirror.wake();
  return reply.code(204).send();
});

app.get(
  '/results',
  async () => (await pool.query('select record from results order by updated_at desc limit 100')).rows,
);
app.get('/news', async () => (await pool.query('select kind, assessment_id from news order by id')).rows);
app.get('/why/:id', (request) => mirror.explain((request.params as { id: string }).id));

const address = await app.listen({ host: '127.0.0.1', port: Number(PORT ?? 3000) });
console.log(`listening at ${address}`);
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stopping.abort());
await mirror.done;
await app.close();
await pool.end();
