/** Dates as they are written in the United Kingdom, in the time of its clocks. */

const form = /^(\d\d)\/(\d\d)\/(\d{4})(?: (\d\d):(\d\d)(?::(\d\d))?)?$/;

// Made with the first such date: it takes 6 ms.
let zone: Intl.DateTimeFormat | undefined;

/** Minutes that the clocks of Europe/London are ahead of UTC at an instant: 60 in summer. */
function minutesAhead(ms: number): number {
  zone ??= new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/London', timeZoneName: 'longOffset' });
  const name = zone.formatToParts(ms).find((part) => part.type === 'timeZoneName')!.value;
  const [, hours, minutes] = /^GMT\+(\d\d):(\d\d)$/.exec(name) ?? [null, '0', '0'];
  return Number(hours) * 60 + Number(minutes);
}

/**
 * DD/MM/YYYY, with or without HH:MM or HH:MM:SS, in Europe/London with its summer time, as microseconds since 1970; a
 * day alone is its midnight. A time that the clocks leave out in spring is `never`, one that they show twice in autumn
 * `twice`.
 * @returns null when the text is anything else, or names a day or time that doesn't exist
 */
export function parseUkInstant(text: string): number | 'never' | 'twice' | null {
  const match = form.exec(text);
  if (match === null) return null;
  const [day, month, year, hour, minute, second] = match.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (hour > 23 || minute > 59 || second > 59) return null;
  const shown = Date.UTC(year, month - 1, day, hour, minute, second);
  const date = new Date(shown);
  if (date.getUTCDate() !== day || date.getUTCMonth() !== month - 1 || date.getUTCFullYear() !== year) return null;
  const instants = [0, 60].map((ahead) => ({ ahead, ms: shown - ahead * 60_000 }));
  const real = instants.filter(({ ahead, ms }) => minutesAhead(ms) === ahead);
  if (real.length !== 1) return real.length === 0 ? 'never' : 'twice';
  return real[0]!.ms * 1000;
}
