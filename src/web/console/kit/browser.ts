import type { IncomingHttpHeaders } from 'node:http';
import type { OpenVisit } from './route.ts';

/** Browsers only keep our cookies for https, or for the machine itself. */
export function isSafeOrigin(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/** `__Host-` binds a cookie to one host and https. Some browsers refuse it on http://localhost. */
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
  const age = value === null ? '; Max-Age=0' : seconds === null ? '' : `; Max-Age=${seconds}`;
  return `${cookieName(baseUrl, name)}=${value ?? ''}; Path=/${secure}; HttpOnly; SameSite=Lax${age}`;
}

/** Whether a form comes from our pages: by Sec-Fetch-Site, or by Origin in older browsers. */
export function comesFromUs(headers: IncomingHttpHeaders, baseUrl: string): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined ? headers.origin === baseUrl : site === 'same-origin';
}

/** Whether the person came by themselves or from our pages, and not from another site. */
export function isUnprompted(headers: IncomingHttpHeaders): boolean {
  return ['same-origin', 'none'].includes(String(headers['sec-fetch-site']));
}

/** A redirect target within the console; any other URL becomes the fallback. */
export function safeAddress(given: string, baseUrl: string, fallback = '/console'): string {
  if (!given.startsWith('/') || given.length > 2000 || !URL.canParse(given, baseUrl)) return fallback;
  const url = new URL(given, baseUrl);
  if (url.origin !== baseUrl || !/^\/console(\/|$)/.test(url.pathname) || url.pathname.includes('//')) return fallback;
  return url.pathname + url.search;
}

/** The page to go to after sign-in, from the form or the query. */
export const wantedPage = ({ query, form: sent, app }: OpenVisit): string =>
  safeAddress(sent.raw('to') || (query.get('to') ?? ''), app.settings.baseUrl);
