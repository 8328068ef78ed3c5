import type { App } from '../../app.ts';
import type { ErrorCode, FieldCode } from '../../errors.ts';
import { ApiError, errorTable } from '../../errors.ts';
import { SetCache } from '../../feed/group-sets.ts';
import { Body } from '../../http/body.ts';
import type { Call, Route } from '../../http/route.ts';

/** A refusal that an endpoint can answer with. */
export type Refusal = { code: string; status: number; message: string };

/** From requests to any endpoint, before its own table is read. */
const everywhere: ErrorCode[] = [
  'unknown_parameter',
  'bad_request',
  'invalid_credentials',
  'rate_limited',
  'internal_error',
  'service_unavailable',
];
const withBody: ErrorCode[] = ['invalid_json', 'payload_too_large', 'unsupported_media_type', 'invalid_body'];
const withIdempotencyKey: ErrorCode[] = ['idempotency_conflict', 'idempotency_mismatch', 'invalid_idempotency_key'];

type Shape = { properties?: Record<string, unknown> };

/** True for the 422 of a field in the endpoint's body; a few of these codes are spelled like a query parameter's 400. */
function isFieldCode(route: Route, code: string): code is FieldCode {
  return (
    code.startsWith('invalid_') &&
    Object.hasOwn((route.body as Shape | undefined)?.properties ?? {}, code.slice('invalid_'.length))
  );
}

/**
 * What the endpoint itself says of a field that has the wrong shape. Field codes have no standing message: the readers of
 * bodies write it, so they are asked.
 */
async function fieldMessage(route: Route, code: FieldCode): Promise<string> {
  const fields = { ...(route.bodyExample as Record<string, unknown>), [code.slice('invalid_'.length)]: {} };
  const call = {
    app: { settings: { webhookAllowNetworks: [] } } as unknown as App,
    sets: new SetCache(),
    caller: {} as Call['caller'],
    params: { id: '' },
    shapeVersion: '',
    rawQuery: '',
    path: route.path,
    body: new Body(fields),
    ifNoneMatch: undefined,
    range: undefined,
    ifRange: undefined,
    change: () => {
      throw new Error(`${route.id} accepts ${JSON.stringify(fields)}`);
    },
  } satisfies Call;
  try {
    await route.handle(call);
  } catch (error) {
    if (error instanceof ApiError && error.code === code) return error.message;
    throw error;
  }
  throw new Error(`${route.id} does not answer with ${code}`);
}

/** Every refusal of an endpoint, by status, within a status in the order in which faults are told. */
export async function refusalsOf(route: Route): Promise<Refusal[]> {
  const codes = new Set<string>([
    ...route.codes.filter((code) => code === 'unknown_parameter'),
    ...everywhere,
    ...(route.body === undefined ? [] : withBody),
    ...route.codes,
    ...(route.method === 'POST' ? withIdempotencyKey : []),
  ]);
  const found = await Promise.all(
    [...codes].map(async (code): Promise<Refusal> => {
      if (isFieldCode(route, code)) return { code, status: 422, message: await fieldMessage(route, code) };
      const [status, message] = errorTable[code as ErrorCode];
      return { code, status, message };
    }),
  );
  return found.sort((a, b) => a.status - b.status);
}
