import { limits } from '../limits.ts';
import { holdsNationalInsuranceNumber, isPlainText } from '../personal-data.ts';

const isLine = (text: string, most: number) => isPlainText(text, most) && !holdsNationalInsuranceNumber(text);

/** @returns what is wrong with it as a sentence, or null */
export function groupNameFault(name: string): string | null {
  if (isLine(name, limits.groupNameChars)) return null;
  return `Enter a name of 1 to ${limits.groupNameChars} characters, without a National Insurance number.`;
}

/** The reference by which a client knows the group, unique within its type. @returns what is wrong with it, or null */
export function groupRefFault(ref: string): string | null {
  if (isLine(ref, limits.groupRefChars)) return null;
  return `Enter a reference of 1 to ${limits.groupRefChars} characters, such as C-2026-01.`;
}
