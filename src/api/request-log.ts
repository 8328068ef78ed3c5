import type { App } from '../platform/app.ts';
import type { Caller } from './http/route.ts';
import { notModified, rateLimited, requests, requestTime } from '../platform/observability/metric-definitions.ts';

/** The id of a request in its log line and its audit row, on every reply, so that it can be quoted. */
export const requestIdHeader = 'x-request-id';

/** Where a route's counts are kept. */
type RoutePlaces = { byClass: number[]; notModified: number; rateLimited: number; time: number };

const routePlaces = new Map<string, RoutePlaces>();

function placesOf(route: string): RoutePlaces {
  const classes = ['1xx', '2xx', '3xx', '4xx', '5xx'];
  const places = {
    byClass: classes.map((status) => requests.place(route, status)),
    notModified: notModified.place(route),
    rateLimited: rateLimited.place(route),
    time: requestTime.place(route),
  };
  routePlaces.set(route, places);
  return places;
}

function countAnswer(route: string, status: number, ms: number): void {
  const places = routePlaces.get(route) ?? placesOf(route);
  requests.add(places.byClass[Math.floor(status / 100) - 1]!);
  if (status === 304) notModified.add(places.notModified);
  if (status === 429) rateLimited.add(places.rateLimited);
  requestTime.observe(ms / 1000, places.time);
}

/**
 * Counts a request that is answered, and writes one wide line of it.
 * @param route method and route, without anything that the caller chose
 */
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
  if (failed || app.settings.log === 'all')
    app.log[failed ? 'error' : 'info']('request', {
      request_id: requestId,
      action,
      status,
      key: caller?.keyId,
      ms: Math.round(ms * 100) / 100,
    });
}
