import type { TextKey } from '../schema.ts';
import { addressWords, emailText, phoneDigits } from './contact.ts';
import { markDate, readDate } from './date.ts';
import { formulaMatches } from './formula-answer.ts';
import type { Surroundings } from './number-answer.ts';
import { readQuantity } from './quantity.ts';
import { bare, comparable, isSlipOf, stemOf, wordsOf } from './text.ts';
import { markTime, readTime } from './time.ts';

/** The question that a typed text answers. */
export type Question = Surroundings & {
  /** The question's sentences that have a gap: whoever writes the whole sentence has filled the gap. */
  gaps: readonly string[];
  /** The sheet that is shown, if there is one. */
  sheet: readonly (readonly string[])[];
};

/** `form`: right in substance, but not written in the way that the question asks for. */
export type TextVerdict = 'right' | 'wrong' | 'form';

/** Marks a typed text against its key, by the kind of thing that it names. */
export function markText(text: string, key: TextKey, question: Question): TextVerdict {
  if (key.accept.some((accepted) => sameText(text, accepted, key, question.gaps))) return 'right';
  switch (key.kind) {
    case 'words':
      return key.accept.some((accepted) => sameWords(text, accepted, question)) ? 'right' : 'wrong';
    case 'time': {
      return markTime(text, readTime(key.accept[0]!)!, key.clock ?? 'any') ?? 'wrong';
    }
    case 'date':
      return markDate(text, readDate(key.accept[0]!)!, key.date_form ?? 'any') ?? 'wrong';
    case 'phone':
      return key.accept.some((accepted) => phoneDigits(text) !== null && phoneDigits(text) === phoneDigits(accepted))
        ? 'right'
        : 'wrong';
    case 'email':
      return key.accept.some((accepted) => emailText(text) === emailText(accepted)) ? 'right' : 'wrong';
    case 'address':
      return key.accept.some((accepted) => addressWords(text) === addressWords(accepted)) ? 'right' : 'wrong';
    case 'code':
      return key.accept.some((accepted) => codeText(text) === codeText(accepted)) ? 'right' : 'wrong';
    case 'web_address':
      return key.accept.some((accepted) => webText(text) === webText(accepted)) ? 'right' : 'wrong';
    case 'pages':
      return key.accept.some((accepted) => samePages(text, accepted)) ? 'right' : 'wrong';
    case 'coordinates':
      return key.accept.some((accepted) => coordinates(text) !== null && coordinates(text) === coordinates(accepted))
        ? 'right'
        : 'wrong';
    case 'formula':
      return formulaMatches(text, key.accept, {
        rows: question.sheet,
        cell: key.cell,
        copied: key.copied ?? 'none',
        usesFunction: key.uses_function ?? false,
      })
        ? 'right'
        : 'wrong';
    default:
      return 'wrong';
  }
}

const endsWithStop = /[.!?]$/u;

