import pg from 'pg';
import type { Assessment } from '../../../client/src/index.ts';
import { checkOf } from '../../../client/src/sync/digest.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { Failure, Misuse } from '../../kit/command.ts';
import { fileLines } from '../../kit/file.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { terminal } from '../../kit/terminal.ts';

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

/** A table of the database in DATABASE_URL: the consumer's, not the service's. Columns are named as in statements. */
class TableMirror extends Reading implements ForeignMirror {
  readonly #client: pg.Client;
  readonly #name: string;
  readonly #from: string;
  readonly #id: string;
  readonly #time: string;
  readonly #record: string;
  /** Whether times stand there as milliseconds since 1970. */
  #isNumber = false;
  /** Ids as they stand in the table, where they are written otherwise than the service does. */
  readonly #written = new Map<string, string>();
  /** What stands in place of an id, and is none. */
  readonly #strangers: (string | null)[] = [];
  readonly #left: string[] = [];

  constructor(url: string, name: string, { id, updatedAt, record, readsContents }: Columns) {
    super(readsContents);
    const quoted = (one: string) => one.split('.').map(pg.escapeIdentifier).join('.');
    this.#client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC -c DateStyle=ISO' });
    // A connection that ends while results are being fetched is told by the next statement.
    this.#client.on('error', () => {});
    this.#name = name;
    [this.#from, this.#id, this.#time] = [quoted(name), quoted(id), quoted(updatedAt)];
    this.#record = record === null ? 'null' : quoted(record);
  }

  async #ask(verb: 'read' | 'written', sql: string, values?: unknown[]) {
    try {
      return await this.#client.query<Record<string, string | null>>(sql, values);
    } catch (error) {
      throw new Failure(`The mirror's table can't be ${verb}: ${(error as Error).message}.`);
    }
  }

  /** Reads one state of the table without a lock. Rows that are written later are read again before they are changed. */
  async read(): Promise<void> {
    await this.#client.connect().catch((error: Error) => {
      throw new Failure(`The mirror's database can't be reached: ${error.message}.`);
    });
    await this.#ask('read', 'begin read only');
    const { fields } = await this.#ask('read', `select ${this.#time} from ${this.#from} limit 0`);
    this.#isNumber = numberTypes.has(fields[0]!.dataTypeID);
    const record = this.contents === null ? 'null' : `${this.#record}::text`;
    const all = `select ${this.#id}::text as id, ${this.#time}::text as time, ${record} as record from ${this.#from}`;
    await this.#ask('read', `declare everything no scroll cursor for ${all}`);
    for (;;) {
      const { rows } = await this.#ask('read', `fetch ${fetched} from everything`);
      for (const row of rows) {
        const key = keyOf(row.id);
        this.take(key, row.time, `A row of ${this.#name}`, parsed(row.record ?? ''));
        if (!isUuid(key)) this.#strangers.push(row.id!);
        else if (row.id !== key) this.#written.set(key, row.id!);
      }
      if (rows.length < fetched) break;
    }
    await this.#ask('read', 'commit');
    this.judge();
  }

  /** Nobody else writes from here to the end of the work. */
  async #locked(work: () => Promise<void>): Promise<void> {
    await this.#ask('written', 'begin');
    await this.#ask('written', `lock table ${this.#from} in share row exclusive mode`);
    await work();
    await this.#ask('written', 'commit');
  }

  #remove(ids: (string | null)[]) {
    return this.#ask('written', `delete from ${this.#from} where ${this.#id} = any($1)`, [ids]);
  }

  /** @param under the ids as they stand there now */
  async #put(under: string[], result: Assessment): Promise<void> {
    const { assessment_id: key, updated_at: updatedAt } = result;
    const values = [under[0] ?? key, this.#isNumber ? Date.parse(updatedAt) : updatedAt, JSON.stringify(result)];
    // Of several only one may stay, and which is the same.
    if (under.length > 1) await this.#remove(under);
    const insert = `insert into ${this.#from} (${this.#id}, ${this.#time}, ${this.#record}) values ($1, $2, $3)`;
    const update = `update ${this.#from} set ${this.#time} = $2, ${this.#record} = $3 where ${this.#id} = $1`;
    await this.#ask('written', under.length === 1 ? update : insert, values);
  }

  write(changes: Map<string, Assessment | null>): Promise<void> {
    return this.#locked(async () => {
      const forms = [...changes.keys()].flatMap((key) => [key, key.toUpperCase(), this.#written.get(key) ?? key]);
      const sql = `select ${this.#id}::text as id, ${this.#time}::text as time from ${this.#from} where ${this.#id} = any($1)`;
      const now = Map.groupBy((await this.#ask('read', sql, [forms])).rows, (row) => keyOf(row.id));
      const gone: string[] = [];
      for (const [key, wanted] of changes) {
        const there = now.get(key) ?? [];
        const under = there.map((row) => row.id!);
        const times = there.map((row) => instant(row.time));
        if (!isAsRead(times, this.held.get(key), wanted)) this.#left.push(key);
        else if (wanted === null) gone.push(...under);
        else await this.#put(under, wanted);
      }
      await this.#remove(gone);
    });
  }

  async save(): Promise<string[]> {
    if (this.#strangers.length > 0)
      await this.#locked(async () => {
        await this.#remove(this.#strangers);
        if (this.#strangers.includes(null))
          await this.#ask('written', `delete from ${this.#from} where ${this.#id} is null`);
      });
    return this.#left;
  }

  close = () => this.#client.end();
}

async function openTable(name: string, columns: Columns): Promise<ForeignMirror> {
  const { record, willWrite, readsContents } = columns;
  if ((willWrite || readsContents === true) && record === null)
    throw new Misuse(
      `--${willWrite ? 'repair' : 'content'} of a table needs --record-column, the column of json or jsonb that holds whole records`,
    );
  const { DATABASE_URL = '' } = terminal().environment;
  if (DATABASE_URL === '') throw new Misuse("DATABASE_URL must name the mirror's own database");
  const mirror = new TableMirror(DATABASE_URL, name, columns);
  await mirror.read().catch(async (error: unknown) => {
    await mirror.close().catch(() => {});
    throw error;
  });
  return mirror;
}
