import type { FastifyInstance } from 'fastify';
import type { App } from './app.ts';
import { registerVerify } from './evidence/verify-page.ts';
import { registerReference } from './api/reference/pages.ts';
import { registerPlayer } from './player/routes.ts';

/** What is served beside the API. */
export function registerPages(app: App, fastify: FastifyInstance): void {
  // For the operator's probes: without credentials, without audit, and it says no more than that the database answers.
  fastify.route({
    method: ['GET', 'HEAD'],
    url: '/healthz',
    handler: async (_request, reply) => {
      await app.db.query('select 1');
      return reply.header('cache-control', 'no-store').send({ status: 'ok' });
    },
  });
  registerReference(app, fastify);
  registerVerify(app, fastify);
  registerPlayer(app, fastify);
}
