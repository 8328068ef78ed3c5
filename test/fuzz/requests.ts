import openApi from '../../docs/openapi.json' with { type: 'json' };
import type { Random } from '../../src/platform/crypto/random.ts';
import { pick } from '../../src/platform/crypto/random.ts';
import type { Known, Schema } from './values.ts';
import { chance, damaged, hostile, hostileTexts, mutated, valueOf } from './values.ts';

/** Requests made from the OpenAPI document, most of them with one mutation. */

type Parameter = { $ref?: string; name: string; in: string; required?: boolean; schema: Schema; explode?: boolean };

export type Operation = {
  method: string;
  path: string;
  parameters: Parameter[];
  body: Schema | null;
  /** The statuses that the document lists. */
  statuses: Set<number>;
  /** How often it is asked, in proportion. */
  weight: number;
};

export type FuzzRequest = {
  operation: Operation | null;
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string | null;
};

const document = openApi as unknown as {
  paths: Record<
    string,
    Record<
      string,
      {
        parameters?: Parameter[];
        requestBody?: { content: Record<string, { schema: Schema }> };
        responses: Record<string, unknown>;
      }
    >
  >;
};

function resolve<T>(ref: string): T {
  let at: any = openApi;
  for (const step of ref.slice(2).split('/')) at = at[step];
  return at;
}

export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([method]) => ['get', 'post', 'patch', 'delete'].includes(method))
    .map(([method, { parameters = [], requestBody, responses }]) => ({
      method: method.toUpperCase(),
      path,
      parameters: [
        ...parameters.map((one) => (one.$ref === undefined ? one : resolve<Parameter>(one.$ref))),
        ...[...path.matchAll(/\{(\w+)\}/g)]
          .filter(([, name]) => !parameters.some((one) => one.name === name))
          .map(([, name]) => ({ name: name!, in: 'path', schema: { type: 'string' } })),
      ],
      body: requestBody?.content['application/json']?.schema ?? null,
      statuses: new Set(Object.keys(responses).map(Number)),
      weight: path === '/events' || path.endsWith('.pdf') ? 1 : 12,
    })),
);
const weights = operations.flatMap((operation) => Array.from({ length: operation.weight }, () => operation));

const someHeaders = [
  'accept',
  'accept-encoding',
  'content-type',
  'content-encoding',
  'idempotency-key',
  'if-none-match',
  'if-modified-since',
  'if-range',
  'range',
  'x-access-key-id',
  'x-secret-access-key',
  'x-http-method-override',
  'x-forwarded-for',
  'forwarded',
  'origin',
  'traceparent',
  'expect-nothing',
  'cookie',
];

/** Header values have no control characters here: `raw.ts` sends those. */
const headerText = (random: Random): string =>
  pick(random, [
    ...hostileTexts.map((text) => text.replaceAll(/[^\x20-\x7e]/g, '').trim()),
    'bytes=0-',
    'bytes=-1',
    'bytes=5-2,9-',
    'gzip;q=0, *;q=0.5, br;q=2',
    'W/"x", "y"',
    '"unterminated',
    'text/html;q=0.9, application/json;q=0',
    'application/json; charset=utf-16',
    'x'.repeat(3000),
  ]);

function pathOf(random: Random, operation: Operation, value: (parameter: Parameter) => string): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => {
    const text = value(operation.parameters.find((one) => one.in === 'path' && one.name === name)!);
    return encodeURIComponent(text.toWellFormed());
  });
  if (!chance(random, 0.03)) return path;
  return pick(random, [
    `${path}/`,
    `/${path}`,
    path.toUpperCase(),
    `${path}%00`,
    `${path}/..`,
    `${path};a=b`,
    '/',
    path.slice(1),
  ]);
}

function queryOf(random: Random, operation: Operation, value: (parameter: Parameter) => string): string {
  const pairs = operation.parameters
    .filter((one) => one.in === 'query' && (one.required === true || chance(random, 0.25)))
    .map((one) => [one.name, value(one)]);
  if (chance(random, 0.05)) pairs.push([String(pick(random, hostileTexts)), String(pick(random, hostileTexts))]);
  if (pairs.length > 0 && chance(random, 0.05)) pairs.push(pairs[0]!);
  if (pairs.length === 0) return '';
  const text = pairs.map((pair) => pair.map((one) => encodeURIComponent(one!.toWellFormed())).join('=')).join('&');
  return `?${chance(random, 0.02) ? damaged(random, text).replaceAll(/[^\x21-\x7e]|#/g, '%') : text}`;
}

/** One request; the same seed and the same known values make the same one. */
export function makeRequest(
  random: Random,
  credentials: Record<string, string>,
  knownAt: (path: string) => Known,
): FuzzRequest {
  const operation = pick(random, weights);
  const known = knownAt(operation.path);
  const spoils = chance(random, 0.6);
  const value = (parameter: Parameter): string => {
    if (spoils && chance(random, 0.4)) return pick(random, hostileTexts);
    const made = valueOf(random, parameter.schema, parameter.name, known, resolve);
    return Array.isArray(made) ? made.join(',') : String(made);
  };
  const path = pathOf(random, operation, value) + queryOf(random, operation, value);
  const headers: Record<string, string> = { ...credentials };
  for (const one of operation.parameters)
    if (one.in === 'header' && chance(random, 0.3))
      headers[one.name.toLowerCase()] = known(one.name) ?? headerText(random);
  if (spoils && chance(random, 0.3)) headers[pick(random, someHeaders)] = headerText(random);
  if (chance(random, 0.02)) delete headers['x-secret-access-key'];
  let body: string | null = null;
  if (operation.body !== null) {
    headers['content-type'] ??= 'application/json';
    let made = valueOf(random, operation.body, '', known, resolve);
    for (let i = 0; spoils && i < 3 && chance(random, 0.6); i++) made = mutated(random, made);
    body = JSON.stringify(made) ?? '';
    if (spoils && chance(random, 0.1)) body = damaged(random, body);
  } else if (spoils && chance(random, 0.05)) body = JSON.stringify(hostile(random));
  const method = chance(random, 0.02)
    ? pick(random, ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'])
    : operation.method;
  // A body of GET is refused by some clients, so these requests have none.
  if (method === 'GET' || method === 'HEAD') body = null;
  const asked = operations.find((one) => one.method === method && pathMatches(one, path)) ?? null;
  return { operation: asked, method, path: `/api/v1${path}`, headers, body };
}

const pathMatches = ({ path }: Operation, asked: string): boolean =>
  new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/?]*')}(\\?|$)`).test(asked);
