import type { TextKey } from '../schema.ts';
import { addressWords, emailText, phoneDigits } from './contact.ts';
import { markDate, readDate } from './date.ts';
import { digitsForWords } from './numbers/number-words.ts';
import { formulaMatches } from './numbers/formula-answer.ts';
import { asksForDigits, changing, type Surroundings } from './numbers/number-answer.ts';
import { readQuantity } from './numbers/quantity.ts';
import { distance } from '../../../platform/validation/edit-distance.ts';
import { isEnglishWord, isSlipOf } from './slips.ts';
import { bare, comparable, stemOf, straightQuotes, wordsOf } from './text.ts';
import { withoutTalk } from './talk.ts';
import { isPastMidnight, markTime, readTime, timeOnItsDay } from './time.ts';
import lists from './words.json' with { type: 'json' };

export type Question = Surroundings & {
  /** Whether the question is a form in a task. Learners copy texts into such forms. */
  isForm: boolean;
  /** True if the question doesn't measure spelling, so that slips of spelling are forgiven. */
  forgivesSlips: boolean;
  /** Wrong answers that the item lists with a rationale. These words are never forgiven as slips. */
  namedWrong: ReadonlySet<string>;
  /** Stems of the words on a task's screen. */
  screenWords: ReadonlySet<string>;
  sheet: readonly (readonly string[])[];
  figureWords: ReadonlySet<string>;
};

/** `form`: the answer is right, but isn't written in the form that the question asks for. */
export type TextVerdict = 'right' | 'wrong' | 'form';

/** Marks a typed text as its key's kind requires. A wrong text is marked again without the words around the answer. */
export function markText(text: string, key: TextKey, question: Question): TextVerdict {
  const verdict = markPlainText(text, key, question);
  // A learner copies a text such as a password into a form, so further words in the box make the answer wrong.
  if (verdict !== 'wrong' || (question.isForm && (key.kind ?? 'exact') === 'exact')) return verdict;
  const isNamed = key.kind !== undefined && !['exact', 'formula', 'coordinates'].includes(key.kind);
  const alone = withoutTalk(isNamed ? text.replace(aside, '') : text);
  const left = new Set(wordsOf(alone));
  const namesAnother = wordsOf(text).some((word) => !left.has(word) && question.namedWrong.has(word));
  if (alone !== text && !namesAnother) {
    const said = markPlainText(alone, key, question);
    if (said !== 'wrong') return said;
  }
  const name = question.isForm ? null : withoutExplanation(text, question);
  if (name !== null && markPlainText(name, key, question) === 'right') return 'right';
  if (/^\d+$/u.test(key.accept[0]!) && !besideIt.test(comparable(text))) return markNumberOfList(text, key, question);
  return verdict;
}

/** Removes an explanation in words of the question or figure: "Depot - a place where buses stay" becomes "Depot". */
function withoutExplanation(text: string, question: Question): string | null {
  const found = /^(\S+(?: \S+){0,2}?)(?: ?[-–—:=] ?| ?\(| (?:is|means) )(.+)$/u.exec(straightQuotes(text).trim());
  if (found === null) return null;
  const [, name, rest] = found as unknown as [string, string, string];
  // In "TA (teaching assistant)" the initials stand for the full name, so the full name is the answer.
  const words = wordsOf(rest);
  if (words.length > 1 && words.map((word) => word[0]).join('') === name.toLowerCase()) return rest;
  const isExplained =
    words.some((word) => functionWords.has(word)) &&
    words.every(
      (word) => functionWords.has(word) || question.words.has(stemOf(word)) || question.figureWords.has(stemOf(word)),
    );
  return isExplained && !words.some((word) => question.namedWrong.has(word) || denials.has(word)) ? name : null;
}

/**
 * Marks an answer that must be the number of a list entry; the entry's words may follow. If the question says "write
 * the number" and the answer has no number, the verdict is `form`.
 */
function markNumberOfList(typed: string, key: TextKey, question: Question): TextVerdict {
  // Colons are replaced, because "one:" would not be read as a number.
  const text = typed.replace(/(?<=\p{L}):(?=\s)/gu, ' -');
  const words = wordsOf(text);
  const numbers = words.filter((word) => /\d/u.test(word));
  if (numbers.length === 0) return /\bwrite (?:the|its) number\b/iu.test(question.text) ? 'form' : 'wrong';
  const isBeside = (word: string) =>
    functionWords.has(word) || question.words.has(stemOf(word)) || question.figureWords.has(stemOf(word));
  const others = words.filter((word) => !numbers.includes(word));
  if (numbers.length !== 1 || numbers[0] !== key.accept[0]) return 'wrong';
  if (others.every(isBeside)) return 'right';
  // The entry's text may follow the number: "Step 1: Take a photo of it". A single word isn't accepted, because it
  // could be a unit.
  const line = /^(\D*)\d+\)? ?(?:[:–—=-]|\. )\s*(\D+)$/u.exec(digitsForWords(comparable(text)));
  if (line === null || !wordsOf(line[1]!).every(isBeside)) return 'wrong';
  const said = wordsOf(line[2]!);
  const isSaid = (word: string) =>
    !changing.has(word) &&
    !denials.has(word) &&
    !question.namedWrong.has(word) &&
    (isBeside(word) || isEnglishWord(word));
  return said.length > 1 && said.every(isSaid) ? 'right' : 'wrong';
}

