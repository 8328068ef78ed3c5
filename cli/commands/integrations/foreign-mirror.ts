import pg from 'pg';
import type { Assessment } from '../../../client/src/index.ts';
import { checkOf } from '../../../client/src/sync/digest.ts';
import { isUuid } from '../../../src/platform/crypto/random.ts';
import { Failure, Misuse } from '../../kit/command.ts';
import { fileLines } from '../../kit/file.ts';
import { writeWhole } from '../../kit/in-place.ts';
import { limits } from '../../../src/platform/config/limits.ts';
import { terminal } from '../../kit/terminal.ts';

export type Columns = {
  id: string;
  updatedAt: string;
  record: string | null;
  willWrite: boolean;
  readsContents?: boolean;
};

/** A mirror that another program keeps. */
export abstract class ForeignMirror {
  /** The `updated_at` of each ID in the service's format; '' if the mirror's value is not a time. */
  readonly held = new Map<string, string>();
  readonly repeated: string[] = [];
  /** Lines or rows without a result's ID. */
  readonly unreadable: string[] = [];
  /** A hash of each record; null if records are not compared. */
  readonly contents: Map<string, string> | null;

  constructor({ readsContents = false }: Columns) {
    this.contents = readsContents ? new Map() : null;
  }

  protected take(key: string, updatedAt: unknown, where: string, record: unknown): void {
    if (!isUuid(key)) {
      this.unreadable.push(where);
      return;
    }
    if (this.held.has(key)) this.repeated.push(key);
    this.held.set(key, instant(updatedAt));
    this.contents?.set(key, checkOf(record));
  }

  /** @throws Failure if no line or row has a result's ID, or if none has a time: such data is no mirror */
  protected judge(): void {
    const [first] = this.unreadable;
    if (this.held.size === 0 && first !== undefined) throw new Failure(`${first} contains no ID of a result.`);
    const isTimeless = this.held.size > 0 && [...this.held.values()].every((time) => time === '');
    if (isTimeless) throw new Failure('None of the mirror’s results has the date-time of its last change.');
  }

  abstract read(): Promise<void>;
  /**
   * Replaces all records of each ID with the new record; null removes them. Skips records that the mirror's program has
   * changed since `read`. Tables are written immediately, files only by `save`.
   */
  abstract write(changes: Map<string, Assessment | null>): Promise<void>;
  /**
   * Removes lines or rows without a result's ID. For a file, also writes the changes that `write` collected.
   * @returns the IDs that were skipped
   */
  abstract save(): Promise<string[]>;
  async close(): Promise<void> {}
}

export async function openForeignMirror(location: string, columns: Columns): Promise<ForeignMirror> {
  const mirror = location.startsWith('table:')
    ? tableMirror(location.slice('table:'.length), columns)
    : new FileMirror(location, columns);
  await mirror.read().catch(async (error: unknown) => {
    await mirror.close().catch(() => {});
    throw error;
  });
  return mirror;
}

