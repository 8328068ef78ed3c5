import { STATUS_CODES } from 'node:http';
import type { Delivery, Examples, Exchange } from '../../api/reference/examples.ts';
import type { Schema } from '../../api/reference/openapi-schema.ts';
import { type Content, type Markup, html } from '../../platform/html/html.ts';
import type {
  OpenApiDocument,
  OpenApiOperation,
  OpenApiParameter,
  OpenApiReply,
} from '../../api/reference/openapi-document.ts';
import { highlight } from './highlight.ts';
import type { Heading, Text } from './markdown.ts';

type Referable<T> = T | { $ref: string };

function resolve<T extends object>(document: OpenApiDocument, given: Referable<T>): T {
  if (!('$ref' in given)) return given;
  let found: unknown = document;
  for (const step of given.$ref.slice(2).split('/')) found = (found as Record<string, unknown>)[step];
  return found as T;
}

function inline(text: string): Markup {
  const parts = text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .map((part): Content =>
      part.startsWith('`')
        ? html`<code>${part.slice(1, -1)}</code>`
        : part.startsWith('**')
          ? html`<strong>${part.slice(2, -2)}</strong>`
          : part,
    );
  return html`${parts}`;
}

const paragraphs = (text: string | undefined) =>
  (text ?? '')
    .split('\n\n')
    .filter((one) => one !== '')
    .map((one) => html`<p>${inline(one)}</p>`);
const refName = (given: { $ref: string }) => given.$ref.split('/').at(-1)!;
const headerAnchor = (name: string) => `header-${name.toLowerCase()}`;

type Listed = { method: string; path: string; operation: OpenApiOperation };

