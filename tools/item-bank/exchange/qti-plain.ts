import { EntryFault } from './json.ts';
import { refused } from './xhtml.ts';
import { elementsWithin, localName, textIn } from './xml.ts';
import type { XmlElement } from './xml.ts';

/** Prepares every document for reading: characters with several spellings get the bank's spelling. */

const raised = new Map(
  Array.from('0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹+⁺-⁻−⁻=⁼(⁽)⁾'.matchAll(/../gu), ([pair]) => [pair[0]!, pair.slice(1)]),
);
for (const [pair] of 'aᵃbᵇcᶜdᵈeᵉfᶠgᵍhʰiⁱjʲkᵏlˡmᵐnⁿoᵒpᵖrʳsˢtᵗuᵘvᵛwʷxˣyʸzᶻ'.matchAll(/../gu))
  raised.set(pair[0]!, pair.slice(1));
const lowered = new Map(
  Array.from('0₀1₁2₂3₃4₄5₅6₆7₇8₈9₉+₊-₋−₋=₌(₍)₎aₐeₑhₕiᵢjⱼkₖlₗmₘnₙoₒpₚrᵣsₛtₜuᵤvᵥxₓ'.matchAll(/../gu), ([pair]) => [
    pair[0]!,
    pair.slice(1),
  ]),
);

/** @throws EntryFault if Unicode has no raised or lowered form of a character */
function script(node: XmlElement, characters: ReadonlyMap<string, string>): string {
  const text = textIn(node).trim();
  const found = Array.from(text, (one) => characters.get(one));
  if (node.children.some((child) => typeof child !== 'string') || found.includes(undefined))
    throw new EntryFault(
      `has <${localName(node)}> around what has no character of its own, which the bank can't take over`,
    );
  return found.join('');
}

const spelt: Record<string, string> = { b: 'strong', em: 'strong', i: 'strong' };

/**
 * Replaces `sup` and `sub` by Unicode characters, and all elements of emphasis by one.
 * @throws EntryFault
 */
export function plainXml(node: XmlElement): XmlElement {
  const prefix = node.name.slice(0, node.name.indexOf(':') + 1);
  const plain = (one: XmlElement): XmlElement => ({
    name: prefix + (spelt[localName(one)] ?? localName(one)),
    attributes: one.attributes,
    children: one.children.map((child) => {
      if (typeof child === 'string') return child;
      const name = localName(child);
      if (name === 'sup') return script(child, raised);
      return name === 'sub' ? script(child, lowered) : plain(child);
    }),
  });
  for (const one of elementsWithin(node)) {
    const { xmlns = node.attributes.xmlns } = one.attributes;
    // An element of another vocabulary has another meaning: `sub` in SSML is a pronunciation.
    if (one.name.slice(0, one.name.indexOf(':') + 1) !== prefix || xmlns !== node.attributes.xmlns)
      throw refused(one.name);
  }
  return plain(node);
}

/** Whether the text mentions italics. The bank shows emphasis in bold, so such a text would be wrong. */
export function speaksOfItalics(node: XmlElement): boolean {
  return elementsWithin(node).some((one) => ['em', 'i'].includes(localName(one))) && /\bitali[cs]/iu.test(textIn(node));
}
