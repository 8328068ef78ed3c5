import { after } from 'node:test';
import { createHash } from 'node:crypto';
import { chmod, mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App } from '../src/app.ts';
import type { Clock } from '../src/clock.ts';
import { systemClock } from '../src/clock.ts';
import type { Database } from '../src/db/database.ts';
import { openDatabase } from '../src/db/database.ts';
import { startEmbedded } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';
import type { Work } from '../src/db/work.ts';
import { inWork } from '../src/db/work.ts';
import { createKey } from '../src/keys/keys.ts';
import { streamLog } from '../src/log.ts';
import type { Role } from '../src/main.ts';
import { openApp, startService } from '../src/main.ts';
import type { Plan } from '../src/organisations/organisations.ts';
import { createOrganisation } from '../src/organisations/organisations.ts';
import type { Random } from '../src/random.ts';
import { systemRandom } from '../src/random.ts';
import { readSettings } from '../src/settings.ts';
import type { Client, Key } from './contract/client.ts';
import { client, hangUp } from './contract/client.ts';

/** Services and databases for tests: real ones, each database a copy of a migrated template. */

const silent = streamLog(systemClock, 'none', { write: () => true });

let server: Promise<string> | null = null;

/** Whether the server goes with the run: then its databases needn't be dropped, each of which costs a checkpoint. */
let disposable = process.env.ARS_TEST_DATABASE_DISPOSABLE === 'yes';

/** The server of the run (test/run.ts), or one of this process when a test file is run by itself. */
function serverUrl(): Promise<string> {
  server ??= (async () => {
    const given = process.env.ARS_TEST_DATABASE_URL;
    if (given !== undefined && given !== '') return given;
    const folder = await mkdtemp(join(tmpdir(), 'ars-test-'));
    await chmod(folder, 0o755);
    const embedded = await startEmbedded({ dataDir: folder });
    disposable = true;
    lastly.push(async () => { await embedded.stop(); await rm(folder, { recursive: true, force: true }); });
    return embedded.url;
  })();
  return server;
}

/** What ends with the process's last test. */
const lastly: (() => Promise<void>)[] = [];
after(async () => {
  await hangUp();
  for (const step of lastly.reverse().splice(0)) await step();
});

