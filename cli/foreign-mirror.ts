import pg from 'pg';
import type { Assessment } from '../client/src/index.ts';
import { checkOf } from '../client/src/sync/digest.ts';
import { isUuid } from '../src/uuid.ts';
import { Failure, Misuse } from './command.ts';
import { fileLines } from './file.ts';
import { writeWhole } from './in-place.ts';
import { limits } from '../src/limits.ts';
import { terminal } from './terminal.ts';

/** A mirror that somebody else keeps: what it holds, by id, and the ways to put it right. */
export type ForeignMirror = {
  /** Each id with its `updated_at`, as the service writes it; '' where what stands there is no time. */
  held: Map<string, string>;
  /** Ids that stand in it more than once. */
  repeated: string[];
  /** Lines or rows that are no results. */
  unreadable: string[];
  /** A sum of each record's content; null where whole records aren't there, or weren't asked for. */
  contents: Map<string, string> | null;
  /**
   * The record takes the place of everything that stands under its id; null takes that away. What the mirror has changed itself
   * since it was read is left alone. A table is locked for as long as this takes; a file changes with `save`.
   */
  write(changes: Map<string, Assessment | null>): Promise<void>;
  /** Takes away what is no result, and ends the repair. @returns ids of what was left alone */
  save(): Promise<string[]>;
  close(): Promise<void>;
};

export type Columns = {
  id: string;
  updatedAt: string;
  record: string | null;
  willWrite: boolean;
  readsContents?: boolean;
};

export function openForeignMirror(place: string, columns: Columns): Promise<ForeignMirror> {
  return place.startsWith('table:') ? openTable(place.slice('table:'.length), columns) : openFile(place, columns);
}

