import type { TSchema } from 'typebox';
import { itemForms, maxProvisionalA, Passage, renderedForms } from '../../src/engine/item-bank/schema.ts';
import type { Item } from '../../src/engine/item-bank/schema.ts';
import { schemas } from '../../src/platform/validation/type.ts';

type Validator = {
  Check(value: unknown): boolean;
  Errors(value: unknown): [boolean, { instancePath: string; message: string; params: object }[]];
};
const compiled = new Map<TSchema, Validator>();

function validator(schema: TSchema): Validator {
  let found = compiled.get(schema);
  if (!found) compiled.set(schema, (found = schemas().Compile(schema) as unknown as Validator));
  return found;
}

function faults(schema: TSchema, value: unknown): string[] {
  const check = validator(schema);
  if (check.Check(value)) return [];
  const [, errors] = check.Errors(value);
  return [...new Set(errors.map((error) => `${error.instancePath || 'the item'} ${error.message}`))];
}

function faultsByType(forms: Record<string, TSchema>, value: unknown): string[] {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return ['is not an object'];
  const type = (value as { type?: unknown }).type;
  if (typeof type !== 'string' || !Object.hasOwn(forms, type)) return [`has no known type (${JSON.stringify(type)})`];
  return faults(forms[type]!, value);
}

/** What is wrong with the shape of an item, in sentences without a subject; empty if nothing is. */
export function itemFaults(value: unknown): string[] {
  const found = faultsByType(itemForms, value);
  if (found.length > 0) return found;
  const { a, calibration } = value as Item;
  return calibration === 'provisional' && a > maxProvisionalA
    ? [`/a must be <= ${maxProvisionalA} until the item is calibrated`]
    : [];
}

/** What is wrong with the shape of what a template made. */
export function renderedFaults(value: unknown): string[] {
  return faultsByType(renderedForms, value);
}

export function passageFaults(value: unknown): string[] {
  return faults(Passage, value);
}
