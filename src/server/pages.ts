import type { FastifyInstance, RouteHandlerMethod } from 'fastify';
import type { App } from '../platform/app.ts';
import { registerVerify } from '../web/verify/verify-page.ts';
import { registerOpenApi } from '../api/reference/pages.ts';
import { AddressWindows } from '../api/address-windows.ts';
import { callerAddress } from '../api/caller-address.ts';
import { batcher } from '../platform/db/batcher.ts';
import { registerConsole } from '../web/console/server.ts';
import { ApiError } from '../platform/errors/errors.ts';
import { registerKeyLinks } from '../integrations/access-keys/link-page.ts';
import { limits } from '../platform/config/limits.ts';
import { registerPlayer } from '../web/player/routes.ts';
import type { Probes } from './probes.ts';
import { securityText, securityTextPath } from '../web/security-text.ts';
import { registerSite } from '../web/docs/pages.ts';

/** Limits requests by IP address. Each process counts only its own requests. */
function limitByAddress(app: App, fastify: FastifyInstance, max: number): void {
  const windows = new AddressWindows(app.clock, 'forget');
  fastify.addHook('onRequest', (request, _reply, done) => {
    const window = windows.count(callerAddress(request.raw, app.settings.trustedProxies));
    done(
      window.calls <= max
        ? undefined
        : new ApiError('rate_limited', undefined, { 'retry-after': String(windows.waitSeconds(window)) }),
    );
  });
}

function serve(fastify: FastifyInstance, url: string, handler: RouteHandlerMethod): void {
  fastify.route({ method: ['GET', 'HEAD'], url, handler });
}

export async function registerPages(app: App, fastify: FastifyInstance, { readiness }: Probes): Promise<void> {
  // One query answers all probes that wait.
  const ask = batcher<void, void>(async (probes) => {
    await app.db.query('select 1');
    return new Array<void>(probes.length).fill(undefined);
  }, Infinity);
  await fastify.register(async (probes) => {
    limitByAddress(app, probes, limits.probesPerAddress);
    // Monitors have no credentials, so the response only says that the database answers, and no audit row is written.
    serve(probes, '/healthz', async (_request, reply) => {
      await ask();
      return reply.header('cache-control', 'no-store').send({ status: 'ok' });
    });
    serve(probes, '/readyz', async (_request, reply) => {
      const state = await readiness();
      return reply
        .code(state.status === 'ready' ? 200 : 503)
        .header('cache-control', 'no-store')
        .send(state);
    });
  });
  // This probe has no rate limit and makes no query: other clients or a lost database must not get the process killed.
  serve(fastify, '/livez', (_request, reply) => void reply.header('cache-control', 'no-store').send({ status: 'ok' }));
  await fastify.register(async (pages) => {
    limitByAddress(app, pages, limits.pagesPerAddress);
    registerOpenApi(app, pages);
    registerSite(app, pages);
    registerVerify(app, pages);
    registerKeyLinks(app, pages);
  });
  await fastify.register(async (pages) => {
    limitByAddress(app, pages, limits.consolePagesPerAddress);
    registerConsole(app, pages);
  });
  const { securityContact: contact } = app.settings;
  if (contact !== null)
    serve(fastify, securityTextPath, (_request, reply) => {
      const text = securityText(app.clock, { contact, baseUrl: app.settings.baseUrl });
      return void reply.type('text/plain; charset=utf-8').send(text);
    });
  // Browsers request this icon for every page, and log an error without one.
  serve(
    fastify,
    '/favicon.ico',
    (_request, reply) => void reply.code(204).header('cache-control', 'public, max-age=86400').send(),
  );
  // Learners of a class share one IP address, so their pages have no such limit.
  registerPlayer(app, fastify);
}
