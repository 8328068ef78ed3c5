import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Keyring } from '../keyring.ts';

const byKey = statement(
  'webhook.secrets_by_key',
  "select split_part(secret, '.', 2) as key_id, count(*) as endpoints from webhook_endpoint group by 1",
);

/**
 * How many endpoints there are, and of how many the signing secret can't be decrypted with any listed service secret.
 */
export async function countLostSecrets(tx: Tx, keyring: Keyring): Promise<{ endpoints: number; lost: number }> {
  const rows = await tx.query<{ key_id: string; endpoints: number }>(byKey);
  const sum = (some: typeof rows) => some.reduce((total, row) => total + row.endpoints, 0);
  return { endpoints: sum(rows), lost: sum(rows.filter((row) => !keyring.knows(row.key_id))) };
}
