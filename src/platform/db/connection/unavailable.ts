/** The database can't be reached, or ended the connection: the caller may try again later. */
export class DatabaseUnavailable extends Error {
  readonly code: string | undefined;
  /** It was lost while a transaction was being committed: whether what was in it is done isn't known. */
  readonly atCommit: boolean;
  constructor(cause: unknown, { atCommit = false } = {}) {
    super('the database is not available', { cause });
    this.code = (cause as { code?: string } | null)?.code;
    const { severity } = (cause ?? {}) as { severity?: string };
    // With other codes PostgreSQL refuses the COMMIT, and nothing is done.
    this.atCommit = atCommit && (/^(?:$|08|57P|58|E)/.test(this.code ?? '') || severity === 'PANIC');
  }
}

const unavailableCodes = new Set(
  `ECONNREFUSED ECONNRESET ENOTFOUND EPIPE ETIMEDOUT ENOENT EACCES EAGAIN EAI_AGAIN EHOSTUNREACH 57P01 57P02 57P03
   53100 53300 53400 55P03 57014 25P03 25006 08000 08001 08003 08004 08006 58000`.split(/\s+/),
);

/** PgBouncer has one code for whatever ends a connection: the server's process is gone, none came in time, it stops. */
const poolerCode = '08P01';

/** Turns the driver's many ways of saying "no connection" into one. */
export function namedFailure(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  const { code, message, severity } = error as { code?: string; message?: string; severity?: string };
  if (code === poolerCode && severity === 'FATAL') return new DatabaseUnavailable(error);
  if (code !== undefined && unavailableCodes.has(code)) return new DatabaseUnavailable(error);
  if (code === undefined && message !== undefined && /connection|timeout|not queryable/i.test(message))
    return new DatabaseUnavailable(error);
  return error;
}

/** The SQLSTATE of a wait for a lock that took too long. */
export const lockHeld = '55P03';

/**
 * The database is away or takes no changes, which readiness and metrics report. It is no fault of the code that met it. A
 * statement that took too long, or met a lock for too long, is another matter.
 */
export const isOutage = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable && ![lockHeld, '57014', '25P03', '53400'].includes(error.code ?? '');
