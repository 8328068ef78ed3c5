import type { App } from '../app.ts';
import { formatMs } from '../clock.ts';
import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { LaneEndpoint } from './claim.ts';

/** Nothing but failures for so long, and the endpoint is disabled; said on the console, the command line and in the log well before. */
export const disableAfterMs = 5 * 24 * 3600_000;
export const warnAfterMs = 24 * 3600_000;

const mark = statement(
  'health.mark',
  `
  update webhook_endpoint set failing_since = $3, warned_at = $4 where organisation_id = $1 and endpoint_id = $2`,
);
const disable = statement(
  'health.disable',
  `
  update webhook_endpoint set status = 'disabled', disabled_reason = $3, updated_at = $4
   where organisation_id = $1 and endpoint_id = $2 and status <> 'disabled' returning endpoint_id`,
);

export type Failing = Pick<LaneEndpoint, 'failing_since' | 'warned_at'>;

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
  const put = async (failing: Failing) => {
    Object.assign(endpoint, failing);
    await tx.query(mark, [organisationId, endpointId, failing.failing_since, failing.warned_at]);
  };
  if (verdict === 'delivered') {
    if (endpoint.failing_since !== null) await put({ failing_since: null, warned_at: null });
    return false;
  }
  if (endpoint.failing_since === null) await put({ failing_since: new Date(nowMs), warned_at: null });
  const failingMs = nowMs - endpoint.failing_since!.getTime();
  if (failingMs >= warnAfterMs && endpoint.warned_at === null) {
    await put({ failing_since: endpoint.failing_since, warned_at: new Date(nowMs) });
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
  app.log.error('webhook.disabled', { endpoint: endpointId, reason });
  return true;
}
