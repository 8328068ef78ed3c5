import { calibrationSd, widened, widenedPosterior } from './calibration.ts';
import {
  confidenceInterval,
  type EapEstimate,
  mle,
  type MleEstimate,
  momentsOf,
  posteriorOf,
  type Prior,
  type Response,
  standardPrior,
  wle,
  type WleEstimate,
} from './irt.ts';
import { BankFault, type Cut, defaultTau, type ScoredItem, solveCuts } from './cuts.ts';
import type { Compared } from './compare-domains.ts';
import { type DomainResult, type DomainStatus, scoreDomains } from './domains.ts';
import { type Level, type Placement, publishedLevels, type PublishedLevels, type Subject } from './levels.ts';
import { levelProbabilities } from './probabilities.ts';
import { decidingRule, type DecidingRule, placeByIrt, reconcile, type Reconciliation } from './reconcile.ts';
import { personFit, type PersonFit } from './person-fit.ts';
import { placeByRules, type RulePlacement, type ScoredAnswer } from './rules.ts';

/** Results store these versions. Raise a version by hand if a change of its engine can change a result's numbers. */
export const engineVersions = { irt: '1.6.0', rules: '1.0.0', reconciliation: '1.2.0' } as const;

/** A sitting with fewer answers, or with answers in fewer domains, has no result. */
export const minAnswered = 12;
export const minDomains = 3;

/** The part of a bank version that scoring reads. `domains` are in the order in which results show them. */
export type BankVersion<Item extends ScoredItem = ScoredItem> = {
  subject: Subject;
  version: string;
  domains: readonly { name: string; share: number }[];
  items: readonly Item[];
};

/**
 * `skipped`: the learner skipped the item after a warning, so both engines count it as wrong. `not_reached`: the time
 * ran out while the item was on the screen, so it counts as not administered.
 */
export type ItemOutcome = 'right' | 'wrong' | 'skipped' | 'not_reached';
export type ItemResponse = { itemId: string; outcome: ItemOutcome };

export type ScoringBank = {
  bank: BankVersion;
  cuts: readonly Cut[];
  tau: number;
  itemsById: ReadonlyMap<string, ScoredItem>;
};

type Counts = {
  shown: number;
  scored: number;
  answered: number;
  right: number;
  skipped: number;
  notReached: number;
  domainsAnswered: number;
};

export type VoidSitting = { outcome: 'void'; reason: 'too_few_answers' | 'too_few_domains'; counts: Counts };

/**
 * `ceiling`: every scored item is right. `floor`: every scored item is wrong. In both cases only the prior keeps the
 * estimate finite. `rules_silent`: no level had enough items for the rule engine. `person_fit`: one ability doesn't
 * explain a change in the answers.
 */
type ResultFlag = 'needs_review' | 'borderline' | 'ceiling' | 'floor' | 'rules_silent' | 'person_fit';

/** A result with all numbers that are needed to print and recompute it. Abilities are in logits. */
export type ScoredResult = {
  outcome: 'scored';
  subject: Subject;
  published: PublishedLevels;
  isBorderline: boolean;
  needsReview: boolean;
  placement: Placement;
  reconciliation: Reconciliation;
  deciding: DecidingRule;
  irt: {
    placement: Placement;
    prior: Prior;
    theta: number;
    /** The model's standard error, which treats item difficulties as exactly known. */
    se: number;
    calibrationSd: number;
    /** `se` combined with `calibrationSd`. */
    reportedSe: number;
    ci: { low: number; high: number };
    mle: MleEstimate;
    wle: WleEstimate;
    levelProbabilities: Record<string, number>;
  };
  rules: RulePlacement;
  cuts: Cut[];
  tau: number;
  /** The level at which domains are judged: the level met, or the lowest if none is met. */
  domainLevel: Level;
  domains: DomainResult[];
  flags: ResultFlag[];
  personFit: PersonFit;
  counts: Counts;
  versions: { bank: string; irt: string; rules: string; reconciliation: string };
};

/** Thrown if the bank version lacks an item of the responses, or if an item occurs twice in the responses. */
export class ResponseFault extends Error {}

/** @throws BankFault */
export function prepareBank(bank: BankVersion, tau: number = defaultTau): ScoringBank {
  const names = new Set(bank.domains.map((domain) => domain.name));
  const itemsById = new Map<string, ScoredItem>();
  for (const item of bank.items) {
    if (itemsById.has(item.id)) throw new BankFault(`Item ${item.id} is twice in bank version ${bank.version}.`);
    if (item.subject !== bank.subject) throw new BankFault(`Item ${item.id} is not a ${bank.subject} item.`);
    if (!names.has(item.domain))
      throw new BankFault(`Item ${item.id} has the domain "${item.domain}", which the blueprint lacks.`);
    if (!(item.a > 0 && item.c >= 0 && item.c < 1 && Number.isFinite(item.a) && Number.isFinite(item.b))) {
      throw new BankFault(`Item ${item.id} needs a above 0, a finite b, and c from 0 to below 1.`);
    }
    itemsById.set(item.id, item);
  }
  return { bank, cuts: solveCuts(bank.subject, bank.items, tau), tau, itemsById };
}

/**
 * Scores a sitting. The same input gives the same result on every machine, at any time.
 * @throws ResponseFault
 */
