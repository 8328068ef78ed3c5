import { setImmediate as turnOfTheLoop } from 'node:timers/promises';

/** CSV as RFC 4180 has it and spreadsheets write it: with commas, semicolons or tabs. */

export type Delimiter = ',' | ';' | '\t';

/** A line of text; with `why` it can't be read, and the text is what of it can be shown. */
export type TextLine = { line: number; text: string; why?: 'encoding' | 'length' };

/** A record, with the line that it begins on and that line's text, or why it has no cells. */
export type CsvRecord = { line: number; text: string } & (
  { cells: string[] } | { cells: null; why: 'encoding' | 'length' | 'quotes' }
);

/** Takes cells out of the lines of one record, which goes on over a line's end inside quotes. */
function cellReader(delimiter: Delimiter) {
  const cells: string[] = [];
  let cell = '';
  let open = false;
  return {
    cells,
    /** @returns whether the record is whole, goes on in the next line, or has a quote out of place */
    read(text: string): 'whole' | 'open' | 'misplaced' {
      let at = 0;
      for (;;) {
        if (!open) {
          if (text[at] !== '"') {
            const next = text.indexOf(delimiter, at);
            cell = next < 0 ? text.slice(at) : text.slice(at, next);
            if (cell.includes('"')) return 'misplaced';
            cells.push(cell);
            if (next < 0) return 'whole';
            at = next + 1;
            continue;
          }
          open = true;
          cell = '';
          at++;
        }
        const quote = text.indexOf('"', at);
        if (quote < 0) {
          cell += `${text.slice(at)}\n`;
          return 'open';
        }
        cell += text.slice(at, quote);
        at = quote + 1;
        if (text[at] === '"') {
          cell += '"';
          at++;
          continue;
        }
        open = false;
        cells.push(cell);
        if (at === text.length) return 'whole';
        if (text[at] !== delimiter) return 'misplaced';
        at++;
      }
    },
  };
}

/** The cells of one line that holds a whole record; null when its quotes are out of place. */
export function cellsOf(text: string, delimiter: Delimiter): string[] | null {
  if (!text.includes('"')) return text.split(delimiter);
  const reader = cellReader(delimiter);
  return reader.read(text) === 'whole' ? reader.cells : null;
}

/** Lines that are read before others have their turn. */
const linesInTurn = 1000;

/**
 * Records out of lines. A quote that is never closed, or closed only where it can't be, costs its own line alone: the
 * lines after it are read as if it weren't there. Blank lines are passed over.
 * @param mostChars of one record over all its lines
 */
export async function* csvRecords(
  lines: AsyncIterator<TextLine>,
  delimiter: Delimiter,
  maxChars: number,
): AsyncGenerator<CsvRecord> {
  // What was read ahead stays here, to be read again when it doesn't belong to the record. Before `at` lies what is done
  // with; it is dropped when it is half of all, so that each line is moved once or twice.
  let queue: TextLine[] = [];
  let at = 0;
  let read = 0;
  const next = async (): Promise<TextLine | undefined> => {
    if (++read % linesInTurn === 0) await turnOfTheLoop();
    if (at === queue.length) {
      const result = await lines.next();
      if (result.done === true) return undefined;
      queue.push(result.value);
    }
    return queue[at++];
  };
  for (let first = await next(); first !== undefined; first = await next()) {
    if (at * 2 > queue.length) {
      queue = queue.slice(at);
      at = 0;
    }
    const { line, text, why } = first;
    if (why !== undefined) {
      yield { line, text, cells: null, why };
      continue;
    }
    if (text.trim() === '') continue;
    if (!text.includes('"')) {
      yield { line, text, cells: text.split(delimiter) };
      continue;
    }
    const reader = cellReader(delimiter);
    const behind = at;
    let state = reader.read(text);
    for (let chars = text.length; state === 'open';) {
      const more = await next();
      chars += 1 + (more?.text.length ?? 0);
      const ends = more === undefined || more.why !== undefined || chars > maxChars;
      state = ends ? 'misplaced' : reader.read(more.text);
    }
    if (state === 'whole') yield { line, text, cells: reader.cells };
    else {
      yield { line, text, cells: null, why: 'quotes' };
      at = behind;
    }
  }
}

// What spreadsheets take for the beginning of a formula, in any width, after blanks and what nobody sees as well.
const beginsFormula = /^(?:[\t\r\n]|[\s\p{Default_Ignorable_Code_Point}]*['=+@＝＋－＠﹦﹢﹣﹫\u2212-])/u;

/** A cell that a spreadsheet would take for a formula gets an apostrophe in front, as one types it by hand. */
function guard(cell: string): string {
  return beginsFormula.test(cell) && !/^-?\d+(?:\.\d+)?$/u.test(cell) && cell !== '-' ? `'${cell}` : cell;
}

/** The cell that was guarded. */
export function unguard(cell: string): string {
  return cell.startsWith("'") && beginsFormula.test(cell.slice(1)) ? cell.slice(1) : cell;
}

/**
 * What stands in a cell of a table that people made, without the blanks and invisible characters around it that come
 * along from web pages and mails.
 */
export function cellText(cell: string): string {
  const [seen = ''] =
    /[^\s\p{Default_Ignorable_Code_Point}](?:.*[^\s\p{Default_Ignorable_Code_Point}])?/su.exec(unguard(cell)) ?? [];
  return seen;
}

/** Excel's own first line, such as `sep=;`, which only says what stands between the cells below it. */
export const namesDelimiter = (line: string): boolean => /^\uFEFF?"?sep=[,;\t]?"?[,;\t]*$/iu.test(line.trimEnd());

/** One record as a line of its own; lines end in CRLF (RFC 4180). */
export function csvLine(cells: readonly string[], delimiter: Delimiter): string {
  const written = cells
    .map(guard)
    .map((cell) => (/["\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell));
  return `${written.join(delimiter)}\r\n`;
}
