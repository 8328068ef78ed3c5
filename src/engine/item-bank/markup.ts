/**
 * This file parses the bank's markup into plain data, so that no page has to handle it as HTML.
 * Inside a paragraph: `**important**`, `` `exact text` ``, `____` for a gap, and `[[id|words]]` for a spot of a
 * hotspot. A paragraph that begins with `- ` is a list item, and one that begins with `> ` is a quotation.
 */
export type Inline =
  | { kind: 'text' | 'strong' | 'exact'; text: string }
  /** `text` has the underscores as written. Screen readers say "blank" instead. */
  | { kind: 'gap'; text: string }
  | { kind: 'spot'; id: string; text: string };

export type Block = { kind: 'paragraph' | 'quote'; inline: Inline[] } | { kind: 'list'; items: Inline[][] };

const mark = /\*\*([^*]+)\*\*|`([^`]+)`|(_{4,})|\[\[([a-z0-9_]{1,24})\|([^\]]+)\]\]/gu;

export function parseInline(text: string): Inline[] {
  const out: Inline[] = [];
  let from = 0;
  const plain = (to: number) => {
    if (to > from) out.push({ kind: 'text', text: text.slice(from, to) });
  };
  for (const found of text.matchAll(mark)) {
    plain(found.index);
    if (found[1] !== undefined) out.push({ kind: 'strong', text: found[1] });
    else if (found[2] !== undefined) out.push({ kind: 'exact', text: found[2] });
    else if (found[3] !== undefined) out.push({ kind: 'gap', text: found[3] });
    // A spot is plain text, so markup inside the spot is removed.
    else out.push({ kind: 'spot', id: found[4]!, text: found[5]!.replace(/\*\*|`/gu, '') });
    from = found.index + found[0].length;
  }
  plain(text.length);
  return out;
}

export function parseBlocks(paragraphs: readonly string[]): Block[] {
  const out: Block[] = [];
  for (const paragraph of paragraphs) {
    if (paragraph.startsWith('- ')) {
      const last = out.at(-1);
      const item = parseInline(paragraph.slice(2));
      if (last?.kind === 'list') last.items.push(item);
      else out.push({ kind: 'list', items: [item] });
    } else if (paragraph.startsWith('> ')) {
      out.push({ kind: 'quote', inline: parseInline(paragraph.slice(2)) });
    } else {
      out.push({ kind: 'paragraph', inline: parseInline(paragraph) });
    }
  }
  return out;
}

/** Returns the words as a screen reader says them. A gap becomes "blank". */
export function plainText(inline: readonly Inline[]): string {
  return inline.map((part) => (part.kind === 'gap' ? 'blank' : part.text)).join('');
}
