import type Type from 'typebox';
import { ApiError } from '../../platform/errors/errors.ts';
import type { Beside, Meaning } from '../../platform/validation/fields.ts';
import { isJsonObject, JsonFault, parseJson } from '../../platform/formats/json.ts';
import { faults, refusal, unknownName } from '../../platform/validation/faults.ts';
import { schemas } from '../../platform/validation/type.ts';

/**
 * Reads a JSON object from a request body.
 * @throws ApiError invalid_json for a syntax error or a repeated name in an object; invalid_body for another JSON value
 */
export function readJsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    if (text.trim() === '') throw new ApiError('invalid_json', 'The body is missing. Send one JSON object.');
    if (error.kind === 'syntax') throw new ApiError('invalid_json');
    throw new ApiError('invalid_json', 'An object in the body has a name twice. Send each name once.');
  }
  if (!isJsonObject(value)) throw new ApiError('invalid_body');
  return value;
}

type Field = Type.TSchema &
  Partial<Meaning> & { maxLength?: number; items?: Field; properties?: Record<string, Field>; required?: string[] };

const compiled = new WeakMap<Type.TSchema, { Check(value: unknown): boolean }>();

function matches(schema: Type.TSchema, value: unknown): boolean {
  let check = compiled.get(schema);
  if (check === undefined) compiled.set(schema, (check = schemas().Compile(schema)));
  return check.Check(value);
}

/**
 * Reads a body by its schema. Repeated members of a list are removed before the list's length is checked.
 * @throws ApiError for the first fault: invalid_<field> in the schema's order, then unknown_field, then invalid_body
 */
export function readBody<T extends Type.TObject>(
  schema: T,
  { app, body }: { app: Beside['app']; body: Record<string, unknown> },
): Type.Static<T> {
  const fields: Record<string, unknown> = {};
  for (const [name, field] of Object.entries<Field>(schema.properties)) {
    if (!Object.hasOwn(body, name)) {
      if (schema.required?.includes(name) === true)
        throw ApiError.field(codeOf(name), refusal(name, faults.missing, field.expected!));
      continue;
    }
    const fault = faultOf(name, field, body[name], { fields, app });
    if (fault !== null) throw ApiError.field(codeOf(name), fault);
    fields[name] = collapsed(body[name]);
  }
  const names = Object.keys(schema.properties);
  const unknown = unknownName('The body', 'field', Object.keys(body), names);
  if (unknown !== null) throw new ApiError('unknown_field', unknown);
  if (Object.keys(fields).length < ((schema as { minProperties?: number }).minProperties ?? 0))
    throw new ApiError('invalid_body', `The body has no field. Send at least one of ${names.join(', ')}.`);
  return fields as Type.Static<T>;
}

const codeOf = (name: string) => `invalid_${name}` as const;

/** The error codes and messages for invalid fields, in the schema's order. OpenAPI and the guides show them. */
export function fieldRefusals(schema: Type.TSchema): { code: string; message: string }[] {
  const { properties = {} } = schema as Field;
  return Object.entries(properties).map(([name, { expected }]) => ({
    code: codeOf(name),
    message: refusal(name, faults.malformed, expected!),
  }));
}

function collapsed(value: unknown): unknown {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') ? [...new Set(value)] : value;
}

/** The message for an invalid value, or for the first invalid member of a list; null: the value is valid. */
function faultOf(path: string, field: Field, value: unknown, context: Beside): string | null {
  const hasMatched = matches(field, collapsed(value));
  if (Array.isArray(value) && field.items !== undefined)
    for (const [at, one] of value.entries()) {
      const fault = faultOf(`${path}[${at}]`, field.items, one, context);
      if (fault !== null) return fault;
    }
  if (field.properties !== undefined && isJsonObject(value)) {
    for (const [name, part] of Object.entries(field.properties)) {
      const isThere = Object.hasOwn(value, name);
      if (!isThere && field.required?.includes(name) !== true) continue;
      const own = `${path}.${name}`;
      const fault = isThere ? faultOf(own, part, value[name], context) : refusal(own, faults.missing, part.expected!);
      if (fault !== null) return fault;
    }
    const unknown = unknownName(path, 'field', Object.keys(value), Object.keys(field.properties));
    if (unknown !== null) return unknown;
  }
  const isText = typeof value === 'string' && value.length <= (field.maxLength ?? -1);
  const verdict = (hasMatched || isText) && (field.also?.(collapsed(value), context) ?? true);
  if (hasMatched && verdict === true) return null;
  const fault = typeof verdict === 'string' ? verdict : kindOfFault(field, value);
  return fault.includes('. ') ? `${path} ${fault}.` : refusal(path, fault, field.expected!);
}

function kindOfFault(field: Field, value: unknown): string {
  if (Array.isArray(value) && field.items !== undefined)
    return value.length === 0 ? 'is an empty list' : 'has too many members';
  return 'enum' in field && typeof value === 'string' ? faults.notAllowed : faults.malformed;
}
