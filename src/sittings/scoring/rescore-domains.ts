import type { App } from '../../platform/app.ts';
import type { Placement } from '../../engine/scoring/levels.ts';
import { judgeDomains, publishedDomains, type ScoredResult } from '../../engine/scoring/score.ts';
import { banksOf } from './banks.ts';
import { findItems, findSittingOfResult, scoredResponses } from '../store.ts';

type Judged = ReturnType<typeof judgeDomains>;
type Shown = readonly { name: string; score_pct: number | null; status: string | null }[];

/** Older results have no comparisons, so only the scores are compared. */
const scoresOf = (domains: Shown) => JSON.stringify(domains.map((one) => [one.name, one.score_pct, one.status]));
const sameAs = (shown: Shown, { domains }: Pick<Judged, 'domains'>): boolean =>
  scoresOf(shown) === scoresOf(publishedDomains(domains));

/**
 * Scores the domains of a sitting's result again for another placement.
 * @param shown the domains that the result has at the placement `from`
 * @returns null if the result has no sitting, or if a person amended its domains, which then stay as they are
 */
export async function judgeDomainsAgain(
  app: App,
  organisationId: number,
  assessmentId: string,
  shown: Shown,
  { from, to }: { from: Placement | undefined; to: Placement },
): Promise<Judged | null> {
  const sitting = await findSittingOfResult(app.db, organisationId, assessmentId);
  if (sitting === undefined || sitting.result === null) return null;
  const { scoring } = await banksOf(app).version(app.db, sitting.bank_version);
  const responses = scoredResponses(await findItems(app.db, sitting));
  const result = JSON.parse(sitting.result) as ScoredResult;
  const judge = (placement: Placement) => judgeDomains(scoring[sitting.subject], placement, responses, result);
  // An earlier review may have set the placement `from`, with the domains that belong to it.
  const isUntouched = sameAs(shown, result) || (from !== undefined && sameAs(shown, judge(from)));
  return isUntouched ? judge(to) : null;
}
