import type { App } from '../platform/app.ts';
import type { Caller } from './http/route.ts';
import { notModified, rateLimited, requests, requestTime } from '../platform/observability/metric-definitions.ts';

/** The header with the request's ID. The request's log line and audit row contain the same ID. */
export const requestIdHeader = 'x-request-id';

const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'];
const seriesByRoute = new Map<string, ReturnType<typeof seriesOf>>();

/** The metrics of a route. They are looked up once for each route, because every request updates them. */
const seriesOf = (route: string) => ({
  byClass: classes.map((status) => requests.place(route, status)),
  notModified: notModified.place(route),
  rateLimited: rateLimited.place(route),
  time: requestTime.place(route),
});

function countAnswer(route: string, status: number, ms: number): void {
  let series = seriesByRoute.get(route);
  if (series === undefined) seriesByRoute.set(route, (series = seriesOf(route)));
  requests.add(series.byClass[Math.floor(status / 100) - 1]!);
  if (status === 304) notModified.add(series.notModified);
  if (status === 429) rateLimited.add(series.rateLimited);
  requestTime.observe(ms / 1000, series.time);
}

/** These paths are answered even while the service refuses all others after a restore. */
export const probePaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

/** @param route the method and the path pattern, without text from the caller */
export function logAnswer(
  app: App,
  startedMs: number,
  requestId: string,
  action: string,
  route: string,
  status: number,
  caller: Caller | null,
): void {
  const ms = app.clock.monotonicMs() - startedMs;
  countAnswer(route, status, ms);
  const failed = status >= 500;
  // A proxy asks several times a second. Its successful requests would hide all others.
  const isQuiet = probePaths.has(route.replace('GET ', '')) && status < 400;
  if (failed || (app.settings.log === 'all' && !isQuiet))
    app.log[failed ? 'error' : 'info']('request', {
      request_id: requestId,
      action,
      status,
      key: caller?.keyId,
      ms: Math.round(ms * 100) / 100,
    });
}
