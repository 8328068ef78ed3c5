import { meaningKeys } from '../../platform/validation/fields.ts';

export type Schema = Record<string, unknown>;

/** Converts validation schemas into schemas of the OpenAPI document. A schema with an $id becomes a named component. */
export class Components {
  readonly schemas: Record<string, Schema> = {};

  /** @returns a reference if the schema has an $id, otherwise the schema itself */
  show(schema: object): Schema {
    const { $id, ...rest } = { ...schema } as Schema;
    if (typeof $id !== 'string') return this.#inside(rest);
    if (this.schemas[$id] === undefined) {
      // The entry is added before its contents are converted, so that components are ordered by their first mention.
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

/** Turns `anyOf: [X, null]` into one schema with two types, if X has one type, no $id and no constant. */
function nullable(schema: Schema): Schema {
  const { anyOf, ...rest } = schema as { anyOf?: Schema[] };
  if (anyOf?.length !== 2 || anyOf[1]!.type !== 'null') return schema;
  const [plain] = anyOf as [Schema];
  if (typeof plain.type !== 'string' || plain.$id !== undefined || plain.const !== undefined) return schema;
  return {
    ...plain,
    ...rest,
    type: [plain.type, 'null'],
    ...(Array.isArray(plain.enum) ? { enum: [...plain.enum, null] } : {}),
  };
}
