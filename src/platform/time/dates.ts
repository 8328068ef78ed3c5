const formats = new Map<string, Intl.DateTimeFormat>();

/** A format for British readers: `22 November 2026`, or with `short` months `22 Nov 2026`; `withTime` adds `09:45`. */
export function dateFormat(zone: string, withTime: boolean, month: 'short' | 'long' = 'long'): Intl.DateTimeFormat {
  const key = `${zone} ${withTime} ${month}`;
  let found = formats.get(key);
  if (found === undefined) {
    found = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      day: 'numeric',
      month,
      year: 'numeric',
      ...(withTime ? { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } : {}),
    });
    formats.set(key, found);
  }
  return found;
}

/** `22 November 2026` in a time zone. @param at a date, or milliseconds since 1970 */
export const longDay = (at: Date | number, zone: string): string => dateFormat(zone, false).format(at);
