import type { CheckedBank, Finding } from './finding.ts';
import { error } from './finding.ts';
import type { RenderedItem } from '../../../src/engine/item-bank/schema.ts';
import { shownTexts } from '../../../src/engine/item-bank/reading-load.ts';
import { isUsed } from './statements.ts';

/**
 * Facts that change with the year. Update this table first each year: the check then names every item and seed that is
 * out of date.
 */
const factsOf = {
  year: 2026,
  /** The National Living Wage in pence an hour, for adults. */
  livingWage: 1271,
  /** The price range of a thing in pence. The range fits any shop, but excludes errors such as a £40 sofa. */
  prices: {
    stamp: [85, 400],
    sofa: [15_000, 200_000],
    cooker: [20_000, 150_000],
    laptop: [20_000, 200_000],
    'washing machine': [20_000, 100_000],
    mattress: [10_000, 150_000],
    carpet: [5_000, 200_000],
    bike: [10_000, 300_000],
    coat: [1_000, 60_000],
    suitcase: [2_000, 60_000],
    guitar: [4_000, 200_000],
    rug: [2_000, 80_000],
    tent: [3_000, 80_000],
    loaf: [70, 500],
    sandwich: [150, 1_200],
    coffee: [100, 3_000],
    newspaper: [50, 500],
    car: [100_000, 6_000_000],
    van: [300_000, 8_000_000],
  } as Record<string, readonly [min: number, max: number]>,
  /** Things that no longer exist or now have another meaning. */
  dated: /\b(?:padlock|floppy disk|fax machine|dial-up|cheque book|phone box|DVD|video recorder)\b/iu,
};

const pence = (amount: string): number =>
  amount.startsWith('£') ? Math.round(Number(amount.slice(1).replace(/,/gu, '')) * 100) : Number(amount.slice(0, -1));
const amounts = (text: string): number[] =>
  (text.match(/£\d[\d,]*(?:\.\d\d)?|\b\d+p\b/gu) ?? []).map((found) => pence(found.replace(/,$/u, '')));

/** Matches pay, but not the price of parking or of a room. */
const wage = /£(\d+(?:\.\d\d)?) (?:an|per|for (?:each|one)) hour/u;
const isPay = /\b(?:earns?|pay is|pay of|paid|wages?|works?)\b/iu;
const isPrice = /\b(?:park|hire|hires|room|court|charge|rent)\b/iu;

function* factFaults(item: RenderedItem): Generator<string> {
  const texts = shownTexts(item);
  const all = texts.join(' ');
  const hourly = wage.exec(all);
  if (hourly && isPay.test(all) && !isPrice.test(all) && pence(`£${hourly[1]}`) < factsOf.livingWage)
    yield `pays £${hourly[1]} an hour, below the National Living Wage of ${factsOf.year}`;
  for (const sentence of texts.flatMap((text) => text.split(/(?<=[.?!]) /u))) {
    const dated = factsOf.dated.exec(sentence);
    if (dated) yield `names something dated (${dated[0]})`;
    const costs = amounts(sentence);
    if (costs.length !== 1) continue;
    for (const [thing, [min, max]] of Object.entries(factsOf.prices)) {
      if (
        !new RegExp(`\\b(?:an?|the|new|second-hand|one) ${thing} (?:costs?|is|for|in a sale)\\b`, 'iu').test(sentence)
      )
        continue;
      if (costs[0]! < min || costs[0]! > max) yield `has a ${thing} for £${(costs[0]! / 100).toFixed(2)}`;
    }
  }
}

/** Finds statements that contradict these facts. For a template, `item` is the rendering of each of many seeds. */
export function factsOfItem(item: RenderedItem): string[] {
  return [...new Set(factFaults(item))];
}

export function factFindings(bank: CheckedBank): Finding[] {
  return bank.shown
    .filter(({ item }) => isUsed(item))
    .flatMap(({ item, rendered }) => factsOfItem(rendered).map((fault) => error('facts', item.id, fault)));
}
