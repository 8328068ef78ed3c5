import type { Clock } from '../platform/time/clock.ts';

/** Whom to tell of a vulnerability (RFC 9116). */
export const securityTextPath = '/.well-known/security.txt';

const dayMs = 86_400_000;

/** Who reads it today may go by it for half a year; RFC 9116 advises less than a year. */
const validDays = 182;

/** The text, as long as somebody has set whom to tell: it never expires while it is served. */
export function securityText(clock: Clock, { contact, baseUrl }: { contact: string; baseUrl: string }): string {
  const today = Math.floor(clock.nowMs() / dayMs);
  const expires = new Date((today + validDays) * dayMs).toISOString();
  return [
    `Contact: ${contact}`,
    `Expires: ${expires}`,
    'Preferred-Languages: en',
    `Canonical: ${baseUrl}${securityTextPath}`,
    '',
  ].join('\n');
}
