import type { EapEstimate } from '../../engine/scoring/irt.ts';
import type { DeliveryPool } from './pool.ts';

/** Why the next item is the next item: enough to check the choice by hand and to replay it. */
export type Choice = {
  kind: 'item';
  /** 1 for the first item. */
  position: number;
  theta: number;
  se: number;
  /** Where the choice aims, if not at the estimate itself: the first questions are easier. */
  target?: number;
  /** `need` is the blueprint share less the share so far; `available` counts the items that could still be given. */
  domains: { name: string; share: number; given: number; need: number; available: number }[];
  domain: string;
  /**
   * The items that it was chosen among, the first one first, with their information at `theta` (at `target`, where
   * there is one): the best of the domain, or those that the rest of the test has of the domain or the text.
   */
  candidates: { itemId: string; information: number }[];
  /** The uniform draws used, in order; none where all chance was drawn when the sitting began. */
  draws: number[];
  itemId: string;
};

/** What a choice goes by. */
export type SittingState = {
  pool: DeliveryPool;
  ability: EapEstimate;
  /** Indices of the items that count, in order. */
  given: readonly number[];
  /** 1 for items that can't be given: shown already, withheld, or an enemy of one that was shown. */
  blocked: Uint8Array;
  perDomain: readonly number[];
  /** Questions shown on each text. */
  perPassage: Int16Array;
};

/** How far each domain is from its share. */
export function domainNeeds({ pool, given, perDomain }: SittingState, available: readonly number[]): Choice['domains'] {
  const total = given.length;
  return pool.bank.domains.map(({ name, share }, d) => {
    const own = perDomain[d]!;
    return { name, share, given: own, need: share - (total === 0 ? 0 : own / total), available: available[d]! };
  });
}
