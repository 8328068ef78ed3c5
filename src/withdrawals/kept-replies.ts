import type { Tx } from '../db/database.ts';
import { statement } from '../db/database.ts';
import type { Secrets } from '../secrets.ts';

const kept = statement(
  'idempotency.kept',
  `
  select key_sha256, reply from idempotency where organisation_id = $1 and reply is not null and key_sha256 > $2
   order by key_sha256 limit $3`,
);
const forget = statement(
  'idempotency.forget',
  'delete from idempotency where organisation_id = $1 and key_sha256 = any($2)',
);

const rowsAtOnce = 1000;

/** Forgets the replies that show this id: they are sealed, so each is opened and looked at. */
export async function forgetReplies(tx: Tx, secrets: Secrets, organisationId: number, id: string): Promise<void> {
  let after: Buffer = Buffer.alloc(0);
  for (;;) {
    const rows = await tx.query<{ key_sha256: Buffer; reply: Buffer }>(kept, [organisationId, after, rowsAtOnce]);
    const found = rows.filter(({ reply }) => secrets.open('idempotency', reply)?.includes(id) !== false);
    if (found.length > 0) await tx.query(forget, [organisationId, found.map((row) => row.key_sha256)]);
    if (rows.length < rowsAtOnce) return;
    after = rows.at(-1)!.key_sha256;
  }
}
