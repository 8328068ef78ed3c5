import { limits } from '../../platform/config/limits.ts';
import { isStorableText } from '../../platform/validation/personal-data.ts';

/** @returns what is wrong with it as a sentence, or null */
export function groupNameFault(name: string): string | null {
  if (isStorableText(name, limits.groupNameChars)) return null;
  return `Enter a name of 1 to ${limits.groupNameChars} characters, without a National Insurance number.`;
}

/** The reference by which a client knows the group, unique within its type. @returns what is wrong with it, or null */
export function groupRefFault(ref: string): string | null {
  if (isStorableText(ref, limits.groupRefChars)) return null;
  return `Enter a reference of 1 to ${limits.groupRefChars} characters, such as C-2026-01.`;
}
