import { organisationMetrics, silentKeys } from '../../platform/observability/metric-definitions.ts';
import type { OrganisationStatus, Status } from './status.ts';

const isBroken = ({ status }: { status: string }) => status === 'failing' || status === 'disabled';
const silentOf = ({ keys }: OrganisationStatus) => keys.filter((key) => key.is_silent && !key.is_replaced).length;

/**
 * Sets the metrics of the organisations that need attention most, up to `max`, and of all others together. Without a
 * status, the metrics are left out.
 */
export function setStatusMetrics(status: Status | null, max: number): void {
  for (const gauge of [silentKeys, ...Object.values(organisationMetrics)]) gauge.clear();
  if (status === null) return;
  const { at, organisations } = status;
  const live = organisations.filter((one) => !one.is_suspended && !one.is_sandbox);
  silentKeys.set(live.reduce((sum, one) => sum + silentOf(one), 0));
  if (max === 0) return;
  const nowMs = Date.parse(at);
  const groups = Map.groupBy(live, (one, i) => (i < max ? one.organisation_id : 'other'));
  for (const [label, of] of groups) {
    const sum = (count: (one: OrganisationStatus) => number) => of.reduce((total, one) => total + count(one), 0);
    const ages = of.map((one) => (one.oldest_pending_ms === null ? 0 : (nowMs - one.oldest_pending_ms) / 1000));
    organisationMetrics.endpoints.set(
      sum(({ endpoints }) => endpoints.filter(isBroken).length),
      label,
    );
    organisationMetrics.deadLetters.set(
      sum((one) => one.dead_letters),
      label,
    );
    organisationMetrics.silentKeys.set(sum(silentOf), label);
    organisationMetrics.oldestPending.set(Math.max(0, ...ages), label);
    organisationMetrics.failed.set(
      sum((one) => one.failed),
      label,
    );
  }
}
