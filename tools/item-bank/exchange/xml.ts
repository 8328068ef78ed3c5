import { SaxesParser } from 'saxes';

/**
 * XML as QTI packages contain it. We refuse document types, so there are no entities to expand and nothing outside the
 * file is fetched.
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

/** Makes an element. Attributes without a value are left out. */
export function element(
  name: string,
  attributes: Record<string, string | number | boolean | undefined> = {},
  ...children: (XmlNode | XmlNode[])[]
): XmlElement {
  const present = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, String(value)] as const],
  );
  return { name, attributes: Object.fromEntries(present), children: children.flat() };
}

/** Elements of running text. Indentation would change their text, even if they contain only elements. */
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

/** Writes a document in UTF-8, with indentation outside running text. */
export function writeXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${write(root, '')}\n`;
}

const deepest = 200;

/**
 * Reads a document.
 * @throws XmlFault if the document is not well formed, or declares a document type
 */
export function readXml(text: string): XmlElement {
  const document: XmlElement = { name: '', attributes: {}, children: [] };
  const open = [document];
  const parser = new SaxesParser();
  const add = (node: XmlNode) => open.at(-1)!.children.push(node);
  parser.on('error', ({ message }) => {
    throw new XmlFault(`The markup cannot be read: ${message}`);
  });
  parser.on('doctype', () => {
    throw new XmlFault('A document type declaration is refused.');
  });
  parser.on('opentag', ({ name, attributes }) => {
    const child: XmlElement = { name, attributes, children: [] };
    add(child);
    if (open.push(child) > deepest) throw new XmlFault('The elements are nested too deeply.');
  });
  parser.on('closetag', () => open.pop());
  parser.on('text', add);
  parser.on('cdata', add);
  parser.write(text).close();
  return elementsIn(document)[0]!;
}

export function localName(node: XmlElement): string {
  return node.name.slice(node.name.indexOf(':') + 1);
}

export function elementsIn(node: XmlElement): XmlElement[] {
  return node.children.filter((child) => typeof child !== 'string');
}

/** All descendants in document order. */
export function elementsWithin(node: XmlElement): XmlElement[] {
  return elementsIn(node).flatMap((child) => [child, ...elementsWithin(child)]);
}

/** All descendants with the local name, in document order. */
export function findAll(node: XmlElement, name: string): XmlElement[] {
  return elementsWithin(node).filter((inside) => localName(inside) === name);
}

export function findOne(node: XmlElement, name: string): XmlElement | undefined {
  return findAll(node, name)[0];
}

export function textIn(node: XmlElement): string {
  return node.children.map((child) => (typeof child === 'string' ? child : textIn(child))).join('');
}
