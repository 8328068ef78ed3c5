import { STATUS_CODES } from 'node:http';
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter, OpenApiReply } from './openapi-document.ts';

/** Makes a Postman collection (format 2.1) from our document. Postman and Newman can run all requests in order. */

/** Variables for later requests, by the operation whose response sets them: a name and an expression of the body. */
const captures: Record<string, [variable: string, expression: string]> = {
  listAssessments: ['assessmentId', "body.data.find(({ status }) => status === 'completed')?.assessment_id"],
  provisionLearner: ['learnerRef', 'encodeURIComponent(body.data.ref)'],
  createGroup: ['groupId', 'body.data.id'],
  registerWebhook: ['webhookId', 'body.data.id'],
};

const variables = (baseUrl: string) => [
  { key: 'baseUrl', value: baseUrl, description: 'URL of the API.' },
  { key: 'accessKeyId', value: '', description: 'ID of your access key.' },
  { key: 'secretAccessKey', value: '', description: 'Secret of your access key.' },
  { key: 'listen', value: 'false', description: 'If true, the stream of events is requested. It has no end.' },
  ...Object.values(captures).map(([key]) => ({ key, value: '', description: 'An earlier request sets this.' })),
];

const script = (listen: string, ...exec: string[]) => ({ listen, script: { type: 'text/javascript', exec } });
const skipUnlessListening = "if (pm.collectionVariables.get('listen') !== 'true') pm.execution.skipRequest();";

function testScript(id: string, statuses: string[]) {
  const check = `pm.test('Status', () => pm.expect(pm.response.code).to.be.oneOf([${statuses.join(', ')}]));`;
  if (captures[id] === undefined) return script('test', check);
  const [variable, value] = captures[id];
  const capture = `pm.collectionVariables.set('${variable}', ${value});`;
  return script('test', check, 'const body = pm.response.json();', capture);
}

const jsonText = (value: unknown) => JSON.stringify(value, null, 2);
const contentOf = (reply: OpenApiReply) => Object.entries(reply.content ?? {})[0] ?? [];

/** Replaces the parameter of a path by its variable: `/groups/{id}` becomes `/groups/{{groupId}}`. */
const withVariable = (path: string) =>
  path.replace(
    /^\/(\w+)s\/\{(\w)(\w*)\}/,
    (_, noun: string, first: string, rest: string) => `/${noun}s/{{${noun}${first.toUpperCase()}${rest}}}`,
  );

function exampleOf({ example, schema }: OpenApiParameter): string {
  const { default: usual, enum: values, examples } = (schema.items ?? schema) as Record<string, unknown>;
  return String(example ?? usual ?? [examples ?? values ?? ''].flat()[0]);
}

function requestOf(path: string, method: string, operation: OpenApiOperation, parameters: OpenApiParameter[]) {
  const body = operation.requestBody?.content['application/json']!.example;
  const optional = (place: string) =>
    parameters
      .filter((one) => one.in === place)
      .map((one) => ({ key: one.name, value: exampleOf(one), description: one.description, disabled: true }));
  const header = [
    { key: 'X-Access-Key-Id', value: '{{accessKeyId}}' },
    { key: 'X-Secret-Access-Key', value: '{{secretAccessKey}}' },
    ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
    ...optional('header').map((one) =>
      one.key === 'Idempotency-Key' ? { ...one, value: '{{$guid}}', disabled: false } : one,
    ),
  ];
  const place = withVariable(path);
  const url = { raw: `{{baseUrl}}${place}`, host: ['{{baseUrl}}'], path: place.slice(1).split('/') };
  const sent = { mode: 'raw', raw: jsonText(body), options: { raw: { language: 'json' } } };
  return {
    method: method.toUpperCase(),
    description: operation.description,
    header,
    url: { ...url, query: optional('query') },
    ...(body === undefined ? {} : { body: sent }),
  };
}

function itemOf(document: OpenApiDocument, path: string, method: string, operation: OpenApiOperation) {
  const parameters = (operation.parameters ?? []).map((one) =>
    '$ref' in one ? document.components.parameters[one.$ref.split('/').at(-1)!]! : one,
  );
  const request = requestOf(path, method, operation, parameters);
  const successes = Object.entries(operation.responses as Record<string, OpenApiReply>).filter(([status]) =>
    status.startsWith('2'),
  );
  const isStream = successes.some(([, reply]) => contentOf(reply)[0] === 'application/x-ndjson');
  const response = successes.map(([status, reply]) => {
    const [type, content] = contentOf(reply);
    return {
      name: reply.description,
      originalRequest: request,
      status: STATUS_CODES[status],
      code: Number(status),
      header: type === undefined ? [] : [{ key: 'Content-Type', value: type }],
      body: content?.example === undefined ? '' : jsonText(content.example),
    };
  });
  const statuses = successes.map(([status]) => status);
  const before = isStream ? [script('prerequest', skipUnlessListening)] : [];
  return {
    name: operation.summary,
    event: [...before, testScript(operation.operationId, statuses)],
    request,
    response,
  };
}

export function toPostman(document: OpenApiDocument): object {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const { title: name, description } = document.info;
  const schema = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json';
  const folders = document.tags.map((tag) => ({
    ...tag,
    item: operations
      .filter(({ operation }) => operation.tags[0] === tag.name)
      .map(({ path, method, operation }) => itemOf(document, path, method, operation)),
  }));
  return { info: { name, description, schema }, item: folders, variable: variables(document.servers[0]!.url) };
}
