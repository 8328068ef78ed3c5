import type { App } from '../app.ts';
import { formatMs } from '../clock.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { LaneEndpoint } from './claim.ts';
import type { Notice } from './notices.ts';
import { noteEndpoint } from './notices.ts';

/** Nothing but failures for so long, and the endpoint is disabled; said on the console, the command line and in the log well before. */
export const disableAfterMs = 5 * 24 * 3600_000;
export const warnAfterMs = 24 * 3600_000;
/** Nothing but failures for so long, and the organisation's people are told; a hiccup is no news. */
export const noticeAfterMs = 15 * 60_000;

const mark = statement(
  'health.mark',
  `
  update webhook_endpoint set failing_since = $3, warned_at = $4, noticed_at = $5 where organisation_id = $1 and endpoint_id = $2`,
);
const disable = statement(
  'health.disable',
  `
  update webhook_endpoint set status = 'disabled', disabled_reason = $3, updated_at = $4
   where organisation_id = $1 and endpoint_id = $2 and status <> 'disabled' returning endpoint_id`,
);

export type Failing = Pick<LaneEndpoint, 'failing_since' | 'warned_at' | 'noticed_at'>;

/** The sentence that warns of an endpoint that only fails; null while there is nothing to warn of. */
export function endpointWarning(
  { failing_since: since }: Pick<Failing, 'failing_since'>,
  nowMs: number,
): string | null {
  if (since === null || nowMs - since.getTime() < warnAfterMs) return null;
  return `Every delivery since ${formatMs(since.getTime())} has failed; at the first failure after ${formatMs(since.getTime() + disableAfterMs)} the endpoint is disabled. One success ends this.`;
}

/**
 * Follows how an endpoint fares; called after each recorded attempt by the one worker that holds its lane. `endpoint` is
 * brought up to date.
 * @returns true when the endpoint has been disabled
 */
export async function followHealth(
  app: App,
  tx: Tx,
  endpoint: LaneEndpoint,
  verdict: 'delivered' | 'retry' | 'gone',
  nowMs: number,
): Promise<boolean> {
  const { organisation_id: organisationId, endpoint_id: endpointId } = endpoint;
  const put = async (failing: Partial<Failing>) => {
    Object.assign(endpoint, failing);
    const { failing_since: since, warned_at: warnedAt, noticed_at: noticedAt } = endpoint;
    await tx.query(mark, [organisationId, endpointId, since, warnedAt, noticedAt]);
  };
  const tell = (kind: Notice['kind'], since: Date | null) =>
    noteEndpoint(tx, organisationId, app.random.uuid(), { endpoint_id: endpointId, at: new Date(nowMs), kind, since });
  if (verdict === 'delivered') {
    if (endpoint.noticed_at !== null) await tell('recovered', endpoint.failing_since);
    if (endpoint.failing_since !== null) await put({ failing_since: null, warned_at: null, noticed_at: null });
    return false;
  }
  if (endpoint.failing_since === null) await put({ failing_since: new Date(nowMs), warned_at: null, noticed_at: null });
  const failingMs = nowMs - endpoint.failing_since!.getTime();
  if (failingMs >= noticeAfterMs && endpoint.noticed_at === null) {
    await tell('failing', endpoint.failing_since);
    await put({ noticed_at: new Date(nowMs) });
  }
  if (failingMs >= warnAfterMs && endpoint.warned_at === null) {
    await put({ warned_at: new Date(nowMs) });
    app.log.error('webhook.failing', {
      endpoint: endpointId,
      failing_since: formatMs(endpoint.failing_since!.getTime()),
      disabled_after: formatMs(endpoint.failing_since!.getTime() + disableAfterMs),
    });
  }
  const reason =
    verdict === 'gone'
      ? `The endpoint answered 410 Gone at ${formatMs(nowMs)}.`
      : failingMs >= disableAfterMs
        ? `Every delivery since ${formatMs(endpoint.failing_since!.getTime())} failed.`
        : null;
  if (reason === null) return false;
  await tx.query(disable, [organisationId, endpointId, reason, new Date(nowMs)]);
  await tell('disabled', endpoint.failing_since);
  app.log.error('webhook.disabled', { endpoint: endpointId, reason });
  return true;
}
