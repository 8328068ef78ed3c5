import { holdsNationalInsuranceNumber } from '../../../src/platform/validation/personal-data.ts';
import { parseInline } from '../../../src/engine/item-bank/markup.ts';
import { textsOf } from '../../../src/engine/item-bank/reading-load.ts';
import { error } from './finding.ts';
import type { Finding } from './finding.ts';

/** Names of products and firms, which items must not mention. They match as full words in any case. */
const brands = new Set([
  'google',
  'gmail',
  'youtube',
  'facebook',
  'instagram',
  'whatsapp',
  'twitter',
  'tiktok',
  'snapchat',
  'linkedin',
  'microsoft',
  'windows 10',
  'windows 11',
  'outlook',
  'powerpoint',
  'onedrive',
  'iphone',
  'ipad',
  'macbook',
  'icloud',
  'android',
  'samsung',
  'amazon',
  'ebay',
  'paypal',
  'netflix',
  'spotify',
  'skype',
  'firefox',
  'safari',
  'chrome',
  'bing',
  'yahoo',
  'hotmail',
  'dropbox',
  'tesco',
  'asda',
  'sainsbury',
  'sainsburys',
  'lidl',
  'aldi',
  'morrisons',
  'waitrose',
  'argos',
  'ikea',
  'primark',
  'barclays',
  'hsbc',
  'lloyds',
  'natwest',
  'santander',
  'monzo',
  'vodafone',
  'uber',
  'airbnb',
]);

/** Matches two letters, six digits and a letter, with or without separators. Any letters are refused. */
const nationalInsuranceShape = /(?<![a-z0-9])[a-z]{2}[\s.-]?\d{2}[\s.-]?\d{2}[\s.-]?\d{2}[\s.-]?[a-z](?![a-z0-9])/iu;
const address =
  /\b(?:https?:\/\/|www\.)[^\s`“”"',)]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|co\.uk|org|org\.uk|net|gov\.uk|uk|info|biz|io|ac\.uk)\b/giu;
const telephone = /(?<![\d£.,])(?:\+44|0)(?: ?\d){9,10}(?! ?\d)(?!\.\d)/gu;
/**
 * The first digits of telephone numbers that Ofcom reserves for drama. A number with a missing digit, as in a form with
 * a mistake, has the same first digits.
 */
const dramaRanges =
  /^(?:\+44|0)(?:1632960|7700900|1134960|1144960|1154960|1164960|1174960|1184960|1214960|1314960|1414960|1514960|1614960|1914980|2079460|2890180|2920180|8081570|9098790|3069990)\d*$/u;
const cardNumber = /(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)/gu;

function* textFaults(text: string): Generator<string> {
  const fault = markupFault(text);
  if (fault) yield `has ${fault}`;
  if (text !== text.normalize('NFC')) yield 'is not in Unicode form NFC';
  if (/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/u.test(text))
    yield 'holds a control or invisible character';
  if (/ {2}|^ | $/u.test(text)) yield 'has stray spaces';
  if (/\b(?:todo|tbc|lorem|xxx)\b/iu.test(text)) yield 'is unfinished';
  if (holdsNationalInsuranceNumber(text) || nationalInsuranceShape.test(text))
    yield 'holds something shaped like a National Insurance number';
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
    if (brands.has(word)) yield `names a brand (${word})`;
  for (const [found] of text.matchAll(address)) {
    const host = found
      .toLowerCase()
      .replace(/^https?:\/\//u, '')
      .replace(/^.*@/u, '')
      .split(/[/?#:]/u)[0]!
      .replace(/\.$/u, '');
    if (!host.split('.').includes('example')) yield `names an address outside .example (${found})`;
  }
  for (const [found] of text.matchAll(telephone)) {
    if (!dramaRanges.test(found.replace(/\s/gu, '')))
      yield `has a telephone number outside Ofcom's drama ranges (${found.trim()})`;
  }
  for (const [found] of text.matchAll(cardNumber))
    if (!found.startsWith('0')) yield `has a number that could be a card number (${found})`;
}

/** Learners never read these members, or repeated spaces are intended there, as in code, sheets and tables. */
const notProse = /(?:^|\.)(?:id|template|key|type|kind|control|block)(?:$|\[|\.)/u;

/** Rules for every text of an item, at any depth. */
export function languageFindings(id: string, value: unknown): Finding[] {
  return textsOf(value)
    .filter(({ path }) => !notProse.test(path))
    .flatMap(({ path, text }) =>
      [...new Set(textFaults(text))].map((fault) => error('language', id, `${path} ${fault}`)),
    );
}

/** Finds markup that is not closed, or a spot that cannot be read. Null if there is none. */
export function markupFault(text: string): string | null {
  const rest = parseInline(text)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('\u0000');
  if (rest.includes('**')) return '** without its other half';
  if (rest.includes('`')) return '` without its other half';
  if (/\[\[|\]\]/u.test(rest)) return '[[id|words]] that cannot be read';
  if (/<\/?[a-z][^>]*>/iu.test(rest)) return 'something that looks like HTML';
  return null;
}
