import { ApiError, ArsError, Client, UnexpectedReplyError } from '../client/src/index.ts';
import type { ListenQuery } from '../client/src/index.ts';
import type { Access } from './access.ts';
import { Failure } from './command.ts';

/** What the service says to a listener (docs/openapi.json, listenToEvents), as far as it is known here. */
export type Line = { after: string } & (
  | { type: 'open'; secret: string; heartbeat_seconds: number }
  | { type: 'delivery'; event: string; delivery_id: string; headers: Record<string, string>; body: string }
  | { type: 'heartbeat' }
  | { type: 'end'; reason: string }
);

/**
 * The events of the key's organisation from now on, over every interruption. Ends with the signal.
 * @param interrupted told of every connection that ended or was not made
 * @throws Failure when the service refuses for good
 */
export async function* listenByKey(given: {
  access: Access;
  query: ListenQuery;
  signal: AbortSignal;
  interrupted(why: string, againInMs: number): void;
}): AsyncGenerator<Line> {
  const { signal, interrupted } = given;
  const { events } = new Client(given.access);
  const onInterrupted = (error: unknown, againInMs: number) => interrupted(reasonOf(error), againInMs);
  try {
    for await (const line of events.listen(given.query, { signal, onInterrupted })) {
      if (line.type === 'end' && line.reason === 'key_gone')
        throw new Failure('The key was revoked, or its time is over.');
      yield line as Line;
    }
  } catch (error) {
    throw error instanceof ArsError ? failureOf(error) : error;
  }
}

/** The refusal in the service's own words, or what became of the connection. */
function reasonOf(error: unknown): string {
  if (!(error instanceof ArsError)) return String(error);
  const cause = error.cause as { message?: string; cause?: { code?: string } } | undefined;
  const said = error instanceof ApiError ? error.message : (cause?.cause?.code ?? cause?.message ?? error.message);
  return said.replace(/^listenToEvents: /, '').replace(/\.$/, '');
}

function failureOf(error: ArsError): Failure {
  const status = error instanceof ApiError ? error.status : null;
  if (status === 401) return new Failure('The service refuses the key pair.');
  if (status === 404)
    return new Failure('This service has no events to listen to by a key: it is older, or --api names another place.');
  if (error instanceof UnexpectedReplyError) return new Failure('What answers at --api sends no lines of events.');
  if (error.isTransient || status === 409) return new Failure(`Listening can't begin: ${reasonOf(error)}.`);
  return new Failure(`The service refuses: ${reasonOf(error)}`);
}
