const unitMs: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const maxWaits = 50;
const maxWaitMs = 30 * unitMs.d!;

/** Reads `5s,5m,30m`, the waits after each failed attempt. @throws RangeError that says what is wrong */
export function parseSchedule(text: string): number[] {
  const parts = text.split(',').map((part) => part.trim());
  if (parts.length > maxWaits)
    throw new RangeError(`A retry schedule has at most ${maxWaits} waits, not ${parts.length}.`);
  return parts.map((part, index) => {
    const match = /^(\d{1,7})([smhd])$/.exec(part);
    if (match === null) {
      throw new RangeError(
        `Wait ${index + 1} of the retry schedule is "${part}"; each must be a whole number and a unit (s, m, h or d), as in 5s,5m,2h.`,
      );
    }
    const waitMs = Number(match[1]) * unitMs[match[2]!]!;
    if (waitMs > maxWaitMs)
      throw new RangeError(`Wait ${index + 1} of the retry schedule is "${part}"; the longest is 30d.`);
    return waitMs;
  });
}
