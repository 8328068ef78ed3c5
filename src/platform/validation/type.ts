import { createRequire } from 'node:module';
import type Typebox from 'typebox';

/** TypeBox's 370 modules of builders are a sixth of what a process loads at its start. These builders replace them. */

type Options = Record<string, unknown>;

/** Marks an optional property. A symbol does not appear in the JSON of the schema. */
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

/** Loads the module at the first use, because it consists of 200 modules. */
export const schemas = () => (require('typebox/schema') as typeof import('typebox/schema')).default;
