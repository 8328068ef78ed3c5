import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';

const hostPattern = /^(?:\[([\da-f:.]+)\]|[\w.-]{1,255})(?::(\d{1,5}))?$/i;

/** Nearly every request has the same host as the one before. */
let lastValid: string | undefined;

/** What is wrong with a request's Host, or null. A proxy and the service must read the same host (RFC 9112, 3.2). */
export function hostFault({ rawHeaders, headers, httpVersion }: IncomingMessage): string | null {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') count++;
  if (count > 1) return 'The request has more than one Host header.';
  if (count === 0) return httpVersion === '1.0' ? null : 'The request has no Host header.';
  if (headers.host === lastValid) return null;
  const [whole, v6, port = '80'] = hostPattern.exec(headers.host!) ?? [];
  if (whole === undefined || (v6 !== undefined && !isIPv6(v6)) || Number(port) > 65535)
    return 'The Host header is not valid.';
  lastValid = headers.host;
  return null;
}
