import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

/** A file that the pages load, under an address that changes with its content. */
export type Asset = { path: string; type: string; body: string; gzip: Buffer };

function asset(name: string, type: string, make: (source: string) => string): Asset {
  const body = make(readFileSync(new URL(name, import.meta.url), 'utf8'));
  return {
    path: `/player/${hash('sha256', body, 'base64url').slice(0, 16)}/${name}`,
    type,
    body,
    gzip: gzipSync(body, { level: 9 }),
  };
}

/** The scripts as they are sent: without comments and indentation, because phones on poor connections wait for every byte. */
const script = (source: string): string => source.replace(/^\s*(\/\/.*)?\n/gm, '').replace(/^ +/gm, '');

export const assets = {
  style: asset('style.css', 'text/css; charset=utf-8', (source) => source),
  player: asset('player.js', 'text/javascript; charset=utf-8', script),
  readAloud: asset('read-aloud.js', 'text/javascript; charset=utf-8', script),
};

export function registerAssets(fastify: FastifyInstance): void {
  for (const { path, type, body, gzip } of Object.values(assets)) {
    fastify.get(path, async (request, reply) => {
      reply
        .headers({
          'cache-control': 'public, max-age=31536000, immutable',
          'x-content-type-options': 'nosniff',
          vary: 'Accept-Encoding',
        })
        .type(type);
      return /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
        ? reply.header('content-encoding', 'gzip').send(gzip)
        : reply.send(body);
    });
  }
  // The player's script asks here whether the service can be reached, before it lets the browser leave the page.
  fastify.route({
    method: ['GET', 'HEAD'],
    url: '/player/online',
    handler: async (_request, reply) => reply.header('cache-control', 'no-store').code(204).send(),
  });
}
