import { pick, type Random } from '../../platform/crypto/random.ts';
import names from './names.json' with { type: 'json' };

type NameStock = {
  /** The names' script: a value of `\p{Script=…}`, or Japanese. */
  script: string;
  /** Relative frequency among learners. */
  weight: number;
  women: readonly string[];
  men: readonly string[];
  families: readonly string[];
  /** The feminine forms of `families`, in the same order. */
  familiesOfWomen?: readonly string[];
  /** How given name (g) and family name (f) are combined. */
  form: 'g f' | 'f g' | 'fg' | 'g g f';
};

/** The weights sum to about 1,100. A tenth of all names are in scripts other than Latin. */
export const nameStocks = names.stocks as readonly NameStock[];

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

/** A name with nine parts. Such names exist, so tables, pages and PDFs must show them. */
function veryLongName(random: Random): string {
  const stock = pick(random, latinStocks);
  const firstNames = random.float() < 0.5 ? stock.women : stock.men;
  const parts: string[] = [];
  for (let i = 0; i < 4; i += 1) parts.push(pick(random, firstNames));
  for (let i = 0; i < 5; i += 1) parts.push(pick(random, stock.families));
  return parts.join(' ');
}

function ordinaryName(random: Random): string {
  const stock = pickStock(random);
  const woman = random.float() < 0.56;
  const firstNames = woman ? stock.women : stock.men;
  const families = woman ? (stock.familiesOfWomen ?? stock.families) : stock.families;
  let firstName = pick(random, firstNames);
  let family = pick(random, families);
  const shape = random.float();
  if (stock.form === 'g g f') {
    // The father's given name follows the learner's given name; the grandfather's name comes last.
    firstName = withAnother(random, firstName, stock.men, ' ');
  } else if (stock.script === 'Latin' && stock.form === 'g f') {
    if (shape < doubleBarrelledShare) family = withAnother(random, family, families, '-');
    else if (shape < doubleBarrelledShare + middleNameShare)
      firstName = withAnother(random, firstName, firstNames, ' ');
  }
  if (stock.form === 'fg') return `${family}${firstName}`;
  return stock.form === 'f g' ? `${family} ${firstName}` : `${firstName} ${family}`;
}

/**
 * A plausible name of a UK learner, with at most 200 characters and no surplus spaces. Some names are single, very long
 * or in decomposed form, and some contain apostrophes, hyphens or combining marks.
 */
export function fullName(random: Random): string {
  const shape = random.float();
  if (shape < singleNameShare) return pick(random, names.single);
  const name = shape < singleNameShare + veryLongShare ? veryLongName(random) : ordinaryName(random);
  return random.float() < decomposedShare ? name.normalize('NFD') : name;
}
