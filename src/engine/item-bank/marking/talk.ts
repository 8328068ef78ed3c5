import { straightQuotes } from './text.ts';

/**
 * This file removes the words around an answer, as in "I think it is 7", "Ans: 7", "a) 7" and "7, please". Words that
 * deny an answer ("not 7") or name two ("7 or 8") stay.
 */

const thing =
  '(?:answer|ans|result|word|words|verb|spelling|name|path|form|number|letter|mark|sentence|one|version|choice|solution)';
const praise = '(?:(?:correct|right|missing|final|best|proper|new|full|only|whole) )*';
const be =
  "(?:'?s| is| was| are| equals| should be| must be| would be| will be| has to be| could be| might be| may be)";
const spelt = '(?: (?:spelt|spelled|written|called|about|just|simply))?';
const say =
  "(?:think|thought|guess|believe|reckon|suppose|say|said|got|get|make|made|choose|chose|pick|picked|put|wrote|write|use|used|worked it out as|worked out|counted|(?:would|'?d) (?:say|write|use|choose|put|pick|spell it))";

const leads = [
  // Bullets and the letter of a part, such as "a)". A hyphen before a digit stays, because it can be a minus sign.
  '[•·▪●‣>*=]+ ?',
  '[-–—]+ (?![\\d.£])',
  '\\(?[a-h]\\) ?',
  '(?:um+|erm?|hm+|ok|okay|hi|hello|hey)[,.!… ]+',
  '(?:so|well|yes|yeah|right)(?:[,.!…]+ ?| (?=\\d|£|(?:it|that|this|the answer|i)\\b))',
  "(?:maybe|perhaps|probably|possibly|definitely|surely)(?: it(?:'?s| is))?,? ",
  "(?:(?:i am|i'?m|we are|we're) )?not (?:really |very |too |so |100% )?sure(?:[,.;:!… -]*[,.;:!…]| but)[, ]*",
  "(?:idk|(?:i )?(?:don'?t|do not) (?:really )?know)(?:[,.;:!… -]*[,.;:!…]| but)[, ]*",
  '(?:\\d{1,2}|[ivx]+)[.)] ?(?=[^\\d\\s.])',
  `(?:i|we)(?: |(?='?d ))${say}(?: that)?(?: it${be}?${spelt}| (?:the|my) ${praise}${thing}${be})?[,:]? `,
  `(?:(?:the|my|this|your) )?${praise}${thing}(?: ?[:=]|${be}| ?-)${spelt} `,
  `(?:the |my )?${praise}(?:answer|ans)\\.? `,
  'a ?: ',
  `(?:it|that|this)${be}${spelt} `,
  '(?:(?:it|that) )?(?:comes|came|works out|adds up) (?:out )?(?:to|at|as) ',
  '(?:spelt|spelled|written)(?: as)?:? ',
  `(?:should|must|would|will) be${spelt} `,
  '(?:it )?(?:goes|comes) ',
  '(?:the )?(?:letter|word) (?=\\S+$)',
  '.*(?:→|⇒|-+>|=+>) ?',
  '(?:write|use|put|choose|type|enter) (?=\\S+$)',
].map((one) => new RegExp(`^${one}(?=\\S)`, 'iu'));

const tails = [
  ',? ?\\(?\\b(?:i|we) (?:think|guess|believe|reckon|suppose|hope|got)\\)?[.!?]*',
  ',? (?:please|maybe|probably|perhaps)[.!?]*',
  ', (?:thanks|thank you|cheers)[.!?]*',
  ` (?:is|was|=) (?:the |my )?${praise}${thing}[.!?]*`,
  ' is (?:right|correct)[.!?]*',
  " it(?: is|'?s)[.!?]*",
  ' ?\\((?:correct|right|answer|maybe|sure|probably|guess)[.!?]*\\)',
  ' ?\\((?:noun|verb|adjective|adverb|singular|plural|past|present)(?: \\w+)?\\)',
  ' ?[✓✔☑√]+',
  "[,.;]? (?:but )?\\(?(?:(?:i am|i'?m) )?not (?:really |very |too |so |100% )?sure\\)?[.!…]*",
  ' ?\\?+',
  ',? (?:not|instead of|rather than) [^,;]{1,30}',
].map((one) => new RegExp(`(?<=\\S)${one}$`, 'iu'));

/** Matches a reason that the question doesn't ask for: "Back pain, because staff reported it". */
const reason =
  /(?<=\S)[,;:.]?\s+\(?(?:because|'?cause|cos|coz|cuz|bc|as (?:it|he|she|they|the text|that) (?:is|was|says?|said)) \S.*$/iu;

const pictures = /(?:\p{Extended_Pictographic}[\p{Emoji_Modifier}\ufe0f\u200d]*)+/gu;
const around = /^([_*]{1,2}|\[)(.+?)([_*]{1,2}|\])$/u;

/** A longer text is more than an answer with a few words around it, so it is not shortened. */
const longest = 200;

export function withoutTalk(text: string): string {
  if (text.length > longest) return text;
  let out = straightQuotes(text).replace(pictures, ' ').replace(/\s+/gu, ' ').replace(reason, '').trim();
  for (;;) {
    const before = out;
    out = out.replace(around, '$2').trim();
    for (const pattern of leads) out = out.replace(pattern, '').trim();
    for (const pattern of tails) out = out.replace(pattern, '').trim();
    if (out === before) return out;
  }
}

const noAnswer = new RegExp(
  `^(?:(?:sorry|um+|erm?|hm+|oh|well|honestly|so|but) )*(?:${[
    "(?:i |we )?(?:really |honestly |just |still )?(?:do not|don'?t|did not|didn'?t|do ?nt) (?:really |actually |even )?(?:know|no|understand|get it|remember)",
    '(?:i )?dun+o',
    'idk',
    "(?:i am |i'?m |im )?(?:really )?not (?:really |very |too |so )?sure",
    "(?:i am |i'?m |im )?unsure",
    "(?:i )?(?:have |have got |'?ve got |got )?(?:no|not a) (?:idea|clue)",
    "(?:i )?(?:have not|haven'?t) (?:got )?(?:an?|any|the) (?:idea|clue)",
    "(?:i )?(?:can not|cannot|can'?t) (?:remember|say|tell|work (?:it|this|that) out|do (?:it|this|that))",
  ].join(
    '|',
  )})(?: (?:it|this|that|this one|that one|how|how to do (?:it|this)|the answer|at all|what it is|what that is|sorry))*[.!?… ]*$`,
  'u',
);

/** Whether the learner says that they have no answer: "I don't know", "idk", "not sure, sorry". */
export function saysNoAnswer(text: string): boolean {
  const plain = straightQuotes(text)
    .toLowerCase()
    .replace(pictures, ' ')
    .replace(/[,\s]+/gu, ' ')
    .trim();
  return plain.length <= 80 && noAnswer.test(plain);
}