function operations(document: OpenApiDocument): Listed[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The curl command of a request. It reads the access key from the environment. */
function curl(base: string, { method, path, headers, body }: Exchange['request']): string {
  const sent = { 'X-Access-Key-Id': '$ACCESS_KEY_ID', 'X-Secret-Access-Key': '$SECRET_ACCESS_KEY', ...headers };
  const output = path.endsWith('.pdf') ? ' -D - -o evidence.pdf' : ' -i';
  const words = Object.entries(sent).map(([name, value]) =>
    value.startsWith('$') ? `-H "${name}: ${value}"` : `-H ${quoted(`${name}: ${value}`)}`,
  );
  if (body !== undefined) words.push(`-d ${quoted(JSON.stringify(body))}`);
  return [`curl -sS${output}${method === 'GET' ? '' : ` -X ${method}`} ${quoted(base + path)}`, ...words].join(
    ' \\\n  ',
  );
}

/** An HTTP message: its first line, its headers and its body. */
function message(first: string, headers: Record<string, string>, body: unknown): Markup {
  const lines = [first, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n');
  const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  return html`<pre><code>${lines}${body === undefined ? '' : html`\n\n${highlight(text, 'json')}`}</code></pre>`;
}

function exchange(base: string, { request, response: { status, headers, body } }: Exchange): Markup {
  return html`<h4>Request</h4><pre><code>${curl(base, request)}</code></pre>
<h4>Response</h4>${message(`HTTP/1.1 ${status} ${STATUS_CODES[status]!}`, headers, body)}`;
}

/** The first request with its response, and further ones that open. */
function exchanges(base: string, [first, ...others]: Exchange[]): Content {
  return html`${exchange(base, first!)}${others.map((one) => {
    const code = (one.response.body as { error?: { code: string } } | undefined)?.error?.code;
    return html`<details><summary>Another request: ${one.response.status} ${code ?? STATUS_CODES[one.response.status]!}</summary>${exchange(base, one)}</details>`;
  })}`;
}

function parameterList(title: string, parameters: OpenApiParameter[]): Content {
  if (parameters.length === 0) return null;
  return html`<h4>${title}</h4><dl>${parameters.map(
    (one) => html`
<dt><code>${one.name}</code> <span class="type">${one.explode === false ? html`comma-separated list of ${typeOf(one.schema.items as Schema)}${one.schema.maxItems === undefined ? '' : `, at most ${one.schema.maxItems as number}`}` : typeOf(one.schema)}${one.required === true ? ', required' : ''}</span></dt>
<dd>${paragraphs(one.description)}</dd>`,
  )}</dl>`;
}

const parametersOf = (document: OpenApiDocument, operation: OpenApiOperation) =>
  (operation.parameters ?? []).map((one) => resolve(document, one));

function headerNames(reply: OpenApiReply): Content {
  const names = Object.keys(reply.headers ?? {});
  return names.length === 0
    ? null
    : html`<p class="soft">Headers: ${names.map((name, i) => html`${i === 0 ? '' : ', '}<a href="#${headerAnchor(name)}">${name}</a>`)}</p>`;
}

function success(status: string, reply: OpenApiReply): Markup {
  const [type, content] = Object.entries(reply.content ?? {})[0] ?? [];
  return html`<h4>${status} <span class="soft">${reply.description}</span></h4>${headerNames(reply)}
${content === undefined || type === 'application/json' ? null : html`<p><code>${type!}</code></p>`}
${content === undefined || content.schema.format === 'binary' ? null : fields(content.schema)}`;
}

function refusal(status: string, code: string, example: unknown): Markup {
  return html`<dt>${status} <a href="reference/errors.html#${code}"><code>${code}</code></a></dt><dd>${(example as { error: { message: string } }).error.message}</dd>`;
}

/** Lists the errors of an operation. Codes that every endpoint returns are links without a message. */
function refusals(document: OpenApiDocument, operation: OpenApiOperation): Content {
  const own: Content[] = [];
  const everywhere: Content[] = [];
  for (const [status, reply] of Object.entries(operation.responses)) {
    if (Number(status) < 400) continue;
    const examples = resolve(document, reply).content?.['application/json']?.examples ?? {};
    for (const [code, { value }] of Object.entries(examples)) {
      if ('$ref' in reply)
        everywhere.push(
          html`${everywhere.length === 0 ? '' : ', '}<a href="#response-${refName(reply)}">${status === 'default' ? '' : `${status} `}${code}</a>`,
        );
      else own.push(refusal(status, code, value));
    }
  }
  if (own.length + everywhere.length === 0) return null;
  return html`<h4>Errors</h4><dl class="errors">${own}</dl>
<p class="soft">As everywhere: ${everywhere}</p>`;
}

const placesOfParameters = [
  ['path', 'In the path'],
  ['query', 'Query'],
  ['header', 'Headers'],
] as const;

function section(document: OpenApiDocument, { method, path, operation }: Listed, examples: Exchange[]): Markup {
  const parameters = parametersOf(document, operation);
  const body = operation.requestBody?.content['application/json'];
  const replies = Object.entries(operation.responses)
    .map(([status, reply]) => [status, resolve(document, reply)] as const)
    .filter(([status]) => Number(status) < 400);
  return html`<section aria-labelledby="${operation.operationId}">
<h3 id="${operation.operationId}"><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${path}</a></h3>
<p class="summary">${operation.summary}</p>${paragraphs(operation.description)}
${exchanges(document.servers[0]!.url, examples)}
${placesOfParameters.map(([place, title]) =>
  parameterList(
    title,
    parameters.filter((one) => one.in === place),
  ),
)}
${body === undefined ? null : bodyPart(document, body)}
${replies.map(([status, reply]) => success(status, reply))}
${refusals(document, operation)}
</section>`;
}

function bodyPart(document: OpenApiDocument, { schema }: { schema: Schema }): Markup {
  const shown = fields(resolve(document, schema as Referable<Schema>));
  return html`<h4>Body: ${typeOf(schema)}</h4>${shown}`;
}

function webhookSection(
  document: OpenApiDocument,
  event: string,
  operation: OpenApiOperation,
  { url, headers, body }: Delivery,
): Markup {
  const { pathname, host } = new URL(url);
  return html`<section aria-labelledby="${operation.operationId}">
<h3 id="${operation.operationId}"><a href="#${operation.operationId}"><span class="method post">POST</span> ${event}</a></h3>
<p class="summary">${operation.summary}</p>${paragraphs(operation.description)}
<h4>Request</h4>${message(`POST ${pathname} HTTP/1.1`, { Host: host, ...headers }, body)}
${parameterList('Headers', parametersOf(document, operation))}
${bodyPart(document, operation.requestBody!.content['application/json']!)}
<h4>Your response</h4><dl>${Object.entries(operation.responses).map(([status, reply]) => html`<dt>${status === 'default' ? 'Anything else' : status}</dt><dd>${paragraphs(resolve(document, reply).description)}</dd>`)}</dl>
</section>`;
}

function headingsOf(document: OpenApiDocument): Heading[] {
  const all = operations(document);
  const part = (id: string, text: string): Heading => ({ id, depth: 3, text });
  const section = (id: string, text: string): Heading => ({ id, depth: 2, text });
  return [
    ...document.tags.flatMap((tag) => [
      section(`tag-${tag.name}`, tag.name),
      ...all
        .filter(({ operation }) => operation.tags[0] === tag.name)
        .map(({ method, path, operation }) => part(operation.operationId, `${method.toUpperCase()} ${path}`)),
    ]),
    section('events', 'Events'),
    ...Object.entries(document.webhooks).map(([event, methods]) => part(methods.post!.operationId, event)),
    section('errors', 'Errors of every endpoint'),
    section('headers', 'Response headers'),
    section('objects', 'Objects'),
    ...Object.keys(document.components.schemas).map((name) => part(`object-${name}`, name)),
  ];
}

export function referenceText(document: OpenApiDocument, { operations: recorded, events }: Examples): Text {
  const all = operations(document);
  const { components } = document;
  const shared = Object.entries(components.responses).filter(([, reply]) => reply.content !== undefined);
  const body = html`<div class="reference"><h1 id="top">API reference</h1>
<p class="soft">${document.info.title}, API ${document.info.version} at <code>${document.servers[0]!.url}</code>. The same as <a href="openapi.json">OpenAPI 3.1</a>, <a href="openapi-3.0.json">OpenAPI 3.0</a> and a <a href="postman.json">Postman collection</a>.</p>
${paragraphs(document.info.description)}
<p>A running service answered each request and sent each event on this page. The commands read your access key from two variables of the shell:</p>
<pre><code>export ACCESS_KEY_ID='…' SECRET_ACCESS_KEY='…'</code></pre>
${document.tags.map(
  (tag) => html`<h2 id="tag-${tag.name}"><a href="#tag-${tag.name}">${tag.name}</a></h2><p>${tag.description}</p>
${all.filter(({ operation }) => operation.tags[0] === tag.name).map((listed) => section(document, listed, recorded[listed.operation.operationId]!))}`,
)}
<h2 id="events"><a href="#events">Events</a></h2><p>The service sends events to the webhook endpoints that you register with POST /webhooks, and signs each with the endpoint's secret: <a href="webhooks/receive.html">Receive webhooks</a>. A body arrives on one line without spaces. This page adds line breaks.</p>
${Object.entries(document.webhooks).map(([event, methods]) => webhookSection(document, event, methods.post!, events[event]!))}
<h2 id="errors"><a href="#errors">Errors of every endpoint</a></h2><p>What to do about each code: <a href="reference/errors.html">Errors</a>.</p>
${shared.map(
  ([
    name,
    reply,
  ]) => html`<h3 id="response-${name}"><a href="#response-${name}">${Object.keys(reply.content!['application/json']!.examples!).join(', ')}</a></h3><p>${inline(reply.description)}</p>${headerNames(reply)}
<dl class="errors">${Object.entries(reply.content!['application/json']!.examples!).map(([code, { value }]) => refusal('', code, value))}</dl>`,
)}
<h2 id="headers"><a href="#headers">Response headers</a></h2><dl>${Object.entries(components.headers).map(
    ([name, header]) => html`
<dt id="${headerAnchor(name)}"><code>${name}</code></dt><dd>${paragraphs(header.description as string)}<p class="soft"><code>${String(header.example)}</code></p></dd>`,
  )}</dl>
<h2 id="objects"><a href="#objects">Objects</a></h2>
${Object.entries(components.schemas).map(([name, schema]) => html`<section aria-labelledby="object-${name}"><h3 id="object-${name}"><a href="#object-${name}">${name}</a></h3>${paragraphs(schema.description as string | undefined)}${fields(schema)}</section>`)}</div>`;
  return { title: 'API reference', body, headings: headingsOf(document), about: '' };
}

/** The functions below show schemas of the OpenAPI document: types as words, and fields as lists that fit a phone. */

function value(one: unknown): Content {
  return html`<code>${typeof one === 'string' ? one : JSON.stringify(one)}</code>`;
}

function list(items: Content[], between: string): Content {
  return items.map((item, i) => html`${i === 0 ? '' : between}${item}`);
}

const bounds: [string, string][] = [
  ['minimum', 'at least'],
  ['maximum', 'at most'],
  ['minItems', 'at least'],
  ['maxItems', 'at most'],
];

function limitsOf(schema: Schema): string {
  const said = bounds
    .filter(([key]) => schema[key] !== undefined && !(key === 'minItems' && schema.minItems === 0))
    .map(([key, words]) => `${words} ${schema[key] as number}`);
  const { minLength, maxLength } = schema as { minLength?: number; maxLength?: number };
  if (maxLength !== undefined)
    said.push(
      minLength !== undefined && minLength > 0
        ? `${minLength} to ${maxLength} characters`
        : `at most ${maxLength} characters`,
    );
  return said.map((one) => `, ${one}`).join('');
}

export function typeOf(schema: Schema): Content {
  if (typeof schema.$ref === 'string') {
    const name = schema.$ref.split('/').at(-1)!;
    return html`<a href="#object-${name}">${name}</a>`;
  }
  if (Array.isArray(schema.anyOf)) return list((schema.anyOf as Schema[]).map(typeOf), ' or ');
  if (schema.const !== undefined) return html`always ${value(schema.const)}`;
  const byDefault = schema.default === undefined ? null : html`, ${value(schema.default)} when omitted`;
  if (Array.isArray(schema.enum)) return html`${list(schema.enum.map(value), ', ')}${byDefault}`;
  if (schema.type === 'array') return html`list of ${typeOf(schema.items as Schema)}${limitsOf(schema)}${byDefault}`;
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]) as string[];
  const first = typeof schema.format === 'string' ? schema.format : (types[0] ?? 'any value');
  return html`${[first, ...types.slice(1)].join(' or ')}${limitsOf(schema)}${typeof schema.pattern === 'string' ? html`, matching <code>${schema.pattern}</code>` : null}${byDefault}`;
}

