import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { placements } from '../../src/db/distribution.ts';
import { freshDatabase, withDatabase } from '../postgres.ts';
import { thisServer } from '../service.ts';
import { readStatements } from '../statements.ts';
import { crossing, keyedOtherwise, unexplained, volatileCalls } from './crossing.ts';

/**
 * What the code asks of its tables can be answered by the node that holds the organisation (docs/decisions/0120). It is read
 * from PostgreSQL's own plans: what a statement binds a table's rows to, whatever way it was written in.
 */

type Plan = Record<string, unknown> & { Plans?: Plan[] };

/** The table that a partition belongs to. */
function wholeOf(name: string): string {
  const whole = name.replace(/_(default|before|\d{4}_\d\d)$/, '');
  return placements[name] === undefined ? whole : name;
}

const isByOrganisation = (table: unknown): table is string =>
  typeof table === 'string' && placements[wholeOf(table)] === 'organisation';

function* nodesOf(plan: Plan): Generator<Plan> {
  yield plan;
  for (const part of plan.Plans ?? []) yield* nodesOf(part);
}

/** Conditions of a node and of the joins above it, each on its way up to the statement. */
function* scansOf(plan: Plan, above: string[] = []): Generator<{ node: Plan; conditions: string; joins: string }> {
  const here = ['Index Cond', 'Recheck Cond', 'Filter', 'Join Filter', 'Hash Cond', 'Merge Cond']
    .map((name) => plan[name])
    .filter((condition) => typeof condition === 'string');
  if (plan['Relation Name'] !== undefined && plan['Node Type'] !== 'ModifyTable')
    yield { node: plan, conditions: here.join(' '), joins: above.join(' ') };
  for (const part of plan.Plans ?? []) yield* scansOf(part, [...here, ...above]);
}

/** What a column is made from; a subquery's own names are looked through. */
function outputsOf(node: Plan, column: number): (string | undefined)[] {
  const from = (node.Plans ?? []).filter((part) =>
    ['Outer', 'Member', 'Subquery'].includes(String(part['Parent Relationship'])),
  );
  return from.flatMap((part) => {
    const value = (part.Output as string[] | undefined)?.[column];
    const isNamed = value !== undefined && !value.includes('?column?');
    return isNamed || part.Plans === undefined ? [value] : outputsOf(part, column);
  });
}

