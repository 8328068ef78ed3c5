import type { Clock } from '../platform/time/clock.ts';

/** The URL path of the file that says where to report vulnerabilities (RFC 9116). */
export const securityTextPath = '/.well-known/security.txt';

const dayMs = 86_400_000;

/** The file is valid for half a year. RFC 9116 advises less than a year. */
const validDays = 182;

/** Each response has a new expiry date, so the text never expires while it is served. */
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
