import { readFile } from 'node:fs/promises';

/** A request and its response, without credentials. The text of an event stream stays text, and a PDF is left out. */
export type Exchange = {
  request: { method: string; path: string; headers: Record<string, string>; body?: unknown };
  response: { status: number; headers: Record<string, string>; body?: unknown };
};

/** The request that an endpoint received. */
export type Delivery = { url: string; headers: Record<string, string>; body: unknown };

/** By operation, and by type of event. */
export type Examples = { operations: Record<string, Exchange[]>; events: Record<string, Delivery> };

/** The body of the first response with a status; of a stream, its first line. */
export function bodyOf(exchanges: readonly Exchange[], status: number): unknown {
  const body = exchanges.find(({ response }) => response.status === status)?.response.body;
  return typeof body === 'string' ? (JSON.parse(body.split('\n')[0]!) as unknown) : body;
}

/** Reads what test/support/documents/examples.ts has recorded from a running service. */
export async function readExamples(): Promise<Examples> {
  return JSON.parse(await readFile(new URL('examples.json', import.meta.url), 'utf8')) as Examples;
}