/** What a statement's rows are bound to: the organisations it names, and what it leaves open. */
function bindingsOf(plan: Plan, columns: Map<string, number>): { organisations: Set<string>; open: string[] } {
  const organisations = new Set<string>();
  const open: string[] = [];
  // Rows that come from arrays may be of any organisation.
  const given = new Set(
    [...nodesOf(plan)].filter((node) => node['Function Name'] !== undefined).map((node) => node.Alias as string),
  );
  const bind = (what: string, value: string | undefined) => {
    if (value === undefined) open.push(what);
    else if (/^\(?(\$\d+|'?\d+'?)/.test(value)) organisations.add(value.replaceAll(/\(|\)|'|::\w+/g, ''));
    else if (!/\borganisation_id\)?$/.test(value) || given.has(value.split('.')[0]!)) open.push(what);
  };
  for (const { node, conditions, joins } of scansOf(plan)) {
    const table = node['Relation Name'];
    if (!isByOrganisation(table)) continue;
    const alias = String(node.Alias);
    const value = /\borganisation_id = ([^\s)]+)/.exec(conditions)?.[1];
    const joined = new RegExp(
      `\\b${alias}\\.organisation_id = ([^\\s)]+)|([^\\s(]+) = ${alias}\\.organisation_id`,
    ).exec(joins);
    bind(wholeOf(table), value ?? joined?.[1] ?? joined?.[2]);
  }
  for (const node of nodesOf(plan)) {
    if (node['Node Type'] !== 'ModifyTable' || node.Operation !== 'Insert' || !isByOrganisation(node['Relation Name']))
      continue;
    const table = wholeOf(node['Relation Name']);
    for (const value of outputsOf(node, columns.get(table)! - 1)) bind(`insert into ${table}`, value);
  }
  return { organisations, open };
}

const volatile = `
  select distinct proname as name from pg_proc where provolatile = 'v' and proname not in ('set_config', 'pg_notify')`;

const keysOf = `
  select c.relname as table, i.relname as key, array_agg(a.attname::text) as columns
    from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = any(x.indkey::int2[])
   where x.indisunique and c.relnamespace = 'public'::regnamespace group by 1, 2 order by 1, 2`;

const referencesOf = `
  select c.conname as name, f.relname as "from", t.relname as "to",
         array(select a.attname::text from unnest(c.conkey) with ordinality k(n, i) join pg_attribute a on a.attrelid = f.oid and a.attnum = k.n order by k.i) as columns,
         array(select a.attname::text from unnest(c.confkey) with ordinality k(n, i) join pg_attribute a on a.attrelid = t.oid and a.attnum = k.n order by k.i) as theirs
    from pg_constraint c join pg_class f on f.oid = c.conrelid join pg_class t on t.oid = c.confrelid
   where c.contype = 'f' and c.conparentid = 0 and f.relnamespace = 'public'::regnamespace order by 1`;

suite('the database can be distributed by organisation', async () => {
  const { url, drop } = await freshDatabase(await thisServer());
  const texts = await readStatements();

  test('every table has a place, and those by organisation name it in every key', () =>
    withDatabase(url, async (db) => {
      const tables = await db.query<{ name: string; column: boolean }>(
        `select relname as name, exists (select from pg_attribute a where a.attrelid = c.oid and attname = 'organisation_id' and atttypid = 'int8'::regtype) as column
           from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`,
      );
      assert.deepEqual(
        tables.map(({ name }) => name),
        Object.keys(placements).sort(),
      );
      for (const { name, column } of tables) if (placements[name] === 'organisation') assert.ok(column, name);
      const keys = await db.query<{ table: string; key: string; columns: string[] }>(keysOf);
      assert.ok(keys.length > 60);
      const found = keys.filter(
        ({ table, columns }) => isByOrganisation(table) && !columns.includes('organisation_id'),
      );
      assert.deepEqual(
        found.map(({ key }) => key),
        Object.keys(keyedOtherwise),
      );
    }));

  test('no foreign key leads to where its rows are not', () =>
    withDatabase(url, async (db) => {
      const all = await db.query<{ name: string; from: string; to: string; columns: string[]; theirs: string[] }>(
        referencesOf,
      );
      assert.ok(all.length > 40);
      const wrong = all.filter(({ from, to, columns, theirs }) => {
        const [here, there] = [placements[wholeOf(from)], placements[wholeOf(to)]];
        if (there === 'reference') return false;
        if (here === 'organisation' && there === 'organisation')
          return !columns.some((column, i) => column === 'organisation_id' && theirs[i] === column);
        return here !== 'local' || there !== 'local';
      });
      assert.deepEqual(
        wrong.map(({ name }) => name),
        [],
      );
    }));

  test('there are no triggers and no functions in SQL, which are carried out elsewhere than they are called', () =>
    withDatabase(url, async (db) => {
      const found = await db.query(
        `select tgname as name from pg_trigger where not tgisinternal
         union all select proname from pg_proc p join pg_language l on l.oid = p.prolang where l.lanname = 'sql' and p.pronamespace = 'public'::regnamespace`,
      );
      assert.deepEqual(found, []);
    }));

  test('a statement asks for one organisation, or stands in the list of those that ask for several, with its reason', () =>
    withDatabase(url, async (db) => {
      const columns = new Map(
        (
          await db.query<{ name: string; n: number }>(
            `select c.relname as name, a.attnum::int4 as n from pg_attribute a join pg_class c on c.oid = a.attrelid
              where a.attname = 'organisation_id' and c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
          )
        ).map(({ name, n }) => [name, n]),
      );
      assert.ok(texts.size > 600);
      const found: string[] = [];
      const opaque: string[] = [];
      for (const [name, text] of texts) {
        const [row] = await db
          .query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(`explain (generic_plan, verbose, costs off, format json) ${text}`)
          .catch(() => [undefined]);
        if (row === undefined) {
          opaque.push(name);
          continue;
        }
        const { organisations, open } = bindingsOf(row['QUERY PLAN'][0].Plan, columns);
        const touches = [...nodesOf(row['QUERY PLAN'][0].Plan)].some((node) => isByOrganisation(node['Relation Name']));
        if (touches && (open.length > 0 || organisations.size !== 1)) found.push(name);
      }
      assert.deepEqual(opaque, unexplained);
      assert.deepEqual(found.sort(), Object.keys(crossing).sort());
    }));

  test('what changes rows calls nothing whose value changes by itself', () =>
    withDatabase(url, async (db) => {
      const names = (await db.query<{ name: string }>(volatile)).map(({ name }) => name);
      const called = new RegExp(`\\b(${names.join('|')})\\s*\\(`, 'i');
      const found = [...texts].filter(([, text]) => /\b(update|delete from)\b/i.test(text) && called.test(text));
      assert.deepEqual(
        found.map(([name, text]) => `${name}: ${called.exec(text)![1]}`),
        Object.keys(volatileCalls),
      );
    }));

  test('the database that was read goes', drop);
});
