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

/** The caller of an admitted request. */
export type Caller = {
  organisationId: number;
  keyId: string;
  /** The objects that a restricted key can see; null: all of the organisation. */
  keyScope: KeyScope | null;
  /** The state of the feed, read before anything that the response shows. */
  feed: FeedState;
};

/** The input of a handler. */
export type Call = {
  app: App;
  sets: SetCache;
  caller: Caller;
  /** Another value in every release that answers the same rows with other bytes. */
  responseVersion: string;
  /** Path parameters, decoded once. */
  params: Record<string, string>;
  query: ParsedQuery;
  rawQuery: string;
  /** Path under the API's base in its canonical spelling, for cursors, links and ETags. */
  path: string;
  /** The fields of the body as sent; `readBody` reads them. */
  body: Record<string, unknown>;
  ifNoneMatch: string | undefined;
  /** Undefined unless the method is GET (RFC 9110, 14.2). */
  range: string | undefined;
  ifRange: string | undefined;
  /** For a response that lasts: aborted when its reader has left or the service stops. */
  over: AbortSignal;
  /** Runs a change in a unit of work, and keeps its response for the Idempotency-Key in the same transaction. */
  change(inside: (work: UnitOfWork) => Promise<Reply>): Promise<Reply>;
};

/** The first response under an Idempotency-Key; `resource` is for the audit log. */
export type KeptReply = { status: number; body: string; headers: Record<string, string>; resource?: string };

export type Reply = {
  status: number;
  body: string | Buffer | null;
  /** Instead of a body: a response that lasts, with its media type in `headers`. */
  stream?: Readable;
  headers?: Record<string, string>;
  /** For the audit log: the ID of the object that the call reads or changes. */
  resource?: string;
  recorded?: Recorded;
  /** URL and If-None-Match decide this response until the feed of the organisation changes. Its body is bytes or null. */
  repeatable?: boolean;
};

/** One endpoint of the API. OpenAPI is made from the same table. */
export type Route = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Under the API's base, parameters in braces. */
  path: string;
  id: string;
  tag: string;
  summary: string;
  description?: string;
  params?: Record<string, { description: string; schema: Record<string, unknown>; example: string }>;
  query?: readonly Parameter[];
  paged?: boolean;
  /** To a restricted key, routes without this do not exist. */
  allowsRestrictedKeys?: true;
  body?: Type.TObject;
  bodyExample?: unknown;
  answers: Record<
    number,
    { description: string; schema?: Type.TSchema; type?: string; example?: unknown; headers?: readonly ReplyHeader[] }
  >;
  /** Codes that follow neither from query, params nor body. */
  codes?: readonly ErrorCode[];
  handle(call: Call): Promise<Reply>;
};

export const jsonType = 'application/json; charset=utf-8';

/** A body without `data` around it. */
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
