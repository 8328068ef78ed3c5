import { standardPrior } from '../../engine/scoring/irt.ts';
import type { Prior } from '../../engine/scoring/irt.ts';
import type { Level, Subject } from '../../engine/scoring/levels.ts';

/** Frozen with each sitting. */
export type DeliverySettings = {
  minItems: number;
  maxItems: number;
  minPerDomain: number;
  prior: Prior;
} & CurtailedStopping &
  (ContentChoice | BestOfChoice);

/**
 * A sitting ends early once further questions would hardly change its level: every cut is further from the estimate
 * than the estimate is still expected to move up to the last question, and the standard error is at most `seMost`.
 */
export type CurtailedStopping = {
  maxSe: number;
  /** How many standard deviations of what the estimate will still move a cut has to be away. */
  reachSds: number;
};

/** Each question is the best one of a whole test that keeps to the content: see `shadow-test.ts`. */
export type ContentChoice = { content: ContentControl };

/**
 * How sittings chose that began before content was controlled; kept for the same reason. The next item is drawn among the
 * best `bestOf` of the neediest domain, among the best `earlyBestOf` for the first `earlyItems`.
 */
export type BestOfChoice = { bestOf: number; earlyBestOf: number; earlyItems: number; maxPerPassage: number };

export type ContentControl = {
  /** The largest share of a sitting that one response type may take, at whatever question the sitting ends. */
  maxTypeShare: number;
  /** The largest share of a domain that one skill group may take, texts apart, where the domain has at least three of them. */
  maxGroupShare: number;
  /** The most questions on one statement of the subject content, where its domain has so many at the level. */
  maxPerStatement: number;
  statementsFrom: number;
  /** The most words that a whole sitting asks to read, each text counted once. */
  maxWords: number;
  /** A text comes with so many questions, one after the other. */
  setLeast: number;
  maxPerSet: number;
  /** At least so large a share of the questions of a domain that has texts is on texts. */
  onTextsLeast: number;
  /** Of the questions on a text of one of these levels at least this share is of these skill groups. */
  textFloor: { groups: readonly string[]; levels: readonly Level[]; share: number };
  /** How far below the estimate, in logits, the first questions aim. */
  easing: readonly number[];
  /**
   * Chance, drawn once for each sitting and item, is worth up to this much information: the more, the less two learners
   * of one ability have in common. `middle` near the prior mean, `edge` two logits and more away, where fewer items are near,
   * and `low` as far below it where that is another one.
   */
  spread: { middle: number; edge: number; low?: number };
  /** So many of the sittings put an item that information alone would hardly ever choose before all others near its level. */
  rotation: {
    share: number;
    within: number;
    worth: number;
    /** Further than this from the prior mean everything is near: estimates are drawn to it, and few go beyond. */
    edge: number;
  };
  /** In so many of the sittings an item rests: it counts like one that was seen, so that none is in nearly all of them. */
  rest: number;
  /** An item that the learner saw within a year counts as if it were worth this share of what it is. */
  seenWorth: number;
};

/** Found by simulation of the shipped bank: the error where sittings that end early are no less precise than the goal. */
const maxSe: Record<Subject, number> = { digital: 0.2943, english: 0.2975, maths: 0.3083 };
const reachSds: Record<Subject, number> = { digital: 1.5, english: 2, maths: 2 };
const maxWords: Record<Subject, number> = { digital: 3200, english: 3000, maths: 1800 };
const spread: Record<Subject, ContentControl['spread']> = {
  digital: { middle: 0.045, edge: 0.27 },
  english: { middle: 0.03, edge: 0.16, low: 0.06 },
  maths: { middle: 0.015, edge: 0.06 },
};

/** By simulation of the shipped bank: as little chance as keeps what learners of one ability have in common under 45 %. */
const rest: Record<Subject, number> = { digital: 0.23, english: 0.13, maths: 0.12 };

/** As few turns as bring every item to one in a hundred learners near its level: the more choices a bank has, the more turns. */
const turns: Record<Subject, number> = { digital: 0.02, english: 0.032, maths: 0.03 };

export function defaultSettings(subject: Subject): DeliverySettings & CurtailedStopping & ContentChoice {
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
      setLeast: 2,
      maxPerSet: 3,
      onTextsLeast: 0.5,
      textFloor: { groups: ['inference', 'purpose', 'language'], levels: ['level1', 'level2'], share: 0.33 },
      easing: [0.9, 0.45],
      spread: spread[subject],
      rotation: { share: turns[subject], within: 0.6, worth: 0.5, edge: 1.8 },
      rest: rest[subject],
      seenWorth: 0.5,
    },
  };
}
