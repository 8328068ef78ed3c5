import { html } from '../html.ts';

/** Where a letter leads: always to a page of ours, named without its origin. */
export type Way = { to: `/${string}`; label: string };

/** What a mail says, whoever it goes to: a subject, and paragraphs of plain text or ways. */
export type Letter = { subject: string; says: readonly (string | Way)[] };

/** What surnames begin with, and, but for `de`, no domain is called. */
const particles = '(?:de|del|della|da|das|di|dos|du|den|der|des|le|van|von|ten|ter|el|bin)';
/**
 * A host under a domain (`evil.example`) in any form of the dot, or an address in numbers. A host of one letter looks like
 * an initial (`J.Smith`, `P.de Vries`): it is one where a path, a query or a port follows (`T.LY/a`), or where its domain is in
 * small letters (`t.ly`) that don't begin a surname.
 */
const linkable = new RegExp(
  [
    String.raw`:\/\/`,
    String.raw`[\p{L}\p{M}\p{N}\-]{2,}[.。．｡][\p{L}\p{M}\p{N}\-]{2,}`,
    String.raw`[\p{L}\p{N}\-][.。．｡](?:[\p{L}\p{M}\p{N}\-]{2,}|\d)(?=[\/?#]|:\d)`,
    String.raw`(?!\p{Lu}\.${particles}(?: ${particles})* \p{Lu})[\p{L}\p{N}\-][.。．｡]\p{Ll}{2,}(?![\p{L}\p{M}])`,
    String.raw`\d[.。．｡]\d+[.。．｡]\d`,
  ].join('|'),
  'u',
);

/** Embeddings, overrides and isolates of direction: subjects and plain text have nothing that ends them with the name. */
const directing = /[\u202a-\u202e\u2066-\u2069]/;

/**
 * A name that somebody chose, as a letter may say it. One that mail programs would make a link of is left out: letters
 * lead to our pages and nowhere else. So is one that turns the direction of what follows it.
 */
export function nameInLetter(name: string | null, otherwise: string): string {
  return name === null || linkable.test(name) || directing.test(name) ? otherwise : name;
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
