/** Dates in the British form, in the time zone Europe/London. */

const form = /^(\d\d)\/(\d\d)\/(\d{4})(?: (\d\d):(\d\d)(?::(\d\d))?)?$/;

// Making the formatter takes 6 ms, so it is made for the first British date.
let zone: Intl.DateTimeFormat | undefined;

/** The offset of Europe/London from UTC in minutes: 60 in summer. */
function minutesAhead(ms: number): number {
  zone ??= new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/London', timeZoneName: 'longOffset' });
  const name = zone.formatToParts(ms).find((part) => part.type === 'timeZoneName')!.value;
  const [, hours, minutes] = /^GMT\+(\d\d):(\d\d)$/.exec(name) ?? [null, '0', '0'];
  return Number(hours) * 60 + Number(minutes);
}

/**
 * Reads DD/MM/YYYY, with or without HH:MM or HH:MM:SS, as microseconds since 1970. A date without a time is midnight in
 * Europe/London.
 * @returns `never` for a time that the clocks skip in spring, `twice` for a time that they repeat in autumn, null for
 *   any other text
 */
export function parseUkInstant(text: string): number | 'never' | 'twice' | null {
  const match = form.exec(text);
  if (match === null) return null;
  const parts = match.slice(1).map((part) => Number(part ?? 0));
  const [day = 0, month = 0, year = 0, hour = 0, minute = 0, second = 0] = parts;
  if (hour > 23 || minute > 59 || second > 59) return null;
  const shown = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(shown);
  if (date.getUTCDate() !== day || date.getUTCMonth() !== month - 1 || date.getUTCFullYear() !== year) return null;
  const instants = [0, 60].map((ahead) => ({ ahead, ms: shown - ahead * 60_000 }));
  const real = instants.filter(({ ahead, ms }) => minutesAhead(ms) === ahead);
  if (real.length !== 1) return real.length === 0 ? 'never' : 'twice';
  return real[0]!.ms * 1000;
}
