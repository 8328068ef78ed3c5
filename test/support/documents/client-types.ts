import prettier from 'prettier';
import prettierOptions from '../../../.prettierrc.json' with { type: 'json' };

/**
 * The client's types, made from the OpenAPI document: a type for each schema, and for each operation what it takes and
 * gives. Only what the document uses is understood; anything else stops the making, so that nothing is lost in silence.
 */

type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: (string | number | null)[];
  const?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  description?: string;
};
type Parameter = {
  $ref?: string;
  name: string;
  in: 'query' | 'path' | 'header';
  required?: boolean;
  description?: string;
  schema: Schema;
};
type Answer = { $ref?: string; content?: Record<string, { schema?: Schema; examples?: Record<string, unknown> }> };
type Operation = {
  operationId: string;
  summary?: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, Answer>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Answer>;
  };
};

const last = (ref: string) => ref.split('/').at(-1)!;
const comment = (text: string | undefined) => (text === undefined ? '' : `/** ${text.replaceAll('*/', '* /')} */\n`);
const property = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return last(schema.$ref);
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.type === undefined) throw new Error(`a schema without a type: ${JSON.stringify(schema)}`);
  return [schema.type]
    .flat()
    .map((type) => typeNamed(type, schema))
    .join(' | ');
}

function typeNamed(type: string, schema: Schema): string {
  switch (type) {
    case 'string':
    case 'boolean':
    case 'null':
      return type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `(${typeOf(schema.items!)})[]`;
    case 'object':
      return objectOf(schema);
    default:
      throw new Error(`no type in TypeScript for ${type}`);
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  if (typeof additionalProperties === 'object') return `Record<string, ${typeOf(additionalProperties)}>`;
  const fields = Object.entries(properties).map(
    ([name, schema]) =>
      `${comment(schema.description)}${property(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)};`,
  );
  return `{\n${fields.join('\n')}\n}`;
}

/** A query is written as text; whoever calls gives what records carry: booleans and numbers. */
function queryTypeOf(schema: Schema): string {
  if (schema.type === 'array') return `readonly (${queryTypeOf(schema.items!)})[]`;
  const values = schema.enum ?? [];
  if (values.length > 0 && values.every((value) => value === 'true' || value === 'false')) return 'boolean';
  if (values.length > 0 && values.every((value) => /^\d+$/.test(String(value)))) return values.join(' | ');
  return typeOf(schema);
}

function parametersIn(place: 'query' | 'path', parameters: Parameter[]): string {
  const fields = parameters
    .filter((one) => one.in === place)
    .map(
      ({ name, description, schema, required = false }) =>
        `${comment(description)}${property(name)}${required ? '' : '?'}: ${queryTypeOf(schema)};`,
    );
  return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n}`;
}

/** What a 2xx brings; a range of a file is a part of the same bytes. */
function replyOf(operation: Operation): string {
  const types = Object.entries(operation.responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([, { content }]) => {
      if (content === undefined) return 'undefined';
      const json = content['application/json'];
      return json?.schema === undefined ? 'Uint8Array' : typeOf(json.schema);
    });
  return [...new Set(types)].join(' | ');
}

/** A reply that lasts is no answer to a call; the client has a reader of its own for it. */
const lasts = ({ responses }: Operation) => responses['200']?.content?.['application/x-ndjson'] !== undefined;

/** Every GET has a HEAD, which the document leaves out. */
function withHead([method, operation]: [string, Operation]): [string, Operation][] {
  if (method !== 'get') return [[method, operation]];
  const { operationId: id, summary } = operation;
  const head = { ...operation, operationId: `${id}Head`, summary: `${summary}: headers alone`, responses: { 200: {} } };
  return [
    [method, operation],
    ['head', head],
  ];
}

export async function clientTypes(openApi: string): Promise<string> {
  const document = JSON.parse(openApi) as Document;
  const { schemas, parameters: shared, responses } = document.components;
  const events = Object.values(document.webhooks).map(
    ({ post }) => post!.requestBody!.content['application/json']!.schema,
  );
  const codes = new Set<string>();
  const types: string[] = [];
  const rows: string[] = [];
  for (const [path, methods] of Object.entries(document.paths)) {
    const isStream = Object.values(methods).some(lasts);
    for (const [method, operation] of Object.entries(methods).flatMap(withHead)) {
      for (const answer of Object.values(operation.responses)) {
        const { content = {} } = answer.$ref === undefined ? answer : responses[last(answer.$ref)]!;
        for (const [status, found] of Object.entries(content)) {
          if (status !== 'application/json' || found.schema?.$ref !== '#/components/schemas/Error') continue;
          for (const code of Object.keys(found.examples ?? {})) codes.add(code);
        }
      }
      if (isStream) continue;
      const parameters = (operation.parameters ?? []).map((one) =>
        one.$ref === undefined ? one : shared[last(one.$ref)]!,
      );
      const body = operation.requestBody?.content['application/json']?.schema;
      types.push(
        `${comment(operation.summary)}${operation.operationId}: {
          path: ${parametersIn('path', parameters)};
          query: ${parametersIn('query', parameters)};
          body: ${body === undefined ? 'undefined' : typeOf(body)};
          reply: ${replyOf(operation)};
        };`,
      );
      rows.push(`${operation.operationId}: { method: '${method.toUpperCase()}', path: '${path}' },`);
    }
  }
  if (codes.size === 0) throw new Error('the OpenAPI document names no error codes');
  const text = `// Made from docs/openapi.json by test/support/documents/client-types.ts: npm run check -- --write.

${Object.entries(schemas)
  // Clients meet it as an error that is thrown, with the code and the message in it.
  .filter(([name]) => name !== 'Error')
  .map(([name, schema]) => `${comment(schema.description)}export type ${name} = ${typeOf(schema)};`)
  .join('\n\n')}

/** An event that you know, or a newer one: pass over those by answering 2xx. */
export type WebhookEvent = ${events.map((schema) => `${typeOf(schema)} | `).join('')}{ event: string & {} };

/** Codes that the service refuses requests with. There can be new ones: treat those by their status. */
export type ErrorCode = ${[...codes]
    .sort()
    .map((code) => `'${code}'`)
    .join(' | ')};

/** What each operation takes, and the body that it answers with. */
export type Operations = {\n${types.join('\n')}\n};

export const operations = {\n${rows.join('\n')}\n} as const;
`;
  return prettier.format(text, { ...prettierOptions, parser: 'typescript' } as prettier.Options);
}
