// Process: own. Measures how long the process does not answer.
import { after, suite, test } from 'node:test';
import type Type from 'typebox';
import { routes } from '../../src/api/route-table.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { credentials } from '../contract/support/client.ts';
import { Scenario } from '../support/scenario.ts';
import { withService } from '../support/service.ts';
import type { Sent } from './turns.ts';
import { cut, hangUpAll, mustBeQuick, texts } from './turns.ts';

/** The worst texts in every field, parameter and header of every endpoint of the API, and bodies that are nothing but deep or wide. */

const service = await withService({
  own: 'Trusts a proxy.',
  settings: { ARS_TRUSTED_PROXIES: '127.0.0.0/8', ARS_RATE_LIMIT: '1000000' },
});
after(hangUpAll);
const org = await service.organisation();
const keys = credentials(org.key);
const result = await (await new Scenario(service, org).learner('L-1')).completes();
const { data: group } = (await org.post('/groups', { type: 'cohort', ref: 'C-1', name: 'Cohort' })).body as {
  data: { id: string };
};

const base = '/api/v1';
const maxTarget = limits.urlBytes - 1024;
const idOf = (path: string) => (path.startsWith('/assessments') ? result.id : group.id);
const addressOf = (path: string) => base + path.replace('{ref}', 'L-1').replace('{id}', idOf(path));

/** Bodies of 64 KB that are hard on whoever reads JSON. */
const bodies: Record<string, string> = {
  'nested lists': '['.repeat(64 * 1024),
  'nested lists, closed': '['.repeat(32 * 1024) + ']'.repeat(32 * 1024),
  'nested objects': '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000),
  'many names': `{${Array.from({ length: 8000 }, (_, i) => `"${i}":1`).join()}}`,
  'one name many times': `{${'"a":1,'.repeat(10_000)}"a":1}`,
  'one long number': '1'.repeat(64 * 1024),
  'escapes only': `"${'\\u0041'.repeat(10_000)}"`,
  backslashes: `{"a":"${'\\\\'.repeat(32_000)}"}`,
  quotes: '"'.repeat(64 * 1024),
  'white space': ' '.repeat(64 * 1024),
};

/** What may stand in a field: the text itself, within what the schema has inside it, and lists of as many bytes. */
function valuesOf(schema: Type.TSchema, text: string): unknown[] {
  const { items, properties } = schema as { items?: Type.TSchema; properties?: Record<string, Type.TSchema> };
  if (properties !== undefined)
    return Object.keys(properties).map((name) => ({ ref: 'A', name: 'A', type: 'cohort', [name]: text }));
  if (items === undefined) return [text, [text], { a: text }];
  const characters = [...text].slice(0, 8000);
  return [
    text,
    characters,
    characters.map((one, i) => `${one}${i}`),
    Array.from({ length: 8000 }, (_, i) => `L-${i}`),
    Array.from({ length: 1300 }, () => valuesOf(items, 'a')[0]),
    ...valuesOf(items, text).map((one) => [one]),
  ];
}

const right: Record<string, unknown> = {
  full_name: 'Ann Example',
  ref: 'L-2',
  groups: [],
  name: 'Example',
  type: 'cohort',
  learner_refs: ['L-1'],
  url: 'https://hooks.example.org/1',
};

const headers = [
  'accept',
  'accept-encoding',
  'accept-language',
  'authorization',
  'connection',
  'content-encoding',
  'content-type',
  'cookie',
  'forwarded',
  'host',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'origin',
  'range',
  'referer',
  'sec-fetch-site',
  'traceparent',
  'tracestate',
  'user-agent',
  'x-access-key-id',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-request-id',
  'x-secret-access-key',
];
/** Of each header's own grammar, very often. */
const lists = [
  'W/"a",',
  '"a", ',
  'gzip;q=0.5,',
  'a=b; ',
  '10.0.0.1,',
  '[::1]:1, ',
  '0-1,',
  'a/1 ',
  ';',
  ',',
  '\t',
  '(',
  '"',
];

suite('64 KB of the worst texts keep the event loop busy for at most 50 ms', () => {
  for (const { method, path, body, query = [] } of routes) {
    // What it takes, it answers with a stream that does not end.
    if (path === '/events') continue;
    const ask = (extra: Partial<Sent>): Sent => ({
      method,
      path: addressOf(path),
      ...extra,
      headers: { ...keys, ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...extra.headers },
    });

    if (body !== undefined)
      test(`${method} ${path}: fields`, async () => {
        const known = Object.entries((body as unknown as { properties: Record<string, Type.TSchema> }).properties);
        const others = Object.fromEntries(known.map(([name]) => [name, right[name]]));
        for (const [name, schema] of known)
          for (const [kind, text] of texts)
            for (const value of valuesOf(schema, text))
              await mustBeQuick(
                service,
                `${kind} in ${name}`,
                ask({ body: JSON.stringify({ ...others, [name]: value }) }),
              );
        for (const [kind, text] of texts)
          await mustBeQuick(service, `${kind} as a name`, ask({ body: JSON.stringify({ [text]: 1 }) }));
        for (const [kind, text] of Object.entries(bodies)) {
          await mustBeQuick(service, kind, ask({ body: text }));
          for (const [name] of known)
            await mustBeQuick(service, `${kind} in ${name}`, ask({ body: `{"${name}":${text}}` }));
        }
      });

    test(`${method} ${path}: address and headers`, async () => {
      for (const [kind, text] of texts) {
        for (const { name } of query) {
          const sent = cut(text, maxTarget, (some) =>
            ask({ path: `${addressOf(path)}?${new URLSearchParams({ [name]: some }).toString()}` }),
          );
          await mustBeQuick(service, `${kind} in ${name}`, sent);
        }
        const [, parameter] = /\{(\w+)\}/.exec(path) ?? [];
        if (parameter !== undefined) {
          const sent = cut(text, maxTarget, (some) =>
            ask({ path: base + path.replace(`{${parameter}}`, encodeURIComponent(some)) }),
          );
          await mustBeQuick(service, `${kind} in {${parameter}}`, sent);
        }
      }
      for (const one of ['a&', '&', 'a=b&', ...query.flatMap(({ name }) => [`${name}=a&`, `${name}=,&`])])
        await mustBeQuick(
          service,
          `${one} often`,
          ask({ path: `${addressOf(path)}?${one.repeat(Math.floor(maxTarget / one.length))}` }),
        );
      for (const { name } of query)
        await mustBeQuick(
          service,
          `a list in ${name}`,
          ask({ path: `${addressOf(path)}?${name}=${'a,'.repeat(7000)}` }),
        );
      // All endpoints read headers in the same way, but for these.
      const heads = ['GET /assessments', 'GET /assessments/{id}/report.pdf', 'POST /learners'].includes(
        `${method} ${path}`,
      );
      for (const name of heads ? headers : [])
        for (const one of lists)
          await mustBeQuick(
            service,
            `${one} often in ${name}`,
            ask({ headers: { [name]: one.repeat(Math.floor(maxTarget / one.length)) } }),
          );
    });
  }
});
