import { createHash } from 'node:crypto';
import { renderItem } from '../../src/engine/item-bank/load.ts';
import { canonical } from '../../src/engine/item-bank/canonical.ts';
import type { Item, Passage, RenderedItem } from '../../src/engine/item-bank/schema.ts';

/** What may change without making another question: words for writers and reports, parameters, codes. */
function question(item: RenderedItem): object {
  const { rationale, distractor_rationales, ...shown } = item;
  const { id, subject, level, domain, skill, statement, skill_group, state, a, b, c, calibration, enemies, ...rest } =
    shown as Partial<Item> & typeof shown;
  return rest;
}

/** The seeds whose renderings stand for all that a template makes. */
export const hashedSeeds = ['1', '2', '3', '4'];

/**
 * A hash of what a learner sees, passage included, and of the key: the same in every version of the bank while the
 * question is the same. Readings refer to it, so a changed question has to be read again.
 */
export function itemHash(item: Item, passage: Passage | null): string {
  const shown =
    item.type === 'template' ? hashedSeeds.map((seed) => question(renderItem(item, seed))) : [question(item)];
  const text = passage && { title: passage.title, genre: passage.genre, paragraphs: passage.paragraphs };
  return createHash('sha256').update(canonical({ shown, text })).digest('hex').slice(0, 16);
}
