import { learnerTables } from '../src/disclosure/tables.ts';
import { personalTables, tablesOfNobody } from '../src/personal-columns.ts';

/** The parts of docs/data-protection.md that are made from the one list of personal columns. */

type Table = (head: string[], rows: string[][]) => string;

/** What a learner's export does with a table, or a column of it. */
function exported(table: string, column?: string): string {
  if (table === 'idempotency') return column === undefined || column === 'reply' ? 'in `kept_replies.json`' : 'no';
  if (table === 'evidence' && column === 'pdf') return 'in the folder `evidence`';
  const found = learnerTables[table];
  if (found === undefined) return 'no';
  return column !== undefined && Object.hasOwn(found.omits ?? {}, column) ? 'no' : `in \`${table}.json\``;
}

export function personalColumns(table: Table): string {
  return Object.entries(personalTables)
    .map(([name, { of, purpose, basis, kept, rows, columns }]) => {
      const about = [
        `### \`${name}\``,
        `${purpose}. Of ${of}. Usually rests on: ${basis}. Kept: ${kept}. Export: ${exported(name)}. Erasure: rows ${rows}.`,
      ].join('\n\n');
      if (Object.keys(columns).length === 0) return about;
      const lines = Object.entries(columns).map(([column, erasure]) => [
        `\`${column}\``,
        exported(name, column),
        erasure,
      ]);
      return `${about}\n\n${table(['Column', 'Export', 'Erasure'], lines)}`;
    })
    .join('\n\n')
    .replaceAll('rows not of learners', 'does not touch it');
}

export function leftOut(table: Table): string {
  return table(
    ['Column', 'Why'],
    Object.entries(learnerTables).flatMap(([name, { omits = {} }]) =>
      Object.entries(omits).map(([column, why]) => [`\`${name}.${column}\``, why]),
    ),
  );
}

export const ofNobody = (table: Table): string =>
  table(
    ['Table', 'What it holds'],
    Object.entries(tablesOfNobody).map(([name, { what }]) => [`\`${name}\``, what]),
  );

/** Every table, and how long its rows stay: for operators. */
export const growth = (table: Table): string =>
  table(
    ['Table', 'Rows stay'],
    Object.entries({ ...personalTables, ...tablesOfNobody })
      .map(([name, { kept }]) => [`\`${name}\``, kept])
      .sort(([a], [b]) => (a! < b! ? -1 : 1)),
  );
