import type { Readable } from 'node:stream';
import type { Recorded } from '../../platform/audit/log.ts';
import type Type from 'typebox';
import type { App } from '../../platform/app.ts';
import type { KeyScope } from '../../organisations/key-scope.ts';
import type { FeedState } from '../../feed/etag.ts';
import type { SetCache } from '../../feed/group-sets.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { ErrorCode } from '../../platform/errors/errors.ts';
import type { ReplyHeader } from './headers.ts';
import type { Parameter, ParsedQuery } from './query.ts';

export type Caller = {
  organisationId: number;
  keyId: string;
  /** The objects that a restricted key can see; null: all objects of the organisation. */
  keyScope: KeyScope | null;
  /** The state of the feed, read before anything that the response shows. */
  feed: FeedState;
};

export type Call = {
  app: App;
  sets: SetCache;
  caller: Caller;
  /** A release that sends other bytes for equal rows changes this, so that ETags of earlier releases do not match. */
  responseVersion: string;
  params: Record<string, string>;
  query: ParsedQuery;
  rawQuery: string;
  /** The path below the API's base in its canonical spelling, for cursors, links and ETags. */
  path: string;
  /** The fields of the body, before `readBody` validates them. */
  body: Record<string, unknown>;
  ifNoneMatch: string | undefined;
  /** The Range header; undefined unless the method is GET (RFC 9110, 14.2). */
  range: string | undefined;
  ifRange: string | undefined;
  /** For a streamed response: aborted when the client disconnects or the service stops. */
  over: AbortSignal;
  /** Runs a change in a unit of work, and stores its response for the Idempotency-Key in the same transaction. */
  change(inside: (work: UnitOfWork) => Promise<Reply>): Promise<Reply>;
};

/** The stored response to the first request with an Idempotency-Key. `resource` is for the audit log. */
export type KeptReply = { status: number; body: string; headers: Record<string, string>; resource?: string };

export type Reply = {
  status: number;
  body: string | Buffer | null;
  /** A streamed response instead of a body, with its media type in `headers`. */
  stream?: Readable;
  headers?: Record<string, string>;
  /** For the audit log: the ID of the object that the call reads or changes. */
  resource?: string;
  recorded?: Recorded;
  /** Whether the response may be cached until the organisation's feed changes. The body is then a Buffer or null. */
  repeatable?: boolean;
};

/** One endpoint of the API. OpenAPI is made from these objects. */
export type Route = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** The path below the API's base, with parameters in braces. */
  path: string;
  id: string;
  tag: string;
  summary: string;
  description?: string;
  params?: Record<string, { description: string; schema: Record<string, unknown> }>;
  query?: readonly Parameter[];
  paged?: boolean;
  /** Without this flag, the route answers a restricted key with 404. */
  allowsRestrictedKeys?: true;
  body?: Type.TObject;
  /** The body of the first example, which test/support/documents/examples.ts sends. */
  bodyExample?: unknown;
  answers: Record<
    number,
    { description: string; schema?: Type.TSchema; type?: string; headers?: readonly ReplyHeader[] }
  >;
  /** Error codes besides those for the query, the path parameters and the body. */
  codes?: readonly ErrorCode[];
  handle(call: Call): Promise<Reply>;
};

export const jsonType = 'application/json; charset=utf-8';

/** A JSON response whose body is not wrapped in `data`. */
export const bareJson = (status: number, value: unknown, extra: Partial<Reply> = {}): Reply => ({
  status,
  body: JSON.stringify(value),
  ...extra,
});

export const json = (status: number, data: unknown, extra?: Partial<Reply>) => bareJson(status, { data }, extra);

export const jsonText = (status: number, data: string, extra: Partial<Reply> = {}): Reply => ({
  status,
  body: `{"data":${data}}`,
  ...extra,
});
