import type { Network } from './webhooks/address.ts';
import { parseNetworks } from './webhooks/address.ts';
import { parseSchedule } from './webhooks/retry.ts';

/** Where the API is, under the base address. */
export const apiBase = '/api/v1';

/** Settings as the rest of the code reads them. */
export type Settings = {
  host: string;
  port: number;
  /** Public origin, without a trailing slash. */
  baseUrl: string;
  /** Undefined: the embedded server under dataDir. */
  databaseUrl: string | undefined;
  dataDir: string;
  /** Undefined: generated under dataDir, which only the embedded database may do. */
  secret: string | undefined;
  /** Secrets before the current one: they only decrypt. */
  previousSecrets: string[];
  rateLimit: number;
  /** Waits in milliseconds after the first attempt. */
  webhookRetryScheduleMs: number[];
  webhookAllowNetworks: Network[];
  log: 'all' | 'errors' | 'none';
};

type Row = {
  name: string;
  default: string;
  meaning: string;
  /** Puts the value into the settings; throws the second half of the sentence that stops the start. */
  read(text: string, settings: Partial<Settings>): void;
};

/** Thrown at the start, with one sentence that names the setting. */
export class SettingsError extends Error {}

function whole(text: string, least: number, most: number): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < least || value > most)
    throw new Error(`must be a whole number from ${least} to ${most}`);
  return value;
}

/** Every setting: the operator's guide is made from this table. */
export const settingsTable: Row[] = [
  {
    name: 'ARS_HOST',
    default: '127.0.0.1',
    meaning: 'Address to listen on.',
    read: (text, s) => {
      s.host = text;
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
    meaning: 'Public origin of every absolute address in replies, such as https://results.example.org.',
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
        throw new Error('must be an http or https origin without a path, such as https://results.example.org');
      }
      s.baseUrl = url.origin;
    },
  },
  {
    name: 'DATABASE_URL',
    default: '',
    meaning:
      'PostgreSQL 15 to 18, such as postgres://user:password@host:5432/ars. Without it the service runs its own PostgreSQL under ARS_DATA_DIR.',
    read: (text, s) => {
      if (text === '') {
        s.databaseUrl = undefined;
        return;
      }
      if (!/^postgres(ql)?:\/\//.test(text)) throw new Error('must begin with postgres:// or postgresql://');
      s.databaseUrl = text;
    },
  },
  {
    name: 'ARS_DATA_DIR',
    default: './data',
    meaning: 'Folder of the embedded database and the generated secret.',
    read: (text, s) => {
      s.dataDir = text;
    },
  },
  {
    name: 'ARS_SECRET',
    default: '',
    meaning:
      'At least 32 characters that encrypt webhook secrets and sign cursors and links. Generated with the embedded database, required with DATABASE_URL; the same for every process.',
    read: (text, s) => {
      if (text !== '' && text.length < 32) throw new Error('must have at least 32 characters');
      s.secret = text === '' ? undefined : text;
    },
  },
  {
    name: 'ARS_PREVIOUS_SECRETS',
    default: '',
    meaning:
      'Comma-separated earlier values of ARS_SECRET, which still decrypt webhook secrets after a change. Cursors, links to assessments and kept replies of before the change end with it.',
    read: (text, s) => {
      s.previousSecrets = text === '' ? [] : text.split(',');
    },
  },
  {
    name: 'ARS_RATE_LIMIT',
    default: '300',
    meaning:
      'Requests per key in any 60 seconds. Up to 400 it is exact to the millisecond; above, requests are counted in steps of a second and never too many are admitted.',
    read: (text, s) => {
      s.rateLimit = whole(text, 1, 1_000_000_000);
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
    name: 'ARS_LOG',
    default: 'all',
    meaning: 'all: a line for every request and delivery attempt; errors: only failures; none.',
    read: (text, s) => {
      if (text !== 'all' && text !== 'errors' && text !== 'none') throw new Error('must be all, errors or none');
      s.log = text;
    },
  },
];

/**
 * Reads the settings from an environment.
 * @throws SettingsError with one sentence that names the setting and what it must be.
 */
export function readSettings(environment: Record<string, string | undefined>): Settings {
  const settings: Partial<Settings> = {};
  for (const row of settingsTable) {
    const text = environment[row.name];
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
  return settings as Settings;
}
