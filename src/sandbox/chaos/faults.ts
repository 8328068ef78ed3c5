import type { IncomingMessage, OutgoingHttpHeader, RequestListener, Server, ServerResponse } from 'node:http';
import { ApiError, errorBody, type ErrorCode, helpLink } from '../../platform/errors/errors.ts';

/** Faults that a proxy between a client and any service can cause. */
export type Fault =
  | { kind: 'slow'; ms: number }
  | { kind: 'rate-limited'; seconds: number }
  | { kind: 'unavailable'; seconds: number }
  | { kind: 'reset' }
  | { kind: 'lost' }
  | { kind: 'cut' };

const pieces = 5;

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

/** Closes the connection after half of the body, or before the body. */
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
      ...helpLink('', code),
    })
    .end(errorBody(code, 'This sandbox refuses some requests. Repeat the request after the seconds in Retry-After.'));
}

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

/** Passes all requests under `base` to `between`, which decides whether and how the service gets them. */
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
 * Replaces the JSON in a successful response; streamed responses stay unchanged. The head is sent together with the
 * body.
 * @param rewrite returns the new JSON, and may also replace a header
 */
export function rewriteReply(
  request: IncomingMessage,
  response: ServerResponse,
  rewrite: (json: string, setHeader: (name: string, value: string) => void) => string,
) {
  // The service must not compress the body, because the JSON has to be read.
  delete request.headers['accept-encoding'];
  const { writeHead, write, end } = response;
  let head: Head | null = null;
  const asBefore = () => Object.assign(response, { writeHead, write, end });
  response.writeHead = ((...args: Head) => {
    head = args;
    return response;
  }) as ServerResponse['writeHead'];
  response.write = ((...args: Parameters<typeof write>) => {
    asBefore();
    if (head !== null) response.writeHead(head[0], Object.fromEntries(fieldsOf(head[1])));
    return response.write(...args);
  }) as ServerResponse['write'];
  // The server may pass null as the body.
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

/** The header names and values. The names are in lower case. */
function fieldsOf(headers: Head[1]): [string, OutgoingHttpHeader][] {
  const pairs = Array.isArray(headers)
    ? Array.from({ length: headers.length / 2 }, (_, i) => [headers[2 * i], headers[2 * i + 1]])
    : Object.entries(headers ?? {});
  return pairs.map(([name, value]) => [String(name).toLowerCase(), value as OutgoingHttpHeader]);
}
