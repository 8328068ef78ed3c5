/** An exact fraction, so that the rounding of binary numbers never decides a mark. The denominator is positive. */
export type Fraction = { n: bigint; d: bigint };

type Written = {
  value: Fraction;
  form: 'whole' | 'decimal' | 'fraction' | 'mixed';
  lowestTerms: boolean;
};

const gcd = (a: bigint, b: bigint): bigint => (b === 0n ? (a < 0n ? -a : a) : gcd(b, a % b));

export function difference(a: Fraction, b: Fraction): Fraction {
  const n = a.n * b.d - b.n * a.d;
  return { n: n < 0n ? -n : n, d: a.d * b.d };
}

export function atMost(a: Fraction, b: Fraction): boolean {
  return a.n * b.d <= b.n * a.d;
}

/** Reads a key's value or tolerance. Throws a RangeError for forms that the schema doesn't allow. */
export function fractionOf(text: string): Fraction {
  const read = readPlain(text);
  if (!read) throw new RangeError(`not a number: ${text}`);
  return read.value;
}

/** Replaces variants of spaces, minus signs, fraction characters and digits, so that one pattern reads all of them. */
export function plainSigns(text: string): string {
  return text
    .replace(/[½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅐⅛⅜⅝⅞⅑⅒]/gu, ' $&')
    .normalize('NFKC')
    .replace(/[\u200b-\u200f\u2060\ufeff\u00ad]/gu, '')
    .replace(/[\u2010-\u2015\u2212\ufe63]/gu, '-')
    .replace(/[\u2044\u2215]/gu, '/')
    .replace(/\s+/gu, ' ')
    .trim();
}

/**
 * Reads a number without a unit: `12`, `-3.5`, `.5`, `1,234`, `1 234`, `3/4` or `1 3/4`. Returns null for other texts.
 */
export function readPlain(text: string): Written | null {
  const signed = /^([+-]?) ?(.*)$/u.exec(text)!;
  const sign = signed[1] === '-' ? -1n : 1n;
  const body = signed[2]!;

  const fraction = /^(?:(\d{1,12}) )?(\d{1,12}) ?\/ ?(\d{1,12})$/u.exec(body);
  if (fraction) {
    const n = BigInt(fraction[2]!);
    const d = BigInt(fraction[3]!);
    if (d === 0n) return null;
    const whole = fraction[1];
    const lowestTerms = gcd(n, d) === 1n && (whole === undefined || n < d) && d > 1n;
    const value = { n: sign * (BigInt(whole ?? '0') * d + n), d };
    return { value, form: whole === undefined ? 'fraction' : 'mixed', lowestTerms };
  }

  const grouped = /^\d{1,3}(?:,\d{3})+(?:\.\d*)?$/u.test(body) || /^\d{1,3}(?: \d{3})+(?:\.\d*)?$/u.test(body);
  const digits = grouped ? body.replace(/[, ]/gu, '') : body;
  const decimal = /^(\d*)(?:\.(\d*))?$/u.exec(digits);
  if (!decimal || !/\d/u.test(digits)) return null;
  const places = (decimal[2] ?? '').replace(/(?<!0)0+$/u, '');
  const value = { n: sign * BigInt(`${decimal[1]!}${places}` || '0'), d: 10n ** BigInt(places.length) };
  return { value, form: places === '' ? 'whole' : 'decimal', lowestTerms: true };
}
