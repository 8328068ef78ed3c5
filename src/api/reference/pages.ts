import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { App } from '../../platform/app.ts';
import { noneMatch } from '../../feed/etag.ts';
import { once } from '../../platform/time/once.ts';
import { makeOpenApi, referenceFiles } from './openapi.ts';

/** Serves the reference files without credentials, because these files contain no data of an organisation. */
export function registerOpenApi(app: App, fastify: FastifyInstance): void {
  // The base URL is certain only when the service listens, so the document is made at the first request.
  const document = once(() => makeOpenApi(app.settings.baseUrl, app.settings.rateLimit));
  for (const [name, textOf] of Object.entries(referenceFiles)) {
    const made = once(async () => {
      const text = textOf(await document());
      return { text, etag: `"${hash('sha256', text, 'base64url').slice(0, 24)}"` };
    });
    fastify.route({
      method: ['GET', 'HEAD'],
      url: `/${name}`,
      handler: async (request, reply) => {
        const { text, etag } = await made();
        reply.headers({
          etag,
          'cache-control': 'public, max-age=0, must-revalidate',
          'access-control-allow-origin': '*',
        });
        if (!noneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send();
        return reply.type('application/json; charset=utf-8').send(text);
      },
    });
  }
}
