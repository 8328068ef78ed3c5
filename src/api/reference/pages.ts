import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../app.ts';
import { noneMatch } from '../../feed/etag.ts';
import type { Settings } from '../../settings.ts';
import { makeOpenApi, openApiText } from './openapi.ts';
import { referencePage } from './page.ts';
import { referenceStyle } from './style.ts';

type Page = { text: string; etag: string; type: string };

const styleHash = hash('sha256', referenceStyle, 'base64');

/** The page runs nothing and loads nothing: the one style sheet is named by its hash. */
const pageHeaders = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

function page(text: string, type: string): Page {
  return { text, type, etag: `"${hash('sha256', text, 'base64url').slice(0, 24)}"` };
}

async function make(settings: Settings): Promise<{ document: Page; reference: Page }> {
  const document = await makeOpenApi(settings.baseUrl, settings.rateLimit);
  return {
    document: page(openApiText(document), 'application/json; charset=utf-8'),
    reference: page(referencePage(document), 'text/html; charset=utf-8'),
  };
}

/** Serves the OpenAPI document and the reference made from it, to everybody: they hold nothing of any organisation. */
export function registerReference(app: App, fastify: FastifyInstance): void {
  // The origin is known for certain only when the service listens, so both are made when they are first asked for.
  let made: ReturnType<typeof make> | null = null;
  const serve = (which: 'document' | 'reference') => async (request: FastifyRequest, reply: FastifyReply) => {
    made ??= make(app.settings);
    const { text, etag, type } = (await made)[which];
    reply.headers({
      etag,
      'cache-control': 'public, max-age=0, must-revalidate',
      ...(which === 'reference' ? pageHeaders : { 'access-control-allow-origin': '*' }),
    });
    if (!noneMatch(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type(type).send(text);
  };
  const method = ['GET', 'HEAD'];
  fastify.route({ method, url: '/openapi.json', handler: serve('document') });
  fastify.route({ method, url: '/docs', handler: serve('reference') });
  fastify.route({ method, url: '/', handler: async (_request, reply) => reply.redirect('/docs') });
}
