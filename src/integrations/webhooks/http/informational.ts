import type { Socket } from 'node:net';

/** The limit of undici's parser for the head of a response, in bytes. */
const maxHead = 16 * 1024;
const shortestStatus = 'HTTP/1.1 100'.length;
/** The index of the first digit of the status. In an informational status, this digit is 1. */
const classAt = 'HTTP/1.1 '.length;
const informational = '1'.charCodeAt(0);
const empty = Buffer.alloc(0);

/**
 * The position after an informational response at the beginning of `bytes`; 0: there is none; -1: more bytes are
 * needed.
 */
function informationalEnd(bytes: Buffer): number {
  if (bytes.length >= shortestStatus && bytes[classAt] !== informational) return 0;
  const start = bytes.toString('latin1', 0, shortestStatus);
  if (start.length < shortestStatus) return 'HTTP/1.'.startsWith(start.slice(0, 7)) ? -1 : 0;
  if (!/^HTTP\/1\.\d 1(?!01)\d\d$/.test(start)) return 0;
  const end = bytes.indexOf('\r\n\r\n');
  return end >= 0 ? end + 4 : bytes.length > maxHead ? 0 : -1;
}

/**
 * Removes informational responses from a connection, because undici closes the connection at a `100 Continue`. Clients
 * must accept these responses (RFC 9110, 15.2).
 *
 * A connection has one request at a time, so the head of the response is the first data after each write.
 */
export function passOverInformational(socket: Socket): void {
  const { read, write } = socket;
  let inHead = true;
  let held: Buffer = empty;
  socket.write = ((...args: Parameters<typeof write>) => {
    inHead = true;
    return write.apply(socket, args);
  }) as typeof write;
  socket.read = (size?: number) => {
    for (;;) {
      const chunk = read.call(socket, size) as Buffer | null;
      if (!inHead || chunk === null) return chunk;
      held = held === empty ? chunk : Buffer.concat([held, chunk]);
      let end = informationalEnd(held);
      while (end > 0) {
        held = held.subarray(end);
        end = informationalEnd(held);
      }
      if (end < 0) continue;
      const head = held;
      held = empty;
      inHead = false;
      return head;
    }
  };
}
