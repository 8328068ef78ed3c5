import type { Server } from 'node:http';
import type { App } from '../../platform/app.ts';
import { withUnitOfWork, rowsQueue } from '../../platform/db/unit-of-work.ts';
import { pick, type Random } from '../../platform/crypto/random.ts';
import { apiBase } from '../../platform/config/settings.ts';
import { listDeliveries } from '../../integrations/webhooks/browse.ts';
import { redeliverOne } from '../../integrations/webhooks/resend.ts';
import type { Sender } from '../../integrations/webhooks/http/send.ts';
import { enact, type Fault, rewriteReply, standBetween } from './faults.ts';
import { withUnknown } from './unknown.ts';

/** The faults of `ars sandbox --chaos`. The list in the guide is generated from this table. */
export const chaosKinds = {
  slow: 'An answer begins up to three seconds late, and comes in pieces.',
  'rate-limited': '429 with `Retry-After`; nothing was done.',
  unavailable: '503 with `Retry-After`; nothing was done.',
  reset: 'The connection ends before the service has seen the request.',
  lost: 'The request is carried out, and the connection ends instead of the answer.',
  cut: "The connection ends in the middle of the answer's body.",
  'unknown-values': 'Fields, group types, domain statuses and events that no version has yet.',
  'repeated-webhooks': 'An event that has arrived is delivered once more.',
  'late-webhooks': 'A delivery is held back for some seconds.',
  'disordered-webhooks': 'A delivery waits until a later one has overtaken it.',
  amended: 'A result is amended.',
  withdrawn: 'A result is withdrawn, and a tombstone takes its place.',
  'renamed-learner': 'A learner gets another name, in all of their results.',
  'null-references': 'A result of a learner without a reference, which was not placed at any level.',
  'scope-exits': 'A learner leaves a group, and polls with `group_id` are told so.',
  'restored-backup':
    'The service loses its last minutes without tombstones, as after a restore. In sandboxes of up to 20,000 learners.',
} as const;

export type ChaosKind = keyof typeof chaosKinds;

const allKinds = Object.keys(chaosKinds) as ChaosKind[];

/**
 * Parses the kinds in `--chaos=KIND,…`. Empty text means all kinds.
 * @throws RangeError if a kind is unknown. The message lists all kinds.
 */
export function readKinds(text: string): Set<ChaosKind> {
  if (text === '') return new Set(allKinds);
  const kinds = text.split(',').map((kind) => kind.trim());
  if (!kinds.every((kind) => (allKinds as string[]).includes(kind)))
    throw new RangeError(`must be one or more of ${allKinds.join(', ')}, with commas between`);
  return new Set(kinds as ChaosKind[]);
}

type FaultKind = Fault['kind'];

/** The share of all requests that meet each fault. */
export const faultShares: readonly (readonly [FaultKind, number])[] = [
  ['slow', 0.08],
  ['rate-limited', 0.04],
  ['unavailable', 0.04],
  ['reset', 0.03],
  ['lost', 0.03],
  ['cut', 0.03],
];

const slowestMs = 3000;
const longestRefusalSeconds = 3;

/** Every request draws two numbers, so that the faults of a seed do not depend on the enabled kinds. */
function drawFault(random: Random, kinds: ReadonlySet<ChaosKind>): Fault | null {
  let at = random.float();
  const size = random.float();
  for (const [kind, share] of faultShares) {
    if (at < share) return kinds.has(kind) ? faultOf(kind, size) : null;
    at -= share;
  }
  return null;
}

function faultOf(kind: FaultKind, size: number): Fault {
  if (kind === 'slow') return { kind, ms: size * slowestMs };
  if (kind === 'rate-limited' || kind === 'unavailable')
    return { kind, seconds: 1 + Math.floor(size * longestRefusalSeconds) };
  return { kind };
}

/** Adds faults to API requests, so that developers can test their integration. */
export function disturb(
  server: Server,
  kinds: ReadonlySet<ChaosKind>,
  random: Random,
  notify: (fault: FaultKind) => void,
): void {
  standBetween(server, apiBase, (request, response, serve) => {
    const answer = () => {
      if (kinds.has('unknown-values')) rewriteReply(request, response, withUnknown);
      serve();
    };
    const fault = drawFault(random, kinds);
    if (fault === null) {
      answer();
      return;
    }
    notify(fault.kind);
    enact(fault, request, response, answer);
  });
}

const heldShare = 0.2;
const longestHoldMs = 5000;

/** Delays deliveries, or sends a delivery only after a later delivery to the same endpoint. */
export function disturbSender(
  sender: Sender,
  kinds: ReadonlySet<ChaosKind>,
  random: Random,
  notify: (kind: ChaosKind) => void,
): Sender {
  const overtakes = new Map<string, Set<() => void>>();
  const hold = (ms: number, signal: AbortSignal | undefined, url: string | null) =>
    new Promise<void>((resolve) => {
      const waiting = url === null ? null : (overtakes.get(url) ?? new Set());
      const go = () => {
        clearTimeout(timer);
        waiting?.delete(go);
        resolve();
      };
      const timer = setTimeout(go, ms);
      if (url !== null) overtakes.set(url, waiting!.add(go));
      signal?.addEventListener('abort', go, { once: true });
      if (signal?.aborted === true) go();
    });
  return {
    async send(request) {
      const [drawn, size] = [random.float(), random.float()];
      if (drawn < heldShare && kinds.has('late-webhooks')) {
        notify('late-webhooks');
        await hold(size * longestHoldMs, request.signal, null);
      } else if (drawn >= heldShare && drawn < 2 * heldShare && kinds.has('disordered-webhooks')) {
        notify('disordered-webhooks');
        await hold(longestHoldMs, request.signal, request.url);
        return sender.send(request);
      }
      const attempt = await sender.send(request);
      for (const go of [...(overtakes.get(request.url) ?? [])]) go();
      overtakes.delete(request.url);
      return attempt;
    },
    close: () => sender.close(),
  };
}

const recent = 50;

/** Repeats a recent successful delivery, because webhook endpoints must accept duplicates. */
export async function repeatDelivery(app: App, organisationId: number, random: Random): Promise<boolean> {
  const deliveries = await listDeliveries(app.db, organisationId, {
    endpointId: null,
    status: 'succeeded',
    limit: recent,
  });
  if (deliveries.length === 0) return false;
  const { id } = pick(random, deliveries);
  return withUnitOfWork(
    app,
    rowsQueue(organisationId),
    async (work) => (await redeliverOne(work, organisationId, id)) === null,
  );
}
