import { once } from 'node:events';
import { connect } from 'node:net';

/** Sends bytes on a connection of its own and returns all that comes back until the service ends it. */
export async function rawRequest(
  baseUrl: string,
  text: string | Uint8Array,
): Promise<{ status: number; head: string; body: string }> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(text);
  await once(socket, 'close');
  const [head = '', ...rest] = Buffer.concat(chunks).toString('latin1').split('\r\n\r\n');
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]), head, body: rest.join('\r\n\r\n') };
}
