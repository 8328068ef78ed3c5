import type { TArrayOptions, TSchema, TStringOptions } from 'typebox';
import { isEmailAddress } from './email.ts';
import { faults } from './faults.ts';
import { nameExpected, nameFault } from './person-name.ts';
import { limits } from '../config/limits.ts';
import { holdsNationalInsuranceNumber, isOpaqueRef, isPlainText, refPattern } from './personal-data.ts';
import type { Settings } from '../config/settings.ts';
import { Type } from './type.ts';

/**
 * What a field's schema says in addition to its type. `http/body.ts` validates request bodies with these properties,
 * and OpenAPI omits them.
 */
export type Meaning = {
  /** Completes the message "Send <expected>." */
  expected: string;
  /**
   * Checks a value that the schema accepts, or a text of the right length. False: malformed. A returned text says why the
   * value is not allowed, and may say in a second sentence what to do.
   */
  also?: (value: any, beside: Beside) => boolean | string;
  /** OpenAPI shows these keywords instead of the validating keywords. */
  shown?: Record<string, unknown>;
};

/** A check in `also` may use the fields before its own field, and the operator's settings. */
export type Beside = { fields: Record<string, any>; app: { settings: Settings } };

export const meaningKeys: readonly string[] = ['expected', 'also', 'shown'] satisfies (keyof Meaning)[];

export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

export function line(maxChars: number, description: string) {
  const expected = `text of 1 to ${maxChars} characters on one line`;
  return Type.String({
    minLength: 1,
    maxLength: maxChars,
    description,
    expected,
    also: (value: string) => isPlainText(value, maxChars) && (!holdsNationalInsuranceNumber(value) || faults.number),
  } satisfies Meaning & TStringOptions);
}

export function learnerName() {
  return Type.String({
    minLength: 1,
    maxLength: limits.fullNameChars,
    description: "The learner's full name.",
    expected: nameExpected,
    also: (name: string) => {
      const expected = nameFault(name);
      return expected === null || (expected !== nameExpected && `${faults.notAllowed}. Send ${expected}`);
    },
  } satisfies Meaning & TStringOptions);
}

export function emailAddress() {
  return Type.String({
    maxLength: limits.emailChars,
    expected: 'an email address, such as name@example.org',
    also: (text: string) => isEmailAddress(text) || (holdsNationalInsuranceNumber(text) && faults.number),
    shown: { format: 'email', description: 'Email address that receives the invitation.' },
  } satisfies Meaning & TStringOptions);
}

export const sha256Pattern = '^[0-9a-f]{64}$';

export const learnerRefExpected = `an opaque reference without personal data: 1 to ${limits.learnerRefChars} letters, digits, . _ : / or -, starting with a letter or digit`;

/** Which personal data a reference contains; null: none. */
export const personalFault = (ref: string): string | null =>
  holdsNationalInsuranceNumber(ref) ? faults.number : ref.includes('@') ? 'is an email address' : null;

export function learnerRefs() {
  const ref = Type.String({
    maxLength: limits.learnerRefChars,
    expected: learnerRefExpected,
    also: (one: string) => personalFault(one) ?? isOpaqueRef(one),
  } satisfies Meaning & TStringOptions);
  return Type.Array(ref, {
    minItems: 1,
    maxItems: limits.refsPerRequest,
    description: 'Your own learner references.',
    expected: `a list of 1 to ${limits.refsPerRequest} learner references: letters, digits, . _ : / or -, starting with a letter or digit`,
  } satisfies Meaning & TArrayOptions);
}

export const learnerRefSchema = {
  pattern: refPattern,
  minLength: 1,
  maxLength: limits.learnerRefChars,
};

export const yesOrNo = (text: string | null): boolean | null => (text === 'yes' ? true : text === 'no' ? false : null);
