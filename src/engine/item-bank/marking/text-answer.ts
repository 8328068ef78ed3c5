import type { TextKey } from '../schema.ts';
import { addressWords, emailText, phoneDigits } from './contact.ts';
import { markDate, readDate } from './date.ts';
import { digitsForWords } from './numbers/number-words.ts';
import { formulaMatches } from './numbers/formula-answer.ts';
import { asksForDigits, changing } from './numbers/number-answer.ts';
import type { Surroundings } from './numbers/number-answer.ts';
import { readQuantity } from './numbers/quantity.ts';
import { distance, isEnglishWord, isSlipOf } from './slips.ts';
import { bare, comparable, stemOf, straightQuotes, wordsOf } from './text.ts';
import { withoutTalk } from './talk.ts';
import { isPastMidnight, markTime, readTime, timeOnItsDay } from './time.ts';
import lists from './words.json' with { type: 'json' };

/** The question that a typed text answers. */
export type Question = Surroundings & {
  /** A task's form, into which texts are copied as they are. */
  isForm: boolean;
  /** A word of its own, whose letters aren't what is measured. */
  forgivesSlips: boolean;
  /** Answers that the question itself names as wrong: none of them is a slip. */
  namedWrong: ReadonlySet<string>;
  /** Stems of the words on a task's screen. */
  screenWords: ReadonlySet<string>;
  /** The sheet that is shown, if there is one. */
  sheet: readonly (readonly string[])[];
  /** Stems of the words of the figure that is shown. */
  figureWords: ReadonlySet<string>;
};

/** `form`: right in substance, but not written in the way that the question asks for. */
export type TextVerdict = 'right' | 'wrong' | 'form';

