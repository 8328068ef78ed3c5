import { setTimeout as delay } from 'node:timers/promises';
import type { App } from './platform/app.ts';
import { buildServer, type HttpServer } from './api/server.ts';
import { startHousekeeping } from './server/housekeeping.ts';
import { writeOfEndingKeys } from './integrations/access-keys/email-templates.ts';
import { startMailer } from './platform/mail/worker.ts';
import { registerPages } from './server/pages.ts';
import { databaseCollectors } from './server/collectors.ts';
import { draining, processes } from './platform/observability/metric-definitions.ts';
import { exposition, readMetrics } from './platform/observability/metrics.ts';
import { type Operations, startOperations, type OperationsSource } from './server/operations.ts';
import { statusReader } from './server/status/reader.ts';
import { createProbes, type Probes } from './server/probes.ts';
import { watchProcess } from './platform/observability/process-collectors.ts';
import { tracing } from './platform/observability/tracing.ts';
import { startUpgrade } from './governance/upgrade/upgrade.ts';
import { SettingsError } from './platform/config/settings.ts';
import type { OpenApp } from './server/open-app.ts';
import { build } from './platform/config/version.ts';
import { writeOfEndpoints } from './integrations/webhooks/endpoints/notices.ts';
import { countLostSecrets } from './integrations/webhooks/endpoints/secrets.ts';
import type { Sender } from './integrations/webhooks/http/send.ts';
import { DeliveryWorker } from './integrations/webhooks/worker.ts';

/**
 * Deliveries and emails that are under way get at least this time when the service stops. After that time the stop is
 * cut off, so that the service manager does not kill the process.
 */
const minStopMs = 5000;

/**
 * For `localhost`, Fastify opens a second server for IPv6 without our request handlers, so the service listens on
 * 127.0.0.1 only.
 */
const oneHost = (host: string) => (host === 'localhost' ? '127.0.0.1' : host);

export type Role = 'all' | 'web' | 'worker';

/** `source`: the data of the probe and metrics port. `metricsUrl`: the URL of that port, or null if it is closed. */
export type Service = {
  app: App;
  http: HttpServer | null;
  url: string;
  source: OperationsSource & { figures(): Promise<void> };
  metricsUrl: string | null;
  stop(): Promise<void>;
};

/**
 * Starts the HTTP server, the workers or both (`role`) on an open app.
 * @param options `sender`: replaces the ordinary sender of deliveries. `gathered`: the parent process serves the probe
 *   port. `operations`: the probe port, if it is already open.
 */
export async function startService(
  opened: OpenApp,
  role: Role,
  options: { sender?: Sender; gathered?: boolean; operations?: Operations | null } = {},
): Promise<Service> {
  const { app } = opened;
  const probes = createProbes(app);
  const status = statusReader(app);
  const figures = databaseCollectors(app, status);
  const source = {
    status: () => status(),
    readiness: probes.readiness,
    figures,
    metrics: async () => {
      await figures();
      return exposition(readMetrics());
    },
  };
  let operations = options.operations ?? null;
  const stops: (() => Promise<void>)[] = [];
  const stop = () => stopService(opened, probes, stops, operations);
  try {
    if (role === 'worker' && app.settings.mailServer !== null && app.settings.baseUrl === '')
      throw new SettingsError('ARS_BASE_URL must be set when ARS_SMTP_URL is: mails lead to it.');
    const { metricsHost: host, metricsPort: port } = app.settings;
    if (port !== null) {
      draining.set(0);
      processes.set(1);
      // If the port is already open, the caller also collects the metrics of the process.
      if (operations === null) {
        const unwatch = watchProcess(app.clock, role);
        stops.push(async () => unwatch());
        if (options.gathered !== true) operations = await startOperations({ host, port });
      }
      operations?.setSource(source);
    }
    await reportLostSecrets(app);
    let http: HttpServer | null = null;
    let url = app.settings.baseUrl;
    if (role !== 'worker') {
      http = await buildServer(app, (fastify) => registerPages(app, fastify, probes));
      const server = http;
      stops.push(() => server.stop());
      url = await http.fastify.listen({ host: oneHost(app.settings.host), port: app.settings.port });
      // If the port is 0, the system chooses a port, so the public origin is known only after `listen`.
      if (app.settings.baseUrl === '') app.settings.baseUrl = url;
    }
    const restamp = startUpgrade(app);
    stops.push(() => restamp.stop());
    const housekeeping = startHousekeeping(app);
    stops.push(() => housekeeping.stop());
    if (role !== 'web') stops.push(...startWorkers(app, options.sender));
    const metricsUrl = operations?.url ?? null;
    app.log.info('service.started', { ...build, role, url, metrics: metricsUrl ?? undefined, tracing });
    return { app, http, url, source, metricsUrl, stop };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
}

/** @returns the steps that stop the workers */
function startWorkers(app: App, sender?: Sender): (() => Promise<void>)[] {
  const worker = new DeliveryWorker(app, { sender });
  const mailer = startMailer(app, [writeOfEndpoints, writeOfEndingKeys]);
  return [() => worker.stop().then(() => sender?.close()), () => mailer.stop()];
}

async function stopService(
  opened: OpenApp,
  probes: Probes,
  stops: (() => Promise<void>)[],
  operations: Operations | null,
): Promise<void> {
  const { settings } = opened.app;
  probes.drain();
  draining.set(1);
  // A waiting change may need longer than the stop allows. Its request is refused early, so that the client gets a
  // response.
  const refusing = setTimeout(() => opened.app.db.refuseWaiting(), settings.drainMs / 2);
  // The steps run in parallel, because the stop has little time.
  const steps = Promise.allSettled(stops.splice(0).map((step) => step()));
  const over = new AbortController();
  const late = delay(Math.max(settings.drainMs, minStopMs) + 250, undefined, { signal: over.signal });
  await Promise.race([steps, late.catch(() => {})]);
  over.abort();
  clearTimeout(refusing);
  // The metrics port closes last, so that the metrics show the stop.
  await operations?.stop();
  await opened.close();
}

async function reportLostSecrets({ db, keyring, log }: App): Promise<void> {
  const { lost } = await countLostSecrets(db, keyring);
  if (lost > 0)
    log.error('webhooks.secrets_lost', {
      endpoints: lost,
      advice: 'List the ARS_SECRET that encrypted them in ARS_PREVIOUS_SECRETS, or rotate their secrets.',
    });
}
