/**
 * What a key may see: its reads are as if these stood in every query, as group_id and subject. Null is no bound of that
 * kind. They are fixed when the key is made (docs/decisions/0010).
 */
export type KeyScope = { groupIds: readonly string[] | null; subjects: readonly string[] | null };

/** The one text that stands for bounds, for all that is remembered, signed or tagged under them; empty without any. */
export function keyScopeText(keyScope: KeyScope | null): string {
  if (keyScope === null) return '';
  const part = (name: string, values: readonly string[] | null) =>
    values === null ? '' : `${name}=${[...values].sort().join()}`;
  return `${part('group_id', keyScope.groupIds)}\n${part('subject', keyScope.subjects)}`;
}

/** What was asked for, as far as it is allowed; null is everything. */
export function within<T>(asked: readonly T[] | null, allowed: readonly T[] | null): readonly T[] | null {
  if (allowed === null) return asked;
  return asked === null ? allowed : asked.filter((one) => allowed.includes(one));
}
