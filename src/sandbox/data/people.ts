import { pick } from '../../platform/crypto/random.ts';
import type { Random } from '../../platform/crypto/random.ts';
import { nameStocks, singleNames } from './names.ts';
import type { NameStock } from './names.ts';

/** Shares of unusual names among all learners. */
const singleNameShare = 0.012;
const veryLongShare = 0.004;
const decomposedShare = 0.04;
const doubleBarrelledShare = 0.05;
const middleNameShare = 0.12;

const totalWeight = nameStocks.reduce((sum, stock) => sum + stock.weight, 0);
const latinStocks = nameStocks.filter((stock) => stock.script === 'Latin');

function pickStock(random: Random): NameStock {
  let left = random.float() * totalWeight;
  for (const stock of nameStocks) {
    left -= stock.weight;
    if (left < 0) return stock;
  }
  return nameStocks[0]!;
}

function withAnother(random: Random, name: string, list: readonly string[], separator: string): string {
  const other = pick(random, list);
  return other === name ? name : `${name}${separator}${other}`;
}

function join(form: NameStock['form'], given: string, family: string): string {
  switch (form) {
    case 'f g':
      return `${family} ${given}`;
    case 'fg':
      return `${family}${given}`;
    default:
      return `${given} ${family}`;
  }
}

/** Such names exist, and tables, pages and PDFs must show them. */
function veryLongName(random: Random): string {
  const stock = pick(random, latinStocks);
  const given = random.float() < 0.5 ? stock.women : stock.men;
  const parts: string[] = [];
  for (let i = 0; i < 4; i += 1) parts.push(pick(random, given));
  for (let i = 0; i < 5; i += 1) parts.push(pick(random, stock.families));
  return parts.join(' ');
}

function ordinaryName(random: Random): string {
  const stock = pickStock(random);
  const woman = random.float() < 0.56;
  const givens = woman ? stock.women : stock.men;
  const families = woman ? (stock.familiesOfWomen ?? stock.families) : stock.families;
  let given = pick(random, givens);
  let family = pick(random, families);
  const shape = random.float();
  if (stock.form === 'g g f') {
    // The father's given name is between the learner's own and the grandfather's.
    given = withAnother(random, given, stock.men, ' ');
  } else if (stock.script === 'Latin' && stock.form === 'g f') {
    if (shape < doubleBarrelledShare) family = withAnother(random, family, families, '-');
    else if (shape < doubleBarrelledShare + middleNameShare) given = withAnother(random, given, givens, ' ');
  }
  return join(stock.form, given, family);
}

/**
 * A plausible name of a UK learner, mostly in Latin script: apostrophes, hyphens, single names, long names, and
 * combining marks (some names are in decomposed form). At most 200 characters, without surplus spaces.
 */
export function fullName(random: Random): string {
  const shape = random.float();
  if (shape < singleNameShare) return pick(random, singleNames);
  const name = shape < singleNameShare + veryLongShare ? veryLongName(random) : ordinaryName(random);
  return random.float() < decomposedShare ? name.normalize('NFD') : name;
}
