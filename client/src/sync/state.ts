import type { Checkpoint, Position } from '../walk.ts';
import type { Digest } from './digest.ts';
import { emptyDigest } from './digest.ts';

/** What a mirror knows about itself: kept in its store, in the transaction of every change. It doesn't grow. */
export type State = {
  version: 1;
  /** Rises with every change: a second engine on the same mirror is noticed by it. */
  serial: number;
  /** Whose results these are. A key pair of another organisation is refused. */
  organisation: string;
  /** The filters, as a query: others mean a whole walk. */
  filters: string;
  /** The whole walk that runs, or was the last. */
  generation: number;
  /** Of the last finished walk; null before the first whole one. */
  checkpoint: Checkpoint | null;
  walk: WalkState | null;
  /** Of everything that is held. */
  digest: Digest;
  /** The service's digest at the checkpoint; null where it gave none. The mirror is proved while both are the same. */
  served: Digest | null;
  /** When a whole walk, and a recount, last ended, by this machine's clock: they only say when the next is due. */
  sweptAtMs: number;
  recountedAtMs: number;
  /** Until when a difference that nothing mends is left alone. */
  quietUntilMs: number;
};

/** A walk under way. `clearing`: a whole walk is in, and what it did not show is being removed. */
export type WalkState =
  | { kind: 'delta'; position: Position }
  /** `shown`: how many of the results that are held this walk has shown so far. */
  | { kind: 'whole'; position: Position | null; shown: number }
  | { kind: 'clearing'; checkpoint: Checkpoint; served: Digest | null; after: string | null; sum: Digest };

/** @param generation the highest one of rows that are there already */
export function newState(organisation: string, filters: string, generation: number): State {
  return {
    version: 1,
    serial: 0,
    organisation,
    filters,
    generation,
    checkpoint: null,
    walk: null,
    digest: emptyDigest,
    served: null,
    sweptAtMs: 0,
    recountedAtMs: 0,
    quietUntilMs: 0,
  };
}
