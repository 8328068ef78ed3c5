import { createHash } from 'node:crypto';
import { renderItem } from './load.ts';
import { canonical } from './canonical.ts';
import type { Item, Passage, RenderedItem } from './schema.ts';

/** Members that may change while the question stays the same: notes for writers and reports, parameters, codes. */
function question(item: RenderedItem): object {
  const { rationale, distractor_rationales, ...shown } = item;
  const {
    id,
    subject,
    level,
    domain,
    skill,
    statement,
    skill_group,
    state,
    a,
    b,
    c,
    calibration,
    enemies,
    keep_order,
    ...rest
  } = shown as Partial<Item> & { keep_order?: boolean } & typeof shown;
  return rest;
}

/** The hash of a template contains the renderings of these seeds. */
export const hashedSeeds = ['1', '2', '3', '4'];

/**
 * A hash of the question as learners see it, with its passage and key. The hash is the same in all versions of the bank
 * until the question changes. A changed question needs a new reading.
 */
export function itemHash(item: Item, passage: Passage | null): string {
  const shown =
    item.type === 'template' ? hashedSeeds.map((seed) => question(renderItem(item, seed))) : [question(item)];
  const text = passage && { title: passage.title, genre: passage.genre, paragraphs: passage.paragraphs };
  return createHash('sha256').update(canonical({ shown, text })).digest('hex').slice(0, 16);
}
