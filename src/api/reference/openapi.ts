import { type Refusal, refusalsOf } from './codes.ts';
import { type ReplyHeader, type RequestHeader, ratePolicy, replyHeaders, requestHeaders } from '../http/headers.ts';
import { type Schema, Components } from './openapi-schema.ts';
import { type Parameter, limitSchema } from '../http/query.ts';
import type { Route } from '../http/route.ts';
import { routes } from '../route-table.ts';
import { ApiError } from '../../platform/errors/errors.ts';
import { apiBase, defaultRateLimit } from '../../platform/config/settings.ts';
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter, OpenApiReply } from './openapi-document.ts';
import { type Exchange, type Examples, bodyOf, readExamples } from './examples.ts';
import { introduction } from './introduction.ts';
import { toOpenApi30 } from './openapi-3-0.ts';
import { toPostman } from './postman.ts';
import { webhooksOf } from './openapi-webhooks.ts';
import { Type } from '../../platform/validation/type.ts';

const tags = [
  { name: 'Health', description: 'Check your access key and the service.' },
  { name: 'Assessments', description: 'Sync results, and read evidence packs.' },
  { name: 'Learners', description: 'Sync learners, and invite learners.' },
  { name: 'Groups', description: 'Create groups, and change their members.' },
  { name: 'Webhooks', description: 'Register webhook endpoints, which receive events.' },
];

const ErrorBody = Type.Object(
  {
    error: Type.Object(
      {
        code: Type.String({ description: 'Stable code for your program.' }),
        message: Type.String({ description: 'Text for people: what is wrong and what to do. It can change.' }),
      },
      { description: 'Why the service rejected the request.' },
    ),
  },
  { $id: 'Error', description: 'The body of every error.' },
);

const reasons: Record<number, string> = {
  400: 'The request is malformed.',
  401: 'The credentials are not valid.',
  402: 'No assessment credits are left.',
  404: 'The object does not exist or belongs to another organisation.',
  409: 'The request conflicts with a limit or another request.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  422: 'A field of the body is missing, malformed or not allowed.',
  429: 'Too many requests.',
  500: 'The service failed.',
  503: 'The service is not available.',
};

/** The error responses that are the same for every endpoint, by status. */
const shared: Record<number, string> = {
  401: 'InvalidCredentials',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  429: 'RateLimited',
  500: 'InternalError',
  503: 'ServiceUnavailable',
};

const rate: ReplyHeader[] = ['RateLimit-Policy', 'RateLimit'];
const onErrors: ReplyHeader[] = ['Cache-Control', 'Link'];
const refusalHeaders: Record<number, ReplyHeader[]> = {
  401: ['WWW-Authenticate'],
  429: ['Retry-After', ...rate],
  503: ['Retry-After', ...rate],
};

