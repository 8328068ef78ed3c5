import { type Token, type Tokens, Marked } from 'marked';
import { Markup, attributes, escapeHtml, html } from '../../platform/html/html.ts';
import { highlight } from './highlight.ts';

export type Heading = { id: string; depth: number; text: string };

export type Text = { title: string; body: Markup; headings: Heading[]; about: string };

/** Turns the URLs of a Markdown source into URLs that work on the page. */
export type Places = {
  link(href: string): string;
  /** `forms`: the same picture for other readers, each with its media query. */
  picture(href: string): {
    src: string;
    size: { width: number; height: number } | null;
    forms: readonly { media: string; src: string }[];
  };
};

function plain(tokens: readonly Token[]): string {
  return tokens
    .map((token) =>
      'tokens' in token && token.tokens !== undefined ? plain(token.tokens) : 'text' in token ? String(token.text) : '',
    )
    .join('');
}

/** Makes the same heading IDs as GitHub, so that anchors work in both places. */
export function headingIds(): (text: string) => string {
  const seen = new Map<string, number>();
  return (text) => {
    const id = text
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(id);
    seen.set(id, (before ?? -1) + 1);
    return before === undefined ? id : `${id}-${before + 1}`;
  };
}

export function codeBlock(text: string, language: string): Markup {
  return html`<pre><code>${highlight(text, language)}</code></pre>`;
}

/** Returns the start of a text, which ends after a full sentence if possible. */
export function beginning(text: string, max: number): string {
  const bare = text.replace(/\s+/g, ' ').trim();
  if (bare.length <= max) return bare;
  const sentences = /^.*[.!?](?= )/.exec(bare.slice(0, max + 1))?.[0];
  return sentences !== undefined && sentences.length > max / 3
    ? sentences
    : `${bare.slice(0, bare.lastIndexOf(' ', max - 2))} …`;
}

const languageOf = (block: Tokens.Code) => (block.lang ?? '').split(' ')[0]!;
/** The title of a tab, from an info string such as `sh tab="curl"`. */
const tabOf = (block: Tokens.Code) => / tab="([^"]+)"/.exec(block.lang ?? '')?.[1];

type Tabs = { type: 'tabs'; raw: string; blocks: Tokens.Code[] };

/** Joins blocks with `tab="…"` that follow one another. Only empty lines and comments may be between them. */
function joinTabs(tokens: Token[]): Token[] {
  const joined: Token[] = [];
  let open: Tabs | null = null;
  for (const token of tokens) {
    if (token.type === 'list') for (const item of (token as Tokens.List).items) item.tokens = joinTabs(item.tokens);
    if (token.type === 'code' && tabOf(token as Tokens.Code) !== undefined) {
      if (open === null) joined.push((open = { type: 'tabs', raw: '', blocks: [] }));
      open.blocks.push(token as Tokens.Code);
    } else if (open === null || (token.type !== 'space' && !token.raw.startsWith('<!--'))) {
      open = null;
      joined.push(token);
    }
  }
  return joined;
}

/** Radio buttons show one block of a group, without a script. Without the style sheet all blocks follow one another. */
function tabGroup(group: number, blocks: readonly Tokens.Code[]): Markup {
  const tabs = blocks.map((block, i) => {
    const id = `tab-${group}-${i + 1}`;
    const radio = attributes({ type: 'radio', name: `tab-${group}`, id, checked: i === 0 });
    return html`<input ${radio}><label for="${id}">${tabOf(block)!}</label><div class="tab">${codeBlock(block.text, languageOf(block))}</div>`;
  });
  return html`<div class="tabs" role="group" aria-label="The same in several languages">${tabs}</div>`;
}

function pictureBlock({ src, size, forms }: ReturnType<Places['picture']>, text: string): string {
  const sized = size === null ? '' : ` width="${size.width}" height="${size.height}"`;
  const kind = src.endsWith('.svg') ? 'picture drawn' : 'picture';
  const sources = forms.map((one) => `<source media="${one.media}" srcset="${escapeHtml(one.src)}">`).join('');
  const shown = `<picture>${sources}<img src="${escapeHtml(src)}" alt="${escapeHtml(text)}"${sized}></picture>`;
  return `<div class="${kind}" tabindex="0" role="group" aria-label="Picture">${shown}</div>\n`;
}

/** Renders Markdown as a page. HTML inside the Markdown is shown as text. */
export function renderMarkdown(source: string, places: Places): Text {
  const ids = headingIds();
  const headings: Heading[] = [];
  let first: string | null = null;
  let about: string | null = null;
  let groups = 0;
  const marked = new Marked({ gfm: true });
  marked.use({
    extensions: [{ name: 'tabs', renderer: (group) => tabGroup(++groups, (group as Tabs).blocks).text }],
    renderer: {
      heading({ tokens, depth }: Tokens.Heading) {
        const own = plain(tokens);
        const id = ids(own);
        if (depth === 1 && first === null) {
          first = own;
          return html`<h1 id="${id}">${own}</h1>`.text;
        }
        headings.push({ id, depth, text: own });
        const self = html` <a class="self" href="#${id}" aria-label="Link to “${own}”">#</a>`.text;
        return `<h${depth} id="${escapeHtml(id)}">${this.parser.parseInline(tokens)}${self}</h${depth}>\n`;
      },
      paragraph({ tokens }: Tokens.Paragraph) {
        // The description of the page is its first paragraph. Short ones, such as a date, are skipped.
        if (about === null && plain(tokens).length > 40) about = plain(tokens);
        const [only] = tokens;
        if (tokens.length === 1 && only!.type === 'image') return this.parser.parseInline(tokens);
        return `<p>${this.parser.parseInline(tokens)}</p>\n`;
      },
      code: (block: Tokens.Code) => `${codeBlock(block.text, languageOf(block)).text}\n`,
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text.replace(/<!--[^]*?-->/g, '').trim()),
      link({ href, tokens }: Tokens.Link) {
        // Email addresses in the documentation are only examples, so they are no links.
        if (href.startsWith('mailto:')) return this.parser.parseInline(tokens);
        return `<a href="${escapeHtml(places.link(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      image: ({ href, text }: Tokens.Image) => pictureBlock(places.picture(href), text),
      table(token: Tokens.Table) {
        // An empty head cell becomes an ordinary cell, because it heads no column or row.
        const cell = ({ text, tokens }: Tokens.TableCell, tag: 'th' | 'td') => {
          const used = text === '' ? 'td' : tag;
          return `<${used}>${this.parser.parseInline(tokens)}</${used}>`;
        };
        const row = (cells: Tokens.TableCell[], tag: 'th' | 'td') =>
          `<tr>${cells.map((one) => cell(one, tag)).join('')}</tr>`;
        const isNamed = token.header.some(({ text }) => text !== '');
        const head = isNamed ? `<thead>${row(token.header, 'th')}</thead>` : '';
        const body = token.rows.map((cells) => row(cells, 'td')).join('\n');
        return `<div class="sideways" tabindex="0" role="group" aria-label="Table"><table>${head}<tbody>${body}</tbody></table></div>\n`;
      },
    },
  });
  const body = new Markup(marked.parser(joinTabs(marked.lexer(source))));
  return { title: first ?? '', body, headings, about: about ?? '' };
}
