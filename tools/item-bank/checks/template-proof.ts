import { isDeepStrictEqual } from 'node:util';
import { seededRandom } from '../../../src/platform/crypto/random.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import type { Template } from '../../../src/engine/item-bank/templates/question.ts';
import { renderedFaults } from '../validate.ts';
import { equalNumbers, keyFaults } from './keys.ts';
import { languageFindings } from './language.ts';
import { factsOfItem } from './facts.ts';
import { fixedC } from './guessing.ts';
import { textsOf } from '../../../src/engine/item-bank/reading-load.ts';

/** How many seeds prove a template. */
export const proofSeeds = 1000;
/** The largest share of seeds whose renderings may differ in kind from the others. */
const maxMixed = 0.2;
/** A template must make at least this many different questions. */
const minVariety = 12;

export type TemplateProof = {
  template: string;
  seeds: number;
  /** The number of different questions. */
  variety: number;
  /** The faults, each with the first seed that shows it. */
  faults: { seed: string; fault: string }[];
};

/** Numbers that a worked solution must not show: binary rounding errors, and values such as NaN. */
const unfitNumber = /\d\.\d{7,}|\bNaN\b|\bundefined\b|\bInfinity\b|\bnull\b|\[object/u;

function* seedFaults(item: RenderedItem, c: number): Generator<string> {
  yield* renderedFaults(item).map((fault) => `its shape: ${fault}`);
  yield* keyFaults(item);
  if (item.type === 'single_choice' || item.type === 'multiple_choice') {
    const equal = equalNumbers(item.options);
    if (equal) yield equal;
  }
  if (fixedC(item) !== c) yield 'has another number of options for another seed';
  for (const { path, text } of textsOf(item))
    if (unfitNumber.test(text)) yield `${path} shows “${unfitNumber.exec(text)![0]}”`;
  for (const { message } of languageFindings('', item)) yield message;
  yield* factsOfItem(item);
}

/**
 * Proves a template over many seeds. Every rendering is well formed. Its one key is marked right and its named errors
 * are marked wrong. Its options differ in text and value. The same seed gives the same question.
 */
export function proveTemplate(template: Template, seeds: number = proofSeeds): TemplateProof {
  const faults = new Map<string, string>();
  const questions = new Set<string>();
  let c: number | undefined;
  const wholeShare = { whole: 0, of: 0 };
  for (let n = 0; n < seeds; n += 1) {
    const seed = `${template.id}:${n}`;
    const item = template.make(seededRandom(seed));
    c ??= fixedC(item);
    if (item.type === 'numeric' && item.prefix !== '£' && !item.key.value.includes('/')) {
      wholeShare.of += 1;
      if (!item.key.value.includes('.')) wholeShare.whole += 1;
    }
    questions.add(JSON.stringify([item.stem, item.figure ?? null]));
    for (const fault of seedFaults(item, c)) if (!faults.has(fault)) faults.set(fault, seed);
    if (n < 20 && !isDeepStrictEqual(item, template.make(seededRandom(seed))))
      faults.set('gives another question for the same seed', seed);
  }
  const { whole, of } = wholeShare;
  if (Math.min(whole, of - whole) > maxMixed * of)
    faults.set('asks for whole numbers with some seeds and for decimals with others: one b is not true of both', '');
  if (questions.size < minVariety) faults.set(`makes only ${questions.size} different questions`, '');
  return {
    template: template.id,
    seeds,
    variety: questions.size,
    faults: [...faults].map(([fault, seed]) => ({ seed, fault })),
  };
}