function headers(names: readonly ReplyHeader[]): Record<string, Schema> {
  const all: ReplyHeader[] = ['X-Request-Id', ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Every page of a feed and every single resource has an ETag. */
function isConditional(route: Route): boolean {
  return route.method === 'GET' && (route.paged === true || route.params !== undefined);
}

function isList(route: Route): boolean {
  const schema = route.answers[200]?.schema as { properties?: { pagination?: object } } | undefined;
  return schema?.properties?.pagination !== undefined;
}

/** Whether responses may be compressed, by the same rule as in src/api/http/coding.ts. */
function isEncoded(route: Route): boolean {
  const own = route.answers[200]?.headers ?? [];
  return (isConditional(route) || isList(route) || own.includes('Vary')) && !own.includes('Accept-Ranges');
}

const when = <T>(condition: boolean, ...members: T[]): T[] => (condition ? members : []);

function answerHeaders(route: Route, status: number): ReplyHeader[] {
  const answer = route.answers[status === 304 ? 200 : status]!;
  const isPaged = route.paged === true;
  return [
    ...when<ReplyHeader>(isConditional(route), 'ETag'),
    ...when<ReplyHeader>(isList(route), 'X-Sync-Through'),
    ...when<ReplyHeader>(isPaged, 'X-Sync-Restored'),
    ...when<ReplyHeader>(isPaged && status === 200, 'Link'),
    ...when<ReplyHeader>(isConditional(route) || isList(route), 'Cache-Control', 'Vary'),
    ...when<ReplyHeader>(status === 200 && isEncoded(route), 'Content-Encoding'),
    // A 304 has no digest, because the digest of the last 200 is still right.
    ...(answer.headers ?? []).filter((name) => status !== 304 || name !== 'X-Sync-Digest'),
    ...when<ReplyHeader>(route.method === 'POST', 'Idempotency-Replayed'),
    ...rate,
  ];
}

const takesSince = (route: Route) => (route.query ?? []).some(({ name }) => name === 'since');

function queryParameter(parameter: Parameter, isPolled: boolean): OpenApiParameter {
  const { name, schema, isList: takesList, max, withSince } = parameter;
  const safety = isPolled && withSince !== undefined ? ` ${withSince.is} with since: ${withSince.why}.` : '';
  const shared = { name, in: 'query', description: parameter.description + safety };
  if (!takesList) return { ...shared, schema };
  const limit = max === undefined ? {} : { maxItems: max };
  return { ...shared, style: 'form', explode: false, schema: { type: 'array', items: schema, ...limit } };
}

const pagingParameters: Record<string, OpenApiParameter> = {
  cursor: {
    name: 'cursor',
    in: 'query',
    schema: { type: 'string' },
    description:
      'Where the page begins. Take the cursor from pagination.next, and keep all other parameters. A cursor does not expire.',
  },
  limit: {
    name: 'limit',
    in: 'query',
    schema: limitSchema,
    description:
      'Entries on a page. The service moves a number outside the range to the nearest limit. If the value is no whole number, the service uses the default. pagination.limit contains the number that the service used.',
  },
};

const reference = (name: string) => ({ $ref: `#/components/parameters/${name}` });

/** The value of a path parameter in the first example. */
function pathExample(route: Route, name: string, exchanges: readonly Exchange[]): string {
  const at = route.path.split('/').indexOf(`{${name}}`);
  return decodeURIComponent(exchanges[0]!.request.path.split('/')[at]!);
}

function parametersOf(route: Route, exchanges: readonly Exchange[]): OpenApiOperation['parameters'] {
  const inPath = Object.entries(route.params ?? {}).map(([name, rest]) => {
    return { name, in: 'path', required: true, ...rest, example: pathExample(route, name, exchanges) };
  });
  const all = [
    ...inPath,
    ...(route.query ?? []).map((parameter) => queryParameter(parameter, takesSince(route))),
    ...when(route.paged === true, ...Object.keys(pagingParameters)).map(reference),
    ...when(isConditional(route), reference('If-None-Match')),
    ...when(isEncoded(route), reference('Accept-Encoding')),
    ...when(route.answers[206] !== undefined, reference('Range')),
    ...when(route.method === 'POST', reference('Idempotency-Key')),
  ];
  return all.length === 0 ? undefined : all;
}

function refusalReply(status: number, refusals: Refusal[]): OpenApiReply {
  const waits = refusals.some(({ code }) => code === 'idempotency_conflict');
  return {
    description: `${reasons[status]} Code: ${refusals.map(({ code }) => `\`${code}\``).join(', ')}.`,
    headers: headers([...when(waits, 'Retry-After' as const), ...onErrors, ...(refusalHeaders[status] ?? rate)]),
    content: errorContent(refusals),
  };
}

function errorContent(refusals: { code: string; message: string }[]): OpenApiReply['content'] {
  return {
    'application/json': {
      schema: { $ref: '#/components/schemas/Error' },
      examples: Object.fromEntries(
        refusals.map(({ code, message }) => [code, { value: { error: { code, message } } }]),
      ),
    },
  };
}

/** The response to methods and paths that the document does not contain. */
function otherwise(): OpenApiReply {
  const { code, message } = new ApiError('method_not_allowed');
  return {
    description: 'Another error. With 405, the URL does not have this method, and Allow lists its methods.',
    headers: headers(['Allow', 'Link', ...rate]),
    content: errorContent([{ code, message }]),
  };
}

function successReply(
  route: Route,
  status: number,
  components: Components,
  exchanges: readonly Exchange[],
): OpenApiReply {
  const { description, schema, type = 'application/json' } = route.answers[status]!;
  const example = bodyOf(exchanges, status);
  const answer = { description, headers: headers(answerHeaders(route, status)) };
  if (schema !== undefined) return { ...answer, content: { [type]: { schema: components.show(schema), example } } };
  if (type === 'application/json') return answer;
  return { ...answer, content: { [type]: { schema: { type: 'string', format: 'binary' } } } };
}

function operationOf(
  route: Route,
  components: Components,
  sharedReplies: Record<string, OpenApiReply>,
  exchanges: readonly Exchange[],
): OpenApiOperation {
  const responses: OpenApiOperation['responses'] = {};
  for (const status of Object.keys(route.answers).map(Number))
    responses[status] = successReply(route, status, components, exchanges);
  const unchanged = 'Nothing has changed since the response with this ETag. The response has no body.';
  if (isConditional(route)) responses[304] = { description: unchanged, headers: headers(answerHeaders(route, 304)) };
  const byStatus = Map.groupBy(refusalsOf(route), (refusal) => refusal.status);
  for (const [status, refusals] of byStatus) {
    const name = shared[status];
    if (name === undefined) responses[status] = refusalReply(status, refusals);
    else {
      sharedReplies[name] ??= refusalReply(status, refusals);
      responses[status] = { $ref: `#/components/responses/${name}` };
    }
  }
  sharedReplies.Otherwise ??= otherwise();
  responses.default = { $ref: '#/components/responses/Otherwise' };
  const example = route.bodyExample;
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    parameters: parametersOf(route, exchanges),
    requestBody:
      route.body === undefined
        ? undefined
        : { required: true, content: { 'application/json': { schema: components.show(route.body), example } } },
    responses,
  };
}

