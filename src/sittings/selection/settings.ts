import { type Prior, standardPrior } from '../../engine/scoring/irt.ts';
import type { Level, Subject } from '../../engine/scoring/levels.ts';

/** Frozen with each sitting. */
export type DeliverySettings = {
  minItems: number;
  maxItems: number;
  minPerDomain: number;
  prior: Prior;
  /** A sitting ends early only once its standard error is at most this. */
  maxSe: number;
  /**
   * A cut has to be this many standard deviations away, of what the estimate will still move, for a sitting to end
   * early.
   */
  reachSds: number;
  content: ContentControl;
};

/** What the test keeps to: see `shadow-test.ts`. */
export type ContentControl = {
  /** The largest share of one response type, at every question at which a sitting may end. */
  maxTypeShare: number;
  /**
   * The largest share of a domain, without texts, for one skill group. It applies to domains with at least three
   * groups.
   */
  maxGroupShare: number;
  /** The most questions on one statement, in domains with at least `statementsFrom` statements at the level. */
  maxPerStatement: number;
  statementsFrom: number;
  /** The most words to read in a sitting. Each text counts once. */
  maxWords: number;
  /** The least and the most questions on a text, one after the other. */
  minPerSet: number;
  maxPerSet: number;
  /** The least share of questions on texts in a domain that has texts. */
  minOnTexts: number;
  /** The least share of these skill groups among the questions on a text of these levels. */
  textFloor: { groups: readonly string[]; levels: readonly Level[]; share: number };
  /** How far below the estimate, in logits, the first questions aim. */
  easing: readonly number[];
  /**
   * Chance is worth up to this much information. With more of it, two learners of one ability have less in common.
   * `middle` is near the prior mean, `edge` two logits and more away. `low` replaces `edge` below the mean.
   */
  spread: { middle: number; edge: number; low?: number };
  /**
   * In this share of the sittings an item comes before all others near its level. Information alone would hardly select
   * some.
   */
  rotation: {
    share: number;
    within: number;
    worth: number;
    /** Beyond this distance from the prior mean all items count as near, because few estimates go further. */
    edge: number;
  };
  /** In this share of the sittings an item counts like one that was seen, so that no item is in nearly all sittings. */
  rest: number;
  /** The share of its worth with which an item counts that the learner saw within a year. */
  seenWorth: number;
};

/** Found by simulation of the shipped bank. With these errors, sittings that end early meet the goal for precision. */
const maxSe: Record<Subject, number> = { digital: 0.2943, english: 0.2975, maths: 0.3083 };
const reachSds: Record<Subject, number> = { digital: 1.5, english: 2, maths: 2 };
const maxWords: Record<Subject, number> = { digital: 3200, english: 3000, maths: 1800 };
const spread: Record<Subject, ContentControl['spread']> = {
  digital: { middle: 0.045, edge: 0.27 },
  english: { middle: 0.03, edge: 0.16, low: 0.06 },
  maths: { middle: 0.015, edge: 0.06 },
};

/** Found by simulation: the least chance that keeps the overlap of learners of one ability below 45 %. */
const rest: Record<Subject, number> = { digital: 0.23, english: 0.13, maths: 0.12 };

/** Found by simulation: the fewest turns that bring each item to one in a hundred learners near its level. */
const turns: Record<Subject, number> = { digital: 0.02, english: 0.032, maths: 0.03 };

export function defaultSettings(subject: Subject): DeliverySettings {
  return {
    maxSe: maxSe[subject],
    reachSds: reachSds[subject],
    minItems: subject === 'digital' ? 20 : 24,
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
      spread: spread[subject],
      rotation: { share: turns[subject], within: 0.6, worth: 0.5, edge: 1.8 },
      rest: rest[subject],
      seenWorth: 0.5,
    },
  };
}
