import type { Socket } from 'node:net';

/** A head that grows beyond this without an end is left to the parser, which refuses it. */
const longestHead = 16 * 1024;
const shortestStatus = 'HTTP/1.1 100'.length;
/** Where the first digit of the status stands, and the one that is informational. */
const classAt = 'HTTP/1.1 '.length;
const informational = '1'.charCodeAt(0);
const nothing = Buffer.alloc(0);

/** Where the informational answer at the front ends; 0 if there is none, -1 if that can't be told yet. */
function informationalEnd(bytes: Buffer): number {
  if (bytes.length >= shortestStatus && bytes[classAt] !== informational) return 0;
  const start = bytes.toString('latin1', 0, shortestStatus);
  if (start.length < shortestStatus) return 'HTTP/1.'.startsWith(start.slice(0, 7)) ? -1 : 0;
  if (!/^HTTP\/1\.\d 1(?!01)\d\d$/.test(start)) return 0;
  const end = bytes.indexOf('\r\n\r\n');
  return end >= 0 ? end + 4 : bytes.length > longestHead ? 0 : -1;
}

/**
 * Makes a connection pass over the informational answers before the final one. A client has to bear them though it
 * asked for none (RFC 9110, 15.2), and undici ends the connection at a `100 Continue`. There is one request at a time
 * on a connection, so what arrives first after a request was written is the head of its answer; the rest passes
 * untouched.
 */
export function passOverInformational(socket: Socket): void {
  const { read, write } = socket;
  let inHead = true;
  let held: Buffer = nothing;
  socket.write = ((...given: Parameters<typeof write>) => {
    inHead = true;
    return write.apply(socket, given);
  }) as typeof write;
  socket.read = (size?: number) => {
    for (;;) {
      const chunk = read.call(socket, size) as Buffer | null;
      if (!inHead || chunk === null) return chunk;
      held = held === nothing ? chunk : Buffer.concat([held, chunk]);
      let end = informationalEnd(held);
      while (end > 0) {
        held = held.subarray(end);
        end = informationalEnd(held);
      }
      if (end < 0) continue;
      const head = held;
      held = nothing;
      inHead = false;
      return head;
    }
  };
}
