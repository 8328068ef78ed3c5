const dayMs = 86_400_000;
const hourMs = 3_600_000;
const windowDays = 729;

export type WorkingCalendar = {
  /** The start of the reference day, in milliseconds since 1970. */
  referenceMs: number;
  /** Midnight UTC of each working day before the reference day, ascending. */
  days: readonly number[];
  /** Milliseconds by which UK time is ahead of UTC on each day. */
  offsets: readonly number[];
  /** The relative number of learners who start on or before each day. */
  enrolment: readonly number[];
};

const enrolmentByMonth = [2.4, 1.2, 0.9, 1.6, 0.9, 0.7, 0.4, 0.6, 4, 2.2, 1.2, 0.5];

/** Easter Sunday in the Gregorian calendar, as midnight UTC (Meeus, Jones and Butcher's algorithm). */
export function easterMs(year: number): number {
  const a = year % 19;
  const b = Math.floor(year / 100);
  const c = year % 100;
  const h = (19 * a + b - Math.floor(b / 4) - Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3) + 15) % 30;
  const l = (32 + 2 * (b % 4) + 2 * Math.floor(c / 4) - h - (c % 4)) % 7;
  const m = Math.floor((a + 11 * h + 22 * l) / 451);
  const n = h + l - 7 * m + 114;
  return Date.UTC(year, Math.floor(n / 31) - 1, (n % 31) + 1);
}

/** The last Monday, Friday or other `weekday` of a month, as midnight UTC. Weekday 0 is Sunday; month 0 is January. */
function lastWeekday(year: number, month: number, weekday: number): number {
  const last = Date.UTC(year, month + 1, 0);
  return last - ((new Date(last).getUTCDay() - weekday + 7) % 7) * dayMs;
}

/**
 * Whether training providers in England work on the day that begins at this midnight (UTC). They do not work at
 * weekends, on bank holidays, or from 23 December to 2 January.
 */
export function isWorkingDay(midnightMs: number): boolean {
  const date = new Date(midnightMs);
  const weekday = date.getUTCDay();
  if (weekday === 0 || weekday === 6) return false;
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if ((month === 11 && day >= 23) || (month === 0 && day <= 2)) return false;
  if (month === 4 && weekday === 1 && (day <= 7 || day > 24)) return false;
  if (month === 7 && weekday === 1 && day > 24) return false;
  const fromEaster = (midnightMs - easterMs(year)) / dayMs;
  return fromEaster !== -2 && fromEaster !== 1;
}

/** How far UK time is ahead of UTC, in milliseconds. Clocks change on Sundays, so a working day has one offset. */
export function ukOffsetMs(midnightMs: number): number {
  const year = new Date(midnightMs).getUTCFullYear();
  return midnightMs >= lastWeekday(year, 2, 0) && midnightMs < lastWeekday(year, 9, 0) ? hourMs : 0;
}

/** The working days before the day of `nowMs`. The time of day (UTC) does not matter. */
export function workingCalendar(nowMs: number): WorkingCalendar {
  const referenceMs = Math.floor(nowMs / dayMs) * dayMs;
  const days: number[] = [];
  const offsets: number[] = [];
  const enrolment: number[] = [];
  let total = 0;
  for (let ago = windowDays; ago >= 1; ago -= 1) {
    const day = referenceMs - ago * dayMs;
    if (!isWorkingDay(day)) continue;
    days.push(day);
    offsets.push(ukOffsetMs(day));
    total += enrolmentByMonth[new Date(day).getUTCMonth()]!;
    enrolment.push(total);
  }
  return { referenceMs, days, offsets, enrolment };
}

/**
 * The index of a learner's first day, at least `after` working days before the last day. `u`: a random number below 1.
 */
export function enrolmentDay(calendar: WorkingCalendar, after: number, u: number): number {
  const last = Math.max(0, calendar.days.length - 1 - after);
  const target = u * calendar.enrolment[last]!;
  let low = 0;
  let high = last;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (calendar.enrolment[middle]! > target) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A time from 09:00 to 17:00 UK time on a working day. `u`: a random number below 1. */
export function workingInstant(calendar: WorkingCalendar, index: number, u: number): number {
  return calendar.days[index]! - calendar.offsets[index]! + 9 * hourMs + Math.floor(u * 8 * hourMs);
}
