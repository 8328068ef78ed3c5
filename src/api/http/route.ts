import type { Readable } from 'node:stream';
import type { Recorded } from '../../platform/audit/log.ts';
import type Type from 'typebox';
import type { App } from '../../platform/app.ts';
import type { KeyScope } from '../../organisations/key-scope.ts';
import type { FeedState } from '../../feed/etag.ts';
import type { SetCache } from '../../feed/group-sets.ts';
import type { UnitOfWork } from '../../platform/db/unit-of-work.ts';
import { feedQueue, withUnitOfWork } from '../../platform/db/unit-of-work.ts';
import type { ErrorCode, FieldCode } from '../../platform/errors/errors.ts';
import type { ReplyHeader } from './headers.ts';
import type { Parameter } from './query.ts';

/** Who calls, and where the organisation's feed stood when the call was let in. */
export type Caller = {
  organisationId: number;
  keyId: string;
  /** What the key may see; null: everything of the organisation. */
  keyScope: KeyScope | null;
  /** The feed's state, read before anything that the reply shows. */
  feed: FeedState;
};

/** What a handler gets. */
export type Call = {
  app: App;
  sets: SetCache;
  caller: Caller;
  /** Of everything that reads answer; another one in every release that changes a shape. */
  shapeVersion: string;
  /** Path parameters, decoded once. */
  params: Record<string, string>;
  rawQuery: string;
  /** Path under the API's base in its one spelling, for cursors, links and ETags. */
  path: string;
  /** The body's own fields, as they came: `readBody` reads them. */
  body: Record<string, unknown>;
  ifNoneMatch: string | undefined;
  /** Of a GET only: no other method has ranges (RFC 9110, 14.2). */
  range: string | undefined;
  ifRange: string | undefined;
  /** For a reply that lasts: aborted when it is over, because its reader is gone or the service stops. */
  over: AbortSignal;
  /**
   * Runs a change in one unit of work and keeps its reply for the Idempotency-Key, where the request has one, in the
   * same transaction.
   */
  change(inside: (work: UnitOfWork) => Promise<Reply>): Promise<Reply>;
};

/** A reply as it was first given under an Idempotency-Key, with what the audit log names of it. */
export type KeptReply = { status: number; body: string; headers: Record<string, string>; resource?: string };

export type Reply = {
  status: number;
  /** JSON text, bytes, or nothing. */
  body: string | Buffer | null;
  /** In the place of a body: what comes over a long time, with its media type among the headers. */
  stream?: Readable;
  headers?: Record<string, string>;
  /** For the audit log: the id of the thing acted on. */
  resource?: string;
  recorded?: Recorded;
  /** The same address and ETag held have this reply, of bytes or nothing, until the organisation's feed moves. */
  repeatable?: boolean;
};

/** One endpoint: what it takes, what it answers, and the function that does it. OpenAPI is made from the same table. */
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
  /** Keys with bounds may ask it, too; to them nothing else exists. */
  allowsRestrictedKeys?: true;
  body?: Type.TObject;
  bodyExample?: unknown;
  answers: Record<
    number,
    { description: string; schema?: Type.TSchema; type?: string; example?: unknown; headers?: readonly ReplyHeader[] }
  >;
  /** Codes beside those that every endpoint can answer with. */
  codes: readonly (ErrorCode | FieldCode)[];
  handle(call: Call): Promise<Reply>;
};

/** The media type of every JSON reply. */
export const jsonType = 'application/json; charset=utf-8';

export function json(status: number, value: unknown, extra: Partial<Reply> = {}): Reply {
  return { status, body: JSON.stringify({ data: value }), ...extra };
}

/** Where the specification writes a body without `data` around it. */
export function bareJson(status: number, value: unknown, extra: Partial<Reply> = {}): Reply {
  return { status, body: JSON.stringify(value), ...extra };
}

/** Already serialised. */
export function jsonText(status: number, data: string, extra: Partial<Reply> = {}): Reply {
  return { status, body: `{"data":${data}}`, ...extra };
}

/**
 * @param left ends the wait for the organisation's turn, when nobody is there any more to read the reply
 * @param stands throws when whoever was let in may not be any more: the body and the turn may have been long in coming
 * @param keep writes what is kept of the reply, in the transaction of the change
 */
export function changer(
  app: App,
  organisationId: number,
  {
    left,
    stands,
    keep,
  }: {
    left: AbortSignal | undefined;
    stands: (work: UnitOfWork) => Promise<void>;
    keep: (work: UnitOfWork, reply: Reply) => Promise<void>;
  },
): Call['change'] {
  return (inside) =>
    withUnitOfWork(
      app,
      feedQueue(organisationId),
      async (work) => {
        await stands(work);
        const reply = await inside(work);
        work.beforeCommit(() => keep(work, reply));
        return reply;
      },
      left,
    );
}