/** A time as the service writes it, from whatever a consumer made of it; '' if it is none. */
function instant(given: unknown): string {
  const text = typeof given === 'number' ? String(given) : given;
  if (typeof text !== 'string') return '';
  // A database's own way, with a space, and often without a zone: then in UTC.
  const iso = text
    .trim()
    .replace(' ', 'T')
    .replace(/([+-]\d\d)$/, '$1:00');
  const isNumber = /^\d{12,14}(\.\d*)?$/.test(iso);
  const ms = isNumber ? Math.floor(Number(iso)) : Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

/** An id as the service writes it; what is none stays none. */
const keyOf = (id: unknown) => (typeof id === 'string' ? id.toLowerCase() : '');

/** What is read of a mirror, row by row. */
class Reading {
  readonly held = new Map<string, string>();
  readonly repeated: string[] = [];
  readonly unreadable: string[] = [];
  readonly contents: Map<string, string> | null;

  constructor(readsContents = false) {
    this.contents = readsContents ? new Map() : null;
  }

  take(key: string, updatedAt: unknown, where: string, record: unknown): void {
    if (!isUuid(key)) {
      this.unreadable.push(where);
      return;
    }
    if (this.held.has(key)) this.repeated.push(key);
    this.held.set(key, instant(updatedAt));
    this.contents?.set(key, checkOf(record));
  }

  /** @throws Failure where nothing is a result, and then something else was read than a mirror */
  judge(): void {
    const [first] = this.unreadable;
    if (this.held.size === 0 && first !== undefined) throw new Failure(`${first} has no id of a result.`);
    const isTimeless = this.held.size > 0 && [...this.held.values()].every((time) => time === '');
    if (isTimeless) throw new Failure('None of the mirror’s results has the date-time of its last change.');
  }
}

/**
 * Whether what stands under an id is still what was read, or is already what is to stand there.
 * @param now the time of everything that stands there
 */
function isAsRead(now: string[], read: string | undefined, wanted: Assessment | null): boolean {
  if (now.length === 0) return read === undefined || wanted === null;
  return (read !== undefined && now.includes(read)) || now.every((time) => time === wanted?.updated_at);
}

/** NDJSON: a record, or just its id and time, on each line. */
async function openFile(file: string, columns: Columns): Promise<ForeignMirror> {
  const { id, updatedAt, record: recordName, willWrite, readsContents } = columns;
  if (willWrite && file === '-') throw new Misuse('--repair needs a file that can be written');
  /** Each line that is not empty, with the result's id that it has. */
  async function* lines(): AsyncGenerator<{ key: string; line: string; found: Record<string, unknown>; at: number }> {
    let at = 0;
    for await (const line of fileLines(file, limits.importLineBytes)) {
      at += 1;
      if (line.trim() === '') continue;
      const found = parsed(at === 1 ? line.replace(/^\uFEFF/, '') : line);
      yield { key: keyOf(found[id]), line, found, at };
    }
  }
  const reading = new Reading(readsContents);
  let isWhole = recordName !== null || readsContents === true;
  for await (const { key, found, at } of lines()) {
    reading.take(key, found[updatedAt], `Line ${at} of ${file}`, recordName === null ? found : found[recordName]);
    isWhole ||= Object.keys(found).some((name) => name !== id && name !== updatedAt);
  }
  reading.judge();
  const { held, repeated, unreadable, contents } = reading;
  // Where lines hold no more than ids and times, nobody's name comes among them.
  const isBare = !isWhole && held.size > 0;
  const lineOf = (result: Assessment): string => {
    const named = { [id]: result.assessment_id, [updatedAt]: result.updated_at };
    if (isBare) return JSON.stringify(named);
    return JSON.stringify(recordName === null ? { ...result, ...named } : { ...named, [recordName]: result });
  };
  const changes = new Map<string, Assessment | null>();
  return {
    held,
    repeated,
    unreadable,
    contents,
    async write(more) {
      for (const [key, record] of more) changes.set(key, record);
    },
    async save() {
      const now = new Map<string, string[]>();
      for await (const { key, found } of lines())
        if (changes.has(key)) now.set(key, [...(now.get(key) ?? []), instant(found[updatedAt])]);
      const left = [...changes]
        .filter(([key, wanted]) => !isAsRead(now.get(key) ?? [], held.get(key), wanted))
        .map(([key]) => key);
      for (const key of left) changes.delete(key);
      const kept = async function* () {
        for await (const { key, line } of lines()) if (isUuid(key) && !changes.has(key)) yield `${line}\n`;
        for (const record of changes.values()) if (record !== null) yield `${lineOf(record)}\n`;
      };
      await writeWhole(file, kept());
      return left;
    },
    async close() {},
  };
}

/** A line that is no JSON object has none of the fields. */
function parsed(line: string): Record<string, unknown> {
  try {
    return (JSON.parse(line) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const fetched = 10_000;

const { INT8, NUMERIC, FLOAT8 } = pg.types.builtins;
const numberTypes = new Set<number>([INT8, NUMERIC, FLOAT8]);

/** A table of the consumer's, and the names of its columns, as they stand in statements. */
class Table {
  readonly client: pg.Client;
  readonly name: string;
  readonly from: string;
  readonly id: string;
  readonly time: string;
  readonly record: string | null;

  constructor(url: string, name: string, { id, updatedAt, record }: Columns) {
    const quoted = (one: string) => one.split('.').map(pg.escapeIdentifier).join('.');
    this.client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC -c DateStyle=ISO' });
    // A connection that ends while results are being fetched is told by the next statement.
    this.client.on('error', () => {});
    this.name = name;
    [this.from, this.id, this.time] = [quoted(name), quoted(id), quoted(updatedAt)];
    this.record = record === null ? null : quoted(record);
  }

  async ask(verb: 'read' | 'written', sql: string, values?: unknown[]) {
    try {
      return await this.client.query<Record<string, string | null>>(sql, values);
    } catch (error) {
      throw new Failure(`The mirror's table can't be ${verb}: ${(error as Error).message}.`);
    }
  }

  remove(keys: (string | null)[]) {
    return this.ask('written', `delete from ${this.from} where ${this.id} = any($1)`, [keys]);
  }

  /** Nobody else writes from here to the end of the work. */
  async locked(work: () => Promise<void>): Promise<void> {
    await this.ask('written', 'begin');
    await this.ask('written', `lock table ${this.from} in share row exclusive mode`);
    await work();
    await this.ask('written', 'commit');
  }
}

/** A table of the database in DATABASE_URL: the consumer's, not the service's. */
async function openTable(name: string, columns: Columns): Promise<ForeignMirror> {
  const { record, willWrite, readsContents } = columns;
  if ((willWrite || readsContents === true) && record === null)
    throw new Misuse(
      `--${willWrite ? 'repair' : 'content'} of a table needs --record-column, the column of json or jsonb that holds whole records`,
    );
  const { DATABASE_URL = '' } = terminal().environment;
  if (DATABASE_URL === '') throw new Misuse("DATABASE_URL must name the mirror's own database");
  const table = new Table(DATABASE_URL, name, columns);
  const { client } = table;
  try {
    await client.connect().catch((error: Error) => {
      throw new Failure(`The mirror's database can't be reached: ${error.message}.`);
    });
    const rows = await readTable(table, readsContents === true);
    const { held, repeated, unreadable, contents } = rows.reading;
    // Times that stand there as milliseconds since 1970.
    const { fields } = await table.ask('read', `select ${table.time} from ${table.from} limit 0`);
    const isNumber = numberTypes.has(fields[0]!.dataTypeID);
    const close = () => client.end();
    return { held, repeated, unreadable, contents, ...tableRepair(table, rows, isNumber), close };
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}

type TableRows = {
  reading: Reading;
  /** Ids as they stand in the table, where they are written otherwise than the service does. */
  written: Map<string, string[]>;
  /** What stands in place of an id, and is none. */
  strangers: (string | null)[];
};

/** Reads one state of the table, and nobody waits for it: what is written later is looked at again before. */
async function readTable(table: Table, readsContents: boolean): Promise<TableRows> {
  await table.ask('read', 'begin read only');
  const recordText = readsContents ? `${table.record!}::text` : 'null';
  await table.ask(
    'read',
    `declare everything no scroll cursor for
       select ${table.id}::text as id, ${table.time}::text as time, ${recordText} as record from ${table.from}`,
  );
  const reading = new Reading(readsContents);
  const written = new Map<string, string[]>();
  const strangers: (string | null)[] = [];
  for (;;) {
    const { rows } = await table.ask('read', `fetch ${fetched} from everything`);
    for (const row of rows) {
      const key = keyOf(row.id);
      reading.take(key, row.time, `A row of ${table.name}`, parsed(row.record ?? ''));
      if (!isUuid(key)) strangers.push(row.id!);
      else if (row.id !== key) written.set(key, [...(written.get(key) ?? []), row.id!]);
    }
    if (rows.length < fetched) break;
  }
  await table.ask('read', 'commit');
  reading.judge();
  return { reading, written, strangers };
}

function tableRepair(
  table: Table,
  { reading, written, strangers }: TableRows,
  isNumber: boolean,
): Pick<ForeignMirror, 'write' | 'save'> {
  const { from, id, time, record } = table;
  /** Everything that an id may stand there as: as the service writes it, in capitals, and as it was read. */
  const formsOf = (key: string) => [key, key.toUpperCase(), ...(written.get(key) ?? [])];
  const put = async (under: string[], result: Assessment) => {
    const { assessment_id: key, updated_at: updatedAt } = result;
    const values = [under[0] ?? key, isNumber ? Date.parse(updatedAt) : updatedAt, JSON.stringify(result)];
    // Of several only one may stay, and which is the same.
    if (under.length > 1) await table.remove(under);
    const update = `update ${from} set ${time} = $2, ${record} = $3 where ${id} = $1`;
    const changed = await table.ask('written', update, values);
    if (changed.rowCount === 0)
      await table.ask('written', `insert into ${from} (${id}, ${time}, ${record}) values ($1, $2, $3)`, values);
  };
  const left: string[] = [];
  return {
    write: (changes) =>
      table.locked(async () => {
        const forms = [...changes.keys()].flatMap(formsOf);
        const sql = `select ${id}::text as id, ${time}::text as time from ${from} where ${id} = any($1)`;
        const now = Map.groupBy((await table.ask('read', sql, [forms])).rows, (row) => keyOf(row.id));
        const gone: string[] = [];
        for (const [key, wanted] of changes) {
          const there = now.get(key) ?? [];
          const under = there.map((row) => row.id!);
          const times = there.map((row) => instant(row.time));
          if (!isAsRead(times, reading.held.get(key), wanted)) left.push(key);
          else if (wanted === null) gone.push(...under);
          else await put(under, wanted);
        }
        await table.remove(gone);
      }),
    async save() {
      if (strangers.length > 0)
        await table.locked(async () => {
          await table.remove(strangers);
          if (strangers.includes(null)) await table.ask('written', `delete from ${from} where ${id} is null`);
        });
      return left;
    },
  };
}
