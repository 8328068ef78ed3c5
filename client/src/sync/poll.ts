import type { FeedEntry } from '../openapi.ts';
import { ArsError } from '../errors.ts';
import type { Page, Walk } from '../walk.ts';
import { beginWhole } from './mirror.ts';
import type { Mirror, Tally } from './mirror.ts';
import { inSpiteOfOthers, outcomeOf, SyncStopped } from './outcome.ts';
import { repair } from './repair.ts';

/** The result of a poll. */
export type Report = Tally & {
  /** The service said that nothing has changed. */
  isUnchanged: boolean;
  /** How many walks through everything it took. */
  wholeWalks: number;
  /** True: the digests agree. False: they differ, and repair failed. Null: there is no digest. */
  isProven: boolean | null;
  /** The mirror holds so many results. */
  results: number;
  /** `since` of the next walk. */
  since: string;
};

const dayMs = 86_400_000;
const weekMs = 7 * dayMs;

/** In one poll; more full walks do not help. */
const maxWholeWalks = 3;
const maxRepairs = 3;

/** Brings the mirror up to date: completes the walk, and walks again until the digests agree. */
export async function poll(mirror: Mirror): Promise<Report> {
  Object.assign(mirror.tally, { added: 0, changed: 0, removed: 0, repaired: 0 });
  const found = { isUnchanged: false, wholeWalks: 0 };
  await inSpiteOfOthers(async () => {
    await mirror.load();
    await walkOnce(mirror, found);
    await prove(mirror, found);
  });
  const { digest, checkpoint, recountedAtMs } = mirror.state;
  return {
    ...mirror.tally,
    ...found,
    // Damage that could not be repaired is recounted soon.
    isProven: mirror.isProven && recountedAtMs > 0,
    results: digest.n,
    since: checkpoint!.since,
  };
}

type Found = { isUnchanged: boolean; wholeWalks: number };

/** Walks until a checkpoint is reached: on from a stored place, from the checkpoint, or through everything. */
async function walkOnce(mirror: Mirror, found: Found): Promise<void> {
  const { checkpoint, walk } = mirror.state;
  if (walk === null && (checkpoint === null || isSweepDue(mirror)))
    await mirror.change(async (_transaction, next) => beginWhole(next));
  do {
    try {
      if (mirror.state.walk?.kind === 'clearing') await mirror.clear();
      else if (mirror.state.walk?.kind === 'whole') await walkWhole(mirror, found);
      else await walkOn(mirror, found);
    } catch (error) {
      if (!(error instanceof ArsError)) throw error;
      const outcome = outcomeOf(error, 'page');
      if (outcome instanceof SyncStopped) throw outcome;
      if (outcome !== 'walk everything') throw error;
      if (found.wholeWalks >= maxWholeWalks)
        throw new SyncStopped(
          `${found.wholeWalks} full syncs in a row broke off (${error.message}). A restore of the service may be running: start again when it ends.`,
        );
      found.wholeWalks += 1;
      await mirror.change(async (_transaction, next) => beginWhole(next));
    }
  } while (mirror.state.walk !== null);
}

/** After a week, or immediately if the noted time is in the future. */
const isDue = (lastMs: number, nowMs: number) => nowMs - lastMs > weekMs || lastMs - nowMs > dayMs;

/** Without a digest, only a full walk finds lost records: once a week. */
function isSweepDue(mirror: Mirror): boolean {
  const { served, sweptAtMs } = mirror.state;
  return served === null && isDue(sweptAtMs, mirror.client.surroundings.nowMs());
}

async function walkWhole(mirror: Mirror, found: Found): Promise<void> {
  const { walk } = mirror.state;
  const position = walk?.kind === 'whole' && walk.position !== null ? walk.position : undefined;
  if (position === undefined) found.wholeWalks = Math.max(found.wholeWalks, 1);
  const { client, filters, pageSize: limit, signal } = mirror;
  const pages = client.assessments.list({ ...filters, limit }, { position, signal });
  await takePages(mirror, pages, true);
  await mirror.clear();
}

async function walkOn(mirror: Mirror, found: Found): Promise<void> {
  const { walk, checkpoint } = mirror.state;
  const { since, etag } = checkpoint!;
  const { client, filters, pageSize: limit, signal } = mirror;
  const position = walk?.kind === 'delta' ? walk.position : undefined;
  const pages = client.assessments.list({ ...filters, since, limit }, { position, etag, signal });
  await takePages(mirror, pages, false);
  found.isUnchanged = pages.isUnchanged;
}

/** Stores page after page; the next one is on its way meanwhile. */
async function takePages(mirror: Mirror, walk: Walk<FeedEntry>, isWhole: boolean): Promise<void> {
  const pages = walk.pages();
  const ask = () => {
    const next = pages.next();
    // A failure is reported to the caller that awaits it, if there is one.
    next.catch(() => {});
    return next;
  };
  for (let coming = ask(); ;) {
    const arrived = await coming;
    if (arrived.done === true) return;
    const page: Page<FeedEntry> = arrived.value;
    coming = ask();
    await mirror.take(page, isWhole);
  }
}

/** Compares at the end of a walk, and repairs differences: by ID, then by one full walk. */
async function prove(mirror: Mirror, found: Found): Promise<void> {
  const { client } = mirror;
  const nowMs = client.surroundings.nowMs();
  if (mirror.isProven === null) return;
  const quietMs = mirror.state.quietUntilMs - nowMs;
  if (quietMs > 0 && quietMs <= dayMs) return;
  let isDamaged = false;
  if (isDue(mirror.state.recountedAtMs, nowMs)) {
    await mirror.recount((_row, isBad) => {
      isDamaged ||= isBad;
    });
  }
  if (mirror.isProven && !isDamaged) return;
  for (let repairs = 0; repairs < maxRepairs; repairs++) {
    const outcome = await repair(mirror);
    if (outcome === 'not now') return;
    if (outcome === 'needs a full sync') break;
    // The next walk shows the success, unless the service has changed meanwhile.
    if (mirror.isProven === false) await walkOnce(mirror, found);
    if (mirror.isProven !== false) return;
  }
  await mirror.change(async (_transaction, next) => beginWhole(next));
  found.wholeWalks += 1;
  await walkOnce(mirror, found);
  // With group_id only a walk with `since` is compared.
  if (mirror.isProven === null) await walkOnce(mirror, found);
  if (mirror.isProven === false)
    await mirror.change(async (_transaction, next) => {
      next.quietUntilMs = nowMs + dayMs;
    });
}

/** Counts the mirror's rows now, and repairs the differences. */
export async function verify(mirror: Mirror): Promise<Report> {
  await inSpiteOfOthers(async () => {
    await mirror.load();
    if (mirror.state.checkpoint === null) return;
    await mirror.change(async (_transaction, next) => {
      // Both are due now: the service's digest decides which one runs.
      next.recountedAtMs = next.sweptAtMs = next.quietUntilMs = 0;
    });
  });
  return poll(mirror);
}
