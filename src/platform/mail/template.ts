import { html } from '../html/html.ts';

/** Where a letter leads: always to a page of ours, named without its origin. */
export type Way = { to: `/${string}`; label: string };

/** What a mail says, whoever it goes to: a subject, and paragraphs of plain text or ways. */
export type Letter = { subject: string; says: readonly (string | Way)[] };

const dot = '[.。．｡]';
const hostCharacter = String.raw`[\p{L}\p{M}\p{N}\p{Cf}\-]`;
/**
 * What mail programs make links of has a scheme, or a dot with a host or a domain at its side: more than the one letter of an
 * initial, or a number. Some domains are surnames (`J.Li`), so nothing tells names from hosts. A number with one dot (`Entry 1.2`)
 * is no address unless a path or a port follows.
 */
const linking = new RegExp(
  [
    String.raw`((?<!\d|${dot})\d+\.\d+(?!\d|${dot}\d|[\/?#]|:\d))`,
    String.raw`${dot}(?=${hostCharacter}{2}|\d)|(?<=${hostCharacter}{2})${dot}(?=${hostCharacter})`,
    String.raw`(?<=\p{L}):(?=\S)|:(?=\/\/)`,
  ].join('|'),
  'gu',
);

/** Embeddings, overrides and isolates of direction: subjects and plain text have nothing that ends them with the name. */
const directing = /[\u202a-\u202e\u2066-\u2069]/;

/**
 * A name that somebody chose, as a letter may say it: letters lead to our pages and nowhere else, so a space stands behind each
 * full stop that mail programs would take for a host's. One that turns the direction of what follows it is left out.
 */
export function nameInLetter(name: string | null, otherwise: string): string {
  if (name === null || directing.test(name)) return otherwise;
  return name.replaceAll(linking, (found, number?: string) => number ?? `${found} `);
}

const addressOf = (way: Way, baseUrl: string) => baseUrl + way.to;

export function letterText(letter: Letter, baseUrl: string): string {
  const paragraphs = letter.says.map((one) =>
    typeof one === 'string' ? one : `${one.label}:\n${addressOf(one, baseUrl)}`,
  );
  return `${paragraphs.join('\n\n')}\n`;
}

export function letterHtml(letter: Letter, baseUrl: string): string {
  return html`<!doctype html>
<html lang="en-GB"><head><meta charset="utf-8"><title>${letter.subject}</title></head><body>
${letter.says.map((one) => (typeof one === 'string' ? html`<p>${one}</p>\n` : html`<p><a href="${addressOf(one, baseUrl)}">${one.label}</a></p>\n`))}</body></html>
`.text;
}
