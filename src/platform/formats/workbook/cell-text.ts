/** The texts of numbers and dates, as a spreadsheet program shows them. */

const two = (value: number) => String(value).padStart(2, '0');

/** `shown`: 31/01/2026 09:30, without midnight. `local`: 2026-01-31T09:30:00. Neither has a time zone. */
export type DateForm = 'shown' | 'local';

/** @param ms the clock time, as if it were UTC */
export function momentText(ms: number, form: DateForm): string {
  const at = new Date(Math.round(ms / 1000) * 1000);
  if (Number.isNaN(at.getTime())) return '#VALUE!';
  const iso = at.toISOString().slice(0, 19);
  if (form === 'local') return iso;
  const seconds = at.getUTCSeconds() === 0 ? '' : `:${two(at.getUTCSeconds())}`;
  const time = ms % 86_400_000 === 0 ? '' : ` ${iso.slice(11, 16)}${seconds}`;
  return `${iso.slice(8, 10)}/${iso.slice(5, 7)}/${iso.slice(0, 4)}${time}`;
}

/** Reads the date or date-time in a file, such as 2026-01-31 or 2026-01-31T09:30:00. Null for another text. */
export function isoText(text: string, form: DateForm): string | null {
  const ms = Date.parse(`${text.length === 10 ? `${text}T00:00:00` : text.slice(0, 19)}Z`);
  return Number.isNaN(ms) ? null : momentText(ms, form);
}

/** A number without the noise of binary fractions, and never with an exponent up to 21 digits. */
export const plainNumber = (value: number): string => String(Number(value.toPrecision(15)));

export const percentText = (value: number): string => `${plainNumber(value * 100)}%`;

/** The number formats of ECMA-376 that no styles part defines, as far as their texts differ from a plain number. */
const builtIn = new Map<number, string>([
  [9, '0%'],
  [10, '0.00%'],
  ...[14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58].map((id) => [id, 'd'] as const),
  ...[18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47].map((id) => [id, 'h:mm'] as const),
]);

export const formatOf = (id: number, custom: ReadonlyMap<number, string>): string =>
  custom.get(id) ?? builtIn.get(id) ?? 'General';

type Part = { literal: string } | { sign: string };

/** The first section of a number format: literals, and signs with a meaning. */
function partsOf(format: string): Part[] {
  const parts: Part[] = [];
  for (const [token] of format.matchAll(/"[^"]*"|\[[^[\]]*\]|[\\_*].|./gsu)) {
    if (token === ';') break;
    if (token.startsWith('"')) parts.push({ literal: token.slice(1, -1) });
    else if (token.startsWith('\\')) parts.push({ literal: token.slice(1) });
    else if (/^[-+ ():]$/.test(token)) parts.push({ literal: token });
    else if (token.startsWith('[') ? /^\[[hms]+\]$/i.test(token) : !/^[_*]./.test(token)) parts.push({ sign: token });
  }
  return parts;
}

const daysTo1970 = 25_569;
const dayMs = 86_400_000;

/** Writes digits into a format such as `00000` or `"L-"000`. Null if the format has other signs. */
function paddedText(value: number, parts: readonly Part[]): string | null {
  const signs = parts.flatMap((part) => ('sign' in part ? part.sign : []));
  if (!Number.isSafeInteger(value) || value < 0 || signs.length === 0 || !signs.every((sign) => /^[0#]$/.test(sign)))
    return null;
  let digits = String(value);
  let left = signs.length;
  let text = '';
  for (const part of parts.toReversed()) {
    if ('literal' in part) text = part.literal + text;
    else {
      left--;
      const taken = left === 0 ? digits : digits.slice(-1);
      digits = digits.slice(0, digits.length - taken.length);
      text = (taken === '' && part.sign === '0' ? '0' : taken) + text;
    }
  }
  return text;
}

/** The text of a number in a cell of an XLSX workbook. */
export function numberText(value: number, format: string, is1904: boolean, form: DateForm): string {
  if (format === 'General') return plainNumber(value);
  const parts = partsOf(format);
  const signs = parts.flatMap((part) => ('sign' in part ? part.sign.toLowerCase() : '')).join('');
  if (signs === 'general' || signs === '@') return plainNumber(value);
  if (/[dymhs]/.test(signs)) {
    if (value >= 0 && value < 1 && !/[dy]/.test(signs)) return momentText(value * dayMs, 'local').slice(11, 16);
    // Workbooks count a day 29 February 1900, which did not exist.
    const days = is1904 ? value + 1462 : value < 60 ? value + 1 : value;
    return momentText((days - daysTo1970) * dayMs, form);
  }
  if (signs.includes('%')) return percentText(value);
  return paddedText(value, parts) ?? plainNumber(value);
}
