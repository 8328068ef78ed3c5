import { limits } from './limits.ts';

/**
 * A National Insurance number anywhere in a text: two letters, six digits, a letter A to D, with or without spaces,
 * dashes or dots between them, in any case and width. Every two letters count, not only the prefixes that are issued:
 * refusing too much costs a clear message, storing one breaks the contract (api-spec.md, What the service does, 7).
 */
const nationalInsuranceNumber =
  /(?<![\p{L}\p{N}])[A-Z][\s\p{Pd}._/]*[A-Z](?:[\s\p{Pd}._/]*[0-9]){6}[\s\p{Pd}._/]*[A-D](?![\p{L}\p{N}])/iu;

export function holdsNationalInsuranceNumber(text: string): boolean {
  return nationalInsuranceNumber.test(text.normalize('NFKC').replace(/\p{Cf}/gu, ''));
}

const opaqueRef = /^[A-Za-z0-9][A-Za-z0-9._:/-]*$/;

/** True for a reference in the specification's pattern that isn't shaped like a National Insurance number. */
export function isOpaqueRef(text: string): boolean {
  return text.length <= limits.learnerRefChars && opaqueRef.test(text) && !holdsNationalInsuranceNumber(text);
}

function letters(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '');
}

/** True when the reference is the learner's own name: the same letters, whatever stands between them. */
export function isNameOf(ref: string, fullName: string): boolean {
  const name = letters(fullName);
  return name !== '' && letters(ref) === name;
}

/** True for text that can be stored and shown on one line: not blank or invisible, no control characters, no lone surrogates. */
export function isPlainText(text: string, mostChars: number): boolean {
  return (
    !/^[\s\p{Default_Ignorable_Code_Point}]*$/u.test(text) &&
    [...text].length <= mostChars &&
    text.isWellFormed() &&
    !/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text)
  );
}