function markPlainText(text: string, key: TextKey, question: Question): TextVerdict {
  const readings = question.forgivesSlips ? [text, withoutSlips(text, key, question.namedWrong)] : [text];
  // In a password every sign counts, a stop at its end too.
  if (question.isForm && key.case_sensitive === true && /\bpassword\b/iu.test(question.text) && /[.,;:!?]$/u.test(text))
    return key.accept.includes(text) ? 'right' : 'wrong';
  if (key.accept.some((accepted) => readings.some((one) => sameText(one, accepted, key, question.sentences))))
    return 'right';
  const verdict = markMeaning(text, key, question);
  if (verdict === 'right' || verdict === 'form' || !namesOneThing(key)) return verdict ?? 'wrong';
  if (verdict === 'wrong' && readsOneWay(key)) return 'wrong';
  // Words that the screen shows are removed only around dates and times. For other kinds, such a word could be another
  // answer.
  const words = readsOneWay(key) ? question.words.union(question.screenWords) : question.words;
  for (const part of withoutSentence(text, words)) {
    const read = markMeaning(part, key, question);
    if (read === 'right' || read === 'form' || (read === 'wrong' && readsOneWay(key))) return read;
  }
  return 'wrong';
}

/** Whether a text of this kind can be read in only one way, so that a wrong reading is final. */
function readsOneWay({ kind }: TextKey): boolean {
  return kind === 'time' || kind === 'date';
}

/** Whether a value of this kind can be found inside a sentence: "my order number is TR4471". */
function namesOneThing({ kind }: TextKey): boolean {
  return kind !== undefined && !['exact', 'words', 'formula', 'pages'].includes(kind);
}

/** @returns null if the text can't be read as the key's kind */
function markMeaning(text: string, key: TextKey, question: Question): TextVerdict | null {
  const same = (compared: (one: string) => string | null): TextVerdict | null => {
    const read = compared(text);
    if (read === null) return null;
    return key.accept.some((accepted) => compared(accepted) === read) ? 'right' : 'wrong';
  };
  switch (key.kind) {
    case 'words':
      if (namesTwo(text, question) || limits(text, key)) return 'wrong';
      return key.accept.some((accepted) => sameWords(text, accepted, key, question)) ? 'right' : 'wrong';
    case 'time': {
      const at = readTime(key.accept[0]!)!;
      // If the learner wrote a calculation, only its result counts.
      const result = text.slice(text.lastIndexOf('=') + 1);
      const time = timeOnItsDay(result, isPastMidnight(at, question.text));
      if (time === null) return null;
      const verdict = markTime(time, at, key.clock ?? 'any');
      return verdict === 'right' && asksForDigits(question.text) && !/\d\d/u.test(time) ? 'form' : verdict;
    }
    case 'date':
      return markDate(text, readDate(key.accept[0]!)!, key.date_form ?? 'any');
    case 'phone':
      return same(phoneDigits);
    case 'email':
      return same(emailText);
    case 'address':
      return same(addressWords);
    case 'code':
      return same(codeText);
    case 'web_address':
      return same(webText);
    case 'pages':
      return same(pageSet);
    case 'coordinates':
      return same(coordinates);
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
      return null;
  }
}

/** Matches an explanation in brackets after a name: "shifts (28 May)". */
const aside = /(?<=\S) ?\((?!.*\b(?:or|not)\b)[^()]*\)\.?$/iu;

/** Matches words that change a number: "over 12" is not 12. */
const besideIt = /^(?:it is |about )?(?:over|above|under|below|(?:more|less|fewer) than|at least|nearly|almost) [£\d]/u;

