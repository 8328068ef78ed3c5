import { createRequire } from 'node:module';
import type Typebox from 'typebox';

/**
 * The few builders of TypeBox that schemas here are made with. TypeBox gives their types and checks by them; its own builders
 * are 370 modules, a sixth of what every process had to load before it did anything.
 */

type Options = Record<string, unknown>;

/** Marks a property that its object needn't have, where nobody sees it who writes the schema down. */
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

/** What makes checks of schemas. Loaded when it is first asked for: it is 200 modules. */
export const schemas = () => (require('typebox/schema') as typeof import('typebox/schema')).default;
