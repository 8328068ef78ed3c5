import names from './names.json' with { type: 'json' };

/** Values of `\p{Script=…}`, except Japanese. */
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

export type NameStock = {
  script: NameScript;
  /** Relative frequency among learners. */
  weight: number;
  women: readonly string[];
  men: readonly string[];
  families: readonly string[];
  /** Feminine forms, in the order of `families`. */
  familiesOfWomen?: readonly string[];
  /** How given name (g) and family name (f) are written together. */
  form: 'g f' | 'f g' | 'fg' | 'g g f';
};

/** The weights sum to about 1,100. A tenth of the names is in other scripts than Latin. */
export const nameStocks = names.stocks as readonly NameStock[];

export const singleNames: readonly string[] = names.single;
