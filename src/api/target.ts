import { ApiError } from '../platform/errors/errors.ts';
import { apiBase } from '../platform/config/settings.ts';
import { routes } from './route-table.ts';
import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';

/**
 * Converts a request target to the form that routes expect: as a path (RFC 9112, 3.2.2), with unreserved characters
 * decoded (RFC 3986, 6.2.2.2). Broken percent-encoding becomes text that no route has, so the 404 comes after
 * credentials, rate limit and audit.
 */
export function plainTarget(target: string): string {
  const url = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*\/?/i, '/');
  if (!url.includes('%')) return url;
  const question = url.indexOf('?');
  const path = question < 0 ? url : url.slice(0, question);
  const query = url.slice(path.length);
  try {
    decodeURIComponent(path);
    return (
      path.replace(/%[2-7][0-9a-f]/gi, (code) =>
        /[\w.~-]/.test(decodeURIComponent(code)) ? decodeURIComponent(code) : code,
      ) + query
    );
  } catch {
    return path.replaceAll('%', '%25') + query;
  }
}

const patterns = routes.map((route) => ({
  method: route.method,
  allowsRestrictedKeys: route.allowsRestrictedKeys === true,
  pattern: new RegExp(`^${apiBase}${route.path.replace('{ref}', '.+').replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** The message is the same for a path that does not exist and for a path that a restricted key may not use. */
export const noEndpoint = (): ApiError =>
  new ApiError('not_found', 'This access key has no endpoint at this path. Compare the path with the API reference.');

export const noPage = (): ApiError =>
  new ApiError('not_found', `The service has no page at this path. API paths start with ${apiBase}.`);

/**
 * 405 if the path has other methods, otherwise 404.
 * @param isRestricted whether the caller has a restricted key, which may use fewer routes
 */
export function noRoute(url: string, isRestricted = false): ApiError {
  const path = url.split('?', 1)[0]!;
  const methods = patterns
    .filter((route) => route.pattern.test(path) && (route.allowsRestrictedKeys || !isRestricted))
    .map(({ method }) => method as string);
  if (methods.length === 0) return noEndpoint();
  if (methods.includes('GET')) methods.push('HEAD');
  return new ApiError('method_not_allowed', undefined, { allow: [...new Set(methods)].sort().join(', ') });
}

const hostPattern = /^(?:\[([\da-f:.]+)\]|[\w.-]{1,255})(?::(\d{1,5}))?$/i;

/** The last valid host is cached, because nearly every request has the same host. */
let lastValid: string | undefined;

/**
 * The fault of a request's Host header; null: none. A proxy and the service must read the same host (RFC 9112, 3.2).
 */
export function hostFault({ rawHeaders, headers, httpVersion }: IncomingMessage): string | null {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') count++;
  if (count > 1) return 'The request has more than one Host header. Send one.';
  if (count === 0) return httpVersion === '1.0' ? null : 'The request has no Host header. Send one.';
  if (headers.host === lastValid) return null;
  const [whole, v6, port = '80'] = hostPattern.exec(headers.host!) ?? [];
  if (whole === undefined || (v6 !== undefined && !isIPv6(v6)) || Number(port) > 65535)
    return 'The Host header is malformed. Send the host of the URL.';
  lastValid = headers.host;
  return null;
}
