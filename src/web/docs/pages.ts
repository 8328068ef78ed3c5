import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../../platform/app.ts';
import { noPage } from '../../api/target.ts';
import { noneMatch } from '../../feed/etag.ts';
import { once } from '../../platform/time/once.ts';
import { makeSite } from './site.ts';

/** The policy lets a page load only style sheets, scripts and pictures of the service. */
const pagePolicy =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The policy of SVG drawings, which contain their style sheet. */
const drawingPolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";

type Served = { type: string; body: Buffer; etag: string; zipped: () => Promise<Buffer> };

const zip = promisify(gzip);

async function serve(app: App): Promise<Map<string, Served>> {
  const { files } = await makeSite(app.settings.baseUrl, app.settings.rateLimit);
  return new Map(
    [...files].map(([path, { type, body: text }]) => {
      const body = Buffer.from(text);
      const etag = `W/"${hash('sha256', body, 'base64url').slice(0, 24)}"`;
      return [path, { type, body, etag, zipped: once(() => zip(body)) }];
    }),
  );
}

export function registerSite(app: App, fastify: FastifyInstance): void {
  // Pages are made at the first request, because the service learns its origin only when it listens.
  const made = once(() => serve(app));
  const send = async (request: FastifyRequest, reply: FastifyReply) => {
    const { '*': path } = request.params as { '*': string };
    const file = (await made()).get(path === '' ? 'index.html' : path);
    if (file === undefined) throw noPage();
    reply.headers({
      etag: file.etag,
      'cache-control': 'public, max-age=0, must-revalidate',
      vary: 'Accept-Encoding',
      'content-security-policy': file.type.startsWith('image/svg') ? drawingPolicy : pagePolicy,
      'referrer-policy': 'no-referrer',
    });
    if (!noneMatch(request.headers['if-none-match'], file.etag)) return reply.code(304).send();
    reply.type(file.type);
    const mayZip = !file.type.startsWith('image/png') && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
    return mayZip ? reply.header('content-encoding', 'gzip').send(await file.zipped()) : reply.send(file.body);
  };
  const method = ['GET', 'HEAD'];
  fastify.route({ method, url: '/docs/*', handler: send });
  for (const url of ['/', '/docs'])
    fastify.route({ method, url, handler: (_request, reply) => reply.redirect('/docs/') });
}
