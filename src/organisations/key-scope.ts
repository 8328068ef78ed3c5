/**
 * The groups and subjects that a key may read; null means no limit. The service adds them to the filters of every
 * query. The scope is fixed when the key is made (docs/decisions/0010).
 */
export type KeyScope = { groupIds: readonly string[] | null; subjects: readonly string[] | null };

/** Writes a scope as text, for cache keys, signatures and ETags. The text is empty without a scope. */
export function keyScopeText(keyScope: KeyScope | null): string {
  if (keyScope === null) return '';
  const part = (name: string, values: readonly string[] | null) =>
    values === null ? '' : `${name}=${[...values].sort().join()}`;
  return `${part('group_id', keyScope.groupIds)}\n${part('subject', keyScope.subjects)}`;
}

/** The requested values that are allowed; null means every value. */
export function intersectScope<T>(requested: readonly T[] | null, allowed: readonly T[] | null): readonly T[] | null {
  if (allowed === null) return requested;
  return requested === null ? allowed : requested.filter((one) => allowed.includes(one));
}
