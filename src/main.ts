import { setTimeout as delay } from 'node:timers/promises';
import type { App } from './app.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import { openDatabase } from './db/database.ts';
import { isDistributed } from './db/distributed.ts';
import { provePooler } from './db/pooler.ts';
import { forgetRestored, isRestored } from './db/embedded/backup.ts';
import type { EmbeddedDatabase } from './db/embedded/embedded.ts';
import { startEmbedded } from './db/embedded/embedded.ts';
import { migrate } from './db/migrate.ts';
import type { HttpServer } from './api/server.ts';
import { buildServer } from './api/server.ts';
import { startHousekeeping } from './housekeeping.ts';
import { writeOfEndingKeys } from './keys/letters.ts';
import { streamLog } from './log.ts';
import { startMailer } from './mail/worker.ts';
import { registerPages } from './pages.ts';
import { databaseFigures } from './figures.ts';
import { draining, processes } from './measures.ts';
import { exposition, readMetrics } from './metrics.ts';
import type { Told } from './operations.ts';
import { startOperations } from './operations.ts';
import { createProbes } from './probes.ts';
import { watchProcess } from './process-figures.ts';
import type { Random } from './random.ts';
import { systemRandom } from './random.ts';
import { deriveSecrets } from './secrets.ts';
import { acceptSecret, proveSecret, serviceSecret } from './service-secret.ts';
import { applyErasures } from './restore/erasures.ts';
import { takeUpRestore } from './restore/lineage.ts';
import { startUpgrade } from './upgrade.ts';
import type { Settings } from './settings.ts';
import { SettingsError } from './settings.ts';
import { version } from './version.ts';
import { writeOfEndpoints } from './webhooks/letters.ts';
import { countLostSecrets } from './webhooks/lost-secrets.ts';
import { createKeyring } from './keyring.ts';
import type { Sender } from './webhooks/send.ts';
import { startWorker } from './webhooks/worker.ts';

/** How long the database may take to end its connections. */
const closeMs = 2000;

/** An app with its database, and how to let go of both. */
export type OpenApp = { app: App; close(): Promise<void> };

/**
 * Settings → database (embedded unless DATABASE_URL says otherwise) → migrations → app.
 * @param given what tests inject; `acceptSecret`: whatever secret the database was used with before
 */
