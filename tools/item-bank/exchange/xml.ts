/**
 * XML, as much as QTI packages need: elements, attributes, text, CDATA, comments and character references. No document
 * type is read, so there are no entities to expand and nothing outside the file is ever fetched.
 */
export type XmlElement = { name: string; attributes: Record<string, string>; children: XmlNode[] };
export type XmlNode = XmlElement | string;

export class XmlFault extends Error {}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const escapeAttribute = (text: string): string =>
  escapeText(text)
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;')
    .replaceAll('\t', '&#9;')
    .replaceAll('\r', '&#13;');

/** An element; attributes without a value are left out. */
export function element(
  name: string,
  attributes: Record<string, string | number | boolean | undefined> = {},
  ...children: (XmlNode | XmlNode[])[]
): XmlElement {
  const given = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, String(value)] as const],
  );
  return { name, attributes: Object.fromEntries(given), children: children.flat() };
}

/** Elements that hold running text, in which nothing may be added, even where they happen to hold only elements. */
const textElements = new Set([
  'p',
  'li',
  'td',
  'th',
  'dt',
  'dd',
  'caption',
  'strong',
  'code',
  'span',
  'title',
  'text',
  'object',
  'qti-simple-choice',
  'qti-simple-associable-choice',
  'qti-prompt',
  'qti-value',
  'qti-base-value',
  'qti-hottext',
]);

function holdsText(node: XmlElement): boolean {
  return textElements.has(node.name) || node.children.some((child) => typeof child === 'string');
}

function write(node: XmlNode, indent: string | null): string {
  if (typeof node === 'string') return escapeText(node);
  const attributes = Object.entries(node.attributes)
    .map(([name, value]) => ` ${name}="${escapeAttribute(value)}"`)
    .join('');
  if (node.children.length === 0) return `<${node.name}${attributes}/>`;
  if (indent === null || holdsText(node))
    return `<${node.name}${attributes}>${node.children.map((child) => write(child, null)).join('')}</${node.name}>`;
  const inner = `${indent}  `;
  return `<${node.name}${attributes}>${node.children.map((child) => `\n${inner}${write(child, inner)}`).join('')}\n${indent}</${node.name}>`;
}

/** A whole document in UTF-8, indented where no text could change by it. */
export function writeXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${write(root, '')}\n`;
}

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

function unescape(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z][a-z0-9]*);|&/giu, (whole, reference: string | undefined) => {
    if (reference === undefined) throw new XmlFault('An ampersand stands alone.');
    if (!reference.startsWith('#')) {
      const character = named[reference];
      if (character === undefined) throw new XmlFault(`The entity ${whole} is not known.`);
      return character;
    }
    const code = reference[1] === 'x' ? Number.parseInt(reference.slice(2), 16) : Number(reference.slice(1));
    if (code > 0x10ffff || code === 0 || (code >= 0xd800 && code <= 0xdfff))
      throw new XmlFault(`${whole} is no character.`);
    return String.fromCodePoint(code);
  });
}

const deepest = 200;
const token =
  /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|<\?[\s\S]*?\?>|<(\/?)([\p{L}_][\p{L}\p{N}_.:-]*)((?:\s+[\p{L}_][\p{L}\p{N}_.:-]*\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(\/?)>|([^<]+)/uy;
const attribute = /\s+([\p{L}_][\p{L}\p{N}_.:-]*)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/uy;

function attributesOf(text: string): Record<string, string> {
  const out: Record<string, string> = Object.create(null) as Record<string, string>;
  attribute.lastIndex = 0;
  for (let found = attribute.exec(text); found; found = attribute.exec(text)) {
    if (found[1]! in out) throw new XmlFault(`The attribute ${found[1]} is given twice.`);
    out[found[1]!] = unescape((found[2] ?? found[3]!).replace(/[\t\r\n]/gu, ' '));
  }
  return out;
}

/**
 * Reads a well-formed document. Throws `XmlFault` with the reason for anything else, and for a document type
 * declaration.
 */
export function readXml(text: string): XmlElement {
  const source = text.replace(/^\ufeff/u, '').replace(/\r\n?/gu, '\n');
  if (/<!DOCTYPE/iu.test(source)) throw new XmlFault('A document type declaration is refused.');
  const root: XmlElement = { name: '', attributes: {}, children: [] };
  const open: XmlElement[] = [root];
  token.lastIndex = 0;
  while (token.lastIndex < source.length) {
    const at = token.lastIndex;
    const found = token.exec(source);
    if (!found) throw new XmlFault(`The markup at character ${at} can't be read.`);
    const [, cdata, closing, name, attributes, empty, plain] = found;
    const parent = open.at(-1)!;
    if (cdata !== undefined) parent.children.push(cdata);
    else if (plain !== undefined) parent.children.push(unescape(plain));
    else if (name === undefined) continue;
    else if (closing) {
      if (open.length === 1 || parent.name !== name) throw new XmlFault(`</${name}> closes what is not open.`);
      open.pop();
    } else {
      const child = { name, attributes: attributesOf(attributes ?? ''), children: [] };
      parent.children.push(child);
      if (!empty) open.push(child);
      if (open.length > deepest) throw new XmlFault('The elements are nested too deeply.');
    }
  }
  if (open.length > 1) throw new XmlFault(`<${open.at(-1)!.name}> is not closed.`);
  const elements = root.children.filter((child) => typeof child !== 'string');
  if (elements.length !== 1 || root.children.some((child) => typeof child === 'string' && child.trim() !== ''))
    throw new XmlFault('A document has exactly one root element.');
  return elements[0]!;
}

/** The name without its namespace prefix. */
export function localName(node: XmlElement): string {
  return node.name.slice(node.name.indexOf(':') + 1);
}

export function elementsIn(node: XmlElement): XmlElement[] {
  return node.children.filter((child) => typeof child !== 'string');
}

/** Every element inside, in document order. */
export function elementsWithin(node: XmlElement): XmlElement[] {
  return elementsIn(node).flatMap((child) => [child, ...elementsWithin(child)]);
}

/** Every element inside with that local name, in document order. */
export function findAll(node: XmlElement, name: string): XmlElement[] {
  return elementsWithin(node).filter((inside) => localName(inside) === name);
}

export function findOne(node: XmlElement, name: string): XmlElement | undefined {
  return findAll(node, name)[0];
}

/** All text inside. */
export function textIn(node: XmlElement): string {
  return node.children.map((child) => (typeof child === 'string' ? child : textIn(child))).join('');
}
