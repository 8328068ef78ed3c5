import assert from 'node:assert/strict';
import type { Role } from '../../../src/organisations/users/roles.ts';
import { createAccount } from '../../../src/organisations/users/accounts.ts';
import { addMember } from '../../../src/organisations/users/members.ts';
import { hashPassword } from '../../../src/organisations/users/password.ts';
import { giveSecondFactor } from '../../../src/organisations/users/second-factor.ts';
import { openSession } from '../../../src/organisations/users/sessions.ts';
import { base32, totpCode } from '../../../src/organisations/users/totp.ts';
import type { Answer } from '../../contract/support/client.ts';
import { ask } from '../../contract/support/client.ts';
import type { TestService } from '../../support/service.ts';

/** People at the console, as a browser without script shows it to them. */

export const password = 'four-short-words-9';

/** What a browser would send of the form on a page: every field as it stands. */
export function fieldsOf(text: string): [string, string][] {
  const named: Record<string, string> = { quot: '"', '#39': "'", lt: '<', gt: '>', amp: '&' };
  const plain = (value: string) => value.replace(/&(quot|#39|lt|gt|amp);/g, (_, name: string) => named[name]!);
  const main = text.slice(text.indexOf('<main'));
  const found: [string, string][] = [];
  for (const [tag] of main.matchAll(/<input[^>]*>/g)) {
    const of = (name: string) => plain(new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1] ?? '');
    if (/type="(checkbox|radio)"/.test(tag) && !/ checked/.test(tag)) continue;
    found.push([of('name'), of('value')]);
  }
  for (const [, name, inner] of main.matchAll(/<select[^>]* name="([^"]*)"[^>]*>(.*?)<\/select>/gs))
    found.push([name!, / value="([^"]*)" selected/.exec(inner!)?.[1] ?? '']);
  return found;
}

export type Visitor = {
  cookie: string | null;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(
    path: string,
    fields?: Record<string, string> | [string, string][],
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Opens the page, and sends its form to the same address: these fields, and the others as they stand there. */
  fill(path: string, fields: Record<string, string> | [string, string][]): Promise<Answer>;
  /** Follows redirects to the page where they end. */
  follow(answer: Answer): Promise<Answer>;
};

export function visitor(service: Pick<TestService, 'url' | 'logged'>, cookie: string | null = null): Visitor {
  const others = new Map<string, string>();
  const self: Visitor = {
    cookie,
    get: (path, headers) => request('GET', path, undefined, headers),
    post: (path, fields = {}, headers = { 'sec-fetch-site': 'same-origin' }) =>
      request('POST', path, new URLSearchParams(fields).toString(), headers),
    async fill(path, given) {
      const fields = Array.isArray(given) ? given : Object.entries(given);
      const others = fieldsOf((await self.get(path)).text).filter(([name]) => !fields.some(([one]) => one === name));
      return self.post(path, [...others, ...fields]);
    },
    async follow(answer) {
      let last = answer;
      for (let i = 0; i < 5 && last.status === 303; i++) last = await self.get(last.headers.location!);
      return last;
    },
  };
  async function request(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
    const answer = await ask(service.url, method, path, {
      body,
      headers: {
        ...headers,
        cookie: [...(self.cookie === null ? [] : [self.cookie]), ...others.values()].join('; '),
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
    });
    for (const line of (answer.headers['set-cookie'] ?? '').split(/, (?=[\w-]+=)/)) {
      const set = /^([\w-]+)=([^;]*)/.exec(line);
      if (set === null) continue;
      if (set[1]!.startsWith('session')) self.cookie = set[2] === '' ? null : set[0];
      else others.set(set[1]!, set[0]);
    }
    assert.ok(
      answer.status !== 500,
      `${method} ${path}: ${answer.status} ${service.logged.filter((line) => line.includes('failed')).join('')}`,
    );
    return answer;
  }
  return self;
}

let hashed: Promise<string> | null = null;
let count = 0;

export type Person = Visitor & { userId: string; email: string; totp: string | null };

/** Somebody of an organisation in this role, signed in a moment ago. */
export async function personOf(
  service: TestService,
  organisationId: number,
  role: Role,
  given: { name?: string; email?: string; secondFactor?: boolean } = {},
): Promise<Person> {
  hashed ??= hashPassword(password, service.app.random);
  const email = given.email ?? `person-${++count}@college.example`;
  const hash = await hashed;
  const totp = given.secondFactor === false ? null : base32(service.app.random.bytes(20));
  const { userId, token } = await service.withUnitOfWork(async (work) => {
    const id = await createAccount(work, { email, fullName: given.name ?? `Person ${count}`, password: hash });
    await addMember(work, organisationId, id, role);
    if (totp !== null) await giveSecondFactor(work, id, totp);
    return { userId: id, token: await openSession(work, { userId: id, stage: 'full', client: 'Test' }) };
  });
  const cookie = `session-${new URL(service.url).port}=${token}`;
  return Object.assign(visitor(service, cookie), { userId, email, totp });
}

export const codeNow = (service: TestService, secret: string): string => totpCode(secret, service.app.clock.nowMs());
