import { statement, type Tx } from './database.ts';

const read = statement('organisation.public_id')`select public_id from organisation where organisation_id = $1`;

/** A public ID never changes, so a process reads it once. */
const known = new WeakMap<Tx, Map<number, string>>();

/**
 * @param tx the transaction of the caller
 * @returns the ID by which operators know an organisation, for the log; null if it is deleted or cannot be read
 */
export async function publicIdOf({ db }: { db: Tx }, organisationId: number, tx: Tx = db): Promise<string | null> {
  if (organisationId === 0) return 'none';
  const ids = known.get(db) ?? new Map<number, string>();
  known.set(db, ids);
  const found = ids.get(organisationId);
  if (found !== undefined) return found;
  const [row] = await tx.query<{ public_id: string }>(read, [organisationId]).catch(() => []);
  if (row === undefined) return null;
  ids.set(organisationId, row.public_id);
  return row.public_id;
}
