import type { OpenApiDocument } from './openapi-document.ts';
import type { Schema } from './openapi-schema.ts';

/** Converts our document to OpenAPI 3.0.3 for generators and tools that cannot read OpenAPI 3.1. */

type Schemas = Record<string, Schema>;
type ObjectSchema = Schema & { properties: Schemas; required?: string[] };

const mapValues = <T>(values: Record<string, T>, convert: (value: T) => unknown) =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, convert(value)]));

/** The OpenAPI 3.0 spelling of a keyword that JSON Schema 2020-12 spells differently. */
function keyword(key: string, value: unknown): Schema {
  if (key === 'const') return { enum: [value] };
  if (key === 'type' && Array.isArray(value)) {
    const [type, other] = value as string[];
    if (other !== 'null' || value.length > 2) throw new Error(`OpenAPI 3.0 has no ${value.join(' or ')}.`);
    return { type, nullable: true };
  }
  if (typeof value === 'number' && key === 'exclusiveMinimum') return { minimum: value, exclusiveMinimum: true };
  if (typeof value === 'number' && key === 'exclusiveMaximum') return { maximum: value, exclusiveMaximum: true };
  if (key === 'properties') return { properties: mapValues(value as Schemas, convert) };
  // A schema has a list of examples. A body has a map of examples, which stays.
  if (key === 'examples') return Array.isArray(value) ? { example: value[0] } : { examples: value };
  return { [key]: key === 'example' || key === 'enum' ? value : convert(value) };
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert);
  if (typeof value !== 'object' || value === null) return value;
  return Object.assign({}, ...Object.entries(value).map(([key, inside]) => keyword(key, inside)));
}

const referencePrefix = '#/components/schemas/';

/** Merges alternatives into one object, because many generators make no usable type of alternatives. */
function merged(schema: Schema, schemas: Schemas): Schema {
  if (!Array.isArray(schema.anyOf)) return schema;
  const members = (schema.anyOf as { $ref: string }[]).map(
    ({ $ref }) => schemas[$ref.slice(referencePrefix.length)] as ObjectSchema,
  );
  const properties: Schemas = {};
  for (const [name, property] of members.flatMap((member) => Object.entries(member.properties))) {
    const values = [properties[name]?.enum, property.enum].flatMap((list) => list ?? []);
    properties[name] = { ...property, ...properties[name], ...(values.length > 0 && { enum: [...new Set(values)] }) };
  }
  const required = members[0]!.required!.filter((name) => members.every((member) => member.required!.includes(name)));
  const description = `${schema.description as string} Fields that only some of them have are optional.`;
  return { type: 'object', description, required, properties };
}

function usedNames(value: unknown, schemas: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    if (found.has(name!)) continue;
    found.add(name!);
    usedNames(schemas[name!], schemas, found);
  }
  return found;
}

export function toOpenApi30(document: OpenApiDocument): Omit<OpenApiDocument, 'webhooks'> {
  const { webhooks: _, ...rest } = document;
  const converted = convert(rest) as typeof rest;
  const { info, components, paths } = converted;
  const schemas = mapValues(components.schemas, (schema) => merged(schema, components.schemas)) as Schemas;
  const used = usedNames([paths, components.responses], schemas);
  return {
    ...converted,
    openapi: '3.0.3',
    info: { ...info, summary: undefined, license: { name: 'MIT', url: 'https://opensource.org/license/mit' } },
    components: {
      ...components,
      schemas: Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name))),
    },
  };
}
