import type { Database } from '../../../src/platform/db/database.ts';
import { DatabaseUnavailable } from '../../../src/platform/db/connection/unavailable.ts';
import { placements } from '../../../src/platform/db/citus/distribution.ts';
import type { TestServer } from '../../support/postgres.ts';
import { freshDatabase, withDatabase } from '../../support/postgres.ts';
import { crossing, crossingAsTheyRun, unexplained } from './crossing.ts';

/** What organisations a statement asks for, read from PostgreSQL's own plan of it, whatever way it was written in. */

type Plan = Record<string, unknown> & { Plans?: Plan[] };

/** The table that a partition belongs to. */
export function wholeOf(name: string): string {
  const whole = name.replace(/_(default|before|\d{4}_\d\d)$/, '');
  return placements[name] === undefined ? whole : name;
}

export const isByOrganisation = (table: unknown): table is string =>
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

// Which months there are is a matter of the clock, and what was before them is there in old databases only.
const ofMonths = /_(?:before|default|\d{4}_\d\d)\b/g;
const inSomeMonth = (text: string) =>
  text.replaceAll(/\b(audit|event|delivery|delivery_attempt)_(?:before|\d{4}_\d\d)\b/g, '$1_default');

/** Of statements by their names: those that don't ask for just one organisation, and those that have no plan. */
export async function crossingOf(
  db: Database,
  statements: Iterable<[string, string]>,
): Promise<{ found: string[]; opaque: string[] }> {
  const columns = new Map(
    (
      await db.query<{ name: string; n: number }>(
        `select c.relname as name, a.attnum::int4 as n from pg_attribute a join pg_class c on c.oid = a.attrelid
          where a.attname = 'organisation_id' and c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')`,
      )
    ).map(({ name, n }) => [name, n]),
  );
  const found = new Set<string>();
  const opaque: string[] = [];
  const plan = async ([name, text]: [string, string]) => {
    const [row] = await db
      .query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `explain (generic_plan, verbose, costs off, format json) ${inSomeMonth(text)}`,
      )
      .catch((error: unknown) => {
        if (error instanceof DatabaseUnavailable) throw error;
        return [undefined];
      });
    if (row === undefined) {
      opaque.push(name);
      return;
    }
    const { organisations, open } = bindingsOf(row['QUERY PLAN'][0].Plan, columns);
    const touches = [...nodesOf(row['QUERY PLAN'][0].Plan)].some((node) => isByOrganisation(node['Relation Name']));
    if (touches && (open.length > 0 || organisations.size !== 1)) found.add(name.replaceAll(ofMonths, ''));
  };
  // One after the other: on a slow machine the last of thousands would wait for a connection longer than they may.
  for (const one of statements) await plan(one);
  return { found: [...found].sort(), opaque };
}

/** Says which statements, of those that a run has carried out, ask for several organisations and aren't known to. */
export async function proveBound(server: TestServer, statements: Map<string, string>): Promise<boolean> {
  // Others may not know how to plan without values, and a cluster has refused what it can't do.
  if (!server.disposable) return true;
  const { url, drop } = await freshDatabase(server);
  const { found, opaque } = await withDatabase(url, (db) => crossingOf(db, statements));
  await drop();
  const faults = [
    ...found.filter((name) => crossing[name] === undefined && crossingAsTheyRun[name] === undefined),
    ...opaque.filter((name) => !unexplained.includes(name)),
  ];
  for (const name of faults)
    console.error(
      `This statement asks for several organisations, or has no plan, and test/platform/db/crossing.ts gives no reason for it:\n${name}`,
    );
  return faults.length === 0;
}
