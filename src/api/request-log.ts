import type { App } from '../app.ts';
import type { Caller } from '../http/route.ts';

/** The id of a request in its log line and its audit row, on every reply, so that it can be quoted. */
export const requestIdHeader = 'x-request-id';

/** One wide line for each request that is answered. */
export function logAnswer(
  app: App,
  startedMs: number,
  requestId: string,
  action: string,
  status: number,
  caller: Caller | null,
): void {
  const failed = status >= 500;
  if (failed || app.settings.log === 'all')
    app.log[failed ? 'error' : 'info']('request', {
      request_id: requestId,
      action,
      status,
      key: caller?.keyId,
      ms: Math.round((app.clock.monotonicMs() - startedMs) * 100) / 100,
    });
}
