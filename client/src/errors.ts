import type { ErrorCode } from './openapi.ts';

/** The client's own errors. A call that you abort rejects with your signal's reason instead. */
export class ArsError extends Error {
  override name = 'ArsError';
  /** The operation, as the reference names it, such as `listAssessments`. */
  readonly operation: string;
  /** True if the same request may succeed later. The client has already retried for the allowed time. */
  readonly isTransient: boolean;

  constructor(message: string, operation: string, isTransient: boolean, options?: ErrorOptions) {
    super(message, options);
    this.operation = operation;
    this.isTransient = isTransient;
  }
}

export type ApiErrorDetails = {
  status: number;
  code: string;
  message: string;
  requestId: string | null;
  retryAfterMs: number | null;
};

/** Statuses after which a request may be repeated as it is. */
const transientStatuses = [408, 425, 429, 500, 502, 503, 504];

/** The service refused the request. Act on `code`; quote `requestId` when you ask for help. */
export class ApiError extends ArsError {
  override name = 'ApiError';
  readonly status: number;
  /** One of the reference's codes, or a newer one. */
  readonly code: ErrorCode | (string & {});
  readonly requestId: string | null;
  /** The value of `Retry-After`. */
  readonly retryAfterMs: number | null;

  constructor(operation: string, details: ApiErrorDetails) {
    const { status, code, message, requestId, retryAfterMs } = details;
    // Without Retry-After the first request was carried out, and its reply can never be read.
    const isRunning = code === 'idempotency_conflict' && retryAfterMs !== null;
    const isTransient = transientStatuses.includes(status) || isRunning;
    const where = requestId === null ? '' : `, request ${requestId}`;
    super(`${operation}: ${message} (${status} ${code}${where})`, operation, isTransient);
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The service could not be reached, or the connection ended before the response was complete. */
export class ConnectionError extends ArsError {
  override name = 'ConnectionError';

  constructor(operation: string, options: ErrorOptions) {
    super(`${operation}: the service cannot be reached, or its response was cut off`, operation, true, options);
  }
}

/** The response was not complete in time. */
export class TimeoutError extends ArsError {
  override name = 'TimeoutError';

  constructor(operation: string, timeoutMs: number) {
    super(`${operation}: no complete response within ${timeoutMs} ms`, operation, true);
  }
}

/** The response is not from the service, or was changed on its way: a proxy's page, a redirect, a part of a text. */
export class UnexpectedReplyError extends ArsError {
  override name = 'UnexpectedReplyError';
  readonly status: number;

  constructor(
    operation: string,
    status: number,
    what: string,
    isTransient = status < 300 || status === 304 || status >= 500,
  ) {
    super(`${operation}: ${what} (status ${status}). Check baseUrl.`, operation, isTransient);
    this.status = status;
  }
}

/** The service was restored from a backup repeatedly during one call. Try again later. */
export class RestoredError extends ArsError {
  override name = 'RestoredError';

  constructor(operation: string, options?: ErrorOptions) {
    super(
      `${operation}: the service was restored from a backup repeatedly during the call. Try again later.`,
      operation,
      true,
      options,
    );
  }
}

/** The service refuses a cursor like this if a restore has lost the state in which its sync began. */
export const isLostCursor = (error: unknown): boolean => error instanceof ApiError && error.code === 'invalid_cursor';

/** The bytes of an evidence PDF do not have the expected SHA-256. */
export class HashMismatchError extends ArsError {
  override name = 'HashMismatchError';
  readonly expectedSha256: string;
  readonly actualSha256: string;

  constructor(operation: string, expected: string, actual: string) {
    super(
      `${operation}: the PDF's SHA-256 is ${actual}, not ${expected}. An amended result has another PDF, so read the result again.`,
      operation,
      false,
    );
    this.expectedSha256 = expected;
    this.actualSha256 = actual;
  }
}
