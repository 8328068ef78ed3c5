/**
 * Changes responses as a future version may: they contain new fields and unknown enumeration values. The changes of a
 * record are always equal, so that repeated reads agree.
 */

export const unknownEvent = 'sandbox.surprised';
const unknownGroupType = 'sandbox_study_pod';
const unknownDomainStatus = 'sandbox_emerging';

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function surprising(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(surprising);
  if (!isFields(value)) return value;
  const out: Fields = {};
  for (const [name, one] of Object.entries(value)) out[name] = surprising(one);
  if (typeof out.type === 'string' && typeof out.ref === 'string' && 'id' in out) out.type = unknownGroupType;
  if (out.status === 'developing' && 'score_pct' in out) out.status = unknownDomainStatus;
  if ('updated_at' in out) {
    out.sandbox_note = 'A field of a later version.';
    out.sandbox_details = { numbers: [1, 2.5], nothing: null };
  }
  return out;
}

export function withUnknown(json: string): string {
  const body = JSON.parse(json) as Fields;
  return JSON.stringify({ ...body, data: surprising(body.data), sandbox_meta: { page: 'later' } });
}

export function unknownEventBody(occurredAt: string): string {
  return JSON.stringify({ event: unknownEvent, occurred_at: occurredAt, details: { anything: [1, null] } });
}
