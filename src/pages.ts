import type { FastifyInstance } from 'fastify';
import type { App } from './app.ts';
import type { Audit } from './http/audit.ts';

/** What is served beside the API. */
export function registerPages(_app: App, _fastify: FastifyInstance, _audit: Audit): void {
}
