import assert from 'node:assert/strict';
import type { Answer } from '../../../src/engine/item-bank/mark.ts';
import type { TestService } from '../../support/service.ts';

/** What a browser without script does: follows redirects, sends forms. */
export class Visitor {
  readonly service: Pick<TestService, 'url'>;
  readonly base: string;
  readonly #sent: Record<string, string>;
  status = 0;
  text = '';
  path = '';
  headers = new Headers();

  constructor(service: Pick<TestService, 'url'>, token: string, headers: Record<string, string> = {}) {
    this.service = service;
    this.#sent = headers;
    this.base = `/a/${token}`;
  }

  async #load(path: string, init: RequestInit): Promise<this> {
    let reply = await fetch(this.service.url + path, { ...init, headers: this.#sent, redirect: 'manual' });
    let at = path;
    for (let hops = 0; reply.status === 303; hops++) {
      assert.ok(hops < 5, 'the pages send the learner round in circles');
      at = reply.headers.get('location')!;
      reply = await fetch(this.service.url + at, { redirect: 'manual' });
    }
    this.status = reply.status;
    this.headers = reply.headers;
    this.text = await reply.text();
    this.path = at.slice(this.base.length);
    return this;
  }

  get(path = ''): Promise<this> {
    return this.#load(this.base + path, {});
  }

  post(path: string, fields: Record<string, string | readonly string[]> = {}): Promise<this> {
    const form = new URLSearchParams();
    for (const [name, value] of Object.entries(fields))
      for (const one of [value].flat() as string[]) form.append(name, one);
    return this.#load(this.base + path, { method: 'POST', body: form });
  }

  /** The hidden fields of the form on the page. */
  hidden(): Record<string, string> {
    return Object.fromEntries(
      [...this.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map((found) => [
        found[1]!,
        found[2]!,
      ]),
    );
  }

  /** Sends the question on the page. */
  sends(answer: Answer, button: 'next' | 'skip' | 'skip-now' | 'pause' = 'next'): Promise<this> {
    return this.post('/question', { ...this.hidden(), ...answer, do: button });
  }

  heading(): string {
    return /<h1>(.*?)<\/h1>/.exec(this.text)?.[1]?.replace(/<[^>]+>/g, '') ?? '';
  }
}
