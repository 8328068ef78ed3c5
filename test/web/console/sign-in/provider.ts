import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { TestService } from '../../../support/service.ts';
import { type Visitor, fieldsOf } from '../visitor.ts';

/** Starts a real OpenID provider in a process of its own. @returns its issuer */
export async function startProvider(redirectUri: string): Promise<string> {
  const script = new URL('provider-process.ts', import.meta.url).pathname;
  const certificate = fileURLToPath(new URL('../../../integrations/webhooks/tls/localhost.pem', import.meta.url));
  const child = spawn(process.execPath, [script, certificate, redirectUri], { stdio: ['ignore', 'pipe', 'ignore'] });
  after(() => child.kill());
  return new Promise((resolve) => createInterface(child.stdout).once('line', resolve));
}

export const typed = { 'sec-fetch-site': 'none' };

export function browserOf(service: TestService, issuer: string) {
  /**
   * A browser's way through the provider's pages, from the address that the service sent it to.
   * @param jar what the browser holds of the provider: with its session there, no page is shown
   * @returns the way back
   */
  async function throughProvider(to: string, login: string, jar = new Map<string, string>()): Promise<string> {
    let next = to;
    let body: URLSearchParams | undefined;
    for (let i = 0; i < 12; i++) {
      const reply = await fetch(next, {
        method: body === undefined ? 'GET' : 'POST',
        redirect: 'manual',
        headers: { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') },
        ...(body === undefined ? {} : { body }),
      });
      for (const line of reply.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
        jar.set(name!, value!);
      }
      const text = await reply.text();
      const location = reply.headers.get('location');
      if (location !== null) {
        next = new URL(location, next).href;
        if (next.startsWith(service.url)) return next.slice(service.url.length);
        body = undefined;
        continue;
      }
      const action = /<form[^>]*action="([^"]+)"/.exec(text)![1]!;
      const prompt = /name="prompt" value="(\w+)"/.exec(text)![1]!;
      next = new URL(action, next).href;
      body = new URLSearchParams({ prompt, login, password: 'any' });
    }
    throw new Error('no way back');
  }

  /** @returns the way back, as the provider sends the browser there */
  async function away(one: Visitor, path: string, login: string, jar?: Map<string, string>): Promise<string> {
    const asked = await one.get(path, typed);
    const left = asked.status === 200 ? await one.post(path, fieldsOf(asked.text)) : asked;
    assert.equal(left.status, 303, left.text);
    assert.ok(left.headers.location!.startsWith(issuer));
    return throughProvider(left.headers.location!, login, jar);
  }

  const by = async (one: Visitor, path: string, login: string, jar?: Map<string, string>) =>
    one.get(await away(one, path, login, jar));

  return { throughProvider, away, by };
}
