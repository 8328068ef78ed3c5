import type { Schema } from '../../api/reference/openapi-schema.ts';
import type { Content } from '../../platform/html/html.ts';
import { html } from '../../platform/html/html.ts';

/** Schemas of the OpenAPI document as text: types in words, and fields as lists that fit a phone. */

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

/** The object whose fields are shown: the schema, or the items of its list. */
function nested(schema: Schema): Schema | null {
  const items = schema.items as Schema | undefined;
  if (schema.properties !== undefined) return schema;
  return items?.properties === undefined ? null : items;
}

/** Fields of nested objects are indented, and alternatives are listed one after the other. */
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
