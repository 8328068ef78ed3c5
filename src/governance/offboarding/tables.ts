import type { Tx } from '../../platform/db/database.ts';

/**
 * A table with rows of an organisation. The tables are read from the schema, so that exports and deletions include new
 * tables.
 */
export type OwnTable = {
  name: string;
  /** The columns of the primary key. The first one is `organisation_id`. */
  key: string[];
  columns: Record<string, string>;
  /** Whether rows refer to other rows of the same table, so that one statement must delete them all. */
  refersToItself: boolean;
};

const tables = `
  select c.relname as name,
         (select json_object_agg(a.attname, format_type(a.atttypid, null)) from pg_attribute a
           where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
         (select array_agg(a.attname::text order by array_position(p.conkey, a.attnum)) from pg_constraint p
            join pg_attribute a on a.attrelid = c.oid and a.attnum = any(p.conkey)
           where p.conrelid = c.oid and p.contype = 'p') as key
    from pg_class c
   where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'organisation_id' and not a.attisdropped)
   order by c.relname`;
const references = `
  select f.relname as "from", t.relname as "to"
    from pg_constraint r join pg_class f on f.oid = r.conrelid join pg_class t on t.oid = r.confrelid
   where r.contype = 'f' and f.relnamespace = current_schema()::regnamespace`;

/** The key of a partitioned table. PostgreSQL has this key only on the partitions. */
const keys: Record<string, string[]> = { audit: ['organisation_id', 'audit_id'] };

/** Returns the tables in the order of deletion: a table before the tables that it refers to, `organisation` last. */
export async function ownTables(tx: Tx): Promise<OwnTable[]> {
  const found = await tx.query<{ name: string; columns: Record<string, string>; key: string[] | null }>(tables);
  const arrows = await tx.query<{ from: string; to: string }>(references);
  const left = new Map(
    found.map(({ name, columns, key }): [string, OwnTable] => [
      name,
      {
        name,
        columns,
        key: withOrganisationFirst(key ?? keys[name] ?? []),
        refersToItself: arrows.some((arrow) => arrow.from === name && arrow.to === name),
      },
    ]),
  );
  const ordered: OwnTable[] = [];
  while (left.size > 0) {
    const free = [...left.values()].filter(
      ({ name }) => !arrows.some((arrow) => arrow.to === name && arrow.from !== name && left.has(arrow.from)),
    );
    if (free.length === 0) throw new Error(`tables refer to each other in a circle: ${[...left.keys()].join(', ')}`);
    for (const table of free) {
      if (table.key.length === 0) throw new Error(`the table ${table.name} has no key for reading`);
      ordered.push(table);
      left.delete(table.name);
    }
  }
  return [
    ...ordered.filter((one) => one.name !== 'organisation'),
    ...ordered.filter((one) => one.name === 'organisation'),
  ];
}

const withOrganisationFirst = (key: string[]): string[] =>
  key.length === 0 ? [] : ['organisation_id', ...key.filter((column) => column !== 'organisation_id')];
