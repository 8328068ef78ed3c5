import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import type { Mailbox, MailServer } from '../validation/email.ts';
import { parseMailbox, parseMailServer } from '../validation/email.ts';
import type { Network } from '../validation/networks.ts';
import { parseNetworks } from '../validation/networks.ts';
import { parseSchedule } from '../time/schedule.ts';

export const apiBase = '/api/v1';

/** For examples. The service shows its own origin. */
export const exampleOrigin = 'https://results.example.org';

/** Requests of one access key in any minute. */
export const defaultRateLimit = 300;

const minSecretChars = 32;

export type Settings = {
  host: string;
  port: number;
  /** Public origin, without a trailing slash. */
  baseUrl: string;
  /** Undefined: the embedded server under dataDir. */
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  dataDir: string;
  /** Undefined: generated under dataDir, for the embedded database only. */
  secret: string | undefined;
  /** Other secrets, which check and decrypt but never sign or encrypt. */
  previousSecrets: string[];
  rateLimit: number;
  /** Proxies whose X-Forwarded-For is trusted. */
  trustedProxies: Network[];
  /** How long a stop waits for running requests. */
  drainMs: number;
  /** The first part of drainMs, in which new connections are accepted. */
  drainDelayMs: number;
  /** How long a change waits for its turn and for locks. */
  changeWaitMs: number;
  /** Pauses in milliseconds after the first attempt. */
  webhookRetryScheduleMs: number[];
  webhookAllowNetworks: Network[];
  /** Full months of the audit log, in addition to the present one; null: all. */
  auditMonths: number | null;
  log: 'all' | 'errors' | 'none';
  /** Where metrics and probes are served; null: nowhere. */
  metricsHost: string;
  metricsPort: number | null;
  sandboxes: 'ask' | 'at_once';
  /** A list of erasures outside the database; null: none. */
  erasuresFile: string | null;
  /** A URI of RFC 9116 for reports of vulnerabilities; null: none. */
  securityContact: string | null;
  /** Null: no email is sent, and links are copied by hand. */
  mailServer: MailServer | null;
  mailFrom: Mailbox | null;
};

type Row = {
  name: string;
  /** The value may also be in a file that NAME_FILE names. */
  secret?: boolean;
  default: string;
  meaning: string;
  /** Sets the value. @throws Error whose message follows the name of the setting */
  read(text: string, settings: Partial<Settings>): void;
};

/** The message is one sentence that names the setting. */
export class SettingsError extends Error {}

function oneLine(text: string): string {
  // A block of YAML ends with a line break, which would be invisible in a path.
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
  // The host may be in the query: postgres://user@/ars?host=/run/postgresql.
  if (!URL.canParse(text.replace('@/', '@host/')))
    throw new Error(
      'must be such as postgres://user:password@host:5432/ars, with #, /, ? and @ of a password as %23, %2F, %3F and %40',
    );
  return text;
}

