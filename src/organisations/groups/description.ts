import { limits } from '../../platform/config/limits.ts';
import { isStorableText } from '../../platform/validation/personal-data.ts';

/** @returns a sentence for the form; null if the name is valid */
export function groupNameFault(name: string): string | null {
  if (isStorableText(name, limits.groupNameChars)) return null;
  return `Enter a name of 1 to ${limits.groupNameChars} characters, without a National Insurance number.`;
}

/** @returns a sentence for the form; null if the reference is valid */
export function groupRefFault(ref: string): string | null {
  if (isStorableText(ref, limits.groupRefChars)) return null;
  return `Enter a reference of 1 to ${limits.groupRefChars} characters, such as C-2026-01.`;
}
