import { setImmediate as turnOfTheLoop } from 'node:timers/promises';

export type Delimiter = ',' | ';' | '\t';

/** If `why` is set, the line is unreadable and `text` is its readable part. */
export type TextLine = { line: number; text: string; why?: 'encoding' | 'length' };

/** A record, with the number and text of its first line. */
export type CsvRecord = { line: number; text: string } & (
  { cells: string[] } | { cells: null; why: 'encoding' | 'length' | 'quotes' }
);

function cellReader(delimiter: Delimiter) {
  const cells: string[] = [];
  let cell = '';
  let open = false;
  return {
    cells,
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

/** The cells of a record that is on one line; null if its quotes are misplaced. */
export function cellsOf(text: string, delimiter: Delimiter): string[] | null {
  if (!text.includes('"')) return text.split(delimiter);
  const reader = cellReader(delimiter);
  return reader.read(text) === 'whole' ? reader.cells : null;
}

const linesInTurn = 1000;

/**
 * Reads records and skips blank lines. A quote that is misplaced or never closed makes only its own line unreadable.
 * @param maxChars the most characters of a record, on all its lines
 */
export async function* csvRecords(
  lines: AsyncIterator<TextLine>,
  delimiter: Delimiter,
  maxChars: number,
): AsyncGenerator<CsvRecord> {
  // Lines that were read ahead; `at` is the index of the next line. Earlier lines are removed only when they fill half
  // of the queue, because each removal copies the rest.
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

// Matches text that a spreadsheet may read as a formula, including full-width signs and signs after blanks or invisible
// characters.
const beginsFormula = /^(?:[\t\r\n]|[\s\p{Default_Ignorable_Code_Point}]*['=+@＝＋－＠﹦﹢﹣﹫\u2212-])/u;

/** An apostrophe keeps a spreadsheet from reading the cell as a formula. */
function guard(cell: string): string {
  return beginsFormula.test(cell) && !/^-?\d+(?:\.\d+)?$/u.test(cell) && cell !== '-' ? `'${cell}` : cell;
}

export function unguard(cell: string): string {
  return cell.startsWith("'") && beginsFormula.test(cell.slice(1)) ? cell.slice(1) : cell;
}

/** The text of a cell without the blanks and invisible characters that come from web pages and emails. */
export function cellText(cell: string): string {
  const [content = ''] =
    /[^\s\p{Default_Ignorable_Code_Point}](?:.*[^\s\p{Default_Ignorable_Code_Point}])?/su.exec(unguard(cell)) ?? [];
  return content;
}

/** Whether Excel wrote the line to name the delimiter, such as `sep=;`. */
export const namesDelimiter = (line: string): boolean => /^\uFEFF?"?sep=[,;\t]?"?[,;\t]*$/iu.test(line.trimEnd());

/** Lines end in CRLF (RFC 4180). */
export function csvLine(cells: readonly string[], delimiter: Delimiter): string {
  const written = cells
    .map(guard)
    .map((cell) => (/["\r\n]/.test(cell) || cell.includes(delimiter) ? `"${cell.replaceAll('"', '""')}"` : cell));
  return `${written.join(delimiter)}\r\n`;
}
