import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { parseMailbox, parseMailServer } from '../validation/email.ts';
import { parseNetworks } from '../validation/networks.ts';
import { parseSchedule } from '../time/schedule.ts';

export const apiBase = '/api/v1';

/** The service's origin in examples. Pages of a running service show its own origin. */
export const exampleOrigin = 'https://results.example.org';

export const defaultRateLimit = 300;

const minSecretChars = 32;

type Row<Value> = {
  name: string;
  /** If true, the variable NAME_FILE may name a file that contains the value. */
  secret?: boolean;
  default: string;
  meaning: string;
  /** @throws Error with a message that continues the setting's name, such as `must be on one line` */
  read(text: string): Value;
};

/** The message is one sentence that names the setting. */
export class SettingsError extends Error {}

function oneLine(text: string): string {
  // A YAML block ends with a line break, which would be an invisible part of a path.
  if (/[\r\n]/.test(text)) throw new Error('must be on one line');
  return text;
}

function whole(text: string, min: number, max: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new Error(`must be a whole number from ${min} to ${max}`);
  return value;
}

function databaseAddress(text: string): string {
  if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('must begin with postgres:// or postgresql://');
  // The URL may contain its host in the query: postgres://user@/ars?host=/run/postgresql.
  if (!URL.canParse(text.replace('@/', '@host/')))
    throw new Error(
      'must look like postgres://user:password@host:5432/ars. Write #, /, ? and @ in the password as %23, %2F, %3F and %40',
    );
  return text;
}

function wholeOr(text: string, word: string, min: number, max: number): number | null {
  if (text !== word && !/^\d+$/.test(text)) throw new Error(`must be ${word} or a whole number from ${min} to ${max}`);
  return text === word ? null : whole(text, min, max);
}

function oneOf<Word extends string>(text: string, ...words: Word[]): Word {
  const found = words.find((word) => word === text);
  if (found === undefined) throw new Error(`must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}`);
  return found;
}

function readOptional<T>(text: string, parse: (text: string) => T | null, expected: string): T | null {
  const value = text === '' ? null : parse(text);
  if (text !== '' && value === null) throw new Error(`must be ${expected}`);
  return value;
}

const anyOrigin = 'http://HOST:PORT';

function readOrigin(text: string): string {
  if (text === anyOrigin) return '';
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.href !== `${url.origin}/`)
    throw new Error(`must be an http or https origin without a path, such as ${exampleOrigin}`);
  return url.origin;
}

function readSecret(text: string): string | undefined {
  if (text !== '' && text.length < minSecretChars) throw new Error(`must have at least ${minSecretChars} characters`);
  if (oneLine(text) !== text.trim()) throw new Error('must have no spaces at its ends');
  return text === '' ? undefined : text;
}

function readSecrets(text: string): string[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines.some((line) => line.length < minSecretChars))
    throw new Error(`must have at least ${minSecretChars} characters in each of its values`);
  // A secret may contain commas, so each full line counts as well.
  const listed = lines.flatMap((line) => [...line.split(',').map((one) => one.trim()), line]);
  return [...new Set(listed.filter((one) => one.length >= minSecretChars))];
}

function readContact(text: string): string | null {
  if (text !== '' && !/^mailto:[^\s@]+@[^\s@]+$/.test(text) && !/^https:\/\/[^\s/]\S*$/.test(text))
    throw new Error('must begin with mailto: or https://, such as mailto:security@example.org');
  return text === '' ? null : text;
}

