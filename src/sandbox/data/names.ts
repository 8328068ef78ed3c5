import names from './names.json' with { type: 'json' };

/** The script that a stock of names is written in; the property value that `\p{Script=…}` takes, Japanese excepted. */
export type NameScript =
  | 'Latin'
  | 'Arabic'
  | 'Hebrew'
  | 'Greek'
  | 'Cyrillic'
  | 'Devanagari'
  | 'Bengali'
  | 'Gurmukhi'
  | 'Tamil'
  | 'Ethiopic'
  | 'Thai'
  | 'Han'
  | 'Japanese'
  | 'Hangul';

/** Names of one origin as a provider's register contains them. */
export type NameStock = {
  script: NameScript;
  /** Relative frequency among learners. */
  weight: number;
  women: readonly string[];
  men: readonly string[];
  families: readonly string[];
  /** Present if a woman's family name has a form of its own; same order and length as `families`. */
  familiesOfWomen?: readonly string[];
  /** How given name (g) and family name (f) are written together. */
  form: 'g f' | 'f g' | 'fg' | 'g g f';
};

/**
 * Weights add up to about 1,100. A tenth of it is in scripts other than Latin, as at a provider with many ESOL learners.
 */
export const nameStocks = names.stocks as readonly NameStock[];

/** People who are registered with one name only. */
export const singleNames: readonly string[] = names.single;