/** The object whose fields are shown: the schema itself or, for a list, the schema of its items. */
function nested(schema: Schema): Schema | null {
  const items = schema.items as Schema | undefined;
  if (schema.properties !== undefined) return schema;
  return items?.properties === undefined ? null : items;
}

/** Lists the fields of a schema. Fields of nested objects are indented. Alternatives follow one after the other. */
export function fields(schema: Schema): Content {
  const alternatives = (schema.anyOf as Schema[] | undefined) ?? [];
  if (alternatives.some((one) => one.properties !== undefined))
    return alternatives.map((one, i) => html`<p>${i === 0 ? 'One of these:' : 'Or:'}</p>${fields(one)}`);
  const properties = schema.properties as Record<string, Schema> | undefined;
  if (properties === undefined) return html`<p>${typeOf(schema)}</p>`;
  const required = new Set(schema.required as string[] | undefined);
  return html`<dl>${Object.entries(properties).map(([name, one]) => {
    const inside = nested(one);
    return html`
<dt><code>${name}</code> <span class="type">${typeOf(one)}${required.has(name) ? null : ', optional'}</span></dt>
<dd>${typeof one.description === 'string' ? html`<p>${one.description}</p>` : null}${inside === null || Object.keys(inside.properties as object).length === 0 ? null : fields(inside)}</dd>`;
  })}</dl>`;
}