/** All settings by their names in the code. The table of settings in docs/operate/configure.md is generated from this table. */
const rows = {
  host: { name: 'ARS_HOST', default: '127.0.0.1', meaning: 'IP address to listen on.', read: oneLine },
  port: {
    name: 'ARS_PORT',
    default: '8080',
    meaning: 'Port to listen on. 0 takes any free port.',
    read: (text) => whole(text, 0, 65535),
  },
  baseUrl: {
    name: 'ARS_BASE_URL',
    default: anyOrigin,
    meaning: `Public origin of every absolute URL in responses, such as ${exampleOrigin}.`,
    read: readOrigin,
  },
  /** Undefined: the service runs the embedded server in `dataDir`. */
  databaseUrl: {
    name: 'DATABASE_URL',
    secret: true,
    default: '',
    meaning:
      'PostgreSQL 15 to 18, such as postgres://user:password@host:5432/ars. Empty: the service runs its own PostgreSQL in ARS_DATA_DIR.',
    read: (text) => (text === '' ? undefined : databaseAddress(text)),
  },
  databaseDirectUrl: {
    name: 'DATABASE_DIRECT_URL',
    secret: true,
    default: '',
    meaning:
      'The same database without a pooler. Required if DATABASE_URL leads through PgBouncer (1.21 or later). Notifications, the log and deliveries use these connections.',
    read: (text) => (text === '' ? undefined : databaseAddress(text)),
  },
  dataDir: {
    name: 'ARS_DATA_DIR',
    default: './data',
    meaning: 'Folder of the embedded database and the generated secret.',
    read: oneLine,
  },
  /** Undefined: the service generates a secret in `dataDir`, for the embedded database only. */
  secret: {
    name: 'ARS_SECRET',
    secret: true,
    default: '',
    meaning:
      'At least 32 characters that encrypt webhook secrets and sign cursors and links. All processes need the same value. Required with DATABASE_URL, generated with the embedded database.',
    read: readSecret,
  },
  previousSecrets: {
    name: 'ARS_PREVIOUS_SECRETS',
    secret: true,
    default: '',
    meaning:
      'Earlier values of ARS_SECRET, and the next value before you use it, separated by commas or lines. The service only reads data with these values.',
    read: readSecrets,
  },
  rateLimit: {
    name: 'ARS_RATE_LIMIT',
    default: String(defaultRateLimit),
    meaning:
      'Requests per key in any 60 seconds. Up to 400 the limit is exact to 1 millisecond, above that to 1 second. The service never admits more.',
    read: (text) => whole(text, 1, 1_000_000_000),
  },
  trustedProxies: {
    name: 'ARS_TRUSTED_PROXIES',
    default: '',
    meaning:
      'Networks (CIDR list) of your proxies. Their X-Forwarded-For contains the IP address of the client. The service ignores this header from other networks.',
    read: parseNetworks,
  },
  drainMs: {
    name: 'ARS_DRAIN_SECONDS',
    default: '8',
    meaning:
      'Seconds that a stop (SIGTERM) waits at most for running requests. The service then closes every open connection. After half of the time, waiting changes get 503.',
    read: (text) => 1000 * whole(text, 0, 3600),
  },
  drainDelayMs: {
    name: 'ARS_DRAIN_DELAY_SECONDS',
    default: '1',
    meaning:
      'Seconds in which a stop still accepts new connections: at most half of ARS_DRAIN_SECONDS. /readyz returns 503, so a load balancer can use other processes.',
    read: (text) => 1000 * whole(text, 0, 600),
  },
  changeWaitMs: {
    name: 'ARS_CHANGE_WAIT_SECONDS',
    default: '15',
    meaning:
      'Seconds that a change waits at most for other changes of its organisation. After that, the response is 503 with Retry-After.',
    read: (text) => 1000 * whole(text, 1, 45),
  },
  webhookRetryScheduleMs: {
    name: 'ARS_WEBHOOK_RETRY_SCHEDULE',
    default: '5s,5m,30m,2h,5h,10h,14h,20h,24h',
    meaning: 'Waits between the attempts of a webhook delivery.',
    read: parseSchedule,
  },
  webhookAllowNetworks: {
    name: 'ARS_WEBHOOK_ALLOW_NETWORKS',
    default: '',
    meaning: 'Private networks (CIDR list) that may contain webhook endpoints.',
    read: parseNetworks,
  },
  auditMonths: {
    name: 'ARS_AUDIT_MONTHS',
    default: 'all',
    meaning:
      'all, or the number of full months of the audit log to keep (3 or more), besides the current month. Export older months first. Their hashes stay and prove the export.',
    read: (text) => wholeOr(text, 'all', 3, 1200),
  },
  erasuresFile: {
    name: 'ARS_ERASURES_FILE',
    default: '',
    meaning:
      'File with the IDs of erased learners and deleted organisations. After a restore, the service erases them again before it serves requests. Put the file on another disk.',
    read: (text) => (text === '' ? null : oneLine(text)),
  },
  securityContact: {
    name: 'ARS_SECURITY_CONTACT',
    default: '',
    meaning:
      'Contact for reports of vulnerabilities, such as mailto:security@example.org or the https URL of a form. /.well-known/security.txt shows it. Empty: the page does not exist.',
    read: readContact,
  },
  sandboxes: {
    name: 'ARS_SANDBOXES',
    default: 'ask',
    meaning:
      'ask: an organisation requests a sandbox, and `ars sandbox grant` creates it. at_once: the console creates it immediately.',
    read: (text) => oneOf(text, 'ask', 'at_once'),
  },
  /** Null: no email is sent, and links are copied by hand. */
  mailServer: {
    name: 'ARS_SMTP_URL',
    secret: true,
    default: '',
    meaning:
      'Mail server, such as smtps://user:password@mail.example.org or smtp://mail.example.org:587. smtp:// requires STARTTLS. ?starttls=off allows a relay on a trusted network. Empty: the service sends no email, and people copy links.',
    read: (text) =>
      readOptional(
        text,
        parseMailServer,
        'such as smtps://user:password@host:465 or smtp://host:587, percent-encoded where needed',
      ),
  },
  mailFrom: {
    name: 'ARS_MAIL_FROM',
    default: '',
    meaning: 'Sender of emails, such as Assessment Results <results@example.org>. Required with ARS_SMTP_URL.',
    read: (text) =>
      readOptional(
        text,
        parseMailbox,
        'an email address, with or without a name, such as Results <results@example.org>',
      ),
  },
  log: {
    name: 'ARS_LOG',
    default: 'all',
    meaning: 'all: a line for each request and delivery attempt. errors: only failures. none: no lines.',
    read: (text) => oneOf(text, 'all', 'errors', 'none'),
  },
  /** Null: metrics are not served. */
  metricsPort: {
    name: 'ARS_METRICS_PORT',
    default: 'off',
    meaning:
      'off, or a separate port for /metrics (Prometheus text), /status, /livez and /readyz. 0 takes any free port. With --processes, it covers all processes. Keep the port private.',
    read: (text) => wholeOr(text, 'off', 0, 65535),
  },
  metricsHost: {
    name: 'ARS_METRICS_HOST',
    default: '127.0.0.1',
    meaning:
      'IP address for ARS_METRICS_PORT. If a collector or a probe runs on another machine or outside the container, use 0.0.0.0.',
    read: oneLine,
  },
  metricsOrganisations: {
    name: 'ARS_METRICS_ORGANISATIONS',
    default: '0',
    meaning:
      'Maximum number of organisations with metrics of their own. All further organisations share the label other. 0: no metric names an organisation.',
    read: (text) => whole(text, 0, 10_000),
  },
  silentAfter: {
    name: 'ARS_SILENT_AFTER',
    default: '3',
    meaning: 'A key counts as silent after this many times its usual pause between requests, which is at least 1 hour.',
    read: (text) => whole(text, 1, 100),
  },
} satisfies Record<string, Row<unknown>>;