/** Converts a time of the mirror to the service's format; '' if the value is not a time. */
function instant(time: unknown): string {
  const text = typeof time === 'number' ? String(time) : time;
  if (typeof text !== 'string') return '';
  // Databases write a space in place of `T`, and often no zone. A time without a zone is read as UTC.
  const iso = text
    .trim()
    .replace(' ', 'T')
    .replace(/([+-]\d\d)$/, '$1:00');
  const isNumber = /^\d{12,14}(\.\d*)?$/.test(iso);
  const ms = isNumber ? Math.floor(Number(iso)) : Date.parse(/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

const keyOf = (id: unknown) => (typeof id === 'string' ? id.toLowerCase() : '');

/**
 * Whether the ID's records may be replaced: they are unchanged since `read`, or already equal `wanted`.
 * @param now the times of the ID's current records
 */
function isAsRead(now: string[], read: string | undefined, wanted: Assessment | null): boolean {
  if (now.length === 0) return read === undefined || wanted === null;
  return (read !== undefined && now.includes(read)) || now.every((time) => time === wanted?.updated_at);
}

/** A mirror in an NDJSON file. Each line is a record, or only the record's ID and time. */
class FileMirror extends ForeignMirror {
  readonly #file: string;
  readonly #columns: Columns;
  readonly #changes = new Map<string, Assessment | null>();
  #isWhole: boolean;

  constructor(file: string, columns: Columns) {
    super(columns);
    if (columns.willWrite && file === '-') throw new Misuse('--repair needs a file that can be written');
    this.#file = file;
    this.#columns = columns;
    this.#isWhole = columns.record !== null || this.contents !== null;
  }

  async *#lines(): AsyncGenerator<{ key: string; line: string; found: Record<string, unknown>; at: number }> {
    let at = 0;
    for await (const line of fileLines(this.#file, limits.importLineBytes)) {
      at += 1;
      if (line.trim() === '') continue;
      const found = parsed(at === 1 ? line.replace(/^\uFEFF/, '') : line);
      yield { key: keyOf(found[this.#columns.id]), line, found, at };
    }
  }

  async read(): Promise<void> {
    const { id, updatedAt, record } = this.#columns;
    for await (const { key, found, at } of this.#lines()) {
      this.take(key, found[updatedAt], `Line ${at} of ${this.#file}`, record === null ? found : found[record]);
      this.#isWhole ||= Object.keys(found).some((name) => name !== id && name !== updatedAt);
    }
    this.judge();
  }

  /** If the file contains only IDs and times, a repair writes no more than these, so that it adds no personal data. */
  #lineOf(result: Assessment): string {
    const { id, updatedAt, record } = this.#columns;
    const named = { [id]: result.assessment_id, [updatedAt]: result.updated_at };
    if (!this.#isWhole && this.held.size > 0) return JSON.stringify(named);
    return JSON.stringify(record === null ? { ...result, ...named } : { ...named, [record]: result });
  }

  async write(more: Map<string, Assessment | null>): Promise<void> {
    for (const [key, record] of more) this.#changes.set(key, record);
  }

  async #removeOvertaken(): Promise<string[]> {
    const now = new Map<string, string[]>();
    for await (const { key, found } of this.#lines())
      if (this.#changes.has(key)) now.set(key, [...(now.get(key) ?? []), instant(found[this.#columns.updatedAt])]);
    const overtaken = [...this.#changes]
      .filter(([key, wanted]) => !isAsRead(now.get(key) ?? [], this.held.get(key), wanted))
      .map(([key]) => key);
    for (const key of overtaken) this.#changes.delete(key);
    return overtaken;
  }

  async *#content(): AsyncGenerator<string> {
    for await (const { key, line } of this.#lines()) if (isUuid(key) && !this.#changes.has(key)) yield `${line}\n`;
    for (const record of this.#changes.values()) if (record !== null) yield `${this.#lineOf(record)}\n`;
  }

  async save(): Promise<string[]> {
    const overtaken = await this.#removeOvertaken();
    await writeWhole(this.#file, this.#content());
    return overtaken;
  }
}

function parsed(line: string): Record<string, unknown> {
  try {
    return (JSON.parse(line) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const rowsAtOnce = 10_000;

const { INT8, NUMERIC, FLOAT8 } = pg.types.builtins;
const numberTypes = new Set<number>([INT8, NUMERIC, FLOAT8]);

/** A mirror in a table of the client's own database, which DATABASE_URL names. */
class TableMirror extends ForeignMirror {
  readonly #client: pg.Client;
  readonly #name: string;
  readonly #from: string;
  readonly #id: string;
  readonly #time: string;
  readonly #record: string;
  /** Whether the table stores times as milliseconds since 1970. */
  #isNumber = false;
  /** The table's spelling of each ID that differs from the service's spelling. */
  readonly #written = new Map<string, string>();
  /** Values of the ID column that are no IDs. */
  readonly #otherIds: (string | null)[] = [];
  readonly #overtaken: string[] = [];

  constructor(url: string, name: string, columns: Columns) {
    super(columns);
    const { id, updatedAt, record } = columns;
    const quoted = (one: string) => one.split('.').map(pg.escapeIdentifier).join('.');
    this.#client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC -c DateStyle=ISO' });
    // Without this listener, a lost connection would end the process. With it, the next statement reports the loss.
    this.#client.on('error', () => {});
    this.#name = name;
    [this.#from, this.#id, this.#time] = [quoted(name), quoted(id), quoted(updatedAt)];
    this.#record = record === null ? 'null' : quoted(record);
  }

  async #query(verb: 'read' | 'written', sql: string, values?: unknown[]) {
    try {
      return await this.#client.query<Record<string, string | null>>(sql, values);
    } catch (error) {
      throw new Failure(`The mirror's table can't be ${verb}: ${(error as Error).message}.`);
    }
  }

  /** Reads a snapshot of the table without a lock, so `write` reads each row again before it changes the row. */
  async read(): Promise<void> {
    await this.#client.connect().catch((error: Error) => {
      throw new Failure(`The mirror's database can't be reached: ${error.message}.`);
    });
    await this.#query('read', 'begin read only');
    const { fields } = await this.#query('read', `select ${this.#time} from ${this.#from} limit 0`);
    this.#isNumber = numberTypes.has(fields[0]!.dataTypeID);
    const record = this.contents === null ? 'null' : `${this.#record}::text`;
    const all = `select ${this.#id}::text as id, ${this.#time}::text as time, ${record} as record from ${this.#from}`;
    await this.#query('read', `declare everything no scroll cursor for ${all}`);
    for (;;) {
      const { rows } = await this.#query('read', `fetch ${rowsAtOnce} from everything`);
      for (const row of rows) {
        const key = keyOf(row.id);
        this.take(key, row.time, `A row of ${this.#name}`, parsed(row.record ?? ''));
        if (!isUuid(key)) this.#otherIds.push(row.id!);
        else if (row.id !== key) this.#written.set(key, row.id!);
      }
      if (rows.length < rowsAtOnce) break;
    }
    await this.#query('read', 'commit');
    this.judge();
  }

  async #locked(work: () => Promise<void>): Promise<void> {
    await this.#query('written', 'begin');
    await this.#query('written', `lock table ${this.#from} in share row exclusive mode`);
    await work();
    await this.#query('written', 'commit');
  }

  #remove(ids: (string | null)[]) {
    return this.#query('written', `delete from ${this.#from} where ${this.#id} = any($1)`, [ids]);
  }

  /** @param under the table's spellings of the ID, one for each row with this ID */
  async #put(under: string[], result: Assessment): Promise<void> {
    const { assessment_id: key, updated_at: updatedAt } = result;
    const values = [under[0] ?? key, this.#isNumber ? Date.parse(updatedAt) : updatedAt, JSON.stringify(result)];
    // If several rows have the ID, one new row replaces them all.
    if (under.length > 1) await this.#remove(under);
    const insert = `insert into ${this.#from} (${this.#id}, ${this.#time}, ${this.#record}) values ($1, $2, $3)`;
    const update = `update ${this.#from} set ${this.#time} = $2, ${this.#record} = $3 where ${this.#id} = $1`;
    await this.#query('written', under.length === 1 ? update : insert, values);
  }

  write(changes: Map<string, Assessment | null>): Promise<void> {
    return this.#locked(async () => {
      const forms = [...changes.keys()].flatMap((key) => [key, key.toUpperCase(), this.#written.get(key) ?? key]);
      const sql = `select ${this.#id}::text as id, ${this.#time}::text as time from ${this.#from} where ${this.#id} = any($1)`;
      const now = Map.groupBy((await this.#query('read', sql, [forms])).rows, (row) => keyOf(row.id));
      const gone: string[] = [];
      for (const [key, wanted] of changes) {
        const there = now.get(key) ?? [];
        const under = there.map((row) => row.id!);
        const times = there.map((row) => instant(row.time));
        if (!isAsRead(times, this.held.get(key), wanted)) this.#overtaken.push(key);
        else if (wanted === null) gone.push(...under);
        else await this.#put(under, wanted);
      }
      await this.#remove(gone);
    });
  }

  async save(): Promise<string[]> {
    if (this.#otherIds.length > 0)
      await this.#locked(async () => {
        await this.#remove(this.#otherIds);
        if (this.#otherIds.includes(null))
          await this.#query('written', `delete from ${this.#from} where ${this.#id} is null`);
      });
    return this.#overtaken;
  }

  override close = () => this.#client.end();
}

function tableMirror(name: string, columns: Columns): TableMirror {
  const { record, willWrite, readsContents } = columns;
  if ((willWrite || readsContents === true) && record === null)
    throw new Misuse(
      `--${willWrite ? 'repair' : 'content'} of a table needs --record-column, the column of json or jsonb that contains the full records`,
    );
  const { DATABASE_URL = '' } = terminal().environment;
  if (DATABASE_URL === '') throw new Misuse("DATABASE_URL must name the mirror's own database");
  return new TableMirror(DATABASE_URL, name, columns);
}
