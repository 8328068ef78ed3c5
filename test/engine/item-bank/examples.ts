import { readFileSync } from 'node:fs';
import type { Item, RenderedItem } from '../../../src/engine/item-bank/schema.ts';

/** The examples that item writers are shown: the tests hold the guide to its word. */
const guide = readFileSync(new URL('../../../src/engine/item-bank/items/README.md', import.meta.url), 'utf8');

export const guideItems: Item[] = [...guide.matchAll(/^```json\n(\{\n[\s\S]*?\n\})\n```$/gmu)].map(
  (found) => JSON.parse(found[1]!) as Item,
);

type Examples = { [T in RenderedItem['type']]: Extract<RenderedItem, { type: T }> };

/** One example of each type, from the guide. */
export const examples = Object.fromEntries(
  guideItems.filter((item) => item.type !== 'template').map((item) => [item.type, item]),
) as unknown as Examples;
