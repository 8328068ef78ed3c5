import { type ErrorCode, errorTable } from '../../platform/errors/errors.ts';
import { fieldRefusals } from '../http/body.ts';
import { codeOf } from '../http/query.ts';
import type { Route } from '../http/route.ts';

export type Refusal = { code: string; status: number; message: string };

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

/** The error codes of a query's parameters in the specification's order: `since`, `cursor`, then all others. */
function queryCodes({ query = [], paged = false }: Route): ErrorCode[] {
  const codes = query.flatMap(({ name, tooMany = codeOf(name) }) => [codeOf(name), tooMany]);
  return paged ? [...codes.splice(0, query[0]?.name === 'since' ? 1 : 0), 'invalid_cursor', ...codes] : codes;
}

/**
 * Every refusal of an endpoint, sorted by status. Refusals with the same status keep the order of the service's checks.
 */
export function refusalsOf(route: Route): Refusal[] {
  const fields = route.body === undefined ? [] : fieldRefusals(route.body);
  const messages = new Map(fields.map(({ code, message }) => [code, message]));
  const codes = new Set<string>([
    ...everywhere,
    ...(route.body === undefined ? [] : withBody),
    ...(route.params === undefined ? [] : ['not_found']),
    ...queryCodes(route),
    ...messages.keys(),
    ...(route.body === undefined ? [] : ['unknown_field']),
    ...(route.codes ?? []),
    ...(route.method === 'POST' ? withIdempotencyKey : []),
  ]);
  const found = [...codes].map((code): Refusal => {
    const [status, message] = errorTable[code as ErrorCode] ?? [];
    // If a code belongs to a parameter (400) and to a body field (422), the status and message of the field are used.
    return messages.has(code) ? { code, status: 422, message: messages.get(code)! } : { code, status, message };
  });
  return found.sort((a, b) => a.status - b.status);
}
