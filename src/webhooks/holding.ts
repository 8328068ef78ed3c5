import type { Clock } from '../clock.ts';
import type { Dedicated } from '../db/database.ts';
import { notifyWorkers } from '../events/emit.ts';
import type { LaneEndpoint } from './claim.ts';
import { claimLanes, heldLanes, releaseLanes, renewLanes } from './claim.ts';
import type { Lane, LaneIo } from './lane.ts';
import { openLane } from './lane.ts';

/** Lanes that one worker holds at most. */
const mostLanes = 2000;
const mostClaimedAtOnce = 64;

/** The lanes that one worker holds. */
export type Holding = {
  /**
   * Takes free lanes that have something due.
   * @param organisations null: all that there are
   * @returns true when more may be free
   */
  claim(organisations: number[] | null): Promise<boolean>;
  /** Brings the lanes of these organisations up to date, and tells them that something may have fallen due. */
  nudge(organisations: number[] | null): Promise<void>;
  /** Renews every lease; a lane whose lease was lost is closed. */
  renew(): Promise<void>;
  /**
   * The database was away, perhaps for longer than a lease: for one lease no lanes of other workers are taken over. They
   * may live, and have outcomes that the database doesn't have yet.
   */
  databaseWasAway(): void;
  closeAll(): void;
  /** True when no lane is held or on its way back. */
  readonly empty: boolean;
};

export function createHolding({
  workerId,
  leaseMs,
  clock,
  connection,
  recovered,
  fetch,
  attempt,
  stopping,
  givenBack,
  failed,
}: Pick<LaneIo, 'fetch' | 'attempt'> & {
  workerId: string;
  leaseMs: number;
  clock: Clock;
  connection: Dedicated;
  /** Resolves once nothing that the database forgot in a restart is missing. */
  recovered(): Promise<void>;
  stopping: AbortSignal;
  givenBack(): void;
  failed(error: unknown): void;
}): Holding {
  const lanes = new Map<string, Lane>();
  let releasing = 0;
  let takeOverFromMs = 0;
  const lease = () => {
    const nowMs = clock.nowMs();
    return { workerId, nowMs, untilMs: nowMs + leaseMs };
  };

  async function claim(organisations: number[] | null): Promise<boolean> {
    const most = Math.min(mostClaimedAtOnce, mostLanes - lanes.size);
    if (most <= 0) return false;
    const taken = lease();
    const whose = clock.monotonicMs() < takeOverFromMs ? 'own' : 'anybody';
    const claimed = await claimLanes(connection, taken, most, organisations, whose);
    await recovered();
    for (const endpoint of claimed) {
      if (lanes.has(endpoint.endpoint_id)) continue;
      const lane = openLane(endpoint, taken, { fetch, attempt, drained: (drained) => void giveBack(drained) });
      lanes.set(endpoint.endpoint_id, lane);
    }
    return claimed.length === most;
  }

  async function giveBack(lane: Lane): Promise<void> {
    const { organisation_id: organisationId, endpoint_id: endpointId } = lane.endpoint;
    // Before the release is sent: a claim that is sent after it, on the same connection, finds the lane free.
    lanes.delete(endpointId);
    releasing += 1;
    await releaseLanes(connection, workerId, [lane.endpoint]).catch(failed);
    // A lane that was closed may have left something, for this worker or another.
    const mayHaveLeft = lane.closed && !lane.stuck && !stopping.aborted;
    if (mayHaveLeft) await notifyWorkers(connection, [organisationId]).catch(failed);
    releasing -= 1;
    givenBack();
  }

  async function nudge(organisations: number[] | null): Promise<void> {
    const concerned = [...lanes.values()].filter(
      (lane) => organisations === null || organisations.includes(lane.endpoint.organisation_id),
    );
    if (concerned.length === 0) return;
    const concernedOrganisations = new Set(concerned.map((lane) => lane.endpoint.organisation_id));
    const found = await heldLanes(connection, workerId, [...concernedOrganisations]);
    for (const lane of refresh(concerned, found)) lane.nudge();
  }

  async function renew(): Promise<void> {
    const held = [...lanes.values()];
    if (held.length === 0) return;
    const next = lease();
    const endpoints = held.map((lane) => lane.endpoint);
    const renewed = await renewLanes(connection, next, endpoints);
    for (const lane of refresh(held, renewed)) lane.leasedUntilMs = next.untilMs;
  }

  return {
    claim,
    nudge,
    renew,
    databaseWasAway() {
      takeOverFromMs = clock.monotonicMs() + leaseMs;
    },
    closeAll() {
      for (const lane of [...lanes.values()]) lane.close();
    },
    get empty() {
      return lanes.size + releasing === 0;
    },
  };
}

/** Puts what the database said into the lanes, and closes those that it didn't name or that are held back. Gives the others. */
function refresh(lanes: Lane[], found: LaneEndpoint[]): Lane[] {
  const states = new Map(found.map((state) => [state.endpoint_id, state]));
  return lanes.filter((lane) => {
    const state = states.get(lane.endpoint.endpoint_id);
    if (state !== undefined) lane.refresh(state);
    const goesOn = state?.status === 'active';
    if (!goesOn) lane.close();
    return goesOn;
  });
}
