import type { Template } from './template.ts';

/** Every template of the bank: one list for each file in `templates/`. */
const lists: readonly (readonly Template[])[] = [];

export const templates: ReadonlyMap<string, Template> = new Map(lists.flat().map((template) => [template.id, template]));
