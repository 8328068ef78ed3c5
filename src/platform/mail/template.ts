import { html } from '../html/html.ts';

/** A link to a page of the service, without the origin. */
export type Way = { to: `/${string}`; label: string };

export type Letter = { subject: string; says: readonly (string | Way)[] };

const dot = '[.。．｡]';
const hostCharacter = String.raw`[\p{L}\p{M}\p{N}\p{Cf}\-]`;
/**
 * Matches the colons and dots by which mail programs recognise links. Names such as `J.Li` also match, because they
 * look like hosts. Single letters between dots (`J.R.`) do not match. A number with one dot (`Entry 1.2`) matches only
 * with a path or port.
 */
const linking = new RegExp(
  [
    String.raw`((?<!\d|${dot})\d+\.\d+(?!\d|${dot}\d|[\/?#]|:\d))`,
    String.raw`${dot}(?=${hostCharacter}{2}|\d)|(?<=${hostCharacter}{2})${dot}(?=${hostCharacter})`,
    String.raw`(?<=\p{L}):(?=\S)|:(?=\/\/)`,
  ].join('|'),
  'gu',
);

/** Characters that change the direction of text. In a plain-text email, they also affect the text after the name. */
const directing = /[\u202a-\u202e\u2066-\u2069]/;

/** Adds a space after each dot or colon that could make a link, so that mail programs show the name as text. */
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
