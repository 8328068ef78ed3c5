import { learnerTables } from '../../../src/governance/subject-access/tables.ts';
import list from '../../../docs/data/personal-columns.json' with { type: 'json' };

/** From the lowest to the highest. */
export const levels = ['internal', 'personal', 'sensitive', 'secret'] as const;
type Level = (typeof levels)[number];

/**
 * The parts of docs/trust/data-map.md that are made from the one list of personal columns. A test compares the list with
 * the schema, with redaction and with a learner's export, so a new table or text cannot be forgotten.
 */
type PersonalTable = {
  /** The highest protection level of its columns. */
  level: Level;
  /** Whom the table is about. */
  of: 'learners' | 'people of the organisation' | 'both' | 'contacts';
  purpose: string;
  /** The usual lawful basis (UK GDPR, article 6). The controller decides. */
  basis: 'task or contract' | 'legal obligation' | 'legitimate interests';
  kept: string;
  /** What an erasure of the learner does to the rows, except for the columns below. */
  rows: string;
  /** Columns with content about a person, each with what an erasure of the learner does to it. */
  columns: Record<string, string>;
};

export const personalTables = list.personal_tables as Record<string, PersonalTable>;

/** Tables that hold nothing about a person except IDs, counts and times, or nothing at all. */
export const tablesOfNobody = list.tables_of_nobody as Record<string, { level: Level; what: string; kept: string }>;

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
    .map(([name, { level, of, purpose, basis, kept, rows, columns }]) => {
      const about = [
        `### \`${name}\``,
        `${purpose}. Of ${of}. Level: ${level}. Usually rests on: ${basis}. Kept: ${kept}. Export: ${exported(name)}. Erasure: rows ${rows}.`,
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
    ['Table', 'What it holds', 'Level'],
    Object.entries(tablesOfNobody).map(([name, { what, level }]) => [`\`${name}\``, what, level]),
  );

/** Every table, and how long its rows stay: for operators. */
export const growth = (table: Table): string =>
  table(
    ['Table', 'Rows stay'],
    Object.entries({ ...personalTables, ...tablesOfNobody })
      .map(([name, { kept }]) => [`\`${name}\``, kept])
      .sort(([a], [b]) => (a! < b! ? -1 : 1)),
  );