export type Settings = { -readonly [Key in keyof typeof rows]: ReturnType<(typeof rows)[Key]['read']> };

export const settingsTable: Row<unknown>[] = Object.values(rows);

type Environment = Record<string, string | undefined>;

/** Variables of tests, and variables that Kubernetes sets for a service called `ars`. */
const foreignNames = /^ARS_(TEST|CONTRACT)_|^ARS_SERVICE_(HOST|PORT)|^ARS_PORT_\d+_/;

/** Refuses unknown settings, because a misspelt setting would have no effect and no message. */
function refuseUnknown(environment: Environment): void {
  const names = settingsTable.flatMap((row) => (row.secret === true ? [row.name, `${row.name}_FILE`] : [row.name]));
  for (const name of Object.keys(environment)) {
    if (environment[name] === undefined || !name.startsWith('ARS_')) continue;
    if (names.includes(name) || foreignNames.test(name)) continue;
    throw new SettingsError(`There is no setting ${name}. Remove it, or use a name from docs/operate/configure.md.`);
  }
}

function textOf(row: Row<unknown>, environment: Environment): string | undefined {
  const text = environment[row.name];
  const path = row.secret === true ? environment[`${row.name}_FILE`] : undefined;
  if (path === undefined || path === '') return text;
  if (text !== undefined && text !== '')
    throw new SettingsError(`Only one of ${row.name} and ${row.name}_FILE may be set.`);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new SettingsError(
      `${row.name}_FILE must name a file that can be read (${(error as NodeJS.ErrnoException).code}).`,
    );
  }
  // Text in UTF-16 is not valid UTF-8 or contains zero bytes, so one of the checks refuses it.
  if (!isUtf8(bytes) || bytes.includes(0)) throw new SettingsError(`${row.name}_FILE must name a file of UTF-8 text.`);
  const content = bytes.toString('utf8');
  // Editors and shells add a byte order mark and line breaks.
  const value = content.replace(/^\uFEFF/, '').replace(/(?<![\r\n])[\r\n]+$/, '');
  if (value === '') throw new SettingsError(`${row.name}_FILE must name a file that is not empty.`);
  return value;
}

export function readSettings(environment: Environment): Settings {
  refuseUnknown(environment);
  const settings: Record<string, unknown> = {};
  for (const [key, row] of Object.entries<Row<unknown>>(rows)) {
    const text = textOf(row, environment);
    try {
      settings[key] = row.read(text === undefined || text === '' ? row.default : text);
    } catch (error) {
      const { message } = error as Error;
      throw new SettingsError(
        message.startsWith('must ') ? `${row.name} ${message}.` : `${row.name} is not valid: ${message}`,
      );
    }
  }
  const { databaseUrl, secret, mailServer, mailFrom } = settings as Settings;
  if (databaseUrl !== undefined && secret === undefined)
    throw new SettingsError(
      'ARS_SECRET must be set when DATABASE_URL is set. Use at least 32 characters, the same for every process.',
    );
  if (mailServer !== null && mailFrom === null)
    throw new SettingsError('ARS_MAIL_FROM must be set when ARS_SMTP_URL is set. Enter the sender of emails.');
  return settings as Settings;
}
