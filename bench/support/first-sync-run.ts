import pg from 'pg';
import { Client, openMirror } from '../../client/src/index.ts';
import { postgresStore } from '../../client/src/stores/postgres.ts';
import { CopyIn } from './copy-in.ts';
import { peakMemoryMb } from './process.ts';

/**
 * One first sync of everything into PostgreSQL, in a process of its own, by the client's mirror or by a bare COPY of the same
 * rows from the same pages. Arguments: mirror or copy, the service's port, an access key. Prints one JSON line.
 */
const [, , by, port, accessKeyId, secretAccessKey] = process.argv as string[];
const baseUrl = `http://127.0.0.1:${port}`;
const table = 'bench_mirror';
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });
let requests = 0;

async function byMirror(): Promise<number> {
  const client = new Client({
    baseUrl,
    accessKeyId: accessKeyId!,
    secretAccessKey: secretAccessKey!,
    surroundings: {
      fetch: (address, init) => {
        requests++;
        return fetch(address, init);
      },
    },
  });
  const report = await openMirror({ client, store: postgresStore(pool, { table }) }).poll();
  if (report.isProven !== true || report.wholeWalks !== 1) throw new Error(`not in step: ${JSON.stringify(report)}`);
  return report.results;
}

async function byCopy(): Promise<number> {
  const client = await pool.connect();
  const copy = new CopyIn(client, `copy ${table} from stdin`);
  const headers = { 'x-access-key-id': accessKeyId!, 'x-secret-access-key': secretAccessKey! };
  let results = 0;
  let address: string | null = `${baseUrl}/api/v1/assessments?limit=500`;
  let coming = fetch(address, { headers }).then((reply) => reply.json());
  while (address !== null) {
    requests++;
    const { data, pagination } = (await coming) as any;
    const next: string | null =
      pagination.next === null
        ? null
        : `${baseUrl}${new URL(pagination.next).pathname}${new URL(pagination.next).search}`;
    if (next !== null) coming = fetch(next, { headers }).then((reply) => reply.json());
    let text = '';
    for (const one of data)
      text += `${one.assessment_id}\t${one.updated_at}\t${JSON.stringify(one).replaceAll('\\', '\\\\')}\n`;
    await copy.send(Buffer.from(text));
    results += data.length;
    address = next;
  }
  await copy.end();
  client.release();
  return results;
}

await pool.query(`drop table if exists ${table}, ${table}_sync`);
if (by === 'copy')
  await pool.query(
    `create table ${table} (assessment_id uuid primary key, updated_at text not null, record jsonb not null)`,
  );
const begunMs = performance.now();
const results = by === 'copy' ? await byCopy() : await byMirror();
const seconds = (performance.now() - begunMs) / 1000;
await pool.query(`drop table if exists ${table}, ${table}_sync`);
await pool.end();
process.stdout.write(`${JSON.stringify({ seconds, results, requests, mb: peakMemoryMb() })}\n`);
