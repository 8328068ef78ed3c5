import type { TextKey } from './schema.ts';

/**
 * The form in which two texts are compared: Unicode NFC, straight quotes, one kind of hyphen, single spaces, no invisible
 * characters. Letters, accents and punctuation stay: a spelling is right or wrong exactly.
 */
export function comparable(text: string, key: Omit<TextKey, 'accept'>): string {
  let out = text
    .normalize('NFC')
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/gu, '')
    .replace(/[\u2018\u2019\u201a\u201b\u02bc\u2032\u0060\u00b4\uff07]/gu, "'")
    .replace(/[\u201c\u201d\u201e\u201f\u2033\uff02]/gu, '"')
    .replace(/[\u2010\u2011]/gu, '-')
    .replace(/\u2026/gu, '...')
    .replace(/\s+/gu, key.ignore_spaces ? '' : ' ')
    .trim();
  if (key.ignore_final_stop) out = out.replace(/ ?\.$/u, '');
  return key.case_sensitive ? out : out.toLowerCase();
}

export function textMatches(text: string, key: TextKey): boolean {
  const given = comparable(text, key);
  return given !== '' && key.accept.some((accepted) => comparable(accepted, key) === given);
}