/** Letter for letter, but for what keyboards add: quotes around the whole, and a stop unless sentences are measured. */
function sameText(text: string, accepted: string, key: TextKey, gaps: readonly string[]): boolean {
  const keepStops = endsWithStop.test(accepted) && key.ignore_final_stop !== true;
  const isQuoted = /^["'].*["']$/u.test(comparable(accepted));
  const form = (one: string) => {
    const plain = isQuoted ? comparable(one, key) : bare(comparable(one, key), keepStops);
    return keepStops ? plain : plain.replace(endsWithStop, '');
  };
  const given = form(text);
  if (given === '') return false;
  if (given === form(accepted)) return true;
  return gaps.some((gap) => form(gap.replace(/_{4,}/u, () => accepted)) === given);
}

const functionWords = new Set(
  "a an the at by on in to of for from with and it is was are were be been he she they i you we his her its their my your this that there will would should could can has have had like only just some about over up it's he's she's they're one do does did go goes went get gets want wants need needs".split(
    ' ',
  ),
);
const denials = new Set(
  "not no never none or nor without except neither isn't don't doesn't didn't wasn't can't cannot".split(' '),
);

/**
 * The words of an accepted answer, in their order, with slips of spelling forgiven; beside them only words of the
 * question and such as carry no content. What denies it, or names something else as well, is another answer.
 */
function sameWords(text: string, accepted: string, question: Question): boolean {
  const typed = wordsOf(text).map((word) => unitWord(word));
  const acceptedWords = wordsOf(accepted).map((word) => unitWord(word));
  const denied = acceptedWords.some((word) => denials.has(word));
  if (!denied && typed.some((word) => denials.has(word) && !question.words.has(word))) return false;
  if (!denied && typed.some((word) => denials.has(word))) return false;
  const content = acceptedWords.filter((word) => !functionWords.has(word));
  const wanted = content.length > 0 ? content : acceptedWords;
  let next = 0;
  for (const word of typed) {
    if (next < wanted.length && sameWord(word, wanted[next]!)) {
      next++;
      continue;
    }
    if (functionWords.has(word) || question.words.has(stemOf(word)) || acceptedWords.includes(word)) continue;
    // "£520.00" and "£520", "95min" and "95 minutes" are one amount.
    return sameAmount(text, accepted);
  }
  return next === wanted.length || sameAmount(text, accepted);
}

function sameWord(typed: string, wanted: string): boolean {
  return typed === wanted || stemOf(typed) === stemOf(wanted) || isSlipOf(typed, wanted);
}

const unitWords: Record<string, string> = {
  min: 'minute',
  mins: 'minute',
  minutes: 'minute',
  hr: 'hour',
  hrs: 'hour',
  hours: 'hour',
  pounds: 'pound',
  quid: 'pound',
  months: 'month',
};
const unitWord = (word: string): string => (Object.hasOwn(unitWords, word) ? unitWords[word]! : word);

function sameAmount(text: string, accepted: string): boolean {
  const [given, key] = [readQuantity(text), readQuantity(accepted)];
  const foreign = (words: string[]) => words.some((word) => !functionWords.has(word));
  if (given === null || key === null || foreign(given.words) || foreign(key.words)) return false;
  if (given.unit !== null && given.unit !== key.unit) return false;
  return given.value.n * key.value.d === key.value.n * given.value.d;
}

function codeText(text: string): string {
  return bare(comparable(text), false)
    .replace(/^(?:order|number|no|ref|reference|#|:|\s|\.)+/u, '')
    .replace(/[\s-]/gu, '');
}

function webText(text: string): string {
  return bare(comparable(text, { ignore_spaces: true }), false)
    .replace(/^https?:\/\//u, '')
    .replace(/^www\./u, '')
    .replace(/[/.]+$/u, '');
}

/** Pages as a set: "2-4", "2, 3, 4", "pages 2 to 4". */
function pageSet(text: string): string | null {
  const plain = comparable(text)
    .replace(/\b(?:pages?|pp?\.?|only)\b/gu, ' ')
    .replace(/\b(?:to|until|through)\b/gu, '-')
    .replace(/\b(?:and)\b|[&;+]/gu, ',')
    .replace(/\s*-\s*/gu, '-')
    .replace(/[\s,]+/gu, ',')
    .replace(/^,|[,.]$/gu, '');
  const pages = new Set<number>();
  for (const part of plain.split(',')) {
    const found = /^(\d{1,3})(?:-(\d{1,3}))?$/u.exec(part);
    if (found === null) return null;
    const [first, last] = [Number(found[1]), Number(found[2] ?? found[1])];
    if (last < first || last - first > 200) return null;
    for (let page = first; page <= last; page++) pages.add(page);
  }
  return [...pages].sort((a, b) => a - b).join();
}

function samePages(text: string, accepted: string): boolean {
  const pages = pageSet(text);
  return pages !== null && pages === pageSet(accepted);
}

function coordinates(text: string): string | null {
  const found = /^[([{]? ?(?:x ?= ?)?([+-]?\d+(?:\.\d+)?) ?[,; ] ?(?:y ?= ?)?([+-]?\d+(?:\.\d+)?) ?[)\]}]?$/u.exec(
    bare(comparable(text.replace(/\u2212/gu, '-')), true).replace(/\.$/u, ''),
  );
  return found === null ? null : `${Number(found[1])},${Number(found[2])}`;
}
