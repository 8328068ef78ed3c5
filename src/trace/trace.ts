import type { App } from '../app.ts';
import { isUuid } from '../uuid.ts';
import type { EndpointVerdict } from './endpoint.ts';
import { explainEndpoint } from './endpoint.ts';
import type { Poll, TracedEndpoint, TracedKey, TracedResult } from './facts.ts';
import { readEndpoints, readKeys, readLogBounds, readPages, readPolls, readReads, readResult } from './facts.ts';
import type { KeyVerdict } from './key.ts';
import { explainKey, keyName } from './key.ts';
import { time } from './words.ts';

/** Where is this result? One sentence, and the proof below it. */

export type Trace = {
  reason: string;
  sentence: string;
  result: TracedResult | null;
  keys: (KeyVerdict & { key: TracedKey })[];
  endpoints: (EndpointVerdict & { endpoint: TracedEndpoint })[];
};

/** Reasons of those who didn't get it, the one that most likely is the fault first. */
const weight = [
  'own_clock',
  'cursor_stuck',
  'delivery_dead',
  'filter_excludes',
  'polls_refused',
  'walk_unfinished',
  'delivery_disabled',
  'delivery_paused',
  'fetched_before_change',
  'walk_under_way',
  'delivery_pending',
  'not_polled_since',
  'key_revoked',
  'key_expired',
  'key_bounded',
  'never_polled',
  'other_groups',
  'made_later',
  'not_subscribed',
  'delivery_cancelled',
  'not_known',
];

export async function traceResult(app: App, organisationId: number, assessmentId: string): Promise<Trace> {
  const id = assessmentId.toLowerCase();
  const result = isUuid(id) ? await readResult(app.db, organisationId, id) : undefined;
  if (result === undefined)
    return {
      reason: 'unknown_result',
      sentence: 'The organisation has no result with this id.',
      result: null,
      keys: [],
      endpoints: [],
    };
  const stood = new Date(Math.floor(result.position / 1000));
  // Nothing that carried it is older than the hour in which it got there.
  const since = new Date(stood.getTime() - 3600_000);
  const [keys, log, pages, reads, endpoints] = await Promise.all([
    readKeys(app.db, organisationId),
    readLogBounds(app.db, organisationId),
    readPages(app.db, organisationId, result.position, since),
    readReads(app.db, organisationId, result.completed_at ?? since, id, result.learner_id),
    readEndpoints(app.db, organisationId, id),
  ]);
  const { completed_at: completed } = result;
  const changed = completed !== null && completed.getTime() + 1 < stood.getTime();
  const callsOf = (keyId: string) => ({
    pages: pages.get(keyId) ?? [],
    reads: reads.get(keyId) ?? [],
  });
  const explain = (key: TracedKey, polls: Poll[], earlier: Poll[]) =>
    explainKey(key, result, log, { ...callsOf(key.key_id), polls, earlier }, app.clock.nowMs());
  const settled = ['fetched', 'read_by_id', 'key_bounded', 'never_polled'];
  const atFirst = new Map(keys.map((key) => [key.key_id, explain(key, [], [])]));
  const open = keys.map((key) => key.key_id).filter((id) => !settled.includes(atFirst.get(id)!.reason));
  const [polls, earlier] = await Promise.all([
    readPolls(app.db, organisationId, open, stood),
    changed ? readPolls(app.db, organisationId, open, completed) : new Map<string, Poll[]>(),
  ]);
  const traced = keys.map((key) => {
    const { key_id: id } = key;
    const verdict = open.includes(id) ? explain(key, polls.get(id) ?? [], earlier.get(id) ?? []) : atFirst.get(id)!;
    return { ...verdict, key };
  });
  const told = endpoints.map((endpoint) => ({ ...explainEndpoint(endpoint, result), endpoint }));
  return { ...verdictOf(result, traced, told), result, keys: traced, endpoints: told };
}

function verdictOf(
  result: TracedResult,
  keys: Trace['keys'],
  endpoints: Trace['endpoints'],
): Pick<Trace, 'reason' | 'sentence'> {
  const got = keys
    .filter(({ reason }) => reason === 'fetched' || reason === 'read_by_id')
    .sort((a, b) => a.at!.getTime() - b.at!.getTime());
  if (result.deleted) {
    const when = result.changes.findLast(({ kind }) => kind === 'withdrawn')?.at ?? new Date(result.position / 1000);
    const names = got.map(({ key }) => keyName(key)).join(', ');
    return {
      reason: 'withdrawn',
      sentence: `Withdrawn at ${time(when)}; ${got.length === 0 ? 'no key has fetched the withdrawal yet' : `its withdrawal was fetched by ${names}`}.`,
    };
  }
  const delivered = endpoints.find(({ reason }) => reason === 'delivered');
  const [first] = got;
  if (first !== undefined || delivered !== undefined) {
    const how =
      first !== undefined && (delivered === undefined || first.at! <= delivered.at!)
        ? `Fetched at ${time(first.at!)} by ${keyName(first.key)}`
        : delivered!.sentence.slice(0, -1);
    if (result.learner_ref === null)
      return {
        reason: 'fetched_without_ref',
        sentence: `${how}; look at their matching: learner_ref is empty.`,
      };
    const reason = first === undefined ? 'delivered' : 'fetched';
    return {
      reason,
      sentence: `${how}; if it isn't shown there, look at how they match learners.`,
    };
  }
  const [worst] = [...keys, ...endpoints].sort((a, b) => weight.indexOf(a.reason) - weight.indexOf(b.reason));
  if (worst === undefined)
    return {
      reason: 'nobody_to_fetch',
      sentence: 'The organisation has neither a key nor a webhook that could have told anybody.',
    };
  return { reason: worst.reason, sentence: worst.sentence };
}
