import { type Prior, standardPrior } from '../../engine/scoring/irt.ts';
import type { Level, Subject } from '../../engine/scoring/levels.ts';

/** Each sitting stores these settings when it begins and keeps them. */
export type DeliverySettings = {
  minItems: number;
  maxItems: number;
  minPerDomain: number;
  prior: Prior;
  /** A sitting ends early only if its standard error is at most this value. */
  maxSe: number;
  /** To end early, every cut must be more than this many standard deviations (`expectedMove`) from the estimate. */
  reachSds: number;
  /**
   * From `minItems` on, a sitting ends when one level has this probability, whatever its standard error. It also ends
   * when every cut from `low.below` up is more than `low.reachSds` expected moves above the estimate. Sittings that
   * began with older settings lack this and `weak`.
   */
  clear?: { probability: number; low: { below: Level; reachSds: number } };
  content: ContentControl;
};

export type ContentControl = {
  /** The largest share of one response type, at every question at which a sitting may end. */
  maxTypeShare: number;
  /** The largest share of one skill group in a domain's questions without texts, if the domain has 3 groups or more. */
  maxGroupShare: number;
  /** The most questions on one statement, in domains with at least `statementsFrom` statements at the level. */
  maxPerStatement: number;
  statementsFrom: number;
  /** The most words to read in a sitting. Each text counts once. */
  maxWords: number;
  /** The minimum and maximum number of consecutive questions on one text. */
  minPerSet: number;
  maxPerSet: number;
  /** The minimum share of questions on texts, in a domain that has texts. */
  minOnTexts: number;
  /** The minimum share of questions from these skill groups on texts of these levels. */
  textFloor: { groups: readonly string[]; levels: readonly Level[]; share: number };
  /** By how many logits the first questions aim below the estimate, so that a sitting begins with easy ones. */
  easing: readonly number[];
  /** After `from` questions, no item is further than this above the estimate. */
  maxAbove?: { from: number; logits: number };
  /**
   * Below the prior mean, the aim is lower than the estimate, by at most `easing` and the pull of the prior. From
   * `below` logits under the mean, items more than `above` logits over the estimate come last.
   */
  weak?: { easing: number; below: number; above: number };
  /**
   * The most information that chance can outweigh. With a larger value, two learners of equal ability share fewer
   * items. `middle` applies near the prior mean, and `edge` from two logits away. `low` replaces `edge` below the mean.
   */
  spread: { middle: number; edge: number; low?: number };
  /** The share of sittings that prefer an item to others near its level. Otherwise some items would hardly appear. */
  rotation: {
    share: number;
    within: number;
    worth: number;
    /** All items further than this from the prior mean count as near each other, because few estimates go there. */
    edge: number;
  };
  /** The share of sittings in which an item counts as seen, so that no item is in nearly all sittings. */
  rest: number;
  /** The worth of an item that rests is multiplied by this factor. */
  seenWorth: number;
  /** The same for items that the learner saw within a year. Without it, `seenWorth` applies to them. */
  repeatWorth?: number;
};

/** From simulations of the shipped bank: with these values, sittings that end early meet the goal for precision. */
const maxSe: Record<Subject, number> = { digital: 0.283, english: 0.29, maths: 0.291 };
const reachSds: Record<Subject, number> = { digital: 1.5, english: 2, maths: 2 };
const maxWords: Record<Subject, number> = { digital: 3200, english: 3000, maths: 1800 };
const spread: Record<Subject, ContentControl['spread']> = {
  digital: { middle: 0.045, edge: 0.27 },
  english: { middle: 0.03, edge: 0.16, low: 0.06 },
  maths: { middle: 0.015, edge: 0.06 },
};

/** The lowest values in simulations that keep the overlap between learners of equal ability below 45 %. */
const rest: Record<Subject, number> = { digital: 0.23, english: 0.13, maths: 0.12 };

/** The lowest values in simulations with which each item reaches 1 in 100 learners near its level. */
const turns: Record<Subject, number> = { digital: 0.02, english: 0.032, maths: 0.03 };

/** The lowest values in simulations with which learners at −2 get at least 40 % right, and need at most 24 questions. */
const weakEasing: Record<Subject, number> = { digital: 0.3, english: 0, maths: 0 };
const lowLevels: Record<Subject, { below: Level; reachSds: number }> = {
  digital: { below: 'entry', reachSds: 2.5 },
  english: { below: 'entry2', reachSds: 1.5 },
  maths: { below: 'entry2', reachSds: 1.7 },
};

export function defaultSettings(subject: Subject): DeliverySettings {
  return {
    maxSe: maxSe[subject],
    reachSds: reachSds[subject],
    clear: { probability: 0.99, low: lowLevels[subject] },
    minItems: 20,
    maxItems: 40,
    minPerDomain: 3,
    prior: standardPrior,
    content: {
      maxTypeShare: 0.6,
      maxGroupShare: 0.5,
      maxPerStatement: 3,
      statementsFrom: 4,
      maxWords: maxWords[subject],
      minPerSet: 2,
      maxPerSet: 3,
      minOnTexts: 0.5,
      textFloor: { groups: ['inference', 'purpose', 'language'], levels: ['level1', 'level2'], share: 0.33 },
      easing: [0.9, 0.45],
      maxAbove: { from: 8, logits: 1.5 },
      weak: { easing: weakEasing[subject], below: 0.5, above: 0.8 },
      spread: spread[subject],
      rotation: { share: turns[subject], within: 0.6, worth: 0.5, edge: 1.8 },
      rest: rest[subject],
      seenWorth: 0.5,
      repeatWorth: 0.1,
    },
  };
}
