import { after } from 'node:test';
import type { App } from '../../src/platform/app.ts';
import type { Clock } from '../../src/platform/time/clock.ts';
import type { UnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import { withUnitOfWork } from '../../src/platform/db/unit-of-work.ts';
import type { KeyDescription } from '../../src/integrations/access-keys/description.ts';
import { createKey } from '../../src/integrations/access-keys/keys.ts';
import type { Role } from '../../src/main.ts';
import { startService } from '../../src/main.ts';
import { openApp } from '../../src/server/open-app.ts';
import type { Plan } from '../../src/organisations/organisations.ts';
import { createOrganisation } from '../../src/organisations/organisations.ts';
import type { Random } from '../../src/platform/crypto/random.ts';
import { readSettings } from '../../src/platform/config/settings.ts';
import type { Client, Key } from '../contract/support/client.ts';
import { client, hangUp } from '../contract/support/client.ts';
import type { TestServer } from './postgres.ts';
import { freshDatabase, testServer } from './postgres.ts';
import { freePort } from './ports.ts';

/** Services for tests: real ones. Files of one process share one, unless they say why they cannot. */

/** Services that end with the process's last test. */
const lastly: (() => Promise<void>)[] = [];
after(async () => {
  await hangUp();
  for (const step of lastly.reverse().splice(0)) await step();
  await (await server)?.stop();
});

let server: Promise<TestServer> | null = null;

/**
 * The server of this process's tests. Each call has a promise of its own: Node's runner takes what follows an await for a part of
 * the test that made the promise.
 */
export async function thisServer(): Promise<TestServer> {
  return (server ??= testServer());
}

export type TestOrganisation = Client & {
  id: number;
  publicId: string;
  key: Key;
  /** Another key pair of the organisation, with its client. */
  another(options?: Partial<KeyDescription>): Promise<Client & { key: Key }>;
};

export type TestService = {
  app: App;
  url: string;
  /** Where probes and metrics are, if the settings say so. */
  metricsUrl: string | null;
  databaseUrl: string;
  /** What makes a process of its own, such as a command, work with this service. */
  environment: { DATABASE_URL: string; ARS_SECRET: string; ARS_BASE_URL: string };
  /** What the service has logged. */
  logged: string[];
  organisation(options?: {
    name?: string;
    plan?: Plan;
    credits?: number;
    groupAutocreate?: boolean;
  }): Promise<TestOrganisation>;
  /** A client of the service with any key pair, or none. */
  client(key: Key | null): Client;
  /** Runs verbs directly, in a unit of work. */
  withUnitOfWork<T>(inside: (work: UnitOfWork) => Promise<T>): Promise<T>;
  /** A second service on the same database, which it may reach by another address. */
  sibling(options?: ServiceOptions & { databaseUrl?: string }): Promise<TestService>;
  /** Stops the service and starts it again on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

export type ServiceOptions = {
  /** A database that is there already, as an older release left it. */
  database?: { url: string; drop(): Promise<void> };
  clock?: Clock;
  random?: Random;
  role?: Role;
  /** Sees the app before the service starts, and so before it opens connections of its own. */
  prepare?: (app: App) => void;
  /** Settings by their names, beside port, database and secret. */
  settings?: Record<string, string>;
};

/** What a service of one file needs. */
type OwnServiceOptions = ServiceOptions & {
  /** Why the file cannot share the service of its process, as a sentence. */
  own: `${string}.`;
};

/** Where a PgBouncer in transaction mode stands before the run's server: services are tried through it. */
const pooler = process.env.PGBOUNCER_URL;

function addressesOf(databaseUrl: string): Record<string, string> {
  if (pooler === undefined) return { DATABASE_URL: databaseUrl };
  const through = new URL(databaseUrl);
  through.searchParams.delete('host');
  through.host = new URL(pooler).host;
  return { DATABASE_URL: through.href, DATABASE_DIRECT_URL: databaseUrl };
}

const secret = 'a secret of the tests, longer than 32 characters';

type Stops = (() => Promise<void>)[];

const endOf = (stops: Stops) => async () => {
  for (const stop of stops.reverse().splice(0)) await stop();
};

/**
 * Without options: the service that all files of this process share. Make an organisation for each test.
 * With options: another service with its own database. Both end with the test, suite or file that asked for them.
 */
export async function withService(options?: OwnServiceOptions): Promise<TestService> {
  const stops: Stops = [];
  const end = endOf(stops);
  // Hooks of a file run in the order they were registered, so the file's last one must find nothing left of this.
  after(end);
  lastly.push(end);
  if (options === undefined) return sharedService(stops);
  const database = options.database ?? (await freshDatabase(await thisServer()));
  stops.push(() => database.drop());
  return serviceOn(database.url, options, stops);
}

/** The tests ask more often than one consumer may. The rate limit has tests of its own. */
const sharedOptions = { settings: { ARS_RATE_LIMIT: '1000000' } };
let shared: Promise<TestService> | null = null;

/** What the shared service logs while a file uses it. */
const listeners = new Set<string[]>();

async function sharedService(stops: Stops): Promise<TestService> {
  shared ??= (async () => {
    const sharedStops: Stops = [];
    lastly.push(endOf(sharedStops));
    const database = await freshDatabase(await thisServer());
    sharedStops.push(() => database.drop());
    return serviceOn(database.url, sharedOptions, sharedStops, (text) => {
      for (const logged of listeners) logged.push(text);
    });
  })();
  const service = await shared;
  const logged: string[] = [];
  listeners.add(logged);
  stops.push(async () => void listeners.delete(logged));
  const refuse = async () => {
    throw new Error("Other files use this service. Start another one: withService({ own: 'REASON.' }).");
  };
  return {
    ...service,
    logged,
    sibling: siblingsOf(service.databaseUrl, sharedOptions, stops),
    stop: refuse,
    restart: refuse,
  };
}

const siblingsOf =
  (databaseUrl: string, options: ServiceOptions, stops: Stops): TestService['sibling'] =>
  ({ databaseUrl: otherwise, ...extra } = {}) =>
    serviceOn(otherwise ?? databaseUrl, { ...options, ...extra }, stops);

async function serviceOn(
  databaseUrl: string,
  options: ServiceOptions,
  stops: Stops,
  log?: (text: string) => void,
): Promise<TestService> {
  const logged: string[] = [];
  const start = async (port: number) => {
    const settings = readSettings({
      ARS_PORT: String(port),
      ...addressesOf(databaseUrl),
      ARS_SECRET: secret,
      ARS_DRAIN_DELAY_SECONDS: '0',
      ...options.settings,
    });
    const opened = await openApp(settings, {
      clock: options.clock,
      random: options.random,
      logTo: { write: log ?? ((text: string) => logged.push(text)) },
    });
    options.prepare?.(opened.app);
    return startService(opened, options.role ?? 'web');
  };
  let running = await start(await freePort());
  let stopped: Promise<void> | null = null;
  const stop = () =>
    (stopped ??= (async () => {
      await hangUp(running.url);
      await running.stop();
    })());
  stops.push(stop);
  const service: TestService = {
    get app() {
      return running.app;
    },
    url: running.url,
    metricsUrl: running.metricsUrl,
    databaseUrl,
    environment: { DATABASE_URL: databaseUrl, ARS_SECRET: running.app.settings.secret!, ARS_BASE_URL: running.url },
    logged,
    client: (key) => client(running.url, key),
    withUnitOfWork: (inside) => withUnitOfWork(running.app, null, inside),
    async organisation(given = {}) {
      const made = await withUnitOfWork(running.app, null, async (work) => {
        const organisation = await createOrganisation(work, {
          name: given.name ?? 'Test College',
          plan: given.plan ?? 'unlimited',
          credits: given.credits ?? 0,
          groupAutocreate: given.groupAutocreate ?? true,
        });
        return {
          organisation,
          key: await createKey(work, organisation.organisation_id, { label: 'test', kind: 'test' }),
        };
      });
      return {
        ...client(running.url, made.key),
        key: made.key,
        id: made.organisation.organisation_id,
        publicId: made.organisation.public_id,
        async another(extra = {}) {
          const key = await withUnitOfWork(running.app, null, (work) =>
            createKey(work, made.organisation.organisation_id, { label: null, kind: 'test', ...extra }),
          );
          return { ...client(running.url, key), key };
        },
      };
    },
    sibling: siblingsOf(databaseUrl, options, stops),
    async restart() {
      await hangUp(running.url);
      await running.stop();
      running = await start(Number(new URL(running.url).port));
    },
    stop,
  };
  return service;
}
