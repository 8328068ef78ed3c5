import { gunzipSync, gzipSync } from 'node:zlib';
import { Client } from 'undici';
import { totpCode } from '../src/users/totp.ts';
import type { BenchPage } from './console-pages.ts';

/** Somebody who opens pages of the console over one connection, and what each opening took. */
export type Visitor = {
  /** Opens a page the n-th time. */
  open(page: BenchPage, n: number): Promise<Opened>;
  /** Style sheets and scripts that the pages opened so far load, with their sizes as they travel. */
  assets(): Promise<{ path: string; bytes: number }[]>;
  close(): Promise<void>;
};

export type Opened = {
  status: number;
  /** Where it leads on to. */
  location: string | null;
  /** Until the last byte. */
  ms: number;
  /** As sent, or by gzip where it was sent as it is. */
  bytes: number;
  type: string;
  text: string;
};

/**
 * Whether it is the page that was asked for, or where that leads on to; never a detour by a sign-in or a proof. Pages
 * about a provider of sign-ins are there where one is set.
 */
export function isAnswer({ route, fields, name }: BenchPage, { status, location }: Opened): boolean {
  if (name.startsWith('/console/sso/')) return status < 500;
  // Results of the bench come from files, and have no questions.
  if (name.includes('/questions/')) return status === 200 || status === 404;
  // Tutors see the tables only that they have pasted themselves.
  if (name.includes('/{run_id}') && status === 404) return true;
  if (status === 303) return route.for === 'anyone' || !/^\/console\/(sign-in|confirm)/.test(location ?? '');
  return status === 200 || (status === 422 && fields !== undefined);
}

/** Signs in with password and code, as a browser does. */
export async function signIn(
  url: string,
  { email, password, totpSecret, nowMs }: { email: string; password: string; totpSecret: string; nowMs: number },
): Promise<Visitor> {
  const client = new Client(url);
  let cookie = '';
  const loaded = new Set<string>();
  async function ask(path: string, fields?: Record<string, string>): Promise<Opened> {
    const began = performance.now();
    const { statusCode, headers, body } = await client.request({
      method: fields === undefined ? 'GET' : 'POST',
      path,
      headers: {
        cookie,
        'accept-encoding': 'gzip',
        'sec-fetch-site': 'same-origin',
        ...(fields === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(fields === undefined ? {} : { body: new URLSearchParams(fields).toString() }),
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    const ms = performance.now() - began;
    const set = [headers['set-cookie'] ?? []].flat().find((line) => line.includes('session'));
    if (set !== undefined) cookie = set.split(';')[0]!;
    const coded = headers['content-encoding'] !== undefined;
    return {
      status: statusCode,
      location: (headers.location as string | undefined) ?? null,
      ms,
      bytes: coded ? bytes.length : gzipSync(bytes).length,
      type: String(headers['content-type'] ?? ''),
      text: (coded ? gunzipSync(bytes) : bytes).toString('utf8'),
    };
  }
  await ask('/console/sign-in', { email, password });
  const entered = await ask('/console/sign-in/code', { code: totpCode(totpSecret, nowMs) });
  if (entered.status !== 303 || cookie === '') throw new Error(`${email} could not sign in: ${entered.status}`);
  return {
    async open(page, n) {
      const opened = await ask(page.at(n), page.fields);
      for (const [, path] of opened.text.matchAll(/<(?:link|script)\b[^>]*\b(?:href|src)="([^"]+)"/g))
        loaded.add(path!);
      return opened;
    },
    assets: () => Promise.all([...loaded].map(async (path) => ({ path, bytes: (await ask(path)).bytes }))),
    close: () => client.close(),
  };
}
