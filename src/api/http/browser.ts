import type { IncomingHttpHeaders } from 'node:http';

/** Whether browsers store our cookies for this URL. Browsers require https, except for the local machine. */
export function isSafeOrigin(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** The prefix `__Host-` binds a cookie to one host and https. Some browsers refuse it on http://localhost. */
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

/** `SameSite=Lax` keeps people signed in when they follow a link from an email. @param value null deletes the cookie */
export function cookieHeader(baseUrl: string, name: string, value: string | null, seconds?: number): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  const age = value === null ? '; Max-Age=0' : seconds === undefined ? '' : `; Max-Age=${seconds}`;
  return `${cookieName(baseUrl, name)}=${value ?? ''}; Path=/${secure}; HttpOnly; SameSite=Lax${age}`;
}

/** Whether a form was sent from our own pages. Older browsers send no Sec-Fetch-Site, so Origin decides there. */
export function comesFromUs(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers.origin === baseUrl : site === 'same-origin';
}

/** Whether the person typed the URL or followed a link of our pages, rather than a link on another site. */
export function isUnprompted(headers: IncomingHttpHeaders): boolean {
  return ['same-origin', 'none'].includes(String(headers['sec-fetch-site']));
}
