import type { Uniform } from '../../platform/crypto/random.ts';
import { information } from '../../engine/scoring/irt.ts';
import type { Choice, SittingState } from './selection-state.ts';
import { domainNeeds } from './selection-state.ts';
import type { BestOfChoice, DeliverySettings } from './settings.ts';

/**
 * The choice of sittings that began before content was controlled: the domain furthest below its share (Kingsbury &
 * Zara 1989, Applied Measurement in Education 2(4)), then one of its most informative items, drawn. Sittings under way
 * go on by it, and stored ones are replayed by it.
 */
export function chooseBestOf(
  state: SittingState,
  settings: DeliverySettings & BestOfChoice,
  random: Uniform,
): Choice | null {
  const { pool, ability } = state;
  const total = state.given.length;
  const allowed = pool.itemsByDomain.map((items) => items.filter((i) => isAllowed(state, settings, i)));
  const domains = domainNeeds(
    state,
    allowed.map((items) => items.length),
  );
  let open = domains.flatMap((domain, d) => (domain.available > 0 ? [d] : []));
  if (open.length === 0) return null;
  // The minimum in each domain outranks the shares once only just enough items are left before the sitting may stop.
  const short = open.filter((d) => domains[d]!.given < settings.minPerDomain);
  const owed = short.reduce((sum, d) => sum + settings.minPerDomain - domains[d]!.given, 0);
  if (owed > 0 && Math.min(settings.minItems, settings.maxItems) - total <= owed) open = short;

  const draws: number[] = [];
  const draw = (count: number): number => {
    const value = random.float();
    draws.push(value);
    return Math.floor(value * count);
  };
  const max = Math.max(...open.map((d) => domains[d]!.need));
  const neediest = open.filter((d) => domains[d]!.need >= max - tie);
  const domain = neediest.length === 1 ? neediest[0]! : neediest[draw(neediest.length)]!;
  const candidates = bestOf(state, settings, allowed[domain]!);
  const chosen = candidates[draw(candidates.length)]!;
  return {
    kind: 'item',
    position: total + 1,
    theta: ability.theta,
    se: ability.sd,
    domains,
    domain: domains[domain]!.name,
    candidates,
    draws,
    itemId: chosen.itemId,
  };
}

const tie = 1e-12;

function isAllowed({ pool, blocked, perPassage }: SittingState, { maxPerPassage }: BestOfChoice, i: number): boolean {
  if (blocked[i]) return false;
  const passage = pool.passageOfItem[i]!;
  return passage < 0 || perPassage[passage]! < maxPerPassage;
}

function bestOf({ pool, ability, given }: SittingState, settings: BestOfChoice, indices: readonly number[]) {
  const { items } = pool.bank;
  const rated = indices.map((i) => ({ itemId: items[i]!.id, information: information(items[i]!, ability.theta) }));
  // The sort is stable, so equal information keeps the bank's order and the choice stays reproducible.
  rated.sort((x, y) => y.information - x.information);
  return rated.slice(0, given.length < settings.earlyItems ? settings.earlyBestOf : settings.bestOf);
}
