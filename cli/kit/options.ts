import { isEmailAddress } from '../../src/platform/validation/email.ts';
import { parseLowerBound } from '../../src/feed/time.ts';
import { limits } from '../../src/platform/config/limits.ts';
import { isStorableText } from '../../src/platform/validation/personal-data.ts';
import { isUuid } from '../../src/platform/crypto/random.ts';
import type { Option } from './command.ts';
import { Misuse } from './command.ts';

/** The kinds of options. An option that is not given is undefined. */

/** On or absent. */
export const flag: Option<boolean> = { read: (given) => given === true };

/** @param read returns undefined where the text is not what is expected, or throws a RangeError that says what it must be */
export function parsed<T>(
  value: string,
  expected: string,
  read: (text: string) => T | undefined,
): Option<T | undefined> {
  return {
    value,
    read(given, name) {
      if (typeof given !== 'string') return undefined;
      try {
        const found = read(given);
        if (found === undefined) throw new RangeError(`must be ${expected}`);
        return found;
      } catch (error) {
        throw error instanceof RangeError ? new Misuse(`${name} ${error.message}`) : error;
      }
    },
  };
}

/** Any text. */
export const text = (value: string): Option<string | undefined> => parsed(value, '', (given) => given);

/** The option must be given, and not be empty. */
export function required<T>(option: Option<T>): Option<NonNullable<T>> {
  return {
    ...option,
    isRequired: true,
    read(given, name) {
      if (given === undefined || given === '') throw new Misuse(`${name} is required`);
      return option.read(given, name)!;
    },
  };
}

/** The value of an option that is not given. */
export const or = <T, F>(option: Option<T>, fallback: F): Option<Exclude<T, undefined> | F> => ({
  ...option,
  read: (given, name) => (given === undefined ? fallback : (option.read(given, name) as Exclude<T, undefined>)),
});

/** An empty text stands for null: what there is is removed. */
export const orEmpty = <T>(option: Option<T>): Option<T | null> => ({
  ...option,
  read: (given, name) => (given === '' ? null : option.read(given, name)),
});

/** One of a few words. */
export const word = <const T extends string>(known: readonly T[], value = known.join('|')): Option<T | undefined> =>
  parsed(value, `one of ${known.join(', ')}`, (given) => known.find((one) => one === given));

/** Words with commas between. */
export const words = <T extends string>(value: string, known: readonly T[], expected: string) =>
  parsed(value, expected, (given): T[] | undefined => {
    const all = [...new Set(given.split(',').map((one) => one.trim()))];
    return all.every((one): one is T => (known as readonly string[]).includes(one)) ? all : undefined;
  });

export const onOff = parsed('on|off', 'on or off', (given) => ({ on: true, off: false })[given]);

export const count = (min: number, max: number, value = 'N'): Option<number | undefined> =>
  parsed(value, `a whole number from ${min} to ${max}`, (given) =>
    /^\d+$/.test(given) && Number(given) >= min && Number(given) <= max ? Number(given) : undefined,
  );

/** How many rows are printed. */
export const limit = (usual: number, max: number): Option<number> => or(count(1, max), usual);

const timeExpected = 'a day or a date-time with a zone, such as 2026-01-31 or 2026-01-31T09:00:00Z';

/** Microseconds since 1970; a day alone begins at midnight UTC. */
export const position = (value: string): Option<number | undefined> =>
  parsed(
    value,
    timeExpected,
    (given) => parseLowerBound(/^\d{4}-\d\d-\d\d$/.test(given) ? `${given}T00:00:00Z` : given) ?? undefined,
  );

export const time = (value = 'TIME'): Option<Date | undefined> => ({
  value,
  read(given, name) {
    const us = position(value).read(given, name);
    return us === undefined ? undefined : new Date(us / 1000);
  },
});

export const uuid = (value = 'ID'): Option<string | undefined> =>
  parsed(value, 'a UUID', (given) => (isUuid(given) ? given.toLowerCase() : undefined));

export const email = (value: string, example = 'name@example.org'): Option<string | undefined> =>
  parsed(value, `an e-mail address, such as ${example}`, (given) => (isEmailAddress(given) ? given : undefined));

/** Text that is stored. */
export const line = (value: string, maxChars: number): Option<string | undefined> =>
  parsed(value, `text of 1 to ${maxChars} characters on one line without a National Insurance number`, (given) =>
    isStorableText(given, maxChars) ? given : undefined,
  );

/** Why something was done: stored with what was done. */
export const maybeReason = line('R', limits.reasonChars);
export const reason = required(maybeReason);

/** May be given several times, or once with commas between. */
export const several = (value: string): Option<string[]> => ({
  value,
  isMany: true,
  read: (given) =>
    [given ?? []].flat().flatMap((one) =>
      String(one)
        .split(',')
        .map((part) => part.trim()),
    ),
});

/** What a list is sorted by. */
export const sortKey = <T extends string>(keys: readonly T[]) =>
  parsed('KEY', `one of ${keys.join(', ')}, with - in front for the other way round`, (given) => {
    const by = keys.find((one) => one === given.replace(/^-/, ''));
    return by === undefined ? undefined : { by, descending: given.startsWith('-') };
  });
