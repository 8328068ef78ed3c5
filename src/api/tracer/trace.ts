import type { App } from '../../platform/app.ts';
import { type Suspension, findSuspension } from '../../organisations/suspension.ts';
import { isUuid } from '../../platform/crypto/random.ts';
import { type EndpointVerdict, explainEndpoint } from './endpoint.ts';
import {
  type Poll,
  type TracedEndpoint,
  type TracedKey,
  type TracedResult,
  readEndpoints,
  readKeys,
  readLogBegin,
  readPages,
  readPolls,
  readReads,
  readResult,
} from './facts.ts';
import { type KeyVerdict, explainKey, keyName } from './key.ts';
import { type Reason, actable, outOfReach, time, timeOf } from './words.ts';

/** Says in one sentence where a result is, with a verdict and its proof for each key and endpoint. */
export type Trace = {
  reason: string;
  sentence: string;
  result: TracedResult | null;
  keys: (KeyVerdict & { key: TracedKey })[];
  endpoints: (EndpointVerdict & { endpoint: TracedEndpoint })[];
};

const unknownResult = { reason: 'unknown_result', sentence: 'The organisation has no result with this ID.' };

export async function traceResult(app: App, organisationId: number, assessmentId: string): Promise<Trace> {
  const id = assessmentId.toLowerCase();
  const result = isUuid(id) ? await readResult(app.db, organisationId, id) : undefined;
  if (result === undefined) return { ...unknownResult, result: null, keys: [], endpoints: [] };
  const [keys, endpoints, suspension] = await Promise.all([
    traceKeys(app, organisationId, id, result),
    readEndpoints(app.db, organisationId, id),
    findSuspension(app.db, organisationId),
  ]);
  const nowMs = app.clock.nowMs();
  const notified = endpoints.map((endpoint) => ({ ...explainEndpoint(endpoint, result, nowMs), endpoint }));
  return { ...verdictOf(result, keys, notified, suspension), result, keys, endpoints: notified };
}

async function traceKeys(app: App, organisationId: number, id: string, result: TracedResult): Promise<Trace['keys']> {
  const { db } = app;
  const { recorded_at: recorded, learner_id: learnerId } = result;
  const stood = timeOf(result.position);
  // A page that contains the result is at most 1 hour older than the result's position.
  const since = new Date(stood.getTime() - 3600_000);
  const [keys, logBegin, pages, reads] = await Promise.all([
    readKeys(db, organisationId),
    readLogBegin(db, organisationId),
    readPages(db, organisationId, result.position, since),
    readReads(db, organisationId, { from: recorded, stood }, { id, learnerId }),
  ]);
  const nowMs = app.clock.nowMs();
  const none = new Map<string, Poll[]>();
  const explain = (key: TracedKey, polls = none, earlier = none) => {
    const of = (calls: Map<string, Poll[]>) => calls.get(key.key_id) ?? [];
    const others = keys
      .filter((other) => other !== key)
      .flatMap((other) => (polls.get(other.key_id) ?? []).map((poll) => ({ name: keyName(other), poll })));
    const calls = { pages: of(pages), reads: of(reads), polls: of(polls), earlier: of(earlier), others };
    return { ...explainKey({ key, result, logBegin, nowMs, ...calls }), key };
  };
  const atFirst = keys.map((key) => explain(key));
  const settled: Reason[] = ['fetched', 'read_by_id', 'never_polled'];
  const open = atFirst.filter(({ reason }) => !settled.includes(reason)).map(({ key }) => key.key_id);
  const [polls, earlier] = await Promise.all([
    readPolls(db, organisationId, open, stood),
    result.first_position === result.position ? none : readPolls(db, organisationId, open, recorded),
  ]);
  return atFirst.map((one) => (open.includes(one.key.key_id) ? explain(one.key, polls, earlier) : one));
}

type Verdict = Pick<Trace, 'reason' | 'sentence'>;

const isGot = ({ reason }: { reason: string }) => reason === 'fetched' || reason === 'read_by_id';

function verdictOf(
  result: TracedResult,
  keys: Trace['keys'],
  endpoints: Trace['endpoints'],
  suspension: Suspension | null,
): Verdict {
  const rank = (reasons: readonly string[], { reason }: Verdict) => reasons.indexOf(reason);
  const worst = [...keys, ...endpoints, ...(suspension === null ? [] : [suspendedSince(suspension)])]
    .filter((one) => rank(actable, one) >= 0)
    .sort((a, b) => rank(actable, a) - rank(actable, b))[0];
  const got = keys.filter(isGot).sort((a, b) => a.at!.getTime() - b.at!.getTime());
  if (result.deleted) return withdrawn(result, got, worst);
  const delivered = endpoints.find(({ reason }) => reason === 'delivered');
  // If only ended keys have fetched a result, the platform may not have the result now.
  const working = got.find(({ hasEnded }) => !hasEnded);
  const first = working ?? got[0];
  if (first !== undefined || delivered !== undefined) {
    const byKey =
      first !== undefined && (delivered === undefined || (working !== undefined && first.at! <= delivered.at!));
    const how = byKey ? `Fetched at ${time(first.at!)} by ${keyName(first.key)}` : delivered!.sentence.slice(0, -1);
    if (working === undefined && delivered === undefined && worst !== undefined)
      return { reason: worst.reason, sentence: `${first!.sentence} ${worst.sentence}` };
    // Only the completion of a result has an event, so a platform has to poll to fetch a change.
    const changed = result.first_position === result.position ? null : timeOf(result.position);
    if (working === undefined && worst !== undefined && changed !== null && delivered!.at! < changed)
      return {
        reason: worst.reason,
        sentence: `${delivered!.sentence.slice(0, -1)}, before its change of ${time(changed)}. ${worst.sentence}`,
      };
    if (result.learner_ref === null)
      return { reason: 'fetched_without_ref', sentence: `${how}; look at their matching: learner_ref is empty.` };
    return {
      reason: first === undefined ? 'delivered' : 'fetched',
      sentence: `${how}; if it isn't shown there, look at how they match learners.`,
    };
  }
  if (worst !== undefined) return { reason: worst.reason, sentence: worst.sentence };
  const [min] = [...keys, ...endpoints].sort((a, b) => rank(outOfReach, a) - rank(outOfReach, b));
  if (min === undefined)
    return {
      reason: 'nobody_to_fetch',
      sentence: 'The organisation has neither a key nor a webhook endpoint now.',
    };
  return {
    reason: min.reason,
    sentence: `${keys.length === 0 ? 'No endpoint was due to receive it.' : 'No key can receive it.'} ${min.sentence}`,
  };
}

function suspendedSince({ suspended_at: at }: Suspension): Verdict {
  return {
    reason: 'suspended',
    sentence: `The organisation is suspended since ${time(at)}: its keys are refused and its webhook endpoints are paused.`,
  };
}

function withdrawn(result: TracedResult, got: Trace['keys'], worst: Verdict | undefined): Verdict {
  const when = result.changes.findLast(({ kind }) => kind === 'withdrawn')?.at ?? timeOf(result.position);
  const names = got.map(({ key }) => keyName(key)).join(', ');
  const fetched = got.length === 0 ? 'no key has fetched the withdrawal yet' : `its withdrawal was fetched by ${names}`;
  return {
    reason: 'withdrawn',
    sentence: `Withdrawn at ${time(when)}; ${fetched}.${worst === undefined ? '' : ` ${worst.sentence}`}`,
  };
}
