import { withoutNumberSign } from './text.ts';
import words from './words.json' with { type: 'json' };

/** Returns the digits of a UK telephone number with the leading 0. Returns null for other texts. */
export function phoneDigits(text: string): string | null {
  const plain = text.normalize('NFKC').replace(/[\s().\-‐-―/]/gu, '');
  const digits = /^(?:(?:\+|00)44\(?0?\)?|44(?=7\d{9}$)|0)(\d{9,10})$/u.exec(plain)?.[1];
  return digits === undefined ? null : `0${digits}`;
}

/** Returns an email address in lower case, without the brackets, quotes and punctuation around the address. */
export function emailText(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/^mailto:/u, '')
    .replace(/\s+/gu, '')
    .replace(/^[<"'(]+|[>"').,;]+$/gu, '');
}

const short: Record<string, string> = words.address_words;

/**
 * Returns a postal address in one form for comparison. Punctuation, case, short forms and the position of the flat make
 * no difference.
 */
export function addressWords(text: string): string {
  return (
    withoutNumberSign(text.normalize('NFKC').toLowerCase())
      .replace(/[,.;:"“”#]/gu, ' ')
      .replace(/\b(flat|apartment|apt)(?=\d)/u, '$1 ')
      // "2/18 High Street" and "2, 18 High Street" both mean flat 2 at number 18.
      .replace(/^\s*(\d+[a-z]?) {2}(?=\d)/u, 'flat $1 ')
      .replace(/^\s*(\d+[a-z]?) ?\/ ?(?=\d)/u, 'flat $1 ')
      .replace(/(?<=\d)(?=st\b|rd\b)/gu, ' ')
      .split(/\s+/u)
      .filter((word) => word !== '')
      .map((word) => short[word] ?? word)
      .join(' ')
      .replace(/^(.+) (flat \S+)/u, '$2 $1')
  );
}
