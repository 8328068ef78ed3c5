import { open, rename } from 'node:fs/promises';
import pg from 'pg';
import type { Assessment } from '../client/src/index.ts';
import { isUuid } from '../src/uuid.ts';
import { Failure, Misuse } from './command.ts';
import { readTextFile } from './file.ts';

/** A mirror that somebody else keeps: what it holds, by id, and the ways to put it right. */
export type ForeignMirror = {
  /** Each id with its `updated_at`, as the service writes it. */
  held: Map<string, string>;
  /** Ids that stand in it more than once. */
  repeated: string[];
  put(record: Assessment): Promise<void>;
  remove(id: string): Promise<void>;
  /** Keeps what was put and removed: all of it, or nothing. */
  save(): Promise<void>;
  close(): Promise<void>;
};

export type Columns = { id: string; updatedAt: string; record: string | null; willWrite: boolean };

export function openForeignMirror(place: string, columns: Columns): Promise<ForeignMirror> {
  return place.startsWith('table:') ? openTable(place.slice('table:'.length), columns) : openFile(place, columns);
}

/** A time as the service writes it, from whatever a consumer made of it; null if it is none. */
function instant(text: unknown): string | null {
  if (typeof text !== 'string') return null;
  // A database's own way, with a space, and often without a zone: then in UTC.
  const iso = text
    .trim()
    .replace(' ', 'T')
    .replace(/([+-]\d\d)$/, '$1:00');
  const ms = Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(ms) ? null : new Date(ms).toISOString();
}

/** @throws Failure for what can't be a mirror of results */
function entryOf(id: unknown, updatedAt: unknown, where: string): [string, string] {
  if (typeof id !== 'string' || !isUuid(id.toLowerCase())) throw new Failure(`${where} has no id of a result.`);
  const time = instant(updatedAt);
  if (time === null) throw new Failure(`${where} has no date-time of its last change.`);
  return [id.toLowerCase(), time];
}

/** NDJSON: a record, or just its id and time, on each line. */
async function openFile(file: string, { id, updatedAt, willWrite }: Columns): Promise<ForeignMirror> {
  if (willWrite && file === '-') throw new Misuse('--repair needs a file that can be written');
  const held = new Map<string, string>();
  const lines = new Map<string, string>();
  const repeated: string[] = [];
  for (const [number, line] of (await readTextFile(file)).split('\n').entries()) {
    if (line.trim() === '') continue;
    const where = `Line ${number + 1} of ${file}`;
    let found: Record<string, unknown>;
    try {
      found = JSON.parse(line) as Record<string, unknown>;
    } catch {
      throw new Failure(`${where} is not JSON.`);
    }
    const [key, time] = entryOf(found?.[id], found?.[updatedAt], where);
    if (held.has(key)) repeated.push(key);
    held.set(key, time);
    lines.set(key, line);
  }
  return {
    held,
    repeated,
    async put(record) {
      lines.set(record.assessment_id, JSON.stringify(record));
    },
    async remove(key) {
      lines.delete(key);
    },
    async save() {
      const draft = await open(`${file}.new`, 'w');
      await draft.writeFile([...lines.values()].map((line) => `${line}\n`).join(''));
      await draft.sync();
      await draft.close();
      await rename(`${file}.new`, file);
    },
    async close() {},
  };
}

const fetched = 10_000;

/** A table of the database in DATABASE_URL: the consumer's, not the service's. */
async function openTable(table: string, { id, updatedAt, record, willWrite }: Columns): Promise<ForeignMirror> {
  if (willWrite && record === null)
    throw new Misuse('--repair of a table needs --record-column, the column of json or jsonb that holds whole records');
  const { DATABASE_URL = '' } = process.env;
  if (DATABASE_URL === '') throw new Misuse("DATABASE_URL must name the mirror's own database");
  const quoted = (name: string) => name.split('.').map(pg.escapeIdentifier).join('.');
  const [from, idColumn, timeColumn] = [quoted(table), quoted(id), quoted(updatedAt)];
  const client = new pg.Client({ connectionString: DATABASE_URL, options: '-c TimeZone=UTC' });
  try {
    await client.connect();
    // Nobody changes the mirror between what is read and what is written.
    await client.query('begin');
    if (willWrite) await client.query(`lock table ${from} in share row exclusive mode`);
    await client.query(
      `declare everything no scroll cursor for select ${idColumn}::text as id, ${timeColumn}::text as time from ${from}`,
    );
    const held = new Map<string, string>();
    const repeated: string[] = [];
    for (;;) {
      const { rows } = await client.query<{ id: string; time: string }>(`fetch ${fetched} from everything`);
      for (const row of rows) {
        const [key, time] = entryOf(row.id, row.time, `A row of ${table}`);
        if (held.has(key)) repeated.push(key);
        held.set(key, time);
      }
      if (rows.length < fetched) break;
    }
    return {
      held,
      repeated,
      async put(result) {
        const values = [result.assessment_id, result.updated_at, JSON.stringify(result)];
        const changed = await client.query(
          `update ${from} set ${timeColumn} = $2, ${quoted(record!)} = $3 where ${idColumn}::text = $1`,
          values,
        );
        if (changed.rowCount === 0)
          await client.query(
            `insert into ${from} (${idColumn}, ${timeColumn}, ${quoted(record!)}) values ($1, $2, $3)`,
            values,
          );
      },
      async remove(key) {
        await client.query(`delete from ${from} where ${idColumn}::text = $1`, [key]);
      },
      async save() {
        await client.query('commit');
      },
      close: () => client.end(),
    };
  } catch (error) {
    await client.end().catch(() => {});
    if (error instanceof Failure) throw error;
    throw new Failure(`The mirror's table can't be read: ${(error as Error).message}.`);
  }
}
