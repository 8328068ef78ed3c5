import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';

/**
 * A style sheet or script of the pages. Its path contains a hash of its content, so browsers may cache it for a year.
 */
export type Asset = { path: string; type: string; body: string; gzip: Buffer };

function asset(folder: string, file: URL, type: string, make: (source: string) => string): Asset {
  const body = make(readFileSync(file, 'utf8'));
  return {
    path: `/${folder}/${hash('sha256', body, 'base64url').slice(0, 16)}/${file.pathname.split('/').at(-1)!}`,
    type,
    body,
    gzip: gzipSync(body, { level: 9 }),
  };
}

export const tokens = readFileSync(new URL('tokens.css', import.meta.url), 'utf8').replace(/\/\*[\s\S]*?\*\/\s*/g, '');

export const styleAsset = (folder: string, file: URL): Asset =>
  asset(folder, file, 'text/css; charset=utf-8', (source) => tokens + source);

/** Comments and indentation are removed, because phones on poor connections wait for every byte. */
export const scriptAsset = (folder: string, file: URL): Asset =>
  asset(folder, file, 'text/javascript; charset=utf-8', (source) =>
    source.replace(/^\s*(\/\/.*)?\n/gm, '').replace(/^ +/gm, ''),
  );

export function registerAssets(fastify: FastifyInstance, assets: readonly Asset[]): void {
  for (const { path, type, body, gzip } of assets) {
    fastify.get(path, async (request, reply) => {
      reply
        .headers({
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'Accept-Encoding',
        })
        .type(type);
      return /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')
        ? reply.header('content-encoding', 'gzip').send(gzip)
        : reply.send(body);
    });
  }
}