export function score(prepared: ScoringBank, responses: readonly ItemResponse[]): ScoredResult | VoidSitting {
  const { bank, cuts, tau } = prepared;
  const answers = scoredAnswers(prepared, responses);
  const counts = countsOf(responses, answers, prepared);
  if (counts.answered < minAnswered) return { outcome: 'void', reason: 'too_few_answers', counts };
  if (counts.domainsAnswered < minDomains) return { outcome: 'void', reason: 'too_few_domains', counts };

  const items = answers.map((answer) => answer.item);
  const scores = answers.map((answer): Response => (answer.right ? 1 : 0));
  const posterior = posteriorOf(items, scores, standardPrior);
  const ability = momentsOf(posterior.theta, posterior.logWeights);
  const reported = widened(ability);
  const ci = confidenceInterval(reported);
  const irtPlacement = placeByIrt(cuts, ability.theta);
  const rules = placeByRules(cuts, answers);
  const reconciliation = reconcile(bank.subject, irtPlacement, rules.placement);
  const deciding = decidingRule(cuts, reconciliation.placement, ability.theta, ci);

  const flags: ResultFlag[] = [];
  if (reconciliation.needsReview) flags.push('needs_review');
  if (deciding.isBorderline) flags.push('borderline');
  if (counts.right === counts.scored) flags.push('ceiling');
  if (counts.right === 0) flags.push('floor');
  if (rules.placement === null) flags.push('rules_silent');
  const fit = personFit(answers);
  if (fit.change === 'better' || fit.change === 'worse') flags.push('person_fit');

  return {
    outcome: 'scored',
    subject: bank.subject,
    published: publishedLevels(bank.subject, reconciliation.placement),
    isBorderline: deciding.isBorderline,
    needsReview: reconciliation.needsReview,
    placement: reconciliation.placement,
    reconciliation,
    deciding,
    irt: {
      placement: irtPlacement,
      prior: { ...standardPrior },
      theta: ability.theta,
      se: ability.sd,
      calibrationSd,
      reportedSe: reported.sd,
      ci,
      mle: mle(items, scores),
      wle: wle(items, scores),
      levelProbabilities: levelProbabilities(bank.subject, cuts, widenedPosterior(posterior)),
    },
    rules,
    cuts: cuts.map((cut) => ({ ...cut })),
    tau,
    ...domainsAt(prepared, reconciliation.placement, answers, ability),
    flags,
    personFit: fit,
    counts,
    versions: { bank: bank.version, ...engineVersions },
  };
}

function domainsAt(
  { bank, cuts }: ScoringBank,
  placement: Placement,
  answers: readonly ScoredAnswer[],
  ability: EapEstimate,
): Pick<ScoredResult, 'domainLevel' | 'domains'> {
  const domainLevel = placement === 'below_entry' ? cuts[0]!.level : placement;
  const names = bank.domains.map((domain) => domain.name);
  const next = cuts[1 + cuts.findIndex(({ level }) => level === placement)]?.level ?? null;
  return {
    domainLevel,
    domains: scoreDomains(names, { level: domainLevel, next, cuts }, bank.items, answers, ability),
  };
}

/** Scores a result's domains again for another placement, from the same answers and the same ability estimate. */
export function judgeDomains(
  prepared: ScoringBank,
  placement: Placement,
  responses: readonly ItemResponse[],
  { irt }: Pick<ScoredResult, 'irt'>,
): ReturnType<typeof domainsAt> {
  return domainsAt(prepared, placement, scoredAnswers(prepared, responses), { theta: irt.theta, sd: irt.se });
}

type PublishedResult = PublishedLevels & {
  is_borderline: boolean;
  needs_review: boolean;
  level_probabilities: Record<string, number>;
  domains: PublishedDomain[];
};

type PublishedDomain = {
  name: string;
  score_pct: number | null;
  status: DomainStatus | null;
  next_level_pct: number | null;
  compared: Compared | null;
  difference: number | null;
  difference_se: number | null;
};

export function publishedResult(result: ScoredResult): PublishedResult {
  return {
    ...result.published,
    is_borderline: result.isBorderline,
    needs_review: result.needsReview,
    level_probabilities: result.irt.levelProbabilities,
    domains: publishedDomains(result.domains),
  };
}

export const publishedDomains = (domains: readonly DomainResult[]): PublishedDomain[] =>
  domains.map(({ name, scorePct, status, nextPct, compared, difference, differenceSe }) => ({
    name,
    score_pct: scorePct,
    status,
    next_level_pct: nextPct,
    compared,
    difference,
    difference_se: differenceSe,
  }));

function scoredAnswers(prepared: ScoringBank, responses: readonly ItemResponse[]): ScoredAnswer[] {
  const seen = new Set<string>();
  const answers: ScoredAnswer[] = [];
  for (const { itemId, outcome } of responses) {
    const item = prepared.itemsById.get(itemId);
    if (!item) throw new ResponseFault(`Item ${itemId} is not in bank version ${prepared.bank.version}.`);
    if (seen.has(itemId)) throw new ResponseFault(`Item ${itemId} was given twice.`);
    seen.add(itemId);
    if (outcome !== 'not_reached') answers.push({ item, right: outcome === 'right', skipped: outcome === 'skipped' });
  }
  return answers;
}

function countsOf(responses: readonly ItemResponse[], answers: readonly ScoredAnswer[], prepared: ScoringBank): Counts {
  const answered = responses.filter(({ outcome }) => outcome === 'right' || outcome === 'wrong');
  return {
    shown: responses.length,
    scored: answers.length,
    answered: answered.length,
    right: answers.filter((answer) => answer.right).length,
    skipped: responses.filter(({ outcome }) => outcome === 'skipped').length,
    notReached: responses.filter(({ outcome }) => outcome === 'not_reached').length,
    domainsAnswered: new Set(answered.map(({ itemId }) => prepared.itemsById.get(itemId)!.domain)).size,
  };
}
