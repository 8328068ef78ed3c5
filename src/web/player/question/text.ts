import { type Content, type Markup, html } from '../../../platform/html/html.ts';
import { type Block, type Inline, parseInline } from '../../../engine/item-bank/markup.ts';

/** Turns the item bank's parsed markup into HTML. @param spot renders a spot of a hotspot (default: its text) */
export function inlineHtml(
  inline: readonly Inline[],
  spot: (part: Extract<Inline, { kind: 'spot' }>) => Content = (part) => part.text,
): Markup {
  return html`${inline.map((part) => {
    switch (part.kind) {
      case 'text':
        return part.text;
      case 'strong':
        return html`<strong>${part.text}</strong>`;
      case 'exact':
        return html`<code>${part.text}</code>`;
      case 'gap':
        return html`<span aria-hidden="true">${part.text}</span><span class="unseen">blank</span>`;
      case 'spot':
        return spot(part);
    }
  })}`;
}

export function blocksHtml(blocks: readonly Block[]): Markup {
  return html`${blocks.map((block) => {
    if (block.kind === 'list') return html`<ul>${block.items.map((item) => html`<li>${inlineHtml(item)}</li>`)}</ul>`;
    return block.kind === 'quote'
      ? html`<blockquote>${inlineHtml(block.inline)}</blockquote>`
      : html`<p>${inlineHtml(block.inline)}</p>`;
  })}`;
}

/** Turns the item bank's unparsed markup into HTML. */
export function marked(text: string): Markup {
  return inlineHtml(parseInline(text));
}

/** If the table is wider than a phone, only the table scrolls, also by keyboard, and the script shows a hint. */
export function dataTable(
  caption: string,
  header: readonly Content[],
  rows: readonly (readonly Content[])[],
  options: { rowHeads?: boolean; className?: string } = {},
): Markup {
  return html`<p class="wider" hidden>Some columns are out of sight: slide the table sideways.</p><div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table class="${options.className ?? 'data'}"><caption>${marked(caption)}</caption>
<thead><tr>${header.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${row.map((cell, i) => (i === 0 && options.rowHeads === true ? html`<th scope="row">${cell}</th>` : html`<td>${cell}</td>`))}</tr>`)}</tbody></table></div>`;
}
