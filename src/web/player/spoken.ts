import { type Markup, unescapeHtml } from '../../platform/html/html.ts';

/** An element of our own markup. */
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
  const lines: string[] = [];
  let line = '';
  let choices = '';
  const flush = () => {
    const text = tidy(line);
    line = '';
    if (/[\p{L}\d]/u.test(text)) lines.push(text);
  };
  const inside = (node: Node) => node.children.forEach(speak);
  const separately = (node: Node) => {
    // The word "Chosen" is read in one sentence with the label that follows.
    if (line !== chosenNext) flush();
    inside(node);
    flush();
  };

  function speak(node: Node | string): void {
    if (typeof node === 'string') {
      line += node;
      return;
    }
    const { tag, attributes } = node;
    if (Object.hasOwn(attributes, 'hidden') || attributes['aria-hidden'] === 'true') return;
    switch (tag) {
      case 'script':
        return;
      case 'svg':
        line += attributes['aria-label'] ?? '';
        flush();
        return;
      case 'input':
        speakInput(attributes);
        return;
      case 'select':
        speakSelect(node);
        return;
      case 'table':
        speakTable(node);
        return;
      case 'progress':
        return;
    }
    const classes = (attributes.class ?? '').split(' ');
    if (classes.includes('cell')) line += ', ';
    if (classes.includes('ordering')) return inOrder(node);
    // A place of a hotspot text is a label inside a sentence, so it does not end the sentence.
    if (!blocks.has(tag) || classes.includes('place')) return inside(node);
    separately(node);
  }

  /** Reads the parts that the learner puts in order, without the numbers in their menus. */
  function inOrder(node: Node): void {
    for (const child of node.children) {
      if (typeof child === 'string' || child.tag === 'select' || child.attributes.class === 'hint') continue;
      if (child.tag === 'div') inOrder(child);
      else speak(child);
    }
  }

  function speakInput({ type, value = '', ...attributes }: Node['attributes']): void {
    if (type === 'hidden') return;
    // For a chosen option, "Chosen" is read before the label that follows.
    if (type === 'radio' || type === 'checkbox') {
      flush();
      line = Object.hasOwn(attributes, 'checked') ? chosenNext : '';
    } else line += ` ${value} `;
  }

  function speakSelect(node: Node): void {
    flush();
    const options = node.children.filter((one) => typeof one !== 'string' && one.attributes.value !== '') as Node[];
    const names = options.map((option) => option.children.join(''));
    const chosen = options.findIndex(({ attributes }) => Object.hasOwn(attributes, 'selected'));
    if (chosen >= 0) lines.push(chosenNext + names[chosen]);
    // Menus in a row often have the same choices, which are read only once.
    const all = names.join(', ');
    if (all !== choices) lines.push(`You can choose: ${all}`);
    choices = all;
  }

  function speakTable(table: Node): void {
    flush();
    const under = (node: Node, name: string): Node[] =>
      node.children.flatMap((child) =>
        typeof child === 'string' ? [] : child.tag === name ? [child] : under(child, name),
      );
    for (const caption of under(table, 'caption')) separately(caption);
    const [head] = under(table, 'thead');
    const words = (cell: Node) => {
      inside(cell);
      const text = tidy(line);
      line = '';
      return text;
    };
    const heads = head === undefined ? [] : under(head, 'th').map(words);
    for (const body of under(table, 'tbody'))
      for (const row of under(body, 'tr')) {
        const cells = row.children.filter((child) => typeof child !== 'string') as Node[];
        const named = cells.map((cell, i) => [heads[i] ?? '', words(cell)].filter((part) => part !== '').join(': '));
        lines.push(named.join('. '));
      }
  }

  speak(parsed(content.text));
  flush();
  return lines.join('\n');
}
