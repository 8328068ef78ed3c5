import type { ErrorCode } from '../../platform/errors/errors.ts';
import { errorTable } from '../../platform/errors/errors.ts';
import { fieldRefusals } from '../http/body.ts';
import type { Route } from '../http/route.ts';

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

/** Every refusal of an endpoint, by status, within a status in the order in which faults are told. */
export function refusalsOf(route: Route): Refusal[] {
  const ofFields = new Map(
    (route.body === undefined ? [] : fieldRefusals(route.body)).map(({ code, message }) => [code, message]),
  );
  const codes = new Set<string>([
    ...route.codes.filter((code) => code === 'unknown_parameter'),
    ...everywhere,
    ...(route.body === undefined ? [] : withBody),
    ...route.codes,
    ...(route.method === 'POST' ? withIdempotencyKey : []),
  ]);
  const found = [...codes].map((code): Refusal => {
    // A few codes of fields are spelled like a query parameter's 400.
    const message = ofFields.get(code);
    if (message !== undefined) return { code, status: 422, message };
    const [status, standing] = errorTable[code as ErrorCode];
    return { code, status, message: standing };
  });
  return found.sort((a, b) => a.status - b.status);
}
