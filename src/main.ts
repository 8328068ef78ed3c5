import { setTimeout as delay } from 'node:timers/promises';
import type { App } from './platform/app.ts';
import type { HttpServer } from './api/server.ts';
import { buildServer } from './api/server.ts';
import { startHousekeeping } from './server/housekeeping.ts';
import { writeOfEndingKeys } from './integrations/access-keys/email-templates.ts';
import { startMailer } from './platform/mail/worker.ts';
import { registerPages } from './server/pages.ts';
import { databaseFigures } from './server/collectors.ts';
import { draining, processes } from './platform/observability/metric-definitions.ts';
import { exposition, readMetrics } from './platform/observability/metrics.ts';
import type { Operations, Told } from './server/operations.ts';
import { startOperations } from './server/operations.ts';
import { createProbes } from './server/probes.ts';
import { watchProcess } from './platform/observability/process-collectors.ts';
import { tracing } from './platform/observability/tracing.ts';
import { startUpgrade } from './governance/upgrade/upgrade.ts';
import { SettingsError } from './platform/config/settings.ts';
import type { OpenApp } from './server/open-app.ts';
import { build } from './platform/config/version.ts';
import { writeOfEndpoints } from './integrations/webhooks/endpoints/notices.ts';
import { countLostSecrets } from './integrations/webhooks/endpoints/secrets.ts';
import type { Sender } from './integrations/webhooks/http/send.ts';
import { startWorker } from './integrations/webhooks/worker.ts';

/**
 * What deliveries and mails under way get where requests get less. A step that takes longer than all of them waits for a
 * database that says nothing: the service manager would kill what waits on.
 */
const minStopMs = 5000;

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
 * this one has the port for probes and metrics; `operations`: that port, where it is open already
 */
export async function startService(
  opened: OpenApp,
  role: Role,
  given: { sender?: Sender; gathered?: boolean; operations?: Operations | null } = {},
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
  let operations = given.operations ?? null;
  const stops: (() => Promise<void>)[] = [];
  const stop = async () => {
    probes.drain();
    draining.set(1);
    // A change may wait for longer than a stop lasts; whoever sent it is told so while there is time to.
    const refusing = setTimeout(() => app.db.refuseWaiting(), app.settings.drainMs / 2);
    // All at once: none of them needs another, and a stop has little time.
    const steps = Promise.allSettled(stops.splice(0).map((step) => step()));
    const over = new AbortController();
    const late = delay(Math.max(app.settings.drainMs, minStopMs) + 250, undefined, { signal: over.signal });
    await Promise.race([steps, late.catch(() => {})]);
    over.abort();
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
      // Who has opened the port before watches from then on.
      if (operations === null) {
        const unwatch = watchProcess(app.clock, role);
        stops.push(async () => unwatch());
        if (given.gathered !== true) operations = await startOperations({ host, port });
      }
      operations?.tell(told);
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
    app.log.info('service.started', { ...build, role, url, metrics: metricsUrl ?? undefined, tracing });
    return { app, http, url, told, metricsUrl, stop };
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }
}
