import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';

const shape = /^(?:\[([\da-f:.]+)\]|[\w.-]{1,255})(?::(\d{1,5}))?$/i;

/** Nearly every request names the host that the one before it named. */
let lastValid: string | undefined;

/**
 * What is wrong with a request's Host, or null: a proxy and the service must never read two different hosts out of one
 * request (RFC 9112, 3.2). HTTP/1.0 needs none.
 */
export function hostFault({ rawHeaders, headers, httpVersion }: IncomingMessage): string | null {
  let given = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') given++;
  if (given > 1) return 'The request has more than one Host header.';
  if (given === 0) return httpVersion === '1.0' ? null : 'The request has no Host header.';
  if (headers.host === lastValid) return null;
  const [whole, v6, port = '80'] = shape.exec(headers.host!) ?? [];
  if (whole === undefined || (v6 !== undefined && !isIPv6(v6)) || Number(port) > 65535)
    return 'The Host header is not valid.';
  lastValid = headers.host;
  return null;
}
