import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Server as Listener } from 'node:net';
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { systemClock } from '../../platform/time/clock.ts';

/**
 * How long a connection without a request under way stays open when the service stops: its next one may be on its way.
 */
const idleGraceMs = 1000;

/** How long the end of listening waits at most for a moment in which nothing arrives. */
const calmMs = 500;

/** A turn of the event loop that has nothing to do is over within this. */
const idleTurnMs = 0.1;

/** How long a refused connection is read on, so that the refusal reaches who is still sending (RFC 9112, 9.6). */
const lingerMs = 1000;

/** The code of a request that asks for a tunnel. */
export const noProxy = 'CONNECT';

/** The reply to the latest request of a connection, kept at the connection: a map of them costs every request more. */
const latest = Symbol('latest reply');
type Answering = Socket & { [latest]?: ServerResponse };

/** HTTP's own close hangs up on idle clients at once, and stops looking for requests that take too long. */
function endListener(server: Server): void {
  Listener.prototype.close.call(server);
}

/** A server's connections: what can't be read as a request is refused, and none outlives the server's end. */
export class Connections {
  #server: Server;
  #open = new Set<Socket>();
  #refused = new WeakSet<Socket>();
  #stopping = false;
  /** Connections taken and requests read so far. */
  #arrived = 0;
  #refusal: (code: string | undefined) => string;
  #closed = Promise.withResolvers<void>();

  /** @param refusal the bytes that answer what couldn't be read, by the code of its fault */
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

  /** Balancers that ask are told to send nothing more; connections are still taken, and kept. */
  announceEnd(): void {
    this.#stopping = true;
  }

  /** How many there are. */
  get open(): number {
    return this.#open.size;
  }

  get listening(): boolean {
    return this.#server.listening;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** Every reply says `Connection: close`: who has a connection makes the next one elsewhere. */
  get ending(): boolean {
    return this.#stopping && !this.listening;
  }

  /**
   * HTTP that couldn't be read as a request: after the replies under way the one error shape, then the connection ends.
   */
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
    // Who never closes the other half would keep the connection for ever.
    const linger = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(linger));
    socket.end(this.#refusal(code));
  }

  /**
   * Takes no more connections and waits for those there are: each ends with its next reply, or when it has been idle
   * for a moment. What is still open after `withinMs` is cut off, whatever it does.
   */
  async drain(withinMs: number): Promise<void> {
    const beganMs = systemClock.monotonicMs();
    this.announceEnd();
    if (!this.listening) return;
    await this.#endListening(Math.min(calmMs, withinMs / 10));
    // After the sockets have been read: what a late process finds there are requests, and their connections aren't idle.
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
   * Closes the listener behind a turn of the event loop that brought neither a connection nor a request, and took no
   * time: a turn takes one connection of the kernel's queue at most, and those that wait there when the listener closes
   * are reset. A request that a proxy has sent on one of them is lost, and a POST can't be sent again. During a turn
   * that has other work, some may have come.
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
    endListener(this.#server);
  }

  #endIdle(): void {
    this.#server.closeIdleConnections();
    // Node counts those that have never sent anything as busy.
    for (const socket of this.#open) if (socket.bytesRead === 0) socket.destroy();
  }
}
