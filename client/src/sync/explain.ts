import { ArsError } from '../errors.ts';
import type { Assessment } from '../openapi.ts';
import { checkOf } from './digest.ts';
import type { Mirror } from './mirror.ts';
import { isDamaged, isUuid } from './mirror.ts';
import { outcomeOf } from './outcome.ts';
import type { Served } from './repair.ts';
import type { Row } from './store.ts';

/** Why a result is, or isn't, in the mirror. */
export type Reason =
  /** Mirror and service show the same. */
  | 'in_step'
  /** It has changed, come, or gone since the last walk: the next one brings that. */
  | 'coming'
  /** The service has it, but the mirror's filters don't let it through. */
  | 'outside_filters'
  /** It was withdrawn, and the mirror does not hold it, or never has. */
  | 'withdrawn'
  /** Neither side knows the id: it never was, was withdrawn too long ago to be found, or was lost with a backup. */
  | 'unknown'
  /** Lost from the mirror: it should be here. */
  | 'missing'
  /** The mirror shows a state that was replaced before the last walk. */
  | 'outdated'
  /** The mirror shows a newer state than the service, which has lost that one with a backup. */
  | 'ahead'
  /** The content was changed in the mirror. */
  | 'altered'
  /** It was withdrawn, or has left the filters, before the last walk, and is still here. */
  | 'kept'
  /** The service has never had it, has lost it with a backup that came back, or withdrew it too long ago to be found. */
  | 'not_of_the_service';

export type Explanation = {
  id: string;
  reason: Reason;
  /** The reason, and its remedy. */
  sentence: string;
  /** `updated_at` of each side, null where it has no such result. */
  mirror: string | null;
  service: string | null;
};

const sentences: Record<Reason, string> = {
  in_step: 'Mirror and service show the same.',
  coming: 'It has changed since the last walk, and the next one brings the change.',
  outside_filters: "The service has it, but the mirror's filters don't let it through.",
  withdrawn: 'It was withdrawn, so it is not in the mirror.',
  unknown:
    'Neither the service nor the mirror holds this id: it never was, was withdrawn long ago, or was lost with a backup.',
  missing:
    'The service has it, and the mirror has not: lost here, or come back there with a backup. A verification brings it back.',
  outdated: 'The mirror holds a state that was replaced before the last walk. A verification mends it.',
  ahead: 'The mirror holds a newer state than the service, where a backup has come back. A verification mends it.',
  altered: 'Somebody has changed it in the mirror. A verification mends it.',
  kept: 'It has gone from what the mirror is to hold, and is still there. A verification removes it.',
  not_of_the_service:
    'The service has no such result: it was added by hand, withdrawn long ago, or lost with a backup. A verification removes it.',
};

/** How far back tombstones are looked through: pages of 500. */
const tombstonePages = 20;

export async function explain(mirror: Mirror, asked: string): Promise<Explanation> {
  const { client, signal } = mirror;
  const id = asked.toLowerCase();
  await mirror.load();
  const { checkpoint, walk } = mirror.state;
  const row = await rowUnder(mirror, id);
  // An ID that is no UUID cannot exist, and may not fit into a URL.
  const record = isUuid(id) ? await client.assessments.get(id, { signal }).catch(absent) : null;
  const given = (reason: Reason): Explanation => ({
    id,
    reason,
    sentence: sentences[reason],
    mirror: row?.updated_at ?? null,
    service: record?.updated_at ?? null,
  });
  // A record with the checkpoint's time is repeated by the next walk.
  const isComing = (updatedAt: string) => checkpoint === null || walk !== null || updatedAt >= checkpoint.since;

  if (record !== null && !(await isWithinFilters(mirror, record))) {
    if (row === undefined) return given('outside_filters');
    if (isComing(record.updated_at)) return given('coming');
    // It was within them in a state that a backup has taken back.
    return given(row.updated_at > record.updated_at ? 'ahead' : 'kept');
  }
  if (record !== null && row !== undefined) {
    if (row.updated_at === record.updated_at)
      return given(checkOf(row.record) === checkOf(record) ? 'in_step' : 'altered');
    if (isComing(record.updated_at)) return given('coming');
    if (isDamaged(row)) return given('altered');
    return given(row.updated_at > record.updated_at ? 'ahead' : 'outdated');
  }
  if (record !== null) return given(isComing(record.updated_at) ? 'coming' : 'missing');
  const withdrawnAt = isUuid(id) ? await tombstoneOf(mirror, id) : null;
  if (row === undefined) return given(withdrawnAt === null ? 'unknown' : 'withdrawn');
  if (withdrawnAt === null) return given('not_of_the_service');
  return given(isComing(withdrawnAt) ? 'coming' : 'kept');
}

async function rowUnder(mirror: Mirror, id: string): Promise<Row | undefined> {
  const found = mirror.store.transaction(async (transaction) => {
    await transaction.readState();
    return transaction.find([id]);
  });
  // A store may take ids of results only.
  const [row] = isUuid(id) ? await found : await found.catch(() => []);
  return row;
}

/** @throws whatever else went wrong */
function absent(error: unknown): null {
  if (error instanceof ArsError && outcomeOf(error, 'record') === 'is gone') return null;
  throw error;
}

/** Asked of the service, which alone knows the groups of a learner that are archived. */
async function isWithinFilters(mirror: Mirror, record: Assessment): Promise<boolean> {
  const { filters, client, signal } = mirror;
  // A mirror holds completed results only.
  if ((record.status as string) !== 'completed') return false;
  if (Object.keys(filters).length === 0) return true;
  if (filters.subject?.includes(record.subject) === false) return false;
  const { assessed_from: from, assessed_to: to } = filters;
  const at = Date.parse(record.assessed_at);
  if ((from !== undefined && at < Date.parse(from)) || (to !== undefined && at > Date.parse(to))) return false;
  const narrowed = {
    ...filters,
    subject: [record.subject],
    assessed_from: record.assessed_at,
    assessed_to: record.assessed_at,
    status: ['completed'] as const,
    limit: 500,
  };
  for await (const entry of client.assessments.list(narrowed, { signal, onRestored() {} }))
    if (entry.assessment_id === record.assessment_id) return true;
  return false;
}

/** When a result was withdrawn; null where its tombstone is not among the newer ones. */
export async function tombstoneOf(
  { client, signal }: Pick<Served, 'client' | 'signal'>,
  id: string,
): Promise<string | null> {
  const walk = client.assessments.list(
    { status: ['deleted'], sort: '-updated_at', limit: 500 },
    { signal, onRestored() {} },
  );
  let pages = 0;
  for await (const { entries } of walk.pages()) {
    for (const entry of entries) if (entry.assessment_id === id) return entry.updated_at;
    if (++pages === tombstonePages) break;
  }
  return null;
}
