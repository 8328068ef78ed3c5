import { EventEmitter } from 'node:events';
import pg from 'pg';

/**
 * Rows whose texts are only passed on. The driver decodes each value of each row, and tells of each row by an event, which costs
 * more of a page of results than all else that this process does with it. A statement whose first column has the name below
 * is read past it: what came from the database is taken a chunk of the connection at a time, its bytes as they are.
 */

/**
 * The name of the first column, which must be of type text. Each row of such a statement's answer, asked for with `arrays`, is
 * one list of rows: see `byteRows`.
 */
export const asBytes = 'as_bytes';

/**
 * The columns of one row as byte texts: what the database writes in UTF-8, a letter for each byte. `Buffer.from(text, 'latin1')`
 * is what it sent.
 */
export type ByteRow = (string | null)[];

/** A text in the form of a row's columns, to be spliced with them. */
export const asByteText = (text: string): string => Buffer.from(text).toString('latin1');

/** All rows of an answer. @throws where the connection wasn't one of a pool that reads them */
export function byteRows(answer: readonly [ByteRow[]][]): ByteRow[] {
  if (typeof answer[0]?.[0] === 'string') throw new Error('this statement is only read on connections of a pool');
  return answer.length === 1 ? answer[0]![0] : answer.flatMap(([rows]) => rows);
}

/** What the driver's connection has of the stream that it listens to, and of those who listen to it. */
type Connection = EventEmitter & { attachListeners(stream: EventEmitter): void };

/** A client that knows such statements; of all else the driver's own parser gets every byte. */
export class ByteRowsClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: Connection };
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      const rest = new EventEmitter();
      attach(rest);
      stream.on('end', () => rest.emit('end'));
      stream.on(
        'data',
        split(
          (bytes) => rest.emit('data', bytes),
          (rows) => connection.emit('dataRow', { name: 'dataRow', fields: [rows] }),
        ),
      );
    };
  }
}

/** Types of messages (PostgreSQL, "Message Formats"), and what stands before each one's content: its type and its length. */
const rowDescription = 0x54,
  dataRow = 0x44,
  head = 5;

/** The name's place in a row description, after the number of columns. */
const nameAt = head + 2;
const marked = `${asBytes}\0`;

/** Takes chunks of a connection as they come, and passes on whole messages: rows of marked statements, and the rest. */
function split(onRest: (bytes: Buffer) => void, onRows: (rows: ByteRow[]) => void): (chunk: Buffer) => void {
  let isMarked = false;
  // The beginning of a message whose end hasn't come.
  let begun: Buffer[] = [];
  let have = 0;
  let need = head;
  return (chunk) => {
    let bytes = chunk;
    if (have > 0) {
      begun.push(chunk);
      have += chunk.length;
      if (have < need) return;
      bytes = Buffer.concat(begun, have);
    }
    let at = 0;
    let passed = 0;
    need = head;
    const passOn = () => {
      if (passed < at) onRest(bytes.subarray(passed, at));
    };
    while (at + head <= bytes.length) {
      const length = bytes.readUInt32BE(at + 1) + 1;
      if (at + length > bytes.length) {
        need = length;
        break;
      }
      const code = bytes[at];
      if (code === dataRow && isMarked) {
        passOn();
        const { rows, end } = readRows(bytes, at);
        onRows(rows);
        at = passed = end;
        continue;
      }
      if (code === rowDescription)
        isMarked = bytes.toString('latin1', at + nameAt, at + nameAt + marked.length) === marked;
      at += length;
    }
    passOn();
    have = bytes.length - at;
    begun = have === 0 ? [] : [bytes.subarray(at)];
  };
}

/** Every whole row from this place on. */
function readRows(bytes: Buffer, begin: number): { rows: ByteRow[]; end: number } {
  const text = bytes.toString('latin1', begin);
  const rows: ByteRow[] = [];
  let at = begin;
  while (at + head <= bytes.length && bytes[at] === dataRow) {
    const end = at + bytes.readUInt32BE(at + 1) + 1;
    if (end > bytes.length) break;
    const row: ByteRow = [];
    for (let column = at + head + 2; column < end;) {
      const length = bytes.readInt32BE(column);
      column += 4;
      if (length < 0) row.push(null);
      else {
        row.push(text.slice(column - begin, column - begin + length));
        column += length;
      }
    }
    rows.push(row);
    at = end;
  }
  return { rows, end: at };
}
