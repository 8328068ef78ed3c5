import type { Tx } from './database.ts';

export type Place = { table: string; column: string; key: Record<string, string> };

export type StoredText = Place & { value: string };

/**
 * Functions that read the bytes of a column as text. Null: the column is not read, because it contains hashes, or bytes
 * computed from another column.
 */
export type ByteReaders = Record<string, ((bytes: Buffer) => string | null) | null>;

type Column = { part_name: string; table_name: string; column_name: string; type: string; is_key: boolean };

// Rows are read from each partition, but reported under the name of the partitioned table.
const columns = `
  select c.relname as part_name, coalesce(t.relname, c.relname) as table_name, a.attname as column_name, format_type(a.atttypid, null) as type,
         coalesce(a.attnum = any(p.conkey), false) as is_key
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_constraint p on p.conrelid = c.oid and p.contype = 'p'
    left join pg_inherits i on i.inhrelid = c.oid
    left join pg_class t on t.oid = i.inhparent
   where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace
   order by c.relname, a.attnum`;

// Reading by disk pages needs no index and reads each page once.
const pagesAtOnce = 64;

const pagesOf = `select (pg_relation_size($1::regclass) / current_setting('block_size')::int8)::int4 as pages`;
// On Citus the table's own file is empty. Each range of pages is read from every shard, so the largest shard determines
// the number of pages.
const pagesOfShards = `
  select s.logicalrelid::text as part, (max(z.size) / current_setting('block_size')::int8)::int4 as pages
    from citus_shard_sizes() z join pg_dist_shard s on s.shardid = z.shard_id group by 1`;

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
const isText = (type: string) => /^(text|character varying|character|json|jsonb|name|xml|citext)(\[\])?$/.test(type);

/**
 * Reads every text in the database. The columns come from the schema, so a new column cannot be forgotten.
 * @param organisationId null: all organisations, and rows without one
 * @throws Error for a column of bytes that `readers` lacks
 */
export async function* storedTexts(
  tx: Tx,
  organisationId: number | null,
  readers: ByteReaders,
): AsyncGenerator<StoredText> {
  const found = await tx.query<Column>(columns);
  const longest = tx.distributed === true ? await tx.query<{ part: string; pages: number }>(pagesOfShards) : [];
  const shards = new Map(longest.map(({ part, pages }) => [part, pages]));
  for (const [part, all] of Map.groupBy(found, (column) => column.part_name)) {
    const table = all[0]!.table_name;
    const bytes = all.filter((column) => column.type === 'bytea');
    const unknown = bytes.find((column) => readers[`${table}.${column.column_name}`] === undefined);
    if (unknown !== undefined) throw new Error(`${table}.${unknown.column_name} has no reader`);
    const texts = [
      ...all.filter((column) => isText(column.type)),
      ...bytes.filter((column) => readers[`${table}.${column.column_name}`] !== null),
    ];
    const ofOrganisation = all.some((column) => column.column_name === 'organisation_id');
    if (texts.length === 0 || (organisationId !== null && !ofOrganisation)) continue;
    const pages = shards.get(part) ?? (await tx.query<{ pages: number }>(pagesOf, [quoted(part)]))[0]!.pages;
    yield* textsOfTable(tx, { table, part, pages }, all, texts, organisationId, readers);
  }
}

async function* textsOfTable(
  tx: Tx,
  { table, part, pages }: { table: string; part: string; pages: number },
  all: Column[],
  texts: Column[],
  organisationId: number | null,
  readers: ByteReaders,
): AsyncGenerator<StoredText> {
  const keys = all.filter((column) => column.is_key).map((column) => column.column_name);
  const picked = [
    ...keys.map((name) => `${quoted(name)}::text as ${quoted(`key ${name}`)}`),
    ...texts.map(({ column_name: name, type }) => (type === 'bytea' ? quoted(name) : `${quoted(name)}::text`)),
  ];
  const whose = organisationId === null ? '' : ' and organisation_id = $3';
  for (let page = 0; page < pages; page += pagesAtOnce) {
    const rows = await tx.query<Record<string, string | Buffer | null>>(
      `select ${picked.join(', ')} from ${quoted(part)} where ctid >= $1::tid and ctid < $2::tid${whose}`,
      [`(${page},0)`, `(${page + pagesAtOnce},0)`, ...(organisationId === null ? [] : [organisationId])],
    );
    for (const row of rows) {
      const key = Object.fromEntries(keys.map((name) => [name, String(row[`key ${name}`])]));
      for (const { column_name: column } of texts) {
        const stored = row[column] ?? null;
        const value = Buffer.isBuffer(stored) ? readers[`${table}.${column}`]!(stored) : stored;
        if (value !== null) yield { table, column, key, value };
      }
    }
  }
}

/** Changes one text under a row lock, if it still exists. An unchanged value is not written. */
export async function changeStoredText(
  tx: Tx,
  { table, column, key }: Place,
  change: (value: string | Buffer) => string | Buffer,
): Promise<void> {
  const where = Object.keys(key)
    .map((name, i) => `${quoted(name)} = $${i + 1}`)
    .join(' and ');
  const [row] = await tx.query<{ value: string | Buffer | null }>(
    `select ${quoted(column)} as value from ${quoted(table)} where ${where} for update`,
    Object.values(key),
  );
  const value = row?.value ?? null;
  if (value === null) return;
  const changed = change(value);
  if (changed === value) return;
  await tx.query(`update ${quoted(table)} set ${quoted(column)} = $${Object.keys(key).length + 1} where ${where}`, [
    ...Object.values(key),
    changed,
  ]);
}

export async function readStoredText(tx: Tx, place: Place): Promise<string | Buffer | null> {
  let found: string | Buffer | null = null;
  await changeStoredText(tx, place, (value) => (found = value));
  return found;
}