function operationsOf(components: Components, { operations }: Examples) {
  const replies: Record<string, OpenApiReply> = {};
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(
      route,
      components,
      replies,
      operations[route.id]!,
    );
  }
  return { paths, replies };
}

const securitySchemes = {
  accessKeyId: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Access-Key-Id',
    description: 'The ID of an access key.',
  },
  secretAccessKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Secret-Access-Key',
    description: 'The secret of the same access key. The console shows the secret once.',
  },
} as const;

function headerParameters(): Record<string, OpenApiParameter> {
  return Object.fromEntries(
    (Object.keys(requestHeaders) as RequestHeader[]).map((name) => {
      const { meaning, schema, example } = requestHeaders[name];
      return [name, { name, in: 'header', description: meaning, schema, example }];
    }),
  );
}

function describedHeaders(rateLimit: number) {
  const described = Object.entries(replyHeaders).map(([name, { meaning, schema, example }]) => {
    const isNumber = (schema as Schema).type === 'integer';
    const shown = name === 'RateLimit-Policy' ? ratePolicy(rateLimit) : isNumber ? Number(example) : example;
    return [name, { description: meaning, schema, example: shown }] as const;
  });
  return Object.fromEntries(described);
}

/** The OpenAPI 3.1 document of the API. Equal origins and rate limits give equal bytes. */
export async function makeOpenApi(origin: string, rateLimit = defaultRateLimit): Promise<OpenApiDocument> {
  const components = new Components();
  const examples = await readExamples();
  const { paths, replies } = operationsOf(components, examples);
  const webhooks = webhooksOf(components, examples);
  components.show(ErrorBody);
  return {
    openapi: '3.1.1',
    info: {
      title: 'Assessment Results Service',
      version: '1.0.0',
      summary: 'Skills assessment results for training providers',
      description: introduction(rateLimit),
      contact: { name: 'Guides and support', url: `${origin}/docs/` },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${origin}${apiBase}` }],
    externalDocs: { description: 'Guides, and a fix for every error code', url: `${origin}/docs/` },
    tags,
    security: [{ accessKeyId: [], secretAccessKey: [] }],
    paths,
    webhooks,
    components: {
      securitySchemes,
      parameters: { ...pagingParameters, ...headerParameters() },
      headers: describedHeaders(rateLimit),
      responses: replies,
      schemas: components.schemas,
    },
  };
}

/** The files that describe the API, by name. The service and the documentation site serve them. */
export const referenceFiles: Record<string, (document: OpenApiDocument) => string> = {
  'openapi.json': fileText,
  'openapi-3.0.json': (document) => fileText(toOpenApi30(document)),
  'postman.json': (document) => fileText(toPostman(document)),
};

function fileText(content: object): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}
