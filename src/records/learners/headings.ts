import { UnreadableFile } from '../../platform/formats/lines.ts';
import { limits } from '../../platform/config/limits.ts';
import words from './headings.json' with { type: 'json' };

/** Recognises the headings of other systems' tables, and applies the choices of a person who maps columns by hand. */

export type PersonColumn = 'ref' | 'full_name' | 'first_name' | 'last_name';

/** A heading without case, spaces and signs. */
export const headingKey = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
    .slice(0, 60);

const persons = new Map(
  Object.entries(words).flatMap(([column, known]) => known.map((word) => [word, column as PersonColumn] as const)),
);

/** The column of a learner that a heading names. Headings such as “Name 1” and “#NAME?” name none. */
export function personColumn(heading: string): PersonColumn | undefined {
  const found = persons.get(heading.toLowerCase().replace(/[^a-z]/g, ''));
  return found !== undefined && isName(found) && /[\d#]/.test(heading) ? undefined : found;
}

export const isName = (column: string | null | undefined): boolean =>
  column === 'full_name' || column === 'first_name' || column === 'last_name';

/** “Learner ID” can be the ID of the service or the reference of another system. */
export const isLearnerId = (heading: string): boolean => headingKey(heading) === 'learnerid';

/** Numbers that identify a person for life. They become a reference only if a person says so for each table. */
export const isNationalNumber = (heading: string): boolean =>
  /^(?:uln|uniquelearnernumber|upn|uniquepupilnumber)(?:no|number|code)?$/.test(headingKey(heading));

/** The choice to read nothing from a column. */
export const leftOut = 'left_out';

/** `chosen`: the columns by position, from a form. `remembered`: earlier choices by `headingKey`. */
export type ColumnChoices = {
  chosen?: readonly string[] | null;
  remembered?: ReadonlyMap<string, string>;
  /** Whether a person wants to choose the columns, even if all are known. */
  asks?: boolean;
};

/** A column of a table: its heading, its first value, and how it would be read. Null: a person must choose. */
export type HeadedColumn = { heading: string; sample: string; column: string | null };

/** A person must choose what the columns contain. `table`: the file as CSV. */
export class UnknownColumns extends UnreadableFile {
  columns: HeadedColumn[];
  table: Buffer = Buffer.alloc(0);

  constructor(message: string, headings: readonly string[], columns: readonly (string | null | undefined)[]) {
    super(message);
    this.columns = headings.map((heading, i) => ({ heading, sample: '', column: columns[i] ?? null }));
  }
}

/** @throws UnreadableFile if the choices are about another table */
export function columnsByChoice<C extends string>(
  headings: readonly string[],
  { chosen, remembered }: ColumnChoices,
  recognise: (heading: string) => C | undefined,
  allowed: ReadonlySet<string>,
): (C | typeof leftOut | undefined)[] {
  if (headings.length > limits.workbookColumns)
    throw new UnreadableFile(
      `the first line has more than ${limits.workbookColumns} columns: delete the other columns`,
    );
  if (chosen && chosen.length !== headings.length)
    throw new UnreadableFile('the file has other columns than the file for which you chose columns');
  return headings.map((heading, i) => {
    const choice = chosen?.[i] ?? remembered?.get(headingKey(heading));
    if (choice !== undefined && (allowed.has(choice) || choice === leftOut)) return choice as C | typeof leftOut;
    return chosen || heading.trim() === '' ? undefined : recognise(heading);
  });
}

/** The choices to remember for the next table: those that the service would not make. Null: forget the heading. */
export function choicesToRemember(
  headings: readonly string[],
  chosen: readonly string[],
  recognise: (heading: string) => string | undefined,
): Map<string, string | null> {
  const kept = new Map<string, string | null>();
  for (const [i, heading] of headings.entries()) {
    const key = headingKey(heading);
    const isReference = isNationalNumber(heading) && chosen[i] !== leftOut;
    if (key !== '' && !isReference) kept.set(key, chosen[i] === recognise(heading) ? null : chosen[i]!);
  }
  return kept;
}
