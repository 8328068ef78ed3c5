import type { IncomingMessage, OutgoingHttpHeader, RequestListener, Server, ServerResponse } from 'node:http';
import type { ErrorCode } from '../../platform/errors/errors.ts';
import { ApiError, errorBody } from '../../platform/errors/errors.ts';

/** What goes wrong now and then between a client and any service. */
export type Fault =
  /** The answer begins late, and comes in pieces. */
  | { kind: 'slow'; ms: number }
  /** 429 with Retry-After, and nothing was done. */
  | { kind: 'rate-limited'; seconds: number }
  /** 503 with Retry-After, and nothing was done. */
  | { kind: 'unavailable'; seconds: number }
  /** The connection ends before the service has seen the request. */
  | { kind: 'reset' }
  /** The request is carried out, and the connection ends instead of the answer. */
  | { kind: 'lost' }
  /** The connection ends in the middle of the answer's body. */
  | { kind: 'cut' };

const pieces = 5;

/** The answer's end, replaced: the body comes in pieces. */
function trickle(response: ServerResponse, ms: number): void {
  const end = response.end.bind(response) as (body?: Buffer) => ServerResponse;
  response.end = ((body?: string | Buffer) => {
    const bytes = Buffer.from(body ?? '');
    const size = Math.ceil(bytes.length / pieces);
    let sent = 0;
    const next = () => {
      if (response.destroyed) return;
      const piece = bytes.subarray(sent, sent + size);
      sent += size;
      if (sent >= bytes.length) end(piece);
      else response.write(piece, () => setTimeout(next, ms / pieces));
    };
    next();
    return response;
  }) as ServerResponse['end'];
}

/** The answer's end, replaced: writes the first half of the body, or nothing at all, and ends the connection. */
function breakOff(response: ServerResponse, half: boolean): void {
  response.end = ((body?: string | Buffer) => {
    const bytes = Buffer.from(body ?? '');
    if (half && bytes.length > 1) response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
    else response.destroy();
    return response;
  }) as ServerResponse['end'];
}

function refuse(request: IncomingMessage, response: ServerResponse, code: ErrorCode, seconds: number): void {
  const { status } = new ApiError(code);
  request.resume();
  response
    .writeHead(status, {
      'x-content-type-options': 'nosniff',
      'content-type': 'application/json; charset=utf-8',
      'retry-after': String(seconds),
      'cache-control': 'no-store',
    })
    .end(errorBody(code, 'The sandbox was told to refuse now and then. Try again after Retry-After.'));
}

/** Carries a fault out; `serve` is what the service does otherwise. */
export function enact(fault: Fault, request: IncomingMessage, response: ServerResponse, serve: () => void): void {
  switch (fault.kind) {
    case 'slow':
      trickle(response, fault.ms);
      setTimeout(serve, fault.ms);
      break;
    case 'rate-limited':
      refuse(request, response, 'rate_limited', fault.seconds);
      break;
    case 'unavailable':
      refuse(request, response, 'service_unavailable', fault.seconds);
      break;
    case 'reset':
      request.destroy();
      break;
    case 'lost':
    case 'cut':
      breakOff(response, fault.kind === 'cut');
      serve();
  }
}

/** Puts something between a server's requests under `base` and the service, which knows nothing of it. */
export function standBetween(
  server: Server,
  base: string,
  between: (request: IncomingMessage, response: ServerResponse, serve: () => void) => void,
): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const serve = () => {
      for (const listener of listeners) listener.call(server, request, response);
    };
    if (request.url?.startsWith(base) === true) between(request, response, serve);
    else serve();
  });
}

type Head = [status: number, headers?: Record<string, unknown> | unknown[]];

/**
 * The reply's JSON, if it is a success with any, is sent as the rewritten text; a stream goes as it is. The head is written with the
 * body: what sends that in parts is put in place before.
 * @param rewrite may also give the reply a header, instead of the one of that name
 */
export function rewriteReply(
  request: IncomingMessage,
  response: ServerResponse,
  rewrite: (json: string, setHeader: (name: string, value: string) => void) => string,
) {
  // What is compressed could not be read.
  delete request.headers['accept-encoding'];
  const { writeHead, write, end } = response;
  let head: Head | null = null;
  const asBefore = () => Object.assign(response, { writeHead, write, end });
  response.writeHead = ((...given: Head) => {
    head = given;
    return response;
  }) as ServerResponse['writeHead'];
  response.write = ((...given: Parameters<typeof write>) => {
    asBefore();
    if (head !== null) response.writeHead(head[0], Object.fromEntries(fieldsOf(head[1])));
    return response.write(...given);
  }) as ServerResponse['write'];
  // A reply without a body ends with null.
  response.end = ((body?: string | Buffer | null) => {
    asBefore();
    let sent = body;
    if (head !== null) {
      const fields = new Map(fieldsOf(head[1]));
      const text = String(body ?? '');
      if (head[0] === 200 && text.startsWith('{'))
        sent = Buffer.from(rewrite(text, (name, value) => fields.set(name, value)));
      if (fields.has('content-length'))
        fields.set('content-length', String(sent == null ? 0 : Buffer.byteLength(sent)));
      response.writeHead(head[0], Object.fromEntries(fields));
    }
    return sent == null ? response.end() : response.end(sent);
  }) as ServerResponse['end'];
}

/** Names in small letters. */
function fieldsOf(headers: Head[1]): [string, OutgoingHttpHeader][] {
  const pairs = Array.isArray(headers)
    ? Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i], headers[2 * i + 1]])
    : Object.entries(headers ?? {});
  return pairs.map(([name, value]) => [String(name).toLowerCase(), value as OutgoingHttpHeader]);
}
