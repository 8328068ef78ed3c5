import type { Template } from './template.ts';
import { entry1Templates } from './templates/entry1.ts';
import { entry2Templates } from './templates/entry2.ts';
import { entry3Templates } from './templates/entry3.ts';
import { level1Templates } from './templates/level1.ts';
import { level2Templates } from './templates/level2.ts';
import { level3Templates } from './templates/level3.ts';

/** Every template of the bank: one list for each file in `templates/`. */
const lists: readonly (readonly Template[])[] = [
  entry1Templates,
  entry2Templates,
  entry3Templates,
  level1Templates,
  level2Templates,
  level3Templates,
];

export const templates: ReadonlyMap<string, Template> = new Map(
  lists.flat().map((template) => [template.id, template]),
);
