import type { Passage, RenderedItem } from './schema.ts';

export function textsOf(value: unknown, path = ''): { path: string; text: string }[] {
  if (typeof value === 'string') return [{ path, text: value }];
  if (Array.isArray(value)) return value.flatMap((entry, at) => textsOf(entry, `${path}[${at}]`));
  if (value !== null && typeof value === 'object') {
    return Object.entries(value).flatMap(([name, member]) => textsOf(member, path === '' ? name : `${path}.${name}`));
  }
  return [];
}

/** Matches the paths of texts that a learner doesn't read, such as IDs and what a drawing shows. */
const unread =
  /(?:^|\.)(?:id|kind|control|block|field|padlock|passage|initial|state)(?:$|\[)|^figure\.panels\[\d+\]\.(?:letter|description|shape)/u;
const questionMembers = [
  'stem',
  'figure',
  'options',
  'prefix',
  'suffix',
  'left',
  'right',
  'surface',
  'title',
  'screen',
  'fields',
];

/** Returns the texts that a learner reads in an item. The passage isn't included. */
export function shownTexts(item: RenderedItem): string[] {
  const shown = Object.entries(item).filter(([name]) => questionMembers.includes(name));
  return textsOf(Object.fromEntries(shown))
    .filter(({ path }) => !unread.test(path))
    .map(({ text }) => text);
}

const words = (text: string): number => text.split(/\s+/u).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

/** Counts the words to read for an item. A passage counts in full with each of its items. */
export function readingLoad(item: RenderedItem, passage: Passage | null): number {
  const own = shownTexts(item).reduce((sum, text) => sum + words(text), 0);
  return own + (passage?.paragraphs ?? []).reduce((sum, paragraph) => sum + words(paragraph), 0);
}