/** Every setting. The operator's guide is generated from this table. */
export const settingsTable: Row[] = [
  {
    name: 'ARS_HOST',
    default: '127.0.0.1',
    meaning: 'Address to listen on.',
    read: (text, s) => {
      s.host = oneLine(text);
    },
  },
  {
    name: 'ARS_PORT',
    default: '8080',
    meaning: 'Port to listen on; 0 takes any free one.',
    read: (text, s) => {
      s.port = whole(text, 0, 65535);
    },
  },
  {
    name: 'ARS_BASE_URL',
    default: 'http://HOST:PORT',
    meaning: `Public origin of every absolute address in replies, such as ${exampleOrigin}.`,
    read: (text, s) => {
      if (text === 'http://HOST:PORT') {
        s.baseUrl = '';
        return;
      }
      const url = URL.canParse(text) ? new URL(text) : null;
      if (
        url === null ||
        !/^https?:$/.test(url.protocol) ||
        url.username !== '' ||
        url.search !== '' ||
        url.hash !== '' ||
        url.pathname !== '/'
      ) {
        throw new Error(`must be an http or https origin without a path, such as ${exampleOrigin}`);
      }
      s.baseUrl = url.origin;
    },
  },
  {
    name: 'DATABASE_URL',
    secret: true,
    default: '',
    meaning:
      'PostgreSQL 15 to 18, such as postgres://user:password@host:5432/ars. Without it the service runs its own PostgreSQL under ARS_DATA_DIR.',
    read: (text, s) => {
      if (text === '') {
        s.databaseUrl = undefined;
        return;
      }
      s.databaseUrl = databaseAddress(text);
    },
  },
  {
    name: 'DATABASE_DIRECT_URL',
    secret: true,
    default: '',
    meaning:
      'The same database past a pooler: needed if DATABASE_URL leads through PgBouncer (1.21 or later). Some connections of each process go there: notifications, the log, deliveries.',
    read: (text, s) => {
      s.databaseDirectUrl = text === '' ? undefined : databaseAddress(text);
    },
  },
  {
    name: 'ARS_DATA_DIR',
    default: './data',
    meaning: 'Folder of the embedded database and the generated secret.',
    read: (text, s) => {
      s.dataDir = oneLine(text);
    },
  },
  {
    name: 'ARS_SECRET',
    secret: true,
    default: '',
    meaning:
      'At least 32 characters that encrypt webhook secrets and sign cursors and links. Generated with the embedded database, required with DATABASE_URL; the same for every process.',
    read: (text, s) => {
      if (text !== '' && text.length < minSecretChars)
        throw new Error(`must have at least ${minSecretChars} characters`);
      if (oneLine(text) !== text.trim()) throw new Error('must have no spaces at its ends');
      s.secret = text === '' ? undefined : text;
    },
  },
  {
    name: 'ARS_PREVIOUS_SECRETS',
    secret: true,
    default: '',
    meaning:
      'Other values of ARS_SECRET, separated by commas or lines: earlier ones, or the next one before it is used. What was signed or encrypted with them is still read; nothing new is.',
    read: (text, s) => {
      const lines = text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
      if (lines.some((line) => line.length < minSecretChars))
        throw new Error(`must have at least ${minSecretChars} characters in each of its values`);
      // A secret may contain commas, so each full line counts as well.
      const listed = lines.flatMap((line) => [...line.split(',').map((one) => one.trim()), line]);
      s.previousSecrets = [...new Set(listed.filter((one) => one.length >= minSecretChars))];
    },
  },
  {
    name: 'ARS_RATE_LIMIT',
    default: String(defaultRateLimit),
    meaning:
      'Requests per key in any 60 seconds. Up to 400 it is exact to the millisecond; above, requests are counted in steps of a second and never too many are admitted.',
    read: (text, s) => {
      s.rateLimit = whole(text, 1, 1_000_000_000);
    },
  },
  {
    name: 'ARS_TRUSTED_PROXIES',
    default: '',
    meaning:
      "Networks (CIDR list) of the proxies in front, whose X-Forwarded-For tells a caller's address. From anybody else the header is ignored.",
    read: (text, s) => {
      s.trustedProxies = parseNetworks(text);
    },
  },
  {
    name: 'ARS_DRAIN_SECONDS',
    default: '8',
    meaning:
      'How long a stop (SIGTERM) waits at most for requests under way; then every connection that is still open is cut. Changes that wait for others are refused with 503 after half of it.',
    read: (text, s) => {
      s.drainMs = whole(text, 0, 3600) * 1000;
    },
  },
  {
    name: 'ARS_DRAIN_DELAY_SECONDS',
    default: '1',
    meaning:
      'How long of that (at most half of it) a stop still takes new connections, while /readyz says 503, so that a load balancer can turn to other processes first.',
    read: (text, s) => {
      s.drainDelayMs = whole(text, 0, 600) * 1000;
    },
  },
  {
    name: 'ARS_CHANGE_WAIT_SECONDS',
    default: '15',
    meaning:
      "Seconds that a change waits while others of its organisation are made, before it is refused with 503 and Retry-After. Other organisations' changes don't wait for these.",
    read: (text, s) => {
      s.changeWaitMs = 1000 * whole(text, 1, 45);
    },
  },
  {
    name: 'ARS_WEBHOOK_RETRY_SCHEDULE',
    default: '5s,5m,30m,2h,5h,10h,14h,20h,24h',
    meaning: 'Waits after the first attempt of a webhook delivery.',
    read: (text, s) => {
      s.webhookRetryScheduleMs = parseSchedule(text);
    },
  },
  {
    name: 'ARS_WEBHOOK_ALLOW_NETWORKS',
    default: '',
    meaning: 'Private networks (CIDR list) in which webhook endpoints may be.',
    read: (text, s) => {
      s.webhookAllowNetworks = parseNetworks(text);
    },
  },
  {
    name: 'ARS_AUDIT_MONTHS',
    default: 'all',
    meaning:
      'all, or how many whole months of the audit log are kept beside the present one (3 or more). Export what goes before: its hashes stay, and prove the export.',
    read: (text, s) => {
      if (text !== 'all' && !/^\d+$/.test(text)) throw new Error('must be all or a whole number from 3 to 1200');
      s.auditMonths = text === 'all' ? null : whole(text, 3, 1200);
    },
  },
  {
    name: 'ARS_ERASURES_FILE',
    default: '',
    meaning:
      'File that lists who was erased and which organisations were deleted, in ids, outside the database and its backups: what a restore brings back goes again before anything is served. Put it on another disk.',
    read: (text, s) => {
      s.erasuresFile = text === '' ? null : oneLine(text);
    },
  },
  {
    name: 'ARS_SECURITY_CONTACT',
    default: '',
    meaning:
      'Whom to tell of a vulnerability, such as mailto:security@example.org or the https address of a form: /.well-known/security.txt says it. Without it there is no such page.',
    read: (text, s) => {
      if (text !== '' && !/^mailto:[^\s@]+@[^\s@]+$/.test(text) && !/^https:\/\/[^\s/]\S*$/.test(text))
        throw new Error('must begin with mailto: or https://, such as mailto:security@example.org');
      s.securityContact = text === '' ? null : text;
    },
  },
  {
    name: 'ARS_SANDBOXES',
    default: 'ask',
    meaning:
      'ask: people of an organisation ask for a sandbox, which `ars sandbox grant` makes; at_once: they get it by themselves.',
    read: (text, s) => {
      if (text !== 'ask' && text !== 'at_once') throw new Error('must be ask or at_once');
      s.sandboxes = text;
    },
  },
  {
    name: 'ARS_SMTP_URL',
    secret: true,
    default: '',
    meaning:
      'Mail server, such as smtps://user:password@mail.example.org or smtp://mail.example.org:587. With smtp:// the connection must be upgraded by STARTTLS; ?starttls=off allows a relay on a network that you trust. Without it nothing is mailed, and every link is copied by hand.',
    read: (text, s) => {
      s.mailServer = text === '' ? null : parseMailServer(text);
      if (text !== '' && s.mailServer === null)
        throw new Error(
          'must be such as smtps://user:password@host:465 or smtp://host:587, percent-encoded where needed',
        );
    },
  },
  {
    name: 'ARS_MAIL_FROM',
    default: '',
    meaning: 'Whom mail comes from, such as Assessment Results <results@example.org>. Required with ARS_SMTP_URL.',
    read: (text, s) => {
      s.mailFrom = text === '' ? null : parseMailbox(text);
      if (text !== '' && s.mailFrom === null)
        throw new Error(
          'must be an e-mail address, with a name before it or not, such as Results <results@example.org>',
        );
    },
  },
  {
    name: 'ARS_LOG',
    default: 'all',
    meaning: 'all: a line for every request and delivery attempt; errors: only failures; none.',
    read: (text, s) => {
      if (text !== 'all' && text !== 'errors' && text !== 'none') throw new Error('must be all, errors or none');
      s.log = text;
    },
  },
  {
    name: 'ARS_METRICS_PORT',
    default: 'off',
    meaning:
      'off, or a port of its own for /metrics (Prometheus text), /livez and /readyz, whatever the role; 0 takes any free one. With --processes it answers for all of them. Keep it from the internet.',
    read: (text, s) => {
      if (text !== 'off' && !/^\d+$/.test(text)) throw new Error('must be off or a whole number from 0 to 65535');
      s.metricsPort = text === 'off' ? null : whole(text, 0, 65535);
    },
  },
  {
    name: 'ARS_METRICS_HOST',
    default: '127.0.0.1',
    meaning: 'Address of that port; 0.0.0.0 where a collector or a probe comes from elsewhere, as in a container.',
    read: (text, s) => {
      s.metricsHost = oneLine(text);
    },
  },
];

