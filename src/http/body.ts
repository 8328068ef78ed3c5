import type Type from 'typebox';
import type { FieldCode } from '../errors.ts';
import { ApiError } from '../errors.ts';
import type { Beside, Meaning } from '../fields.ts';
import { schemas } from '../type.ts';

type Field = Type.TSchema &
  Partial<Meaning> & { items?: Field; properties?: Record<string, Field>; required?: string[] };

const compiled = new WeakMap<Type.TSchema, { Check(value: unknown): boolean }>();

function hasShape(schema: Type.TSchema, value: unknown): boolean {
  let check = compiled.get(schema);
  if (check === undefined) compiled.set(schema, (check = schemas().Compile(schema)));
  return check.Check(value);
}

/**
 * Reads a body by its schema: fields in the schema's order, which is that of the specification's table; the first fault
 * is told. Repeated members of a list collapse before they are counted.
 * @throws ApiError invalid_<field>, then unknown_field, then invalid_body when nothing is given and something must be
 */
export function readBody<T extends Type.TObject>(
  schema: T,
  { app, body }: { app: Beside['app']; body: Record<string, unknown> },
): Type.Static<T> {
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<Field>(schema.properties)) {
    if (!Object.hasOwn(body, name)) {
      if (schema.required?.includes(name) === true) throw refusal(name, field.expected!);
      continue;
    }
    const value = collapsed(body[name]);
    if (!hasShape(field, value)) throw ApiError.field(codeOf(name), faultInside(name, field, value));
    const verdict = field.also?.(value, { fields, app }) ?? true;
    if (verdict !== true) throw refusal(name, verdict === false ? field.expected! : verdict);
    fields[name] = value;
  }
  const known = Object.keys(schema.properties);
  if (Object.keys(body).some((name) => !known.includes(name)))
    throw new ApiError('unknown_field', `The body may have only these fields: ${known.join(', ')}.`);
  if (Object.keys(fields).length < ((schema as { minProperties?: number }).minProperties ?? 0))
    throw new ApiError('invalid_body', `The body must have at least one of these fields: ${known.join(', ')}.`);
  return fields as Type.Static<T>;
}

const codeOf = (name: string) => `invalid_${name}` as FieldCode;

function refusal(name: string, expected: string): ApiError {
  return ApiError.field(codeOf(name), messageOf(name, expected));
}

function messageOf(name: string, expected: string): string {
  return `${name} must be ${expected}.`;
}

/** The refusals of a body's fields, in the order in which they are told: for OpenAPI and the guides. */
export function fieldRefusals(schema: Type.TSchema): { code: string; message: string }[] {
  const { properties = {} } = schema as Field;
  return Object.entries(properties).map(([name, { expected }]) => ({
    code: codeOf(name),
    message: messageOf(name, expected!),
  }));
}

function collapsed(value: unknown): unknown {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? [...new Set(value)] : value;
}

/**
 * What is wrong with a value that hasn't the shape: where it is a list of objects, the first fault inside one of them.
 */
function faultInside(name: string, field: Field, value: unknown): string {
  const { items } = field;
  if (!Array.isArray(value) || items?.properties === undefined) return messageOf(name, field.expected!);
  for (const one of value as unknown[]) {
    if (hasShape(items, one)) continue;
    if (typeof one !== 'object' || one === null || Array.isArray(one)) break;
    const parts = Object.entries(items.properties);
    const wrong = parts.find(
      ([part, inner]) => !Object.hasOwn(one, part) || !hasShape(inner, (one as Record<string, unknown>)[part]),
    );
    if (wrong === undefined) return `Each of ${name} may have only ${parts.map(([part]) => part).join(', ')}.`;
    return `Each of ${name} must have a ${wrong[0]} that is ${wrong[1].expected}.`;
  }
  return messageOf(name, field.expected!);
}
