import type { Template } from './template.ts';
import { entryTemplates } from './templates/entry.ts';

/** Every template of the bank: one list for each file in `templates/`. */
const lists: readonly (readonly Template[])[] = [entryTemplates];

export const templates: ReadonlyMap<string, Template> = new Map(lists.flat().map((template) => [template.id, template]));