type Environment = Record<string, string | undefined>;

/** Names for tests, and of Kubernetes for a service called `ars`. */
const foreignNames = /^ARS_(TEST|CONTRACT)_|^ARS_SERVICE_(HOST|PORT)|^ARS_PORT_\d+_/;

/** A misspelt setting would otherwise have no effect without a message. */
function refuseUnknown(environment: Environment): void {
  const names = settingsTable.flatMap((row) => (row.secret === true ? [row.name, `${row.name}_FILE`] : [row.name]));
  for (const given of Object.keys(environment)) {
    if (environment[given] === undefined || !given.startsWith('ARS_')) continue;
    if (names.includes(given) || foreignNames.test(given)) continue;
    throw new SettingsError(`There is no setting ${given}. Remove it, or use a name that the operator's guide lists.`);
  }
}

function given(row: Row, environment: Environment): string | undefined {
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
  // UTF-16 is no valid UTF-8 or contains zero bytes.
  if (!isUtf8(bytes) || bytes.includes(0)) throw new SettingsError(`${row.name}_FILE must name a file of UTF-8 text.`);
  const content = bytes.toString('utf8');
  // Editors and shells add a byte order mark and line breaks.
  const value = content.replace(/^\uFEFF/, '').replace(/(?<![\r\n])[\r\n]+$/, '');
  if (value === '') throw new SettingsError(`${row.name}_FILE must name a file that is not empty.`);
  return value;
}

/** @throws SettingsError */
export function readSettings(environment: Environment): Settings {
  refuseUnknown(environment);
  const settings: Partial<Settings> = {};
  for (const row of settingsTable) {
    const text = given(row, environment);
    try {
      row.read(text === undefined || text === '' ? row.default : text, settings);
    } catch (error) {
      const { message } = error as Error;
      throw new SettingsError(
        message.startsWith('must ') ? `${row.name} ${message}.` : `${row.name} is not valid: ${message}`,
      );
    }
  }
  if (settings.databaseUrl !== undefined && settings.secret === undefined) {
    throw new SettingsError(
      'ARS_SECRET must be set when DATABASE_URL is: at least 32 characters, the same for every process.',
    );
  }
  if (settings.mailServer !== null && settings.mailFrom === null)
    throw new SettingsError('ARS_MAIL_FROM must be set when ARS_SMTP_URL is: whom mail comes from.');
  return settings as Settings;
}
