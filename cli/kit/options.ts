import { isEmailAddress } from '../../src/platform/validation/email.ts';
import { parseLowerBound } from '../../src/feed/time.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { isStorableText } from '../../src/platform/validation/personal-data.ts';
import { isUuid } from '../../src/platform/crypto/random.ts';
import { type Option, Misuse } from './command.ts';

/** The types of options that commands declare. The value of an absent option is undefined. */

export const flag: Option<boolean> = { read: (raw) => raw === true };

/** @param read returns undefined for text that is not allowed, or throws a RangeError that says what is expected */
export function parsed<T>(
  value: string,
  expected: string,
  read: (text: string) => T | undefined,
): Option<T | undefined> {
  return {
    value,
    read(raw, name) {
      if (typeof raw !== 'string') return undefined;
      try {
        const found = read(raw);
        if (found === undefined) throw new RangeError(`must be ${expected}`);
        return found;
      } catch (error) {
        throw error instanceof RangeError ? new Misuse(`${name} ${error.message}`) : error;
      }
    },
  };
}

export const text = (value: string): Option<string | undefined> => parsed(value, '', (input) => input);

export const checked = (value: string, expected: string, isValid: (input: string) => boolean) =>
  parsed(value, expected, (input) => (isValid(input) ? input : undefined));

export function required<T>(option: Option<T>): Option<NonNullable<T>> {
  return {
    ...option,
    isRequired: true,
    read(raw, name) {
      if (raw === undefined || raw === '') throw new Misuse(`${name} is required`);
      return option.read(raw, name)!;
    },
  };
}

export const or = <T, F>(option: Option<T>, fallback: F): Option<Exclude<T, undefined> | F> => ({
  ...option,
  ...(typeof fallback === 'string' || (typeof fallback === 'number' && fallback < 1e9)
    ? { fallback: String(fallback) }
    : {}),
  read: (raw, name) => (raw === undefined ? fallback : (option.read(raw, name) as Exclude<T, undefined>)),
});

/** Reads empty text as null, which removes the stored value. */
export const orEmpty = <T>(option: Option<T>): Option<T | null> => ({
  ...option,
  read: (raw, name) => (raw === '' ? null : option.read(raw, name)),
});

export const word = <const T extends string>(allowed: readonly T[], value = allowed.join('|')): Option<T | undefined> =>
  parsed(value, `one of ${allowed.join(', ')}`, (input) => allowed.find((one) => one === input));

export const words = <T extends string>(value: string, allowed: readonly T[], expected: string) =>
  parsed(value, expected, (input): T[] | undefined => {
    const all = [...new Set(input.split(',').map((one) => one.trim()))];
    return all.every((one): one is T => (allowed as readonly string[]).includes(one)) ? all : undefined;
  });

export const onOff = parsed('on|off', 'on or off', (input) => ({ on: true, off: false })[input]);

export const count = (min: number, max: number, value = 'N'): Option<number | undefined> =>
  parsed(value, `a whole number from ${min} to ${max}`, (input) =>
    /^\d+$/.test(input) && Number(input) >= min && Number(input) <= max ? Number(input) : undefined,
  );

export const limit = (usual: number, max: number): Option<number> => or(count(1, max), usual);

const timeExpected = 'a day or a date-time with a zone, such as 2026-01-31 or 2026-01-31T09:00:00Z';

/** Microseconds since 1970. A day starts at midnight UTC. */
export const position = (value: string): Option<number | undefined> =>
  parsed(
    value,
    timeExpected,
    (input) => parseLowerBound(/^\d{4}-\d\d-\d\d$/.test(input) ? `${input}T00:00:00Z` : input) ?? undefined,
  );

export const time = (value = 'TIME'): Option<Date | undefined> => ({
  value,
  read(raw, name) {
    const us = position(value).read(raw, name);
    return us === undefined ? undefined : new Date(us / 1000);
  },
});

export const uuid = (value = 'ID'): Option<string | undefined> =>
  parsed(value, 'a UUID', (input) => (isUuid(input) ? input.toLowerCase() : undefined));

export const email = (value: string, example = 'name@example.org'): Option<string | undefined> =>
  checked(value, `an email address, such as ${example}`, isEmailAddress);

export const line = (value: string, maxChars: number): Option<string | undefined> =>
  checked(value, `text of 1 to ${maxChars} characters on one line without a National Insurance number`, (input) =>
    isStorableText(input, maxChars),
  );

export const maybeReason = line('R', limits.reasonChars);
export const reason = required(maybeReason);

/** A list: the option may repeat, and each value may contain several parts with commas between them. */
export const several = (value: string): Option<string[]> => ({
  value,
  isMany: true,
  read: (raw) =>
    [raw ?? []].flat().flatMap((one) =>
      String(one)
        .split(',')
        .map((part) => part.trim()),
    ),
});

export const sortKey = <T extends string>(keys: readonly T[]) =>
  parsed('KEY', `one of ${keys.join(', ')}, with - in front for the other way round`, (input) => {
    const by = keys.find((one) => one === input.replace(/^-/, ''));
    return by === undefined ? undefined : { by, descending: input.startsWith('-') };
  });
