import type { IncomingHttpHeaders } from 'node:http';

/** What browsers promise, and what is asked of them: cookies, where a form came from, where to go on to. */

/** Whether pages at this origin can be signed in to: https, or a browser on the service's own machine. */
export function isSafeOrigin(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/**
 * `__Host-` binds a cookie to one host and to https. Not every browser keeps such a cookie over plain http, not even on
 * the own machine, where nobody can listen: there it has another name, with the port, because cookies know no ports.
 */
export function cookieName(baseUrl: string, name: string): string {
  const { protocol, port } = new URL(baseUrl);
  return protocol === 'https:' ? `__Host-${name}` : `${name}-${port || '80'}`;
}

export function readCookie(headers: IncomingHttpHeaders, name: string): string | null {
  for (const part of (headers.cookie ?? '').split(';')) {
    const equals = part.indexOf('=');
    if (equals > 0 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).trim();
  }
  return null;
}

/**
 * Lax, so that a link in a message finds its reader signed in: nothing is changed by following one.
 * @param value null takes the cookie away
 */
export function cookieHeader(
  baseUrl: string,
  name: string,
  value: string | null,
  seconds: number | null = null,
): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  const age = value === null ? '; Max-Age=0' : seconds === null ? '' : `; Max-Age=${seconds}`;
  return `${cookieName(baseUrl, name)}=${value ?? ''}; Path=/${secure}; HttpOnly; SameSite=Lax${age}`;
}

/**
 * Whether a request that changes something comes from a page of ours. Browsers say so in Sec-Fetch-Site, which no page
 * can set; those that don't know it yet send Origin. Whoever says neither is refused.
 */
export function comesFromUs(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers.origin === baseUrl : site === 'same-origin';
}

/** Whether a page of ours led here, or the person by themselves: no other site, as far as the browser says. */
export function isUnprompted(headers: IncomingHttpHeaders): boolean {
  return ['same-origin', 'none'].includes(String(headers['sec-fetch-site']));
}

/** An address to go on to, if it is one of the console's; otherwise the fallback. Another site's is never. */
export function safeAddress(given: string, baseUrl: string, fallback = '/console'): string {
  if (!given.startsWith('/') || given.length > 2000 || !URL.canParse(given, baseUrl)) return fallback;
  const url = new URL(given, baseUrl);
  if (url.origin !== baseUrl || !/^\/console(\/|$)/.test(url.pathname) || url.pathname.includes('//')) return fallback;
  return url.pathname + url.search;
}
