import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { facetOf } from '../src/assessments/facet.ts';
import { CopyIn } from './copy-in.ts';
import { backendsCpuUs } from './process.ts';

/**
 * Two other ways of storing a file of results in tables of the same columns, indexes and constraints, which stand in a schema
 * of their own: what the import is measured beside.
 */

/** Processor time: of this process and of PostgreSQL. */
export type Spent = { seconds: number; nodeUs: number; postgresUs: number };

const none: Spent = { seconds: 0, nodeUs: 0, postgresUs: 0 };

async function spent(client: pg.Client, before: Spent, work: () => Promise<void>): Promise<Spent> {
  const tx = { query: async (sql: string) => (await client.query(sql)).rows } as never;
  const [node, postgresUs, started] = [process.cpuUsage(), await backendsCpuUs(tx), performance.now()];
  await work();
  const seconds = before.seconds + (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(node);
  return {
    seconds,
    nodeUs: before.nodeUs + user + system,
    postgresUs: before.postgresUs + (await backendsCpuUs(tx)) - postgresUs,
  };
}

const tables = ['learner', 'learner_feed', 'assessment', 'assessment_feed', 'review'] as const;

async function emptyTwins(client: pg.Client): Promise<void> {
  await client.query('drop schema if exists peer cascade; create schema peer');
  for (const table of tables) await client.query(`create table peer.${table} (like public.${table} including all)`);
}

async function columnsOf(client: pg.Client, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(quote_ident(column_name), ', ' order by ordinal_position) as columns
       from information_schema.columns where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`,
    [table],
  );
  return rows[0]!.columns;
}

/**
 * COPY of rows that are there already: what PostgreSQL takes to store them, and nobody to check or to place anything.
 */
export async function byCopy(databaseUrl: string): Promise<Spent> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await emptyTwins(client);
  let all = none;
  for (const table of tables) {
    const columns = await columnsOf(client, table);
    // A table at a time, as texts of some thousand rows: what COPY reads is at hand when its clock starts.
    const { rows } = await client.query<{ text: string }>(
      `select string_agg(line, E'\\n') || E'\\n' as text from (
         select ${asCopied(columns)} as line, (row_number() over ()) / 5000 as part from public.${table}) l group by part order by part`,
    );
    const chunks = rows.map((row) => Buffer.from(row.text));
    all = await spent(client, all, async () => {
      const copy = new CopyIn(client, `copy peer.${table} (${columns}) from stdin`);
      for (const chunk of chunks) await copy.send(chunk);
      await copy.end();
    });
  }
  await client.query('drop schema peer cascade');
  await client.end();
  return all;
}

/** A row in the text form of COPY, made by the database. */
function asCopied(columns: string): string {
  const escaped = (column: string) =>
    `coalesce(replace(replace(replace(replace(${column}::text, E'\\\\', E'\\\\\\\\'), E'\\t', E'\\\\t'), E'\\n', E'\\\\n'), E'\\r', E'\\\\r'), E'\\\\N')`;
  return columns.split(', ').map(escaped).join(` || E'\\t' || `);
}

const rowsInStatement = 500;

/**
 * A straightforward loader: reads lines, and inserts them by prepared statements of 500 rows, a transaction each. It checks
 * nothing, knows its learners from the file itself, and nobody follows what it writes.
 */
export async function byInserts(databaseUrl: string, file: string, organisationId: number): Promise<Spent> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await emptyTwins(client);
  const { rows: sets } = await client.query<{ group_set_id: string }>(
    'select group_set_id from group_set where organisation_id = $1 limit 1',
    [organisationId],
  );
  const waiting = new Map<string, unknown[][]>();
  const learners = new Map<string, string>();
  let position = 0;
  const add = (table: string, ...row: unknown[]) => {
    if (!waiting.has(table)) waiting.set(table, []);
    waiting.get(table)!.push([organisationId, ...row]);
  };
  async function flush(table: string, columns: string): Promise<void> {
    const rows = waiting.get(table) ?? [];
    waiting.delete(table);
    if (rows.length === 0) return;
    const width = rows[0]!.length;
    const places = rows.map((_, i) => `(${Array.from({ length: width }, (_, c) => `$${i * width + c + 1}`).join()})`);
    await client.query({
      name: `${table}.${rows.length}`,
      text: `insert into peer.${table} (organisation_id, ${columns}) values ${places.join()}`,
      values: rows.flat(),
    });
  }
  async function commit(): Promise<void> {
    await client.query('begin');
    await flush('learner', 'learner_id, ref, full_name, created_at');
    await flush('learner_feed', 'learner_id, group_set_id, position');
    await flush('assessment', 'assessment_id, learner_id, source, assessed_at, facet, learner, body, first_position');
    await flush(
      'assessment_feed',
      'assessment_id, learner_id, group_set_id, position, first_position, assessed_at, assessed_day, facet',
    );
    await flush('review', 'assessment_id, learner_id, review_no, flags, subject, opened_at');
    await client.query('commit');
  }

  const all = await spent(client, none, async () => {
    let count = 0;
    for await (const line of createInterface({ input: createReadStream(file) })) {
      const { learner, ...record } = JSON.parse(line);
      let learnerId = learners.get(learner.ref);
      if (learnerId === undefined) {
        learners.set(learner.ref, (learnerId = randomUUID()));
        add('learner', learnerId, learner.ref, learner.full_name, new Date(record.assessed_at));
        add('learner_feed', learnerId, sets[0]!.group_set_id, ++position);
      }
      const id = randomUUID();
      const assessedAt = Date.parse(record.assessed_at) * 1000;
      const facet = facetOf(record.subject, record)!;
      const day = Math.floor(assessedAt / 86_400_000_000);
      const [name, body] = [JSON.stringify(learner), JSON.stringify(record)];
      add('assessment', id, learnerId, 'imported', assessedAt, facet, name, body, ++position);
      add('assessment_feed', id, learnerId, sets[0]!.group_set_id, position, position, assessedAt, day, facet);
      if (record.needs_review)
        add('review', id, learnerId, 1, ['needs_review'], record.subject, new Date(record.assessed_at));
      if (++count % rowsInStatement === 0) await commit();
    }
    await commit();
  });
  await client.query('drop schema peer cascade');
  await client.end();
  return all;
}