function inDatabase(url: string, name: string): string {
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

async function withAdministration<T>(inside: (db: Database) => Promise<T>): Promise<T> {
  const db = openDatabase(await serverUrl(), silent, 1);
  try {
    return await inside(db);
  } finally {
    await db.close();
  }
}

/** Advisory lock under which one process of the run makes the template. */
const templateLock = 7_301_117;

let template: Promise<string> | null = null;

/** A migrated database to copy, made once for each state of the migrations. */
function templateName(): Promise<string> {
  template ??= (async () => {
    const folder = new URL('../src/db/migrations/', import.meta.url);
    const digest = createHash('sha256');
    for (const file of (await readdir(folder)).sort()) digest.update(file).update(await readFile(new URL(file, folder)));
    const name = `ars_template_${digest.digest('hex').slice(0, 12)}`;
    const url = await serverUrl();
    await withAdministration(async (db) => {
      await db.query('select pg_advisory_lock($1)', [templateLock]);
      if ((await db.query('select from pg_database where datname = $1', [name])).length > 0) return;
      const draft = `${name}_draft`;
      await db.query(`drop database if exists ${draft} with (force)`);
      await db.query(`create database ${draft}`);
      const fresh = openDatabase(inDatabase(url, draft), silent, 1);
      await migrate(fresh, systemClock);
      await fresh.close();
      await db.query(`alter database ${draft} rename to ${name}`);
    });
    return name;
  })();
  return template;
}

/** A fresh migrated database; it is dropped by `drop`. */
export async function freshDatabase(options: { migrated?: boolean } = {}): Promise<{ url: string; drop(): Promise<void> }> {
  const from = options.migrated === false ? 'template0' : await templateName();
  const name = `ars_test_${systemRandom.bytes(8).toString('hex')}`;
  await withAdministration((db) => db.query(`create database ${name} template ${from}`));
  return {
    url: inDatabase(await serverUrl(), name),
    async drop() {
      if (!disposable) await withAdministration((db) => db.query(`drop database if exists ${name} with (force)`));
    },
  };
}

export type TestOrganisation = Client & {
  id: number;
  publicId: string;
  key: Key;
  /** Another key pair of the organisation, with its client. */
  another(options?: { expiresAt?: Date; label?: string }): Promise<Client & { key: Key }>;
};

export type TestService = {
  app: App;
  url: string;
  databaseUrl: string;
  /** What the service has logged. */
  logged: string[];
  organisation(options?: { name?: string; plan?: Plan; credits?: number; groupAutocreate?: boolean }): Promise<TestOrganisation>;
  /** A client of the service with any key pair, or none. */
  client(key: Key | null): Client;
  /** Runs verbs directly, in a unit of work. */
  inWork<T>(inside: (work: Work) => Promise<T>): Promise<T>;
  /** A second service on the same database. */
  sibling(options?: ServiceOptions): Promise<TestService>;
  /** Stops the service and starts it again on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
};

export type ServiceOptions = {
  clock?: Clock;
  random?: Random;
  role?: Role;
  /** Settings by their names, beside port, database and secret. */
  settings?: Record<string, string>;
};

const secret = 'a secret of the tests, longer than 32 characters';

/**
 * A service on a free port with a database of its own; both end with the test, suite or file that asked for them.
 */
export async function withService(options: ServiceOptions = {}): Promise<TestService> {
  const stops: (() => Promise<void>)[] = [];
  const end = async () => { for (const stop of stops.reverse().splice(0)) await stop(); };
  // Hooks of a file run in the order they were registered, so the file's last one must find nothing left of this.
  after(end);
  lastly.push(end);
  const database = await freshDatabase();
  stops.push(() => database.drop());
  return serviceOn(database.url, options, stops);
}

async function serviceOn(databaseUrl: string, options: ServiceOptions, stops: (() => Promise<void>)[]): Promise<TestService> {
  const logged: string[] = [];
  const start = async (port: number) => {
    const settings = readSettings({ ARS_PORT: String(port), DATABASE_URL: databaseUrl, ARS_SECRET: secret, ...options.settings });
    return startService(await openApp(settings, { clock: options.clock, random: options.random, logTo: { write: (text: string) => logged.push(text) } }), options.role ?? 'web');
  };
  let running = await start(0);
  let stopped: Promise<void> | null = null;
  const stop = () => stopped ??= (async () => { await hangUp(running.url); await running.stop(); })();
  stops.push(stop);
  const service: TestService = {
    get app() { return running.app; },
    url: running.url, databaseUrl, logged,
    client: (key) => client(running.url, key),
    inWork: (inside) => inWork(running.app, inside),
    async organisation(given = {}) {
      const made = await inWork(running.app, async (work) => {
        const organisation = await createOrganisation(work, {
          name: given.name ?? 'Test College', plan: given.plan ?? 'unlimited', credits: given.credits ?? 0, groupAutocreate: given.groupAutocreate ?? true,
        });
        return { organisation, key: await createKey(work, organisation.organisation_id, { label: 'test', kind: 'test' }) };
      });
      return {
        ...client(running.url, made.key), key: made.key, id: made.organisation.organisation_id, publicId: made.organisation.public_id,
        async another(extra = {}) {
          const key = await inWork(running.app, (work) => createKey(work, made.organisation.organisation_id,
            { label: extra.label ?? null, kind: 'test', expiresAt: extra.expiresAt ?? null }));
          return { ...client(running.url, key), key };
        },
      };
    },
    sibling: (extra = {}) => serviceOn(databaseUrl, { ...options, ...extra }, stops),
    async restart() {
      await hangUp(running.url);
      await running.stop();
      running = await start(Number(new URL(running.url).port));
    },
    stop,
  };
  return service;
}
