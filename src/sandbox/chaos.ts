import type { RequestListener, Server, ServerResponse } from 'node:http';
import type { App } from '../app.ts';
import { inWork, rowsLane } from '../db/work.ts';
import { errorBody } from '../errors.ts';
import type { Random } from '../random.ts';
import { pick } from '../random.ts';
import { listDeliveries, redeliverOne } from '../webhooks/deliveries.ts';

/** What goes wrong now and then between a client and any service. */
export type Fault =
  /** The answer takes up to three seconds longer. */
  | 'late'
  /** 503 with Retry-After, and nothing was done. */
  | 'unavailable'
  /** The connection ends before the service has seen the request. */
  | 'reset'
  /** The request is carried out, and the connection ends instead of the answer. */
  | 'lost'
  /** The connection ends in the middle of the answer's body. */
  | 'cut';

/** Faults with their share of all requests; the rest goes as it should. */
export const faultShares: readonly (readonly [Fault, number])[] = [
  ['late', 0.1],
  ['unavailable', 0.04],
  ['reset', 0.03],
  ['lost', 0.03],
  ['cut', 0.03],
];

const latestMs = 3000;

function drawFault(random: Random): Fault | null {
  let at = random.float();
  for (const [fault, share] of faultShares) {
    if (at < share) return fault;
    at -= share;
  }
  return null;
}

/** The answer's end, replaced: writes the first half of the body, or nothing at all, and ends the connection. */
function breakOff(response: ServerResponse, half: boolean): void {
  response.end = ((body?: string | Buffer) => {
    const bytes = Buffer.from(body ?? '');
    if (half && bytes.length > 1) response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
    else response.destroy();
    return response;
  }) as ServerResponse['end'];
}

/**
 * Lets requests under `base` meet faults, so that an integration can be tried against them: a client that retries with
 * care still ends with every record. The service behind is the ordinary one and knows nothing of it.
 * @param tell told of each fault
 */
export function disturb(server: Server, base: string, random: Random, tell: (fault: Fault) => void): void {
  const listeners = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const fault = request.url?.startsWith(base) === true ? drawFault(random) : null;
    if (fault !== null) tell(fault);
    const serve = () => {
      for (const listener of listeners) listener.call(server, request, response);
    };
    if (fault === 'late') {
      setTimeout(serve, random.float() * latestMs);
      return;
    }
    if (fault === 'reset') {
      request.destroy();
      return;
    }
    if (fault === 'unavailable') {
      request.resume();
      response
        .writeHead(503, {
          'content-type': 'application/json; charset=utf-8',
          'retry-after': '1',
          'cache-control': 'no-store',
        })
        .end(
          errorBody('service_unavailable', 'The sandbox was told to fail now and then. Try again after Retry-After.'),
        );
      return;
    }
    if (fault === 'lost' || fault === 'cut') breakOff(response, fault === 'cut');
    serve();
  });
}

const recent = 50;

/** Sends one of the last events that arrived once more: consumers see it twice, and after newer ones. */
export async function repeatDelivery(app: App, organisationId: number, random: Random): Promise<boolean> {
  const deliveries = await listDeliveries(app.db, organisationId, {
    endpointId: null,
    status: 'succeeded',
    limit: recent,
  });
  if (deliveries.length === 0) return false;
  const { id } = pick(random, deliveries);
  return inWork(app, rowsLane(organisationId), async (work) => (await redeliverOne(work, organisationId, id)) === null);
}
