const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** True for a UUID in its usual form, in any case. */
export function isUuid(text: string): boolean {
  return uuid.test(text);
}

/** Before every other in any order of UUIDs: where a walk by id begins. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