/** Marks a typed text against its key, by the kind of thing that it names; then without what is said around it. */
export function markText(text: string, key: TextKey, question: Question): TextVerdict {
  const verdict = markPlainText(text, key, question);
  // What is copied into a form, such as a password, is all that is typed.
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

/**
 * "Depot - a place where buses stay", "shrink is on that page": what the question, or its figure, says of the answer.
 */
function withoutExplanation(text: string, question: Question): string | null {
  const found = /^(\S+(?: \S+){0,2}?)(?: ?[-–—:=] ?| ?\(| (?:is|means) )(.+)$/u.exec(straightQuotes(text).trim());
  if (found === null) return null;
  const [, name, rest] = found as unknown as [string, string, string];
  // "TA (teaching assistant)": short and in full.
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
 * The number of a page, a section, a meaning: with the words of the list beside it, or those alone, which are asked
 * again.
 */
function markNumberOfList(typed: string, key: TextKey, question: Question): TextVerdict {
  // With the colon beside it, "one:" is not read as a number.
  const text = typed.replace(/(?<=\p{L}):(?=\s)/gu, ' -');
  const words = wordsOf(text);
  const numbers = words.filter((word) => /\d/u.test(word));
  if (numbers.length === 0) return /\bwrite (?:the|its) number\b/iu.test(question.text) ? 'form' : 'wrong';
  const isBeside = (word: string) =>
    functionWords.has(word) || question.words.has(stemOf(word)) || question.figureWords.has(stemOf(word));
  const others = words.filter((word) => !numbers.includes(word));
  if (numbers.length !== 1 || numbers[0] !== key.accept[0]) return 'wrong';
  if (others.every(isBeside)) return 'right';
  // "Step 1: Take a photo of it": what the passage says there. One word could be a unit.
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
  if (key.accept.some((accepted) => readings.some((one) => sameText(one, accepted, key, question.sentences))))
    return 'right';
  const verdict = markMeaning(text, key, question);
  if (verdict === 'right' || verdict === 'form' || !namesOneThing(key)) return verdict ?? 'wrong';
  if (verdict === 'wrong' && readsOneWay(key)) return 'wrong';
  // A date or time ends at its digits; of other kinds a word of the screen could be another answer.
  const words = readsOneWay(key) ? question.words.union(question.screenWords) : question.words;
  for (const part of withoutSentence(text, words)) {
    const read = markMeaning(part, key, question);
    if (read === 'right' || read === 'form' || (read === 'wrong' && readsOneWay(key))) return read;
  }
  return 'wrong';
}

/** Kinds of which a text either names none, or one that no shorter part of it can be mistaken for. */
function readsOneWay({ kind }: TextKey): boolean {
  return kind === 'time' || kind === 'date';
}

/** Kinds whose value can be told from the sentence around it: "my order number is TR4471". */
function namesOneThing({ kind }: TextKey): boolean {
  return kind !== undefined && !['exact', 'words', 'formula', 'pages'].includes(kind);
}

/** @returns null where the text can't be read as what the key names */
function markMeaning(text: string, key: TextKey, question: Question): TextVerdict | null {
  const same = (compared: (one: string) => string | null): TextVerdict | null => {
    const given = compared(text);
    if (given === null) return null;
    return key.accept.some((accepted) => compared(accepted) === given) ? 'right' : 'wrong';
  };
  switch (key.kind) {
    case 'words':
      if (namesTwo(text, question) || besideIt.test(comparable(text))) return 'wrong';
      return key.accept.some((accepted) => sameWords(text, accepted, key, question)) ? 'right' : 'wrong';
    case 'time': {
      const at = readTime(key.accept[0]!)!;
      // A calculation is written out: its result counts.
      const result = text.slice(text.lastIndexOf('=') + 1);
      const told = timeOnItsDay(result, isPastMidnight(at, question.text));
      if (told === null) return null;
      const verdict = markTime(told, at, key.clock ?? 'any');
      return verdict === 'right' && asksForDigits(question.text) && !/\d\d/u.test(told) ? 'form' : verdict;
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

/** "shifts (28 May)": words after a name that explain it. */
const aside = /(?<=\S) ?\((?!.*\b(?:or|not)\b)[^()]*\)\.?$/iu;

/** "Over 12" is another number. */
const besideIt = /^(?:it is |about )?(?:over|above|under|below|(?:more|less|fewer) than|at least|nearly|almost) [£\d]/u;

/** "Rosa and Bilal", "Rosa/Bilal": one of the parts is an answer that the question itself names as wrong. */
function namesTwo(text: string, { namedWrong }: Question): boolean {
  const parts = comparable(text).split(/[,/&+;]|\b(?:and|or)\b/u);
  return parts.length > 1 && parts.some((part) => namedWrong.has(bare(part, false)));
}

const halfOfDay = /^(?:[ap]\.?m|noon|midday|midnight|morning|afternoon|evening|night)$/u;

/**
 * The text without words of the question, and words without content, before and after what it names; the longest part
 * first, because a word of the question can be part of the answer: "the last day is 14 June".
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

/** Letter for letter, but for what keyboards add: quotes around the whole, and a stop unless sentences are measured. */
function sameText(text: string, accepted: string, key: TextKey, sentences: readonly string[]): boolean {
  const keepStops = endsWithStop.test(accepted) && key.ignore_final_stop !== true;
  const isQuoted = /^["'].*["']$/u.test(comparable(accepted));
  const form = (one: string) => {
    const plain = isQuoted ? comparable(one, key) : bare(comparable(one, key), keepStops);
    return keepStops ? plain : plain.replace(endsWithStop, '');
  };
  const given = form(text);
  if (given === '') return false;
  if (given === form(accepted)) return true;
  if (keepStops) return false;
  const mended = form(mendedWord(given, sentences, accepted, key) ?? given);
  return mended === form(accepted) || sentences.some((sentence) => isPartOf(given, sentence, accepted, key));
}

/**
 * "becuase" is because, and "writen" written. The last letter has to be right: it tells forms of a word apart, as in
 * "broked" for broken.
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

/** Words between a word of the question and what becomes of it: "becuase should be spelled because". */
const mendingWords = new Set(lists.mending);
const wrongOne = /(?:^| )(?:not|instead of|rather than|for|in place of|no) $/u;

/** "becuase = because", "because, not becuase": what becomes of the word of the question's sentence that is mended. */
function mendedWord(given: string, sentences: readonly string[], accepted: string, key: TextKey): string | null {
  const [mended, ...more] = plainWords(accepted, key);
  if (mended === undefined || more.length > 0 || (key.kind ?? 'exact') !== 'exact') return null;
  const words = given
    .split(/ |(?<=\S)[/=:→](?=\S)|(?<=\S)-+>(?=\S)/u)
    .map((word) => word.replace(/^["'(]+|["').,;:!?]+$/gu, ''));
  for (const sentence of sentences) {
    const inSentence = plainWords(sentence, key);
    const content = words.filter((word) => word !== '' && !mendingWords.has(word));
    const wrong = content.find((word) => word !== mended && inSentence.includes(word));
    if (wrong === undefined) continue;
    const [at, to] = [words.indexOf(wrong), words.lastIndexOf(mended)];
    if (at < 0 || to < 0 || content.some((word) => word !== wrong && word !== mended)) continue;
    const isDenied = (place: number) => wrongOne.test(`${words.slice(0, place).join(' ')} `);
    // Side by side, they could be two answers.
    const isTold =
      words.some((word) => !/^(?:the|a|and|)$/u.test(word) && word !== wrong && word !== mended) ||
      /[:=→>]/u.test(given);
    if (isTold && !isDenied(to) && (at < to || isDenied(at))) return mended;
  }
  return null;
}

/** Words as they stand, without the stops and quotes at their ends; an apostrophe is part of its word. */
function plainWords(text: string, key: TextKey): string[] {
  return comparable(text, { case_sensitive: key.case_sensitive ?? false })
    .split(' ')
    .map((word) => word.replace(/^["(]+|[".,!?;:)]+$/gu, ''))
    .filter((word) => word !== '');
}

/** Whether a text is a part of the question's sentence, or all of it, with the accepted words in their place. */
function isPartOf(text: string, sentence: string, accepted: string, key: TextKey): boolean {
  const answer = plainWords(accepted, key);
  const words = plainWords(sentence, key);
  const place = placeFor(answer, words);
  if (place < 0) return false;
  const [before, after] = [words.slice(0, place), words.slice(place + 1)];
  const given = plainWords(text, key);
  const rest = given.length - answer.length;
  for (let left = 0; left <= Math.min(rest, before.length); left++) {
    const expected = [...before.slice(before.length - left), ...answer, ...after.slice(0, rest - left)];
    if (expected.length === given.length && expected.every((word, at) => word === given[at])) return true;
  }
  return false;
}

/** Where the answer belongs in a sentence: in its gap, or in the place of the word that it mends. */
function placeFor(answer: readonly string[], words: readonly string[]): number {
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
 * The words of an accepted answer, in their order, with slips of spelling forgiven; beside them only words of the
 * question and such as carry no content. What denies it, or names something else as well, is another answer.
 */
function sameWords(text: string, accepted: string, key: TextKey, question: Question): boolean {
  const typed = wordsOf(text).map((word) => unitWord(word));
  const acceptedWords = wordsOf(accepted).map((word) => unitWord(word));
  const denied = acceptedWords.some((word) => denials.has(word));
  if (!denied && typed.some((word) => denials.has(word))) return false;
  const content = acceptedWords.filter((word) => !functionWords.has(word));
  const wanted = content.length > 0 ? content : acceptedWords;
  // A word of another accepted answer, such as "ride" of "a smooth ride", says nothing else.
  const known = new Set(key.accept.flatMap(wordsOf).map(unitWord));
  let next = 0;
  let namesMore = false;
  // "His friend Rosa", "my mother was indignant": a phrase or sentence that ends in the answer. Lists could name two,
  // and where words are asked for, the one before has to say nothing.
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
    // "12 poeple": a slip in a word that says nothing either.
    if (known.values().some((one) => isSlipOf(word, one)) || functionWords.values().some((one) => isSlipOf(word, one)))
      continue;
    namesMore = true;
  }
  if (next === wanted.length && !namesMore) return true;
  // "post office" and "postoffice" are one.
  const joined = typed.filter((word) => !functionWords.has(word)).join('');
  if (wanted.length > 1 && joined === wanted.join('')) return true;
  // "£520.00" and "£520", "95min" and "95 minutes" are one amount.
  return sameAmount(text, accepted, question);
}

const howMuch = /^(?:very|so|quite|rather|really|too|completely|always|often|first|last)$/u;

/** "The passenger's phone" names a phone; "the passenger's speaking" says that the passenger is. */
function isOwnerOfAnother(typed: string, wanted: string, following: string | undefined): boolean {
  if (typed !== `${wanted}'s` && typed !== `${wanted}s`) return false;
  return following !== undefined && !functionWords.has(following) && !/^\d|ing$/u.test(following);
}

/**
 * @param isWordItself whether the word of a text is asked for, and not what it means: "grossed" is another one than
 * "gross".
 */
function sameWord(typed: string, wanted: string, isWordItself: boolean): boolean {
  if (isWordItself && /(?:ed|ing)$/u.test(typed) && !/(?:ed|ing)$/u.test(wanted) && isEnglishWord(typed)) return false;
  const alike = stemOf(typed) === stemOf(wanted) || `${typed}s` === wanted || typed === `${wanted}s`;
  return alike || ordinals[typed] === wanted || isSlipOf(typed, wanted);
}

/** "the second meaning" is meaning 2. */
const ordinals: Record<string, string> = { first: '1', second: '2', third: '3', fourth: '4', fifth: '5', sixth: '6' };

/** A minuet is a dance, and the commonest slip in the word minute. */
const unitWords: Record<string, string> = lists.unit_words;
const unitWord = (word: string): string => (Object.hasOwn(unitWords, word) ? unitWords[word]! : word);

function sameAmount(text: string, accepted: string, question: Question): boolean {
  const [given, key] = [readQuantity(text), readQuantity(accepted)];
  if (given === null || key === null || key.words.some((word) => !functionWords.has(word))) return false;
  if (given.words.some((word) => !functionWords.has(word) && !question.words.has(stemOf(word)))) return false;
  if (given.others.length > 0) return false;
  const [a, b] = [given.value.n * key.value.d, key.value.n * given.value.d];
  if (given.unit === key.unit || given.unit === null) return a === b;
  if (key.unit === null || given.unit.dimension !== key.unit.dimension) return false;
  const [from, to] = [given.unit.factor, key.unit.factor];
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

/** Pages as a set: "2-4", "2, 3, 4", "pages 2 to 4". */
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
    // A corner has a letter as its name.
    .replace(/^[a-z] ?=? ?(?=[([{])/u, '');
  const found = /^[([{]? ?(?:x ?= ?)?([+-]?\d+(?:\.\d+)?) ?[,; ] ?(?:y ?= ?)?([+-]?\d+(?:\.\d+)?) ?[)\]}]?$/u.exec(
    bare(plain, true).replace(/\.$/u, ''),
  );
  return found === null ? null : `${Number(found[1])},${Number(found[2])}`;
}
