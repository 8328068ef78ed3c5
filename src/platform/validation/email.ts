import { limits } from '../config/limits.ts';
import { holdsNationalInsuranceNumber, isPlainText } from './personal-data.ts';

/**
 * Matches an email address (RFC 5321). Dots need characters on both sides, and domain labels contain letters, digits
 * and hyphens.
 */
const pattern =
  /^(?=[^@]{1,64}@)[^\s\p{C}@<>()[\],;:\\".]+(?:\.[^\s\p{C}@<>()[\],;:\\".]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/u;

export function isEmailAddress(text: string): boolean {
  return text.length <= limits.emailChars && pattern.test(text) && !holdsNationalInsuranceNumber(text);
}

export type Mailbox = { name: string; address: string };

/** Reads `name@example.org` or `Some Name <name@example.org>`; null for anything else. */
export function parseMailbox(text: string): Mailbox | null {
  const named = /^([^<>"]+) <([^<>]+)>$/.exec(text);
  const [name, address] = named === null ? ['', text] : [named[1]!.trim(), named[2]!];
  if (!isEmailAddress(address) || (name !== '' && !isPlainText(name, 200))) return null;
  return { name, address };
}

export type MailServer = {
  host: string;
  port: number;
  /** `always`: TLS from the first byte. `starttls`: STARTTLS is required. `off`: no encryption. */
  tls: 'always' | 'starttls' | 'off';
  login: { user: string; password: string } | null;
};

const hostPattern = /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])$/;

/** Reads `smtps://user:password@host:465` or `smtp://host:587`; null for anything else. */
export function parseMailServer(text: string): MailServer | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^smtps?:$/.test(url.protocol) || !hostPattern.test(url.hostname) || url.hash !== '')
    return null;
  if (!['', '/'].includes(url.pathname) || !['', '?starttls=off'].includes(url.search)) return null;
  const isSecure = url.protocol === 'smtps:';
  if ((isSecure && url.search !== '') || url.port === '0' || (url.username === '') !== (url.password === ''))
    return null;
  let login: MailServer['login'];
  try {
    const [user, password] = [url.username, url.password].map(decodeURIComponent) as [string, string];
    login = user === '' ? null : { user, password };
  } catch {
    return null;
  }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isSecure ? 465 : 587) : Number(url.port),
    tls: isSecure ? 'always' : url.search === '' ? 'starttls' : 'off',
    login,
  };
}
