import type { Clock } from './clock.ts';
import { formatMs } from './clock.ts';
import { logErrors } from './measures.ts';

/** Values that a log line may hold. Never a name, a reference, an address with a query, a body or a secret. */
export type LogFields = Record<string, string | number | boolean | null | undefined>;

export type Log = {
  /** One wide line for something that went as it should. */
  info(event: string, fields?: LogFields): void;
  /** One wide line for a failure that an operator should see. */
  error(event: string, fields?: LogFields): void;
};

/** JSON lines on a stream; buffered within one turn so that a busy server writes once. */
export function streamLog(
  clock: Clock,
  level: 'all' | 'errors' | 'none',
  stream: { write(text: string): unknown },
): Log {
  let waiting = '';
  const put = (event: string, fields: LogFields | undefined) => {
    if (waiting === '')
      setImmediate(() => {
        const text = waiting;
        waiting = '';
        stream.write(text);
      });
    waiting += JSON.stringify({ at: formatMs(clock.nowMs()), event, ...fields }) + '\n';
  };
  return {
    info: (event, fields) => {
      if (level === 'all') put(event, fields);
    },
    error: (event, fields) => {
      logErrors.count(event);
      if (level !== 'none') put(event, fields);
    },
  };
}

/**
 * What may be said of an unexpected error: its class, its code and where it was thrown, never its message, which can
 * hold data.
 */
export function errorFields(error: unknown): LogFields {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = (error as { code?: unknown }).code;
  const frame = /\n\s+at (?:.*\()?(?:file:\/\/)?([^()\n]+:\d+:\d+)/.exec(error.stack ?? '')?.[1];
  return {
    error: error.name,
    code: typeof code === 'string' ? code : undefined,
    where: frame?.split('/').slice(-3).join('/'),
  };
}