/** Whether such words stand before the number, and no accepted answer begins with them. */
function limits(text: string, key: TextKey): boolean {
  const lead = (one: string) => besideIt.exec(comparable(one))?.[0];
  const said = lead(text);
  return said !== undefined && !key.accept.some((accepted) => lead(accepted) === said);
}

/** Whether a text with several parts, such as "Rosa and Bilal" or "Rosa/Bilal", contains a known wrong answer. */
function namesTwo(text: string, { namedWrong }: Question): boolean {
  const parts = comparable(text).split(/[,/&+;]|\b(?:and|or)\b/u);
  return parts.length > 1 && parts.some((part) => namedWrong.has(bare(part, false)));
}

const halfOfDay = /^(?:[ap]\.?m|noon|midday|midnight|morning|afternoon|evening|night)$/u;

/**
 * Yields shorter and shorter parts of the text, without words of the question and function words at both ends. The
 * longest part comes first, because a word of the question can belong to the answer: "the last day is 14 June".
 */
function* withoutSentence(text: string, ofQuestion: ReadonlySet<string>): Generator<string> {
  const words = text.trim().split(/\s+/u);
  const isAround = (word: string) => {
    const plain = comparable(word).replace(/^["'(]+|["').,:;!=]+$/gu, '');
    if (/\d/u.test(word) || halfOfDay.test(plain) || denials.has(plain)) return false;
    return functionWords.has(plain) || ofQuestion.has(stemOf(plain));
  };
  const before = words.findIndex((word) => !isAround(word));
  if (before < 0) return;
  const after = words.length - 1 - words.findLastIndex((word) => !isAround(word));
  for (let left = 1; left <= before + after; left++) {
    for (let first = Math.min(left, before); first >= Math.max(0, left - after); first--)
      yield words.slice(first, words.length - (left - first)).join(' ');
  }
}

const endsWithStop = /[.!?]$/u;

/**
 * Compares two texts letter for letter, without quotes around them. A final full stop counts only if the accepted text
 * ends with one and the key doesn't ignore it.
 */
function sameText(text: string, accepted: string, key: TextKey, sentences: readonly string[]): boolean {
  const keepStops = endsWithStop.test(accepted) && key.ignore_final_stop !== true;
  const isQuoted = /^["'].*["']$/u.test(comparable(accepted));
  const isPath = /\p{L}[\\/]\p{L}/u.test(accepted);
  const form = (typed: string) => {
    const one = isPath ? typed.replace(/ ?[>›»] ?/gu, '/') : typed;
    const plain = isQuoted ? comparable(one, key) : bare(comparable(one, key), keepStops);
    return keepStops ? plain : plain.replace(endsWithStop, '');
  };
  const written = form(text);
  if (written === '') return false;
  if (written === form(accepted)) return true;
  if (keepStops) return false;
  const mended = form(correctedWord(written, sentences, accepted, key) ?? written);
  return mended === form(accepted) || sentences.some((sentence) => isPartOf(written, sentence, accepted, key));
}

/**
 * Corrects slips such as "becuase". A wrong last letter isn't corrected, because the ending distinguishes forms of a
 * word.
 */
function withoutSlips(text: string, key: TextKey, namedWrong: ReadonlySet<string>): string {
  const wanted = key.accept.flatMap((accepted) => plainWords(accepted, key));
  return text.replace(/\p{L}+/gu, (word) => {
    const typed = word.toLowerCase();
    if (namedWrong.has(typed)) return word;
    return (
      wanted.find((one) => one.at(-1) === typed.at(-1) && distance(typed, one) === 1 && isSlipOf(typed, one)) ?? word
    );
  });
}

const correctionWords = new Set(lists.mending);
const wrongOne = /(?:^| )(?:not|instead of|rather than|for|in place of|no) $/u;

/**
 * Returns the accepted word if the learner wrote a correction, such as "becuase = because" or "because, not becuase".
 */
function correctedWord(written: string, sentences: readonly string[], accepted: string, key: TextKey): string | null {
  const [mended, ...more] = plainWords(accepted, key);
  if (mended === undefined || more.length > 0 || (key.kind ?? 'exact') !== 'exact') return null;
  const words = written
    .split(/ |(?<=\S)[/=:→](?=\S)|(?<=\S)-+>(?=\S)/u)
    .map((word) => word.replace(/^["'(]+|["').,;:!?]+$/gu, ''));
  for (const sentence of sentences) {
    const inSentence = plainWords(sentence, key);
    const content = words.filter((word) => word !== '' && !correctionWords.has(word));
    const wrong = content.find((word) => word !== mended && inSentence.includes(word));
    if (wrong === undefined) continue;
    const [at, to] = [words.indexOf(wrong), words.lastIndexOf(mended)];
    if (at < 0 || to < 0 || content.some((word) => word !== wrong && word !== mended)) continue;
    const isDenied = (index: number) => wrongOne.test(`${words.slice(0, index).join(' ')} `);
    // Two spellings without a word or sign of correction could be two answers.
    const isCorrection =
      words.some((word) => !/^(?:the|a|and|)$/u.test(word) && word !== wrong && word !== mended) ||
      /[:=→>]/u.test(written);
    if (isCorrection && !isDenied(to) && (at < to || isDenied(at))) return mended;
  }
  return null;
}

function plainWords(text: string, key: TextKey): string[] {
  return comparable(text, { case_sensitive: key.case_sensitive ?? false })
    .split(' ')
    .map((word) => word.replace(/^["(]+|[".,!?;:)]+$/gu, ''))
    .filter((word) => word !== '');
}

/** Whether a text is the question's sentence, or a part of that sentence, with the accepted words filled in. */
function isPartOf(text: string, sentence: string, accepted: string, key: TextKey): boolean {
  const answer = plainWords(accepted, key);
  const words = plainWords(sentence, key);
  const index = indexFor(answer, words);
  if (index < 0) return false;
  const [before, after] = [words.slice(0, index), words.slice(index + 1)];
  const written = plainWords(text, key);
  const rest = written.length - answer.length;
  for (let left = 0; left <= Math.min(rest, before.length); left++) {
    const expected = [...before.slice(before.length - left), ...answer, ...after.slice(0, rest - left)];
    if (expected.length === written.length && expected.every((word, at) => word === written[at])) return true;
  }
  return false;
}

/** The index at which the answer belongs in a sentence: the gap, or the word that the answer corrects. */
function indexFor(answer: readonly string[], words: readonly string[]): number {
  const gap = words.findIndex((word) => /^_{4,}$/u.test(word));
  if (gap >= 0 || answer.length !== 1) return gap;
  const [mended] = answer as [string];
  const distances = words.map((word) => distance(word, mended));
  const min = Math.min(...distances);
  return min > 0 && min < mended.length * 0.6 ? distances.indexOf(min) : -1;
}

const functionWords = new Set(lists.function);
const denials = new Set(lists.denials);

/**
 * Whether the text has the words of an accepted answer in their order; slips of spelling are forgiven. Other words must
 * come from the question or have no content, because a denial or a further name makes another answer.
 */
function sameWords(text: string, accepted: string, key: TextKey, question: Question): boolean {
  const typed = wordsOf(text).map((word) => unitWord(word));
  const acceptedWords = wordsOf(accepted).map((word) => unitWord(word));
  const denied = acceptedWords.some((word) => denials.has(word));
  if (!denied && typed.some((word) => denials.has(word))) return false;
  const content = acceptedWords.filter((word) => !functionWords.has(word));
  const wanted = content.length > 0 ? content : acceptedWords;
  // Words of the other accepted answers, such as "ride" of "a smooth ride", don't make another answer.
  const known = new Set(key.accept.flatMap(wordsOf).flatMap((word) => [word, unitWord(word)]));
  let next = 0;
  let namesMore = false;
  // Up to three words may precede the answer: "his friend Rosa". Lists are excluded, because they could name two
  // answers. If the question asks for one or two words, the word just before the answer must have no content.
  const asksForWords = /\b(?:one|two|1|2)\W* words?\b/iu.test(question.text);
  const first = typed.findIndex((word) => sameWord(word, wanted[0]!, asksForWords));
  const leads = functionWords.has(typed[0] ?? '') && !/[,;/&]|\b(?:and|or)\b/iu.test(text);
  const said = typed[first - 1] ?? '';
  let before = leads && (!asksForWords || functionWords.has(said) || howMuch.test(said)) ? 3 : 0;
  for (const [at, word] of typed.entries()) {
    if (next < wanted.length && sameWord(word, wanted[next]!, asksForWords)) {
      if (isOwnerOfAnother(word, wanted[next]!, typed[at + 1])) namesMore = true;
      next++;
      continue;
    }
    if (next === 0 && before > 0 && /^\p{L}+$/u.test(word) && !question.namedWrong.has(word)) {
      before--;
      continue;
    }
    if (functionWords.has(word) || question.words.has(stemOf(word)) || known.has(word)) continue;
    // A misspelt word without content, as in "12 poeple", doesn't make another answer.
    if (known.values().some((one) => isSlipOf(word, one)) || functionWords.values().some((one) => isSlipOf(word, one)))
      continue;
    namesMore = true;
  }
  if (next === wanted.length && !namesMore) return true;
  // "post office" equals "postoffice".
  const joined = typed.filter((word) => !functionWords.has(word)).join('');
  if (wanted.length > 1 && joined === wanted.join('')) return true;
  // "£520.00" equals "£520", and "95min" equals "95 minutes".
  return sameAmount(text, accepted, question);
}

const howMuch = /^(?:very|so|quite|rather|really|too|completely|always|often|first|last)$/u;

/**
 * "The passenger's phone" names a phone instead of the passenger. "The passenger's speaking" names the passenger,
 * because "'s" means "is".
 */
function isOwnerOfAnother(typed: string, wanted: string, following: string | undefined): boolean {
  if (typed !== `${wanted}'s` && typed !== `${wanted}s`) return false;
  return following !== undefined && !functionWords.has(following) && !/^\d|ing$/u.test(following);
}

/**
 * @param isWordItself whether the question asks for a word of a text; other forms of the word are then wrong, such as
 * "grossed" for "gross"
 */
function sameWord(typed: string, wanted: string, isWordItself: boolean): boolean {
  if (isWordItself && /(?:ed|ing)$/u.test(typed) && !/(?:ed|ing)$/u.test(wanted) && isEnglishWord(typed)) return false;
  const alike = stemOf(typed) === stemOf(wanted) || `${typed}s` === wanted || typed === `${wanted}s`;
  return alike || ordinals[typed] === wanted || isSlipOf(typed, wanted);
}

const ordinals: Record<string, string> = { first: '1', second: '2', third: '3', fourth: '4', fifth: '5', sixth: '6' };

/** Short and misspelt units. `isSlipOf` doesn't find slips that are English words, such as "minuet" for "minute". */
const unitWords: Record<string, string> = lists.unit_words;
const unitWord = (word: string): string => (Object.hasOwn(unitWords, word) ? unitWords[word]! : word);

function sameAmount(text: string, accepted: string, question: Question): boolean {
  const alone = text.replace(/ (?:in all|in total|altogether)[.!]?$/iu, '');
  const [written, key] = [readQuantity(alone), readQuantity(accepted)];
  if (written === null || key === null || key.words.some((word) => !functionWords.has(word))) return false;
  if (written.words.some((word) => !functionWords.has(word) && !question.words.has(stemOf(word)))) return false;
  if (written.others.length > 0) return false;
  const [a, b] = [written.value.n * key.value.d, key.value.n * written.value.d];
  if (written.unit === key.unit || written.unit === null) return a === b;
  if (key.unit === null || written.unit.dimension !== key.unit.dimension) return false;
  const [from, to] = [written.unit.factor, key.unit.factor];
  return a * from.n * to.d === b * to.n * from.d;
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
    .replace(/(?<![/.])[/.]+$/u, '');
}

/** Reads page numbers such as "2-4", "2, 3, 4" or "pages 2 to 4" as a sorted list. */
function pageSet(text: string): string | null {
  const plain = digitsForWords(comparable(text))
    .replace(/^(?:(?:it is|it's|i look|look|see|on|at|from|the) )+/u, '')
    .replace(/\b(?:pages?|pgs?|pp?)\.? ?(?:(?:no|number)\.? ?)?(?=\d)/gu, ' ')
    .replace(/\b(?:pages?|only)\b\.?/gu, ' ')
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

function coordinates(text: string): string | null {
  const plain = comparable(digitsForWords(text.replace(/\u2212/gu, '-')))
    .replace(/\b(?:minus|negative) (?=\d)|- (?=\d)/gu, '-')
    // The letter of a corner may precede its coordinates, as in "A (2, 3)".
    .replace(/^[a-z] ?=? ?(?=[([{])/u, '');
  const found = /^[([{]? ?(?:x ?= ?)?([+-]?\d+(?:\.\d+)?) ?[,; ] ?(?:y ?= ?)?([+-]?\d+(?:\.\d+)?) ?[)\]}]?$/u.exec(
    bare(plain, true).replace(/\.$/u, ''),
  );
  return found === null ? null : `${Number(found[1])},${Number(found[2])}`;
}
