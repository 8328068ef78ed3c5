import { type Markup, unescapeHtml } from '../../platform/html/html.ts';

type Node = { tag: string; attributes: Record<string, string>; children: (Node | string)[] };

const empty = new Set(['br', 'hr', 'img', 'input', 'link', 'meta', 'line', 'rect', 'circle', 'path', 'polyline']);

/** Parses our own markup, which is always well formed. */
function parsed(text: string): Node {
  const root: Node = { tag: '', attributes: {}, children: [] };
  const open = [root];
  for (const [token, closing, tag, rest] of text.matchAll(/<(\/?)([a-z][a-z0-9]*)((?:[^>"]|"[^"]*")*)>|[^<]+/g)) {
    const inside = open.at(-1)!;
    if (tag === undefined) inside.children.push(unescapeHtml(token));
    else if (closing === '/') open.pop();
    else {
      const attributes: Record<string, string> = {};
      for (const [, name, value = ''] of rest!.matchAll(/([a-z][a-z0-9-]*)(?:="([^"]*)")?/g))
        attributes[name!] = unescapeHtml(value);
      const node: Node = { tag, attributes, children: [] };
      inside.children.push(node);
      if (!empty.has(tag) && !rest!.endsWith('/')) open.push(node);
    }
  }
  return root;
}

/** Each of these elements is read as a sentence. */
const blocks = new Set(
  'address article blockquote button caption dd details div dl dt fieldset figcaption figure form h1 h2 h3 header label legend li main ol p section summary ul'.split(
    ' ',
  ),
);

const tidy = (text: string): string =>
  text
    .replace(/[\s\u00a0]+/g, ' ')
    .replace(/( ?, )+/g, ', ')
    .replace(/^[ ,]+|(?<![ ,])[ ,]+$/g, '');

const chosenNext = 'Chosen: ';

/** The text of a page in reading order, one sentence a line. It is made from the markup, so no text is left out. */
export function spokenText(content: Markup): string {
  const speech = new Speech();
  speech.speak(parsed(content.text));
  speech.flush();
  return speech.lines.join('\n');
}

class Speech {
  readonly lines: string[] = [];
  #line = '';
  #choices = '';

  flush(): void {
    const text = tidy(this.#line);
    this.#line = '';
    if (/[\p{L}\d]/u.test(text)) this.lines.push(text);
  }

  speak(node: Node | string): void {
    if (typeof node === 'string') {
      this.#line += node;
      return;
    }
    const { tag, attributes } = node;
    if (Object.hasOwn(attributes, 'hidden') || attributes['aria-hidden'] === 'true') return;
    switch (tag) {
      case 'script':
      case 'progress':
        return;
      case 'svg':
        this.#line += attributes['aria-label'] ?? '';
        return this.flush();
      case 'input':
        return this.#speakInput(attributes);
      case 'select':
        return this.#speakSelect(node);
      case 'table':
        return this.#speakTable(node);
    }
    const classes = (attributes.class ?? '').split(' ');
    if (classes.includes('cell')) this.#line += ', ';
    if (classes.includes('ordering')) return this.#speakInOrder(node);
    // A place of a hotspot text is a label inside a sentence, so it does not end the sentence.
    if (!blocks.has(tag) || classes.includes('place')) return this.#speakInside(node);
    this.#speakSeparately(node);
  }

  #speakInside(node: Node): void {
    for (const child of node.children) this.speak(child);
  }

  #speakSeparately(node: Node): void {
    // The word "Chosen" is read in one sentence with the label that follows.
    if (this.#line !== chosenNext) this.flush();
    this.#speakInside(node);
    this.flush();
  }

  /** Reads the parts that the learner puts in order, without the numbers in their menus. */
  #speakInOrder(node: Node): void {
    for (const child of node.children) {
      if (typeof child === 'string' || child.tag === 'select' || child.attributes.class === 'hint') continue;
      if (child.tag === 'div') this.#speakInOrder(child);
      else this.speak(child);
    }
  }

  #speakInput({ type, value = '', ...attributes }: Node['attributes']): void {
    if (type === 'hidden') return;
    // For a chosen option, "Chosen" is read before the label that follows.
    if (type === 'radio' || type === 'checkbox') {
      this.flush();
      this.#line = Object.hasOwn(attributes, 'checked') ? chosenNext : '';
    } else this.#line += ` ${value} `;
  }

  #speakSelect(node: Node): void {
    this.flush();
    const options = node.children.filter((one) => typeof one !== 'string' && one.attributes.value !== '') as Node[];
    const names = options.map((option) => option.children.join(''));
    const chosen = options.findIndex(({ attributes }) => Object.hasOwn(attributes, 'selected'));
    if (chosen >= 0) this.lines.push(chosenNext + names[chosen]);
    // Menus in a row often have the same choices, which are read only once.
    const all = names.join(', ');
    if (all !== this.#choices) this.lines.push(`You can choose: ${all}`);
    this.#choices = all;
  }

  #speakTable(table: Node): void {
    this.flush();
    for (const caption of under(table, 'caption')) this.#speakSeparately(caption);
    const [head] = under(table, 'thead');
    const words = (cell: Node) => {
      this.#speakInside(cell);
      const text = tidy(this.#line);
      this.#line = '';
      return text;
    };
    const heads = head === undefined ? [] : under(head, 'th').map(words);
    for (const body of under(table, 'tbody'))
      for (const row of under(body, 'tr')) {
        const cells = row.children.filter((child) => typeof child !== 'string') as Node[];
        const named = cells.map((cell, i) => [heads[i] ?? '', words(cell)].filter((part) => part !== '').join(': '));
        this.lines.push(named.join('. '));
      }
  }
}

const under = (node: Node, name: string): Node[] =>
  node.children.flatMap((child) =>
    typeof child === 'string' ? [] : child.tag === name ? [child] : under(child, name),
  );
