const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for a UUID in its usual form, in any case. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** The usual form of 32 hexadecimal digits. */
export function dashed(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Before every other in any order of UUIDs: where a walk by id begins. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
