import { createRequire } from 'node:module';
import type Typebox from 'typebox';

/** TypeBox's own builders are 370 modules, a sixth of what a process loads at its start. */

type Options = Record<string, unknown>;

/** Marks an optional property. It is a symbol, so it is not part of the written schema. */
const optional = Symbol('optional');

const simple = (type: string) => (options?: Options) => ({ type, ...options });

const builders = {
  Array: (items: object, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: simple('boolean'),
  Enum: (values: readonly string[], options?: Options) => ({ enum: values, ...options }),
  Integer: simple('integer'),
  Literal: (value: string, options?: Options) => ({ type: 'string', const: value, ...options }),
  Null: simple('null'),
  Number: simple('number'),
  Object(properties: Record<string, object>, options?: Options) {
    const required = Object.keys(properties).filter((name) => !(optional in properties[name]!));
    return { type: 'object', ...(required.length === 0 ? {} : { required }), properties, ...options };
  },
  Optional: (schema: object) => Object.defineProperty({ ...schema }, optional, { value: true }),
  Record: (key: { pattern?: string }, value: object) => ({
    type: 'object',
    patternProperties: { [key.pattern ?? '^.*$']: value },
  }),
  String: simple('string'),
  Union: (anyOf: object[], options?: Options) => ({ anyOf, ...options }),
  Unsafe: (schema: object) => ({ ...schema }),
};

export const Type = builders as unknown as Pick<typeof Typebox, keyof typeof builders>;

const require = createRequire(import.meta.url);

/** Loaded at the first use, because it has 200 modules. */
export const schemas = () => (require('typebox/schema') as typeof import('typebox/schema')).default;
