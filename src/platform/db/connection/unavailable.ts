/** The database cannot be reached, or ended the connection. The caller may try again later. */
export class DatabaseUnavailable extends Error {
  readonly code: string | undefined;
  /** The connection was lost during a commit, so the outcome is unknown. */
  readonly atCommit: boolean;
  constructor(cause: unknown, { atCommit = false } = {}) {
    super('the database is not available', { cause });
    this.code = (cause as { code?: string } | null)?.code;
    const { severity } = (cause ?? {}) as { severity?: string };
    // With any other code, PostgreSQL has refused the commit, so its outcome is known.
    this.atCommit = atCommit && (/^(?:$|08|57P|58|E)/.test(this.code ?? '') || severity === 'PANIC');
  }
}

const unavailableCodes = new Set(
  `ECONNREFUSED ECONNRESET ENOTFOUND EPIPE ETIMEDOUT ENOENT EACCES EAGAIN EAI_AGAIN EHOSTUNREACH 57P01 57P02 57P03
   53100 53300 53400 55P03 57014 25P03 25006 08000 08001 08003 08004 08006 58000`.split(/\s+/),
);

/** PgBouncer uses this code for every reason to end a connection. */
const poolerCode = '08P01';

export function namedFailure(error: unknown): unknown {
  if (error instanceof DatabaseUnavailable) return error;
  const { code, message, severity } = error as { code?: string; message?: string; severity?: string };
  if (code === poolerCode && severity === 'FATAL') return new DatabaseUnavailable(error);
  if (code !== undefined && unavailableCodes.has(code)) return new DatabaseUnavailable(error);
  if (code === undefined && message !== undefined && /connection|timeout|not queryable/i.test(message))
    return new DatabaseUnavailable(error);
  return error;
}

/** SQLSTATE lock_not_available. */
export const lockHeld = '55P03';

/**
 * Whether the database cannot be reached or takes no changes. A statement or lock that took too long is not an outage.
 */
export const isOutage = (error: unknown): boolean =>
  error instanceof DatabaseUnavailable && ![lockHeld, '57014', '25P03', '53400'].includes(error.code ?? '');
