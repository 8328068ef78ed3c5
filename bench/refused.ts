import pg from 'pg';
import { figure } from './figures.ts';
import { firstJson, load, startNode, stop } from './process.ts';

/**
 * What a caller without valid credentials can write: refused calls from one address, as fast as they are answered, and by
 * how much the database grew. Needs DATABASE_URL (a database of its own) and ARS_SECRET.
 * Usage: node bench/refused.ts [calls]
 */
const calls = Number(process.argv[2] ?? 1_000_000);
const service = startNode(0, [new URL('service.ts', import.meta.url).pathname], { ARS_LOG: 'errors' });
const { port, access_key_id } = await firstJson<{ port: number; access_key_id: string }>(service);
const request = `GET /api/v1/assessments HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Access-Key-Id: ${access_key_id}\r\nX-Secret-Access-Key: wrong\r\n\r\n`;
const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
await db.connect();

async function stored(): Promise<{ bytes: number; rows: number; counted: number }> {
  const { rows } = await db.query<{ bytes: string; rows: string; counted: string }>(
    `select pg_database_size(current_database()) as bytes,
            (select count(*) from audit where organisation_id = 0) as rows,
            (select coalesce(sum(calls), 0) from refused_calls) as counted`,
  );
  const [row] = rows;
  return { bytes: Number(row!.bytes), rows: Number(row!.rows), counted: Number(row!.counted) };
}

const before = await stored();
const answered: Record<string, number> = {};
let seen = 0;
try {
  while (seen < calls) {
    const round = await load(port, 64, 10, request);
    for (const [status, n] of Object.entries(round.statuses)) answered[status] = (answered[status] ?? 0) + n;
    const { rows, counted, bytes } = await stored();
    seen = rows - before.rows + counted - before.counted;
    console.log(`${seen} refused calls (${round.per_second}/s): ${((bytes - before.bytes) / 1000).toFixed(0)} kB more`);
  }
  const after = await stored();
  figure(
    `database larger by, after ${seen.toLocaleString('en-GB')} refused calls`,
    (after.bytes - before.bytes) / 1000,
    'kB',
    {
      atMost: 1000,
    },
  );
  console.log(
    JSON.stringify({
      calls: after.rows - before.rows + after.counted - before.counted,
      rows: after.rows - before.rows,
      counted: after.counted - before.counted,
      bytes: after.bytes - before.bytes,
      answered,
    }),
  );
} finally {
  await db.end();
  await stop(service);
}
