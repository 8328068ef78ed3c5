import type { OpenVisit } from './route.ts';

/** Returns the fallback unless the path is in the console, so that no link redirects to another site. */
export function safeAddress(path: string, baseUrl: string, fallback = '/console'): string {
  if (!path.startsWith('/') || path.length > 2000 || !URL.canParse(path, baseUrl)) return fallback;
  const url = new URL(path, baseUrl);
  if (url.origin !== baseUrl || !/^\/console(\/|$)/.test(url.pathname) || url.pathname.includes('//')) return fallback;
  return url.pathname + url.search;
}

export const wantedPage = ({ query, form: sent, app }: OpenVisit): string =>
  safeAddress(sent.raw('to') || (query.get('to') ?? ''), app.settings.baseUrl);