export async function openApp(
  settings: Settings,
  given: { clock?: Clock; random?: Random; logTo?: { write(text: string): unknown }; acceptSecret?: boolean } = {},
): Promise<OpenApp> {
  const clock = given.clock ?? systemClock;
  const random = given.random ?? systemRandom;
  const log = streamLog(clock, settings.log, given.logTo ?? process.stderr);
  let embedded: EmbeddedDatabase | null = null;
  if (settings.databaseUrl === undefined)
    embedded = await startEmbedded({ dataDir: settings.dataDir, log: (line) => log.info('database', { line }) });
  if (settings.databaseUrl !== undefined) await provePooler(settings.databaseUrl, settings.databaseDirectUrl);
  const { databaseUrl, databaseDirectUrl } = settings;
  const distributed = databaseUrl !== undefined && (await isDistributed(databaseDirectUrl ?? databaseUrl));
  const db = openDatabase(databaseUrl ?? embedded!.url, log, undefined, databaseDirectUrl, distributed);
  const close = async () => {
    // Whoever waits for a lock has lost its connection by now; its statement must not hold up the end.
    await Promise.race([db.close(), delay(closeMs, undefined, { ref: false })]);
    await embedded?.stop();
  };
  try {
    const secret = await serviceSecret(settings, random);
    await migrate(db, clock);
    const keyring = createKeyring([secret, ...settings.previousSecrets], random);
    if (given.acceptSecret === true) await acceptSecret(db, secret, clock.nowMs());
    else await proveSecret(db, keyring, secret, settings.previousSecrets, clock.nowMs());
    const app: App = {
      db,
      clock,
      random,
      settings,
      log,
      secrets: deriveSecrets(secret, settings.previousSecrets),
      keyring,
    };
    const isPutBack = embedded !== null && (await isRestored(settings.dataDir));
    await takeUpRestore(app, isPutBack ? 'operator' : null);
    if (isPutBack) await forgetRestored(settings.dataDir);
    await applyErasures(app);
    return { app, close };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** For localhost Fastify opens a second server, on the other family, which would have nothing of ours. */
const oneHost = (host: string) => (host === 'localhost' ? '127.0.0.1' : host);

export type Role = 'all' | 'web' | 'worker';

/**
 * A service that answers. `told`: what the port for probes and metrics tells of it, `metricsUrl` where that is, if it is
 * anywhere.
 */
export type Service = {
  app: App;
  http: HttpServer | null;
  url: string;
  told: Told & { figures(): Promise<void> };
  metricsUrl: string | null;
  stop(): Promise<void>;
};

/**
 * Starts what the role asks for on an open app; stops after the requests and deliveries under way.
 * @param given `sender`: what makes deliveries, in the place of the ordinary one; `gathered`: the process that started
 * this one has the port for probes and metrics
 */
export async function startService(
  opened: OpenApp,
  role: Role,
  given: { sender?: Sender; gathered?: boolean } = {},
): Promise<Service> {
  const { app } = opened;
  const probes = createProbes(app);
  const figures = databaseFigures(app);
  const told = {
    readiness: probes.readiness,
    figures,
    metrics: async () => {
      await figures();
      return exposition(readMetrics());
    },
  };
  let operations: Awaited<ReturnType<typeof startOperations>> | null = null;
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    probes.drain();
    draining.set(1);
    // A change may wait for longer than a stop lasts; whoever sent it is told so while there is time to.
    const refusing = setTimeout(() => app.db.refuseWaiting(), app.settings.drainMs / 2);
    // All at once: none of them needs another, and a stop has little time.
    await Promise.allSettled(stops.splice(0).map((step) => step()));
    clearTimeout(refusing);
    // To the last: whoever watches sees the end of it.
    await operations?.stop();
    await opened.close();
  };
  try {
    if (role === 'worker' && app.settings.mailServer !== null && app.settings.baseUrl === '')
      throw new SettingsError('ARS_BASE_URL must be set when ARS_SMTP_URL is: mails lead to it.');
    const { metricsHost: host, metricsPort: port } = app.settings;
    if (port !== null) {
      draining.set(0);
      processes.set(1);
      const unwatch = watchProcess(app.clock, role);
      stops.push(async () => unwatch());
      if (given.gathered !== true) operations = await startOperations({ host, port }, told);
    }
    const { lost } = await countLostSecrets(app.db, app.keyring);
    if (lost > 0)
      app.log.error('webhooks.secrets_lost', {
        endpoints: lost,
        advice: 'List the ARS_SECRET that encrypted them in ARS_PREVIOUS_SECRETS, or rotate their secrets.',
      });
    let http: HttpServer | null = null;
    let url = app.settings.baseUrl;
    if (role !== 'worker') {
      http = await buildServer(app, (fastify) => registerPages(app, fastify, probes));
      const server = http;
      stops.push(() => server.stop());
      url = await http.fastify.listen({ host: oneHost(app.settings.host), port: app.settings.port });
      // With port 0 the public origin is known only now; it is settled before anything is answered with it.
      if (app.settings.baseUrl === '') app.settings.baseUrl = url;
    }
    const restamp = startUpgrade(app);
    stops.push(() => restamp.stop());
    const housekeeping = startHousekeeping(app);
    stops.push(() => housekeeping.stop());
    if (role !== 'web') {
      const worker = startWorker(app, given);
      stops.push(async () => {
        await worker.stop();
        await given.sender?.close();
      });
      const mailer = startMailer(app, [writeOfEndpoints, writeOfEndingKeys]);
      stops.push(() => mailer.stop());
    }
    const metricsUrl = operations?.url ?? null;
    app.log.info('service.started', { version, role, url, metrics: metricsUrl ?? undefined });
    return { app, http, url, told, metricsUrl, stop };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
}
