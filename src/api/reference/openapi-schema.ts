import { meaningKeys } from '../../platform/validation/fields.ts';

/** JSON Schema as it stands in the document. */
export type Schema = Record<string, unknown>;

type AnyOf = { anyOf?: Schema[] };

/**
 * Turns the schemas that validate into schemas of the document: what has an $id becomes a named component, and the two
 * halves of a nullable value become one schema.
 */
export class Components {
  readonly schemas: Record<string, Schema> = {};

  /** @returns a reference where the schema has a name, else the schema itself */
  show(schema: object): Schema {
    const { $id, ...rest } = { ...schema } as Schema;
    if (typeof $id !== 'string') return this.#inside(rest);
    if (this.schemas[$id] === undefined) {
      // Its name is taken before its inside is read, so that the order of components is the order of first mention.
      this.schemas[$id] = {};
      Object.assign(this.schemas[$id], this.#inside(rest));
    }
    return { $ref: `#/components/schemas/${$id}` };
  }

  #inside(schema: Schema): Schema {
    const { shown, ...plain } = schema as Schema & { shown?: Schema };
    const merged = nullable({ ...plain, ...shown });
    const out: Schema = {};
    for (const [key, value] of Object.entries(merged)) {
      if (meaningKeys.includes(key)) continue;
      if (key === 'properties')
        out[key] = Object.fromEntries(
          Object.entries(value as Record<string, object>).map(([name, one]) => [name, this.show(one)]),
        );
      else if (key === 'anyOf') out[key] = (value as object[]).map((one) => this.show(one));
      else if (key === 'items') out[key] = this.show(value as object);
      else out[key] = value;
    }
    if (out.type === undefined && Array.isArray(out.enum) && out.enum.every((one) => typeof one === 'string'))
      return { type: 'string', ...out };
    return out;
  }
}

/** `anyOf: [X, null]` as one schema with two types, where X is a plain one. */
function nullable(schema: Schema): Schema {
  const { anyOf, ...beside } = schema as AnyOf;
  if (anyOf?.length !== 2 || anyOf[1]!.type !== 'null') return schema;
  const [plain] = anyOf as [Schema];
  if (typeof plain.type !== 'string' || plain.$id !== undefined || plain.const !== undefined) return schema;
  return {
    ...plain,
    ...beside,
    type: [plain.type, 'null'],
    ...(Array.isArray(plain.enum) ? { enum: [...plain.enum, null] } : {}),
  };
}
