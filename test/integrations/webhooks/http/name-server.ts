import { createSocket } from 'node:dgram';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A real name server for tests (RFC 1035, A and AAAA over UDP) whose answers may change from question to question. */

export type NameServer = {
  /** For `createResolver({servers: [address]})`. */
  address: string;
  /** Questions that arrived, such as `A hooks.example.test`. */
  questions: string[];
  close(): Promise<void>;
};

/** Gives the addresses of a name, of both kinds; null for a name that doesn't exist, 'silent' for no answer at all. */
export type Zone = (name: string, type: 'A' | 'AAAA') => string[] | null | 'silent';

export async function startNameServer(zone: Zone): Promise<NameServer> {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, peer) => {
    const labels: string[] = [];
    let at = 12;
    while (query[at] !== 0) {
      const length = query[at]!;
      labels.push(query.toString('ascii', at + 1, at + 1 + length));
      at += length + 1;
    }
    const question = query.subarray(12, at + 5);
    const type = query.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A';
    const name = labels.join('.').toLowerCase();
    questions.push(`${type} ${name}`);
    const found = zone(name, type);
    if (found === 'silent') return;
    const records = (found ?? [])
      .filter((address) => isIPv4(address) === (type === 'A'))
      .map((address) => {
        const data = Buffer.from(ipaddr.parse(address).toByteArray());
        const head = Buffer.from([0xc0, 0x0c, 0, type === 'A' ? 1 : 28, 0, 1, 0, 0, 0, 0, 0, data.length]);
        return Buffer.concat([head, data]);
      });
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    header.writeUInt16BE(found === null ? 0x8583 : 0x8580, 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([header, question, ...records]), peer.port, peer.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: () =>
      new Promise((resolve) => {
        socket.close(() => resolve());
      }),
  };
}
