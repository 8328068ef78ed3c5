import type { Checkpoint, Position } from '../walk.ts';
import type { Digest } from './digest.ts';
import { emptyDigest } from './digest.ts';

/** The state of a mirror, stored in the transaction of every change. Its size is constant. */
export type State = {
  version: 1;
  /** Rises with every change: a second engine on the same mirror is noticed by it. */
  serial: number;
  /** The organisation of these results. Keys of other organisations are refused. */
  organisation: string;
  /** The filters as a query. Other filters need a full walk. */
  filters: string;
  /** The number of the last full walk. */
  generation: number;
  /** Of the last completed walk; null before the first full walk. */
  checkpoint: Checkpoint | null;
  walk: WalkState | null;
  /**
   * The access key of the last completed full walk, and its last cursor, if it had several pages. Earlier versions do
   * not write it.
   */
  key?: { id: string; cursor: string | null };
  /** The last X-Sync-Restored. Absent before the first page. */
  restored?: string | null;
  /** Of everything that is held. */
  digest: Digest;
  /** The service's digest at the checkpoint; null where it gave none. The mirror is proved while both are the same. */
  served: Digest | null;
  /**
   * When a full walk and a recount last ended, by this machine's clock. A walk from a proven checkpoint that brings
   * changes counts as a full walk.
   */
  sweptAtMs: number;
  recountedAtMs: number;
  /** Until this time, a difference that repair cannot resolve is left alone. */
  quietUntilMs: number;
};

/** The current walk. `clearing`: a full walk is complete, and rows that it did not show are being removed. */
export type WalkState =
  | { kind: 'delta'; position: Position }
  /** `shown`: how many of the stored results this walk has shown. */
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

/** Null if there is no state, or it is not a state. */
export function readState(text: string | null): State | null {
  let found: unknown;
  try {
    found = JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
  const isNewer = isObject(found) && Number.isSafeInteger(found.version) && (found.version as number) > 1;
  return isNewer || isState(found) ? (found as State) : null;
}

type Fields = Record<string, unknown>;

const isObject = (one: unknown): one is Fields => typeof one === 'object' && one !== null && !Array.isArray(one);

/** A greater number was written outside the mirror. */
export const maxGenerations = 2 ** 30;

const isGeneration = (one: unknown) => Number.isSafeInteger(one) && Math.abs(one as number) < maxGenerations;

const isText = (one: unknown) => typeof one === 'string';

const isPlace = (one: unknown): one is Fields => isObject(one) && isText(one.since) && isText(one.etag);

const isDigest = (one: unknown) => isObject(one) && [one.n, one.w1, one.w2].every(Number.isSafeInteger);

const isQuery = (one: unknown) => String(one).startsWith('?');

const isKey = (one: unknown) => isObject(one) && isText(one.id) && (one.cursor === null || isQuery(one.cursor));

function isWalk(one: unknown): boolean {
  if (!isObject(one)) return false;
  const isPosition = isPlace(one.position) && isQuery(one.position.next);
  if (one.kind === 'delta') return isPosition;
  if (one.kind === 'whole') return (isPosition || one.position === null) && Number.isSafeInteger(one.shown);
  const isPart = isPlace(one.checkpoint) && (one.served === null || isDigest(one.served)) && isDigest(one.sum);
  return one.kind === 'clearing' && isPart && (one.after === null || isText(one.after));
}

function isState(one: unknown): boolean {
  if (!isObject(one) || one.version !== 1) return false;
  return (
    Number.isSafeInteger(one.serial) &&
    isGeneration(one.generation) &&
    isText(one.organisation) &&
    isText(one.filters) &&
    (one.checkpoint === null || isPlace(one.checkpoint)) &&
    (one.walk === null || isWalk(one.walk)) &&
    (one.key === undefined || isKey(one.key)) &&
    (one.restored === undefined || one.restored === null || isText(one.restored)) &&
    // An incremental walk continues from a checkpoint.
    (one.checkpoint !== null || one.walk === null || (one.walk as Fields).kind !== 'delta') &&
    isDigest(one.digest) &&
    (one.served === null || isDigest(one.served)) &&
    [one.sweptAtMs, one.recountedAtMs, one.quietUntilMs].every(Number.isFinite)
  );
}
