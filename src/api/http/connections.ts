import type { Server, ServerResponse } from 'node:http';
import { type Socket, Server as Listener } from 'node:net';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { systemClock } from '../../platform/time/clock.ts';

/** An idle connection stays open for this long when the service stops, because its next request may be on its way. */
const idleGraceMs = 1000;

/** When the service stops, the listener closes after at most this time, even if requests keep arriving. */
const calmMs = 500;

/** A turn of the event loop counts as idle if it takes less time than this. */
const idleTurnMs = 0.1;

/** A refused connection is still read for this long, so that the client can read the refusal (RFC 9112, 9.6). */
const lingerMs = 1000;

/** The error code of a CONNECT request, which asks for a tunnel. */
export const noProxy = 'CONNECT';

/**
 * The response to the latest request on a connection. A property of the socket costs less for each request than a map.
 */
const latest = Symbol('latest reply');
type Answering = Socket & { [latest]?: ServerResponse };

export class Connections {
  #server: Server;
  #open = new Set<Socket>();
  #refused = new WeakSet<Socket>();
  #stopping = false;
  /** Counts accepted connections and requests. */
  #arrived = 0;
  #refusal: (code: string | undefined) => string;
  #closed = Promise.withResolvers<void>();

  /** @param refusal returns the bytes of the response to an unreadable request, by the error's code */
  constructor(server: Server, refusal: (code: string | undefined) => string) {
    this.#server = server;
    this.#refusal = refusal;
    server.once('close', this.#closed.resolve);
    server.on('connection', (socket: Socket) => {
      this.#arrived++;
      this.#open.add(socket);
      socket.once('close', () => this.#open.delete(socket));
    });
    server.prependListener('request', (request, response) => {
      this.#arrived++;
      (request.socket as Answering)[latest] = response;
    });
    server.on('connect', (_request, socket: Socket) => {
      socket.resume();
      this.#refuse(socket, noProxy);
    });
  }

  /** From now on, readiness probes fail. Connections are still accepted and kept open. */
  announceEnd(): void {
    this.#stopping = true;
  }

  get open(): number {
    return this.#open.size;
  }

  get listening(): boolean {
    return this.#server.listening;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Whether every response says `Connection: close`, so that clients connect to another process. */
  get ending(): boolean {
    return this.#stopping && !this.listening;
  }

  /** Answers an unreadable request after the responses to earlier requests, and closes the connection. */
  refuse(error: NodeJS.ErrnoException, socket: Socket): void {
    if (this.#refused.has(socket)) return;
    if (error.code === 'ECONNRESET') {
      socket.destroy();
      return;
    }
    const response = (socket as Answering)[latest];
    if (response === undefined || !response.req.complete || response.closed) {
      this.#refuse(socket, error.code);
      return;
    }
    this.#refused.add(socket);
    response.once('close', () => this.#refuse(socket, error.code));
  }

  #refuse(socket: Socket, code: string | undefined): void {
    this.#refused.add(socket);
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    // Without the timer, a client that never closes its side would keep the connection open for ever.
    const linger = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(linger));
    socket.end(this.#refusal(code));
  }

  /**
   * Stops listening. Each connection closes after its next response or when it is idle. After `withinMs`, the remaining
   * connections are destroyed.
   */
  async drain(withinMs: number): Promise<void> {
    const beganMs = systemClock.monotonicMs();
    this.announceEnd();
    if (!this.listening) return;
    await this.#endListening(Math.min(calmMs, withinMs / 10));
    // Sockets with a waiting request are read before `setImmediate` runs, so these sockets do not count as idle.
    const sweep = setInterval(() => setImmediate(() => this.#endIdle()), Math.min(idleGraceMs, withinMs / 2));
    const leftMs = withinMs - (systemClock.monotonicMs() - beganMs);
    const cut = setTimeout(() => {
      for (const socket of this.#open) socket.destroy();
    }, leftMs);
    await this.#closed.promise;
    clearInterval(sweep);
    clearTimeout(cut);
  }

  /**
   * Closes the listener after a turn of the event loop without a new connection, a new request or other work. Closing
   * resets connections in the kernel's queue, and a client cannot safely repeat a POST that was lost.
   */
  async #endListening(withinMs: number): Promise<void> {
    const lateMs = systemClock.monotonicMs() + withinMs;
    await turnOfTheLoop();
    for (let calm = false; !calm;) {
      const before = this.#arrived;
      const beganMs = systemClock.monotonicMs();
      await turnOfTheLoop();
      const nowMs = systemClock.monotonicMs();
      calm = nowMs > lateMs || (this.#arrived === before && nowMs - beganMs < idleTurnMs);
    }
    // The `close` of node:http would close idle connections immediately and stop the request timeouts. The `close` of
    // node:net does neither.
    Listener.prototype.close.call(this.#server);
  }

  #endIdle(): void {
    this.#server.closeIdleConnections();
    // `closeIdleConnections` skips connections that have never sent a byte, so they are destroyed here.
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy();
  }
}
