import { limits } from '../../config/limits.ts';
import { csvLine } from '../csv.ts';
import { UnreadableFile } from '../lines.ts';

const number = (value: number) => value.toLocaleString('en-GB');

export function columnName(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : columnName(Math.floor(index / 26) - 1) + last;
}

/** In CSV, each row must be one line, so that line numbers are row numbers. So this sign replaces line breaks in cells. */
export const cellBreak = '\u2028';

/**
 * Writes the rows of one sheet as CSV. A row of the sheet has the same number as its line.
 * @throws UnreadableFile with the sheet, the row and the column
 */
export class SheetOutput {
  readonly #wanted: string;
  readonly #filled: string[] = [];
  #name = '';
  #sheets = 0;
  #isFilled = false;
  #row = 0;
  #cells: string[] = [];
  #lines: string[] = [];
  #count = 0;
  #bytes = 0;

  /** @param wanted the name of the sheet, or an empty string if the only sheet with rows is read */
  constructor(wanted: string) {
    this.#wanted = wanted.trim().toLowerCase();
  }

  /** Begins a sheet. @returns whether the sheet must be read */
  sheet(name: string): boolean {
    this.#endRow();
    if (++this.#sheets > limits.workbookSheets)
      throw new UnreadableFile(
        `the workbook has more than ${limits.workbookSheets} sheets: keep the sheet of learners`,
      );
    this.#name = name;
    this.#row = 0;
    this.#isFilled = false;
    return this.#wanted === '' || name.trim().toLowerCase() === this.#wanted;
  }

  row(row: number): void {
    this.#endRow();
    if (!Number.isSafeInteger(row) || row <= this.#row)
      this.#refuse('the rows are not in order: save the workbook again');
    this.#row = row;
  }

  cell(column: number, read: () => string): void {
    let text: string;
    try {
      text = read();
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error;
      this.#refuse(error.message, column);
    }
    if (text === '') return;
    if (column >= limits.workbookColumns)
      this.#refuse(`there are more than ${limits.workbookColumns} columns: delete the other columns`, column);
    if (text.length > limits.inviteLineBytes / 4) this.#refuse('the text is too long: shorten it', column);
    while (this.#cells.length < column) this.#cells.push('');
    this.#cells[column] = text.replace(/\r\n?|\n/g, cellBreak);
  }

  #refuse(why: string, column?: number): never {
    const at = column === undefined ? '' : `, column ${columnName(column)}`;
    throw new UnreadableFile(`sheet “${this.#name.slice(0, 40)}”, row ${this.#row}${at}: ${why}`);
  }

  #endRow(): void {
    const cells = this.#cells;
    this.#cells = [];
    if (cells.every((cell) => cell.trim() === '')) return;
    if (!this.#isFilled) {
      this.#isFilled = true;
      this.#filled.push(this.#name);
      this.#count = 0;
      this.#lines = [];
    }
    if (this.#row > limits.inviteLines)
      this.#refuse(`there are more than ${number(limits.inviteLines)} rows: delete the empty rows, or save fewer rows`);
    const line = `${'\n'.repeat(this.#row - 1 - this.#count)}${csvLine(cells, ',').slice(0, -2)}\n`;
    this.#count = this.#row;
    this.#bytes += Buffer.byteLength(line);
    if (this.#bytes > limits.inviteTableBytes) this.#refuse('there is too much text: save fewer rows');
    this.#lines.push(line);
  }

  end(): void {
    this.#endRow();
  }

  /** The CSV of the sheet. @throws UnreadableFile if no sheet or several sheets have rows */
  result(): { csv: string; sheet: string } {
    const names = this.#filled.map((name) => `“${name.slice(0, 40)}”`);
    const few = names.slice(0, 5).join(', ');
    if (names.length > 1)
      throw new UnreadableFile(`the workbook has rows in ${names.length} sheets (${few}): enter the name of one sheet`);
    if (names.length === 0)
      throw new UnreadableFile(
        this.#wanted === ''
          ? 'the workbook has no visible sheet with rows'
          : 'the workbook has no visible sheet of this name with rows: check the name',
      );
    return { csv: this.#lines.join(''), sheet: this.#filled[0]! };
  }
}
