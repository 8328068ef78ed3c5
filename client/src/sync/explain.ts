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
  /** It changed after the last poll. The next poll reads the change. */
  | 'pending'
  /** The service has it, but it does not match the mirror's filters. */
  | 'outside_filters'
  /** It was withdrawn, and the mirror does not hold it, or never has. */
  | 'withdrawn'
  /** Neither side knows the ID. It never existed, was withdrawn long ago, or was lost in a restore. */
  | 'unknown'
  /** The mirror lacks it. */
  | 'missing'
  /** The mirror has a state that was replaced before the last poll. */
  | 'out_of_date'
  /** The mirror has a newer state, because the service was restored. */
  | 'ahead'
  /** The content was changed in the mirror. */
  | 'altered'
  /** It was withdrawn or left the filters before the last poll, and is still in the mirror. */
  | 'extra'
  /** The service never had it, lost it in a restore, or withdrew it long ago. */
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
  in_step: 'The mirror and the service have the same state.',
  pending: 'It changed after the last poll. The next poll reads the change.',
  outside_filters: "The service has it, but it does not match the mirror's filters.",
  withdrawn: 'It was withdrawn, so it is not in the mirror.',
  unknown:
    'The service and the mirror do not know this ID. It never existed, was withdrawn long ago, or was lost in a restore.',
  missing: 'The mirror lacks it: the mirror lost it, or the service got it back in a restore. A verification adds it.',
  out_of_date: 'The mirror has a state that was replaced before the last poll. A verification corrects it.',
  ahead: 'The mirror has a newer state, because the service was restored. A verification corrects it.',
  altered: 'Its content was changed in the mirror. A verification corrects it.',
  extra: 'It was withdrawn or left the filters, and is still in the mirror. A verification removes it.',
  not_of_the_service:
    'The service has no such result. It was added by hand, withdrawn long ago, or lost in a restore. A verification removes it.',
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
  const explained = (reason: Reason): Explanation => ({
    id,
    reason,
    sentence: sentences[reason],
    mirror: row?.updated_at ?? null,
    service: record?.updated_at ?? null,
  });
  // A record with the checkpoint's time is repeated by the next walk.
  const isPending = (updatedAt: string) => checkpoint === null || walk !== null || updatedAt >= checkpoint.since;

  if (record !== null && !(await isWithinFilters(mirror, record))) {
    if (row === undefined) return explained('outside_filters');
    if (isPending(record.updated_at)) return explained('pending');
    // It was within them in a state that a backup has taken back.
    return explained(row.updated_at > record.updated_at ? 'ahead' : 'extra');
  }
  if (record !== null && row !== undefined) {
    if (row.updated_at === record.updated_at)
      return explained(checkOf(row.record) === checkOf(record) ? 'in_step' : 'altered');
    if (isPending(record.updated_at)) return explained('pending');
    if (isDamaged(row)) return explained('altered');
    return explained(row.updated_at > record.updated_at ? 'ahead' : 'out_of_date');
  }
  if (record !== null) return explained(isPending(record.updated_at) ? 'pending' : 'missing');
  const withdrawnAt = isUuid(id) ? await tombstoneOf(mirror, id) : null;
  if (row === undefined) return explained(withdrawnAt === null ? 'unknown' : 'withdrawn');
  if (withdrawnAt === null) return explained('not_of_the_service');
  return explained(isPending(withdrawnAt) ? 'pending' : 'extra');
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
