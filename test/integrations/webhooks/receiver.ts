import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';

/** A real HTTPS receiver of webhooks for tests, on loopback, with the certificates under tls/. */

const tlsFile = (name: string): string => fileURLToPath(new URL(`tls/${name}.pem`, import.meta.url));

/** For a child process: `NODE_EXTRA_CA_CERTS=caFile`. */
export const caFile = tlsFile('ca');

/** Makes this process trust the test authority, as `NODE_EXTRA_CA_CERTS` does when a process starts. */
export function trustTestAuthority(): void {
  setDefaultCACertificates([...getCACertificates('default'), readFileSync(caFile, 'utf8')]);
}

export type Received = {
  path: string;
  method: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: Buffer;
  /** Which connection brought it, counted from 1. */
  connection: number;
};

export type Behaviour = (request: Received, response: ServerResponse, incoming: IncomingMessage) => void;

export function answer(status: number, headers: Record<string, string> = {}, body = ''): Behaviour {
  return (_request, response) => {
    response.writeHead(status, headers).end(body);
  };
}
export const hang: Behaviour = () => {};
/** Sends the head and part of the body, and never the rest. */
export const hangInBody: Behaviour = (_request, response) => {
  response.writeHead(200).write('a');
};
export const dropConnection: Behaviour = (_request, _response, incoming) => {
  incoming.socket.destroy();
};
export const redirect = (location: string): Behaviour => answer(302, { location });
export const endlessBody: Behaviour = (_request, response) => {
  response.writeHead(200);
  const chunk = Buffer.alloc(65_536, 'a');
  const write = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', write);
  write();
};
/** Each request takes the next behaviour; the last one stays. */
export function inTurn(...behaviours: [Behaviour, ...Behaviour[]]): Behaviour {
  let turn = 0;
  return (...request) => behaviours[Math.min(turn++, behaviours.length - 1)]!(...request);
}

export type Receiver = {
  port: number;
  /** `https://localhost:PORT/hook` */
  url: string;
  received: Received[];
  /** Connections that reached the port, whether or not a request followed. */
  connections(): number;
  behave(behaviour: Behaviour): void;
  /** Resolves once `count` requests in all have arrived whole. */
  arrived(count: number): Promise<Received[]>;
  close(): Promise<void>;
};

export async function startReceiver({
  behaviour = answer(204),
  certificate = 'localhost',
  host = '127.0.0.1',
  port = 0,
  keep = true,
}: {
  behaviour?: Behaviour;
  certificate?: 'localhost' | 'expired' | 'elsewhere';
  host?: string;
  port?: number;
  /** False to count requests only, for load tests. */
  keep?: boolean;
} = {}): Promise<Receiver> {
  const pem = readFileSync(tlsFile(certificate), 'utf8');
  const received: Received[] = [];
  const waiting = new Set<{ count: number; resolve: (all: Received[]) => void }>();
  let respond = behaviour;
  let connections = 0;
  const connectionNumbers = new WeakMap<object, number>();

  const server = createServer({ key: pem, cert: pem, keepAliveTimeout: 60_000 }, (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: Received = {
        path: incoming.url ?? '',
        method: incoming.method ?? '',
        headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
        body: Buffer.concat(chunks),
        connection: connectionNumbers.get(incoming.socket) ?? 0,
      };
      if (keep) received.push(request);
      for (const waiter of waiting) {
        if (received.length < waiter.count) continue;
        waiting.delete(waiter);
        waiter.resolve(received);
      }
      respond(request, response, incoming);
    });
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.on('secureConnection', (socket) => connectionNumbers.set(socket, connections));
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, host, resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    url: `https://localhost:${bound}/hook`,
    received,
    connections: () => connections,
    behave: (next) => {
      respond = next;
    },
    arrived: (count) =>
      new Promise((resolve) => {
        if (received.length >= count) resolve(received);
        else waiting.add({ count, resolve });
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A receiver that answers each request with bytes of its own; a request is told by the end of its body in `}`. */
export async function startRawReceiver(
  respond: (socket: TLSSocket) => Promise<void>,
): Promise<Pick<Receiver, 'url' | 'connections' | 'close'>> {
  const pem = readFileSync(tlsFile('localhost'), 'utf8');
  const sockets = new Set<TLSSocket>();
  let connections = 0;
  const server = createTlsServer({ key: pem, cert: pem }, (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      if (chunk.at(-1) === '}'.charCodeAt(0)) void respond(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}/hook`,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
